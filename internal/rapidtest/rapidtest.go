// Package rapidtest says how many cases a room's properties are tried on.
package rapidtest

import (
	"flag"
	"strconv"
)

// Default makes n the number of cases unless -rapid.checks is given. A TestMain calls it; make laws and make layers
// give more.
func Default(n int) {
	if !flag.Parsed() {
		flag.Parse()
	}
	const name = "rapid.checks"
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == name })
	if !given {
		if err := flag.Set(name, strconv.Itoa(n)); err != nil {
			panic(err)
		}
	}
}
