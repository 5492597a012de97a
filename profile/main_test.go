package profile_test

import (
	"flag"
	"os"
	"testing"
)

// Every law is tried on this many cases, unless -rapid.checks says otherwise.
const cases = "10000"

func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.checks" })
	if !given {
		if err := flag.Set("rapid.checks", cases); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
