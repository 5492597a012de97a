package tree

import (
	"encoding/binary"
	"strconv"

	"golang.org/x/sys/unix"

	"sandboxd/files"
)

const errNoAttr = unix.ENODATA

// setTimesFd sets an opened file's modification time. The system call takes a
// name; an empty one with the descriptor needs Linux 5.8 (utimensat(2)), so it
// falls back to /proc.
func setTimesFd(fd int, ns int64) error {
	ts := []unix.Timespec{omitTime, unix.NsecToTimespec(ns)}
	err := ignoringEINTR(func() error { return unix.UtimesNanoAt(fd, "", ts, unix.AT_EMPTY_PATH) })
	if err == nil {
		return nil
	}
	link := "/proc/self/fd/" + strconv.Itoa(fd)
	return ignoringEINTR(func() error { return unix.UtimesNanoAt(unix.AT_FDCWD, link, ts, 0) })
}

// chmodFd sets the mode of a file that was opened by path only.
func chmodFd(fd int, mode uint32) error {
	return ignoringEINTR(func() error { return unix.Chmod("/proc/self/fd/"+strconv.Itoa(fd), mode) })
}

// chownLink sets a link's owner and group; an entry that another process has put under its name
// meanwhile stays unchanged.
func chownLink(dir int, name string, want files.State) error {
	fd, err := lookup(dir, name, unix.O_PATH)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if st, err := fstat(fd); err != nil || st.Kind != files.Symlink {
		return unix.ENOENT
	}
	return ignoringEINTR(func() error { return unix.Fchownat(fd, "", int(want.UID), int(want.GID), unix.AT_EMPTY_PATH) })
}

// defaultACL is the most that the default access control list of a folder, where it has one,
// gives a file's owner, group (by the mask, where there is one) and everybody else
// (posix_acl_create_masq in the kernel; linux/posix_acl_xattr.h).
func defaultACL(dir int) (mode uint32, ok bool) {
	list := make([]byte, maxXattr)
	n, err := unix.Fgetxattr(dir, "system.posix_acl_default", list)
	if err == unix.EBADF { // opened for its path only
		n, err = unix.Getxattr("/proc/self/fd/"+strconv.Itoa(dir), "system.posix_acl_default", list)
	}
	if err != nil || n < 4 {
		return 0, false
	}
	masked := false
	for entry := list[4:n]; len(entry) >= 8; entry = entry[8:] {
		perm := uint32(binary.LittleEndian.Uint16(entry[2:]) & 7)
		switch binary.LittleEndian.Uint16(entry) {
		case 0x01: // ACL_USER_OBJ
			mode |= perm << 6
		case 0x04: // ACL_GROUP_OBJ, before the mask
			if !masked {
				mode = mode&^0o070 | perm<<3
			}
		case 0x10: // ACL_MASK
			mode, masked = mode&^0o070|perm<<3, true
		case 0x20: // ACL_OTHER
			mode |= perm
		}
	}
	return mode, true
}
