// Package tree accesses one opened folder and everything below it, and nothing else, even if other
// processes rename entries meanwhile.
//
//	t, err := tree.Open("/home/ann/src/app")
//	spot, err := t.Resolve("docs/latest/notes.md", tree.Follow) // links inside are followed here
//	dir, err := t.Dir(path.Dir(spot.Rel))                       // and nowhere else
//	f, err := dir.Open(path.Base(spot.Rel))
//
// Resolve turns a path into one that is free of symbolic links and ".."; it changes nothing and its
// result may be out of date at once. All reads and changes use such a path, open it with a lookup
// that follows no link and cannot leave the folder (openat2 with RESOLVE_BENEATH,
// RESOLVE_NO_SYMLINKS and RESOLVE_NO_MAGICLINKS on Linux; one folder at a time with O_NOFOLLOW
// elsewhere), and then check the opened file: regular files and folders only, one name only, on the
// folder's own mount.
//
// # Mounts
//
// A mount below the folder is another tree, so files on it are refused. The exception is a mount
// that shows, at its own place, the same entries as the tree without it: the sandbox pins and
// protects folders by such binds.
//
// # Limitations
//
// An open folder is still written to when another process moves it out of the tree; no system call
// binds a change to a folder's present path.
package tree

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"sandboxd/files"
)

// Tree is an opened folder. Close it.
type Tree struct {
	path  string
	root  *os.File
	mount mountID
	links bool
	loose bool
	bulk  bool // see InBulk
}

// Options of Open.
type Options struct {
	// ManyNames permits reading files that have more than one name.
	ManyNames bool
}

// Open opens a folder by its absolute path, which must be free of symbolic
// links: it was resolved when it was configured, and must not lead elsewhere
// now.
func Open(path string, opts Options) (*Tree, error) {
	if !filepath.IsAbs(path) || filepath.Clean(path) != path {
		return nil, fmt.Errorf("open root %q: not an absolute, clean path", path)
	}
	top, err := unix.Open("/", pathOnly|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open root %q: %w", path, err)
	}
	defer unix.Close(top)
	fd, err := lookup(top, relative("/", path), unix.O_RDONLY|unix.O_DIRECTORY)
	if info, serr := os.Lstat(path); errors.Is(err, unix.EACCES) && serr == nil && info.Mode()&0o500 != 0o500 {
		return nil, fmt.Errorf("open root %q: it can't be listed, as its mode is %04o: run chmod u+rx %s", path,
			info.Mode().Perm(), path)
	}
	if err != nil {
		return nil, fmt.Errorf("open root %q: %w", path, err)
	}
	t := &Tree{path: path, root: os.NewFile(uintptr(fd), path), links: opts.ManyNames}
	if t.mount, err = mountOf(fd); err != nil {
		t.root.Close()
		return nil, fmt.Errorf("open root %q: %w", path, err)
	}
	return t, nil
}

// OfRun is the tree for the undo of a run: files of several names are permitted, and those of this user that their mode
// does not let it read, which have another mode while they are opened. What no sandbox can give an object (files.State,
// Unrestorable) it stays without. Only the first tree is closed.
func (t *Tree) OfRun() *Tree {
	c := *t
	c.links, c.loose = true, true
	return &c
}

// Path is the path that the tree was opened by.
func (t *Tree) Path() string { return t.path }

// Close closes the folder.
func (t *Tree) Close() error { return t.root.Close() }

// relative is p below root, or "." for root itself; both clean.
func relative(root, p string) string {
	rel, err := filepath.Rel(root, p)
	if err != nil {
		return p
	}
	return rel
}

// ID identifies a file while it exists.
type ID struct{ Device, Inode uint64 }

// Stat describes the entry under one name, links not followed.
type Stat struct {
	files.State
	ID
	Links uint64
	// ChangeTime is the inode's, in nanoseconds.
	ChangeTime int64
	// Young: an equal modification time does not prove equal content. The file had just changed,
	// and may have changed again within a tick.
	Young bool
}

// tick is an upper bound for the resolution of file times: a few milliseconds (inode(7) leaves that
// to the kernel; before Linux 6.13 it is a jiffy), or a second or two where times are whole
// seconds.
func tick(modTime int64) time.Duration {
	if modTime%int64(time.Second) == 0 {
		return 2 * time.Second
	}
	return 50 * time.Millisecond
}

// Reads notes that the content is read from now on.
func (s *Stat) Reads(now time.Time) {
	s.Young = now.Sub(time.Unix(0, s.ModTime)) < tick(s.ModTime)
}

func statOf(st *unix.Stat_t) Stat {
	s := Stat{
		State: files.State{
			Mode: uint32(st.Mode) & 0o7777, UID: st.Uid, GID: st.Gid, Size: st.Size, ModTime: st.Mtim.Nano(),
		},
		ID:         ID{uint64(st.Dev), st.Ino},
		Links:      uint64(st.Nlink),
		ChangeTime: st.Ctim.Nano(),
	}
	switch uint32(st.Mode) & unix.S_IFMT {
	case unix.S_IFREG:
		s.Kind = files.File
	case unix.S_IFDIR:
		s.Kind, s.Size = files.Dir, 0
	case unix.S_IFLNK:
		s.Kind = files.Symlink
	default:
		s.Kind = files.Other
	}
	return s
}

func fstat(fd int) (Stat, error) {
	var st unix.Stat_t
	if err := ignoringEINTR(func() error { return unix.Fstat(fd, &st) }); err != nil {
		return Stat{}, err
	}
	return statOf(&st), nil
}

// fstatat looks at a name in a folder; a name that is not there is Absent.
func fstatat(dir int, name string) (Stat, error) {
	var st unix.Stat_t
	err := ignoringEINTR(func() error { return unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW) })
	if err == unix.ENOENT {
		return Stat{State: files.State{Kind: files.Absent}}, nil
	}
	if err != nil {
		return Stat{}, err
	}
	return statOf(&st), nil
}

func ignoringEINTR(f func() error) error {
	for {
		if err := f(); err != unix.EINTR {
			return err
		}
	}
}
