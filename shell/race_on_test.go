//go:build race

package shell_test

// slower is how much slower the code is under the race detector.
const slower = 20
