//go:build !linux

package supervisor

import "golang.org/x/sys/unix"

// leaderStart is 1 while the leader of a kernel session lives; its start time
// is not known here.
func leaderStart(sid int) uint64 {
	if sid <= 0 || unix.Kill(sid, 0) == unix.ESRCH {
		return 0
	}
	return 1
}
