//go:build unix && !linux

package tree

import (
	"os"

	"golang.org/x/sys/unix"
)

func openUnnamed(dir int, perm uint32) (int, error) { return -1, unix.ENOTSUP }

func linkUnnamed(f *os.File, dir int, name string) error { return unix.ENOTSUP }
