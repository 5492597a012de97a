package supervisor

import (
	"time"

	"golang.org/x/sys/unix"

	"sandboxd/process"
)

// userHz is the unit of times in /proc, which is fixed for programs (time(7)).
const userHz = 100

// stateOfProcess says whether a process is dead, though perhaps not yet waited for, and
// when it was born, to a hundredth of a second. One that is not there is dead.
func stateOfProcess(pid int) (dead bool, born time.Time) {
	s, err := process.ReadStat(pid)
	if err != nil {
		return true, time.Time{}
	}
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &now) != nil {
		return s.Ended(), time.Time{}
	}
	up := time.Duration(now.Nano())
	return s.Ended(), time.Now().Add(time.Duration(s.Start)*time.Second/userHz - up)
}
