package term

import "golang.org/x/sys/unix"

// See tty(4): the second form waits for output and discards input.
const (
	ioctlGetAttr      = unix.TIOCGETA
	ioctlSetAttrFlush = unix.TIOCSETAF
)
