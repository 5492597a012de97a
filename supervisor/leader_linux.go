package supervisor

import "strconv"

// leaderStart is when the leader of a kernel session started, in clock ticks
// since boot, 0 when there is none any more. It tells a session from a later one
// that got the same number.
func leaderStart(sid int) uint64 {
	if sid <= 0 {
		return 0
	}
	fields := statOf(sid)
	if fields == nil {
		return 0
	}
	n, err := strconv.ParseUint(string(fields[startField]), 10, 64)
	if err != nil {
		return 0
	}
	return n
}
