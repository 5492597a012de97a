package sandbox

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"sandboxd/seccomp"
)

// lent are the arguments of the calls that set a mode, by manual page: the descriptor (-1: none), the path (-1: none),
// the mode and the flags (-1: none).
var lent = map[string]struct{ dir, path, mode, flags int }{
	"chmod":     {-1, 0, 1, -1},
	"fchmod":    {0, -1, 1, -1},
	"fchmodat":  {0, 1, 2, -1},
	"fchmodat2": {0, 1, 2, 3},
}

// setGroupID makes a call that sets the set-group-ID bit in the place of its caller, where the object is a directory
// or, on a layer, a file, which lands without the bit. The object is opened once, through the sandbox's mounts, and
// then looked at and changed by that descriptor, so that nothing depends on what its name leads to meanwhile.
func (o *observer) setGroupID(c *seccomp.Call) seccomp.Answer {
	fd, err := o.object(c)
	if err == nil {
		defer unix.Close(fd)
		args := lent[c.Name]
		err = o.chmodOwn(fd, uint32(c.Args[args.mode]&0o7777))
	}
	var errno unix.Errno
	if err == nil || !errors.As(err, &errno) || errno == unix.EAGAIN {
		errno = unix.EPERM
	}
	if err == nil {
		return seccomp.Allow
	}
	return seccomp.Answer(errno)
}

// chmodOwn gives an opened object a mode, with the rights of a process without capabilities, which the daemon may have.
func (o *observer) chmodOwn(fd int, mode uint32) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	switch kind := st.Mode & unix.S_IFMT; {
	case int(st.Uid) != os.Geteuid(), kind != unix.S_IFDIR && (kind != unix.S_IFREG || !o.onLayer(fd)):
		return unix.EPERM
	}
	if groups, err := os.Getgroups(); err != nil || int(st.Gid) != os.Getegid() &&
		!slices.Contains(groups, int(st.Gid)) {
		mode &^= unix.S_ISGID // as the kernel does (chmod(2))
	}
	return unix.Chmod("/proc/self/fd/"+strconv.Itoa(fd), mode)
}

// onLayer reports whether an opened object is on the mount of a layer.
func (o *observer) onLayer(fd int) bool {
	mount := mountOf(fd, "")
	return mount != 0 && slices.ContainsFunc(o.layered, func(dir string) bool {
		return mountOf(o.rootFD, strings.TrimPrefix(dir, "/")) == mount
	})
}

// mountOf is the id of the mount of an object, 0 where the kernel does not tell (before Linux 5.8).
func mountOf(dir int, name string) uint64 {
	var st unix.Statx_t
	if unix.Statx(dir, name, unix.AT_EMPTY_PATH|unix.AT_SYMLINK_NOFOLLOW, unix.STATX_MNT_ID, &st) != nil ||
		st.Mask&unix.STATX_MNT_ID == 0 {
		return 0
	}
	return st.Mnt_id
}

// object opens what a lent call is about, as its caller would find it.
func (o *observer) object(c *seccomp.Call) (int, error) {
	args, name, flags := lent[c.Name], "", uint64(0)
	if args.path >= 0 {
		n, err := c.Memory(c.Args[args.path], o.path[:])
		if err != nil {
			return -1, unix.EFAULT
		}
		text, _, ended := bytes.Cut(o.path[:n], []byte{0})
		if !ended {
			return -1, unix.ENAMETOOLONG
		}
		name = string(text)
	}
	if args.flags >= 0 {
		flags = c.Args[args.flags]
	}
	of, at := "/proc/"+strconv.Itoa(c.Thread)+"/", "cwd"
	if args.dir >= 0 && int32(c.Args[args.dir]) != unix.AT_FDCWD {
		at = "fd/" + strconv.Itoa(int(int32(c.Args[args.dir])))
	}
	if link, ok := ownDescriptor(name); ok && flags&unix.AT_SYMLINK_NOFOLLOW == 0 {
		at, name = "fd/"+link, ""
	} else if name == "" && args.path >= 0 && flags&unix.AT_EMPTY_PATH == 0 {
		return -1, unix.ENOENT
	}
	base, err := unix.Open(of+at, unix.O_PATH|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) {
		return -1, unix.EBADF
	}
	if err != nil {
		return -1, unix.EPERM
	}
	if !c.Waits() { // another process may have had its number
		unix.Close(base)
		return -1, unix.ESRCH
	}
	if name == "" {
		return base, nil
	}
	defer unix.Close(base)
	return o.openAt(base, name, flags&unix.AT_SYMLINK_NOFOLLOW == 0)
}

// ownDescriptor returns the number in the name by which a process has its own descriptors, as libc's lchmod does.
func ownDescriptor(name string) (string, bool) {
	for _, dir := range []string{"/proc/self/fd/", "/proc/thread-self/fd/", "/dev/fd/"} {
		if number, ok := strings.CutPrefix(name, dir); ok {
			_, err := strconv.ParseUint(number, 10, 31)
			return number, err == nil
		}
	}
	return "", false
}

// openAt opens a path in the sandbox's tree, from a directory of the caller.
func (o *observer) openAt(base int, name string, follow bool) (int, error) {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS}
	if !follow {
		how.Flags |= unix.O_NOFOLLOW
	}
	if !strings.HasPrefix(name, "/") {
		fd, err := unix.Openat2(base, name, &how)
		if err == nil || !errors.Is(err, unix.EXDEV) && !errors.Is(err, unix.EAGAIN) {
			return fd, err
		}
		dir, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(base)) // a link or ".." leads out of it
		if err != nil || !strings.HasPrefix(dir, "/") {
			return -1, unix.EPERM
		}
		name = dir + "/" + name
	}
	if o.rootFD < 0 {
		return -1, unix.EPERM
	}
	how.Resolve = unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS
	return o.open(name, &how)
}
