package modes

import (
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

var bind = sync.OnceValue(func() bool {
	if os.Geteuid() != 0 {
		return true
	}
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData
	return unix.Capget(&head, &sets[0]) != nil || sets[0].Effective&(1<<unix.CAP_DAC_OVERRIDE) == 0
})
