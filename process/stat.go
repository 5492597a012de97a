// Package process reads a process's ancestry, terminal, birth and state from /proc/PID/stat
// (proc_pid_stat(5)).
//
//	st, err := process.ReadStat(pid)
//	if err != nil || st.Ended() || st.Start != start {
//		// it has ended, and the number may be another's
//	}
//
// A number and a time of birth together name one process for as long as the host is up. The name
// that a process has chosen for itself, which is in the same file and may look like any other
// field, has no influence.
//
// # Limitations
//
// Only Linux has the file; elsewhere ReadStat is an error. A process that hidepid hides (proc(5))
// looks like an ended one.
package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
)

// Stat is our part of the file. Field numbers are those of proc_pid_stat(5).
type Stat struct {
	State   byte   // 3: R, S, D, Z, X, …
	Parent  int    // 4: 0 for none that this pid namespace has
	Session int    // 6: 0 for one of another pid namespace
	TTY     uint64 // 7: device number of the controlling terminal, 0 for none
	Threads int    // 20
	Start   uint64 // 22: ticks of 1/100 s since the host came up
}

// Ended reports that no thread of it runs, though perhaps nobody has waited for it. A process whose
// first thread has ended looks like a zombie, while its other threads run.
func (s Stat) Ended() bool {
	return s.State == 'X' || s.State == 'x' || s.State == 'Z' && s.Threads <= 1
}

// ReadStat looks at a process. The error is fs.ErrNotExist, or ESRCH, where there is
// none.
func ReadStat(pid int) (Stat, error) {
	if pid <= 0 {
		return Stat{}, fmt.Errorf("look at process %d: %w", pid, os.ErrNotExist)
	}
	b, err := ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return Stat{}, err
	}
	return parseStat(b)
}

// parseStat reads the text of such a file. The second field, the name in
// parentheses, may hold anything, parentheses, spaces and line ends included: the last ")"
// ends it.
func parseStat(b []byte) (Stat, error) {
	end := bytes.LastIndexByte(b, ')')
	if end < 0 {
		return Stat{}, fmt.Errorf("parse /proc stat %q: no name", b)
	}
	f := bytes.Fields(b[end+1:]) // f[0] is the third field
	if len(f) < 20 || len(f[0]) != 1 {
		return Stat{}, fmt.Errorf("parse /proc stat %q: %d fields", b, len(f))
	}
	s := Stat{State: f[0][0]}
	var errs [5]error
	s.Parent, errs[0] = strconv.Atoi(string(f[1]))
	s.Session, errs[1] = strconv.Atoi(string(f[3]))
	tty, err := strconv.ParseInt(string(f[4]), 10, 64) // the kernel prints an int
	s.TTY, errs[2] = uint64(uint32(tty)), err
	s.Threads, errs[3] = strconv.Atoi(string(f[17]))
	s.Start, errs[4] = strconv.ParseUint(string(f[19]), 10, 64)
	if err := errors.Join(errs[:]...); err != nil {
		return Stat{}, fmt.Errorf("parse /proc stat %q: %w", b, err)
	}
	return s, nil
}
