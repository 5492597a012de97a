package shell_test

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// least is the shortest processor time of some runs.
func least(runs int, f func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	now := func() time.Duration {
		var ts unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts); err != nil {
			panic(err)
		}
		return time.Duration(ts.Nano())
	}
	best := time.Hour
	for range runs {
		start := now()
		f()
		best = min(best, now()-start)
	}
	return best
}
