package ipc

import (
	"fmt"
	"os"
	"strconv"
	"syscall"
)

// PeerOfProcess describes a process that was found in another way than by its connection to a
// socket of ours. Its number may be used again: verify the evidence once more where that matters.
func PeerOfProcess(pid int) (Peer, error) {
	info, err := os.Stat("/proc/" + strconv.Itoa(pid))
	if err != nil {
		return Peer{}, fmt.Errorf("%w: %w", errNoPeer, err)
	}
	st := info.Sys().(*syscall.Stat_t)
	p := Peer{UID: int(st.Uid), GID: int(st.Gid), PID: pid}
	return p, describe(&p)
}
