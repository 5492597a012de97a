package supervisor

import (
	"bytes"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// userHz is the unit of times in /proc, which is fixed for programs (time(7)).
const userHz = 100

// stateOfProcess says whether a process is dead, though perhaps not yet waited for, and
// when it was born, to a hundredth of a second. One that is not there is dead.
func stateOfProcess(pid int) (dead bool, born time.Time) {
	fields := statOf(pid)
	if fields == nil {
		return true, time.Time{}
	}
	var now unix.Timespec
	ticks, err := strconv.ParseInt(string(fields[startField]), 10, 64)
	if err != nil || unix.ClockGettime(unix.CLOCK_BOOTTIME, &now) != nil {
		return false, time.Time{}
	}
	up := time.Duration(now.Nano())
	return fields[0][0] == 'Z' || fields[0][0] == 'X', time.Now().Add(time.Duration(ticks)*time.Second/userHz - up)
}

// startField is where in statOf the time of birth stands, in ticks since boot.
const startField = 22 - 3

// statOf are the fields of a process's stat file from the third, its state, on; nil
// where there is no such process (proc_pid_stat(5)).
func statOf(pid int) [][]byte {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return nil
	}
	// The command's name stands in parentheses and may hold anything.
	i := bytes.LastIndexByte(b, ')')
	if i < 0 {
		return nil
	}
	fields := bytes.Fields(b[i+1:])
	if len(fields) <= startField {
		return nil
	}
	return fields
}
