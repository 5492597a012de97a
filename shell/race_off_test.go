//go:build !race

package shell_test

// slower is how much slower the code is under the tests' build.
const slower = 1
