package term

import "golang.org/x/sys/unix"

// See ioctl_tty(2): the second form waits for output and discards input.
const (
	ioctlGetAttr      = unix.TCGETS
	ioctlSetAttrFlush = unix.TCSETSF
)
