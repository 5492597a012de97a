//go:build unix && !linux

package tree

import "golang.org/x/sys/unix"

const pathOnly = unix.O_RDONLY | unix.O_NONBLOCK
