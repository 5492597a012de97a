package layer

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// unfit are the file systems that can't hold a layer, by their magic numbers (statfs(2)).
var unfit = map[int64]string{
	unix.NFS_SUPER_MAGIC:       "NFS",
	unix.SMB_SUPER_MAGIC:       "SMB",
	unix.SMB2_SUPER_MAGIC:      "SMB",
	unix.CIFS_SUPER_MAGIC:      "SMB",
	unix.V9FS_MAGIC:            "9P",
	unix.FUSE_SUPER_MAGIC:      "FUSE",
	unix.MSDOS_SUPER_MAGIC:     "FAT",
	unix.OVERLAYFS_SUPER_MAGIC: "an overlay, as in a container",
}

// maxSampled bounds the entries of a root whose owners are looked at.
const maxSampled = 200

// Reason returns why a root can't have its layers in the directory dir, in words for a person; "" where it can. mapped
// reports whether the sandbox's user namespace maps an owner. It reads the root's top directory only, so a mount may
// still fail, and an object of an unmapped owner further below can't be changed in the layer (EOVERFLOW), which the
// sandbox names then.
func Reason(root *os.File, dir string, mapped func(uid, gid uint32) bool) (string, error) {
	reason, err := reasonOf(root, dir, mapped)
	if err != nil {
		return "", fmt.Errorf("plan layers of %q in %q: %w", root.Name(), dir, err)
	}
	return reason, nil
}

func reasonOf(root *os.File, dir string, mapped func(uid, gid uint32) bool) (string, error) {
	layers, err := unix.Open(dir, unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(layers)
	path, err := os.Readlink(procPath(int(root.Fd())))
	if err != nil {
		return "", err
	}
	at, err := os.Readlink(procPath(layers))
	if err != nil {
		return "", err
	}
	if Name(at).within(Name(path)) {
		return "the place of its layers, " + at + ", is inside it", nil
	}
	var fs unix.Statfs_t
	if err := unix.Fstatfs(int(root.Fd()), &fs); err != nil {
		return "", os.NewSyscallError("fstatfs", err)
	}
	if name := unfit[int64(fs.Type)]; name != "" {
		return "its file system is " + name, nil
	}
	if sub, err := submount(path); err != nil {
		return "", err
	} else if sub != "" {
		return "another file system is mounted below it, at " + sub, nil
	}
	// The kernel compares the mounts before it looks for the names (fs/namei.c, do_renameat2).
	const absent = ".sandboxd-layer-absent"
	if err := unix.Renameat2(layers, absent, int(root.Fd()), absent, unix.RENAME_NOREPLACE); err == unix.EXDEV {
		return "it is on another mount than the place of its layers, " + at, nil
	}
	if reason, err := apart(int(root.Fd()), layers); reason != "" || err != nil {
		return reason, err
	}
	// Without them the overlay marks no directory as one that it copied, and each changed one would land as a new one.
	if _, err := unix.Getxattr(procPath(layers), "user.overlay.origin", nil); err == unix.ENOTSUP {
		return "its file system has no extended attributes (tmpfs has them since Linux 6.6)", nil
	}
	// Landings make lock files of them.
	fd, err := unix.Openat(int(root.Fd()), ".", unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
	if err == unix.EOPNOTSUPP {
		return "its file system has no unnamed files (open(2), O_TMPFILE)", nil
	}
	if err != nil {
		return "", os.NewSyscallError("openat", err)
	}
	unix.Close(fd)
	return foreign(int(root.Fd()), mapped)
}

// apart returns why nothing can be renamed between two directories of one mount; "" where nothing is known against it.
func apart(a, b int) (string, error) {
	var devices [2]uint64
	var projects [2]uint32
	for i, fd := range []int{a, b} {
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			return "", os.NewSyscallError("fstat", err)
		}
		devices[i] = st.Dev
		// struct fsxattr (linux/fs.h). A file system without FS_IOC_FSGETXATTR has no projects.
		const get, inherits = 0x801c581f, 0x200
		var attributes [7]uint32
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), get, uintptr(unsafe.Pointer(&attributes))); errno == 0 &&
			attributes[0]&inherits != 0 {
			projects[i] = attributes[3]
		}
	}
	switch {
	case devices[0] != devices[1]: // btrfs has one for each
		return "it is in another subvolume than the place of its layers", nil
	case projects[0] != projects[1]: // fs/xfs/xfs_inode.c, xfs_rename; fs/ext4/namei.c, ext4_rename
		return fmt.Sprintf("its files belong to quota project %d, those of its layers to %d", projects[0], projects[1]), nil
	}
	return "", nil
}

// submount returns a mount point below a path (proc_pid_mountinfo(5)), "" if there is none.
func submount(path string) (string, error) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return "", err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 5 {
			continue
		}
		at, err := strconv.Unquote(`"` + strings.ReplaceAll(fields[4], `"`, `\"`) + `"`)
		if err == nil && at != path && Name(at).within(Name(path)) {
			return at, nil
		}
	}
	return "", lines.Err()
}

// foreign samples a root and its entries for owners that are not mapped, and for what an overlay of them would hide.
func foreign(root int, mapped func(uid, gid uint32) bool) (string, error) {
	fd, err := open(root, ".", dirFlags)
	if err != nil {
		return "", err
	}
	top := os.NewFile(uintptr(fd), ".")
	defer top.Close()
	entries, err := top.Readdirnames(maxSampled)
	if err != nil && err != io.EOF {
		return "", err
	}
	for _, name := range append(entries, ".") {
		s, err := stat(root, name)
		if err != nil {
			return "", err
		}
		switch {
		case s.Kind == Absent:
			continue
		case marked(root, name):
			return fmt.Sprintf("%q in it is marked as a part of an overlay, which hides such entries", name), nil
		case !mapped(s.UID, s.GID):
			return fmt.Sprintf("%q in it belongs to uid %d, gid %d, which a sandbox can't name", name, s.UID, s.GID), nil
		}
	}
	own, err := stat(root, ".")
	for _, list := range []string{accessAttribute, "system.posix_acl_default"} {
		if id, ok := unnamed(aclOf(root, ".", list), own, mapped); ok {
			return fmt.Sprintf("its access control list, which new files inherit, names id %d, which a sandbox can't", id), nil
		}
	}
	return "", err
}

// marked reports whether an overlay above an entry takes it for a whiteout, or for a part of another overlay
// (overlayfs.rst, "whiteouts and opaque directories").
func marked(dir int, name string) bool {
	var st unix.Stat_t
	if unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil && isWhiteout(&st) {
		return true
	}
	buf := make([]byte, maxXattrs)
	n, err := unix.Llistxattr(procPath(dir)+"/"+name, buf)
	return err == nil && bytes.Contains(append([]byte{0}, buf[:n]...), []byte("\x00"+overlayPrefix))
}

// unnamed returns a user or group of an access control list (linux/posix_acl_xattr.h) that is not mapped.
func unnamed(list []byte, s State, mapped func(uid, gid uint32) bool) (id uint32, ok bool) {
	const user, group = 0x02, 0x08
	for at := 4; at+8 <= len(list); at += 8 {
		id := binary.LittleEndian.Uint32(list[at+4:])
		switch tag := binary.LittleEndian.Uint16(list[at:]); {
		case tag == user && !mapped(id, s.GID), tag == group && !mapped(s.UID, id):
			return id, true
		}
	}
	return 0, false
}

// maxTick bounds the wait for a later time of a file system.
const maxTick = 3 * time.Second

// now returns a time of the file system of a directory of mode 0700 that no earlier change there has: it changes the
// directory until that gets a later time than the first change did. Since Linux 6.13 a time that somebody has read is
// not given to a later change of the same object; before, changes within one tick of the clock, 1 to 10 ms, have the
// same one.
func now(dir string) (int64, error) {
	f, err := os.Open(dir)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	change := func() (State, error) {
		if err := unix.Fchmod(int(f.Fd()), 0o700); err != nil {
			return State{}, err
		}
		return fstat(int(f.Fd()))
	}
	first, err := change()
	for begin, later := time.Now(), first; err == nil && time.Since(begin) < maxTick; time.Sleep(time.Millisecond) {
		if later, err = change(); later.CTime > first.CTime {
			return later.CTime, err
		}
	}
	return 0, fmt.Errorf("read the clock of %q: %w", dir, cmp.Or(err, errors.New("it does not advance")))
}
