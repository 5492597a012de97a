//go:build linux

package bwrap

import (
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// HostFS returns the real file system, rooted at "/", for [Host]. It never
// follows a symbolic link, neither in the last component nor on the way to it:
// a name that crosses one fails with ELOOP. It uses openat2(2), and on a kernel
// before 5.6 opens component by component with O_NOFOLLOW.
func HostFS() fs.ReadLinkFS { return hostFS{} }

type hostFS struct{}

var (
	_ fs.ReadLinkFS = hostFS{}
	_ fs.ReadDirFS  = hostFS{}
)

// open opens name without following links and passes the descriptor to use.
func (hostFS) open(op, name string, flags uint64, use func(fd int) error) error {
	if !fs.ValidPath(name) {
		return &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	how := unix.OpenHow{
		Flags:   flags | unix.O_CLOEXEC | unix.O_NOFOLLOW,
		Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	}
	fd, err := unix.Openat2(unix.AT_FDCWD, "/"+name, &how)
	if err == unix.ENOSYS {
		fd, err = openEach(name, int(how.Flags))
	}
	if err == nil {
		defer unix.Close(fd)
		err = use(fd)
	}
	if err != nil {
		return &fs.PathError{Op: op, Path: "/" + name, Err: err}
	}
	return nil
}

// openEach is openat2 with RESOLVE_NO_SYMLINKS for kernels without it.
func openEach(name string, flags int) (int, error) {
	const step = unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	if name == "." {
		return unix.Open("/", flags, 0)
	}
	dir, err := unix.Open("/", step, 0)
	if err != nil {
		return dir, err
	}
	elements := strings.Split(name, "/")
	for i, element := range elements {
		if i == len(elements)-1 {
			fd, err := unix.Openat(dir, element, flags, 0)
			unix.Close(dir)
			return fd, err
		}
		next, err := unix.Openat(dir, element, step, 0)
		unix.Close(dir)
		if err == unix.ENOTDIR {
			err = unix.ELOOP // O_DIRECTORY|O_NOFOLLOW on a link, or a file: no way through either
		}
		if err != nil {
			return -1, err
		}
		dir = next
	}
	panic("unreachable: a valid path has an element")
}

func (h hostFS) Open(name string) (fs.File, error) {
	var file *os.File
	err := h.open("open", name, unix.O_RDONLY|unix.O_NONBLOCK, func(fd int) error {
		dup, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
		if err == nil {
			file = os.NewFile(uintptr(dup), "/"+name)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return file, nil
}

func (h hostFS) Lstat(name string) (fs.FileInfo, error) {
	info := hostInfo{name: path.Base("/" + name)}
	err := h.open("lstat", name, unix.O_PATH, func(fd int) error { return unix.Fstat(fd, &info.stat) })
	if err != nil {
		return nil, err
	}
	return info, nil
}

func (h hostFS) ReadLink(name string) (string, error) {
	var target string
	err := h.open("readlink", name, unix.O_PATH, func(fd int) error {
		buffer := make([]byte, unix.PathMax)
		n, err := unix.Readlinkat(fd, "", buffer)
		if err == nil {
			target = string(buffer[:n])
		}
		return err
	})
	return target, err
}

func (h hostFS) ReadDir(name string) ([]fs.DirEntry, error) {
	var entries []fs.DirEntry
	err := h.open("readdir", name, unix.O_RDONLY|unix.O_DIRECTORY, func(fd int) error {
		dup, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			return err
		}
		dir := os.NewFile(uintptr(dup), "/"+name)
		defer dir.Close()
		entries, err = dir.ReadDir(-1)
		return err
	})
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, err
}

// hostInfo is the part of stat(2) that the compiler reads.
type hostInfo struct {
	name string
	stat unix.Stat_t
}

func (i hostInfo) Name() string       { return i.name }
func (i hostInfo) Size() int64        { return i.stat.Size }
func (i hostInfo) ModTime() time.Time { return time.Unix(i.stat.Mtim.Unix()) }
func (i hostInfo) IsDir() bool        { return i.Mode().IsDir() }
func (i hostInfo) Sys() any           { return &i.stat }
func (i hostInfo) Links() uint64      { return uint64(i.stat.Nlink) }
func (i hostInfo) Owner() uint32      { return i.stat.Uid }

func (i hostInfo) Mode() fs.FileMode {
	mode := fs.FileMode(i.stat.Mode & 0o777)
	switch i.stat.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		mode |= fs.ModeDir
	case unix.S_IFLNK:
		mode |= fs.ModeSymlink
	case unix.S_IFSOCK:
		mode |= fs.ModeSocket
	case unix.S_IFIFO:
		mode |= fs.ModeNamedPipe
	case unix.S_IFCHR:
		mode |= fs.ModeDevice | fs.ModeCharDevice
	case unix.S_IFBLK:
		mode |= fs.ModeDevice
	}
	return mode
}
