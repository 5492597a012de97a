package supervisor

import "sandboxd/process"

// leaderStart is when the leader of a kernel session started, in clock ticks
// since boot, 0 after its end. It distinguishes a session from a later one
// that got the same number.
func leaderStart(sid int) uint64 {
	s, err := process.ReadStat(sid)
	if err != nil {
		return 0
	}
	return s.Start
}
