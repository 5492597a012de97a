// Package fdconn sends and receives descriptors with the bytes of a Unix stream socket (SCM_RIGHTS in unix(7)).
//
//	n, files, err := fdconn.Read(conn, b, 3)
//	defer fdconn.Close(files)
//
// A received descriptor is close-on-exec. It belongs to the caller, also where Read fails.
package fdconn

import (
	"errors"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// Max is the number of descriptors that one message can carry (SCM_MAX_FD).
const Max = 253

// ErrTooMany is returned with the descriptors that fitted where the peer sent more than the caller takes.
var ErrTooMany = errors.New("more descriptors came than are taken")

// Read reads once into b, and returns at most most descriptors that came with the bytes. An error
// of the connection is returned as it is; else it is [ErrTooMany], or one of the kernel's message,
// and b still holds n bytes.
func Read(c *net.UnixConn, b []byte, most int) (n int, files []*os.File, err error) {
	oob := make([]byte, unix.CmsgSpace(4*most))
	n, oobn, flags, _, err := c.ReadMsgUnix(b, oob) // package net asks for MSG_CMSG_CLOEXEC
	if oobn > 0 {
		messages, perr := unix.ParseSocketControlMessage(oob[:oobn])
		if err == nil {
			err = perr
		}
		for i := range messages {
			fds, perr := unix.ParseUnixRights(&messages[i])
			if perr != nil {
				continue // another kind of message
			}
			for _, fd := range fds {
				files = append(files, os.NewFile(uintptr(fd), "passed"))
			}
		}
	}
	if err == nil && (flags&unix.MSG_CTRUNC != 0 || len(files) > most) {
		err = ErrTooMany
	}
	return n, files, err
}

// Write writes b whole, with descriptors at its first byte. They stay the caller's.
func Write(c *net.UnixConn, b []byte, fds ...int) (n int, err error) {
	var rights []byte
	if len(fds) > 0 {
		rights = unix.UnixRights(fds...)
	}
	if n, _, err = c.WriteMsgUnix(b, rights, nil); err != nil || n == len(b) {
		return n, err
	}
	more, err := c.Write(b[n:])
	return n + more, err
}

// Numbers returns the descriptors of files.
func Numbers(files []*os.File) []int {
	fds := make([]int, len(files))
	for i, f := range files {
		fds[i] = int(f.Fd())
	}
	return fds
}

// Close closes files, nil ones aside.
func Close(files []*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}
