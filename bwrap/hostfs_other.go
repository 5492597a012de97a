//go:build !linux

package bwrap

import (
	"io/fs"
	"os"
)

// HostFS returns the file system of this machine. bwrap exists only on Linux;
// here it serves documentation and tests.
func HostFS() fs.ReadLinkFS { return os.DirFS("/").(fs.ReadLinkFS) }
