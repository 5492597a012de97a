//go:build unix

package tree

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"sandboxd/files"
)

// maxXattr bounds one attribute's value (limits.h XATTR_SIZE_MAX).
const maxXattr = 64 << 10

// readXattrs reads all extended attributes of an opened file; a file system
// without them has none.
func readXattrs(fd int) (map[string][]byte, error) {
	n, err := unix.Flistxattr(fd, nil)
	if err == nil && n == 0 { // as most files
		return nil, nil
	}
	buf := make([]byte, maxXattr)
	if err == nil {
		n, err = unix.Flistxattr(fd, buf)
	}
	if err == unix.ENOTSUP || err == unix.EPERM || err == unix.EBADF {
		return nil, nil
	}
	if err != nil || n == 0 {
		return nil, err
	}
	out := map[string][]byte{}
	value := make([]byte, maxXattr)
	for name := range strings.SplitSeq(strings.TrimSuffix(string(buf[:n]), "\x00"), "\x00") {
		if n, err = unix.Fgetxattr(fd, name, value); err != nil {
			if errors.Is(err, errNoAttr) {
				continue
			}
			return nil, err
		}
		out[name] = bytes.Clone(value[:n])
	}
	return out, nil
}

func unkept(format string, args ...any) error {
	return &files.Conflict{Reason: files.Unkept, Found: fmt.Sprintf(format, args...)}
}

// dress makes an opened file or folder look as wanted: owner, mode, extended
// attributes, and the modification time where there is one.
func dress(fd int, want files.State) error {
	// Setting attributes takes the permission to write (xattr(7)), which the mode may deny.
	first := want
	if len(want.Xattrs) > 0 {
		first.Mode |= 0o200
	}
	if err := own(fd, first); err != nil {
		return err
	}
	if err := dressXattrs(fd, want.Xattrs); err != nil {
		return err
	}
	if first.Mode != want.Mode {
		if err := own(fd, want); err != nil {
			return err
		}
	}
	if err := owned(fd, want); err != nil {
		return err
	}
	if want.ModTime != 0 {
		return setTimesFd(fd, want.ModTime)
	}
	return nil
}

// reachable is what a wanted state becomes in the undo of a run: without what the object lacks and no worker can give,
// another owner for example. The content comes back in any case.
func (t *Tree) reachable(fd int, want files.State) files.State {
	if !t.loose {
		return want
	}
	st, err := fstat(fd)
	if err != nil {
		return want
	}
	if int(st.UID) != os.Geteuid() && want.ModTime != 0 && setTimesFd(fd, want.ModTime) != nil { // written where it is
		want.ModTime = 0
	}
	if st.UID != want.UID && unix.Fchown(fd, int(want.UID), -1) != nil {
		want.UID = st.UID
	}
	if st.GID != want.GID && unix.Fchown(fd, -1, int(want.GID)) != nil {
		want.GID = st.GID
	}
	if want.Mode&files.SetIDBits&^st.Mode != 0 && (want.Unrestorable() != "" || unix.Fchmod(fd, want.Mode) != nil) {
		want.Mode &^= files.SetIDBits &^ st.Mode // without a listener a folder lacks its bit, too
	}
	if want.Unrestorable() == "" {
		return want
	}
	have, err := readXattrs(fd)
	if err != nil {
		return want
	}
	want.Xattrs = maps.Clone(want.Xattrs)
	maps.DeleteFunc(want.Xattrs, func(name string, value []byte) bool {
		return files.ForeignACL(name, value) && !bytes.Equal(have[name], value)
	})
	return want
}

// own gives an opened file or folder owner and mode.
func own(fd int, want files.State) error {
	st, err := fstat(fd)
	if err != nil {
		return err
	}
	if st.UID != want.UID || st.GID != want.GID {
		if err := unix.Fchown(fd, int(want.UID), int(want.GID)); err != nil {
			return unkept("it belongs to uid %d, gid %d, and we, uid %d, cannot give it to them (%v)", want.UID, want.GID,
				os.Geteuid(), err)
		}
	}
	if st.Mode != want.Mode {
		if err := unix.Fchmod(fd, want.Mode); err != nil {
			return unkept("its mode %04o cannot be set (%v)", want.Mode, err)
		}
	}
	return nil
}

// owned checks the result of own.
func owned(fd int, want files.State) error {
	if now, err := fstat(fd); err != nil || now.Mode != want.Mode || now.UID != want.UID || now.GID != want.GID {
		return unkept("mode %04o, uid %d, gid %d became mode %04o, uid %d, gid %d", want.Mode, want.UID, want.GID, now.Mode,
			now.UID, now.GID)
	}
	return nil
}

// dressXattrs sets the wanted attributes and removes those from a folder's default.
func dressXattrs(fd int, want map[string][]byte) error {
	have, err := readXattrs(fd)
	if err != nil {
		return err
	}
	names := make([]string, 0, len(want))
	for name := range want {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if bytes.Equal(have[name], want[name]) && have[name] != nil {
			continue
		}
		if err := unix.Fsetxattr(fd, name, want[name], 0); err != nil {
			return unkept("its extended attribute %s cannot be set (%v)", name, err)
		}
	}
	for name := range have {
		if _, ok := want[name]; ok || strings.HasPrefix(name, "security.") || strings.HasPrefix(name, "com.apple.") {
			continue
		}
		if err := unix.Fremovexattr(fd, name); err != nil && !errors.Is(err, errNoAttr) {
			return unkept("an extended attribute %s came from its folder and cannot be taken away (%v)", name, err)
		}
	}
	return nil
}
