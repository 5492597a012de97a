package tree

import "golang.org/x/sys/unix"

// pathOnly opens a file or folder without the right to read it, only to look
// at it and to start from it.
const pathOnly = unix.O_PATH
