//go:build !linux

package shell_test

import "time"

// least is the shortest time of some runs.
func least(runs int, f func()) time.Duration {
	best := time.Hour
	for range runs {
		start := time.Now()
		f()
		best = min(best, time.Since(start))
	}
	return best
}
