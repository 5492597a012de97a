package layer

import (
	"flag"
	"os"
	"testing"
)

// checks is how many cases each property is tried on, unless -rapid.checks is given.
const checks = "200"

func TestMain(m *testing.M) {
	if text := os.Getenv(childVariable); text != "" {
		child(text)
		os.Exit(0)
	}
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.checks" })
	if !given {
		if err := flag.Set("rapid.checks", checks); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
