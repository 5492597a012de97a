package supervisor

import (
	"bytes"
	"os"
	"strconv"
)

// leaderStart is when the leader of a kernel session started, in clock ticks
// since boot (proc_pid_stat(5), field 22), 0 when there is none any more. It
// tells a session from a later one that got the same number.
func leaderStart(sid int) uint64 {
	if sid <= 0 {
		return 0
	}
	b, err := os.ReadFile("/proc/" + strconv.Itoa(sid) + "/stat")
	if err != nil {
		return 0
	}
	// The command's name stands in parentheses and may hold anything.
	i := bytes.LastIndexByte(b, ')')
	if i < 0 {
		return 0
	}
	fields := bytes.Fields(b[i+1:])
	const start = 22 - 3 // the first of these is field 3
	if len(fields) <= start {
		return 0
	}
	n, err := strconv.ParseUint(string(fields[start]), 10, 64)
	if err != nil {
		return 0
	}
	return n
}
