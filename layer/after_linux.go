package layer

import (
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"sandboxd/git"
)

// After is the machine's file system as it will be when a part of a change set has landed: a [git.Host]. A
// [fs.FileInfo] of it has a *unix.Stat_t, of a new object with the inode of its copy and without a device.
type After struct {
	l    *Layer
	root string
	view view
	ops  map[Name]int // by Path
}

// After returns the file system after the landing of the chosen Ops, and then Dirs, in the root at an absolute path
// without links.
func (l *Layer) After(root string, chosen func(i int) bool) *After {
	a := &After{l: l, root: root, view: viewOf(l, chosen), ops: map[Name]int{}}
	for i, op := range l.set.Ops {
		if chosen(i) {
			a.ops[op.Path] = i
		}
	}
	return a
}

// Names are the absolute paths that the landing replaces, each as a whole.
func (a *After) Names() (list []string) {
	for at := range a.ops {
		list = append(list, path.Join(a.root, string(at)))
	}
	slices.Sort(list)
	return list
}

// below returns a path relative to the root; ok is false outside of it.
func (a *After) below(name string) (rel Name, ok bool) {
	if name == a.root {
		return ".", true
	}
	rest, ok := strings.CutPrefix(name, strings.TrimSuffix(a.root, "/")+"/")
	return Name(rest), ok
}

// direct is After for paths without links above their last element.
type direct struct{ *After }

func (d direct) Lstat(name string) (fs.FileInfo, error) {
	name = path.Clean(name)
	rel, inside := d.below(name)
	if inside && d.view.covered(rel) {
		s := d.view.nodes[rel]
		if s.Kind == Absent {
			return nil, &fs.PathError{Op: "lstat", Path: name, Err: unix.ENOENT}
		}
		return &info{path.Base(name), s.stat()}, nil
	}
	i := &info{name: path.Base(name)}
	if err := unix.Lstat(name, &i.st); err != nil {
		return nil, &fs.PathError{Op: "lstat", Path: name, Err: err}
	}
	if now, changed := d.view.dirs[rel]; inside && changed && i.IsDir() {
		i.st.Mode = unix.S_IFDIR | now.Mode
	}
	return i, nil
}

func (d direct) Readlink(name string) (string, error) {
	if rel, inside := d.below(path.Clean(name)); inside && d.view.covered(rel) {
		if s := d.view.nodes[rel]; s.Kind == Symlink {
			return string(s.Target), nil
		}
		return "", &fs.PathError{Op: "readlink", Path: name, Err: unix.EINVAL}
	}
	return os.Readlink(name)
}

// parent returns a name without links above its last element.
func (a *After) parent(name string) (string, error) {
	if dir := path.Dir(name); dir != name {
		real, _, err := git.Resolve(direct{a}, dir)
		return path.Join(real, path.Base(name)), err
	}
	return name, nil
}

// Lstat implements [git.Host].
func (a *After) Lstat(name string) (fs.FileInfo, error) {
	name, err := a.parent(name)
	if err != nil {
		return nil, err
	}
	return direct{a}.Lstat(name)
}

// Readlink implements [git.Host].
func (a *After) Readlink(name string) (string, error) {
	name, err := a.parent(name)
	if err != nil {
		return "", err
	}
	return direct{a}.Readlink(name)
}

// covered resolves a name, and reports whether the change set alone has the object there.
func (a *After) covered(name string) (real string, rel Name, yes bool, err error) {
	real, missing, err := git.Resolve(direct{a}, name)
	if err == nil && missing {
		err = &fs.PathError{Op: "open", Path: name, Err: unix.ENOENT}
	}
	rel, inside := a.below(real)
	return real, rel, inside && a.view.covered(rel), err
}

// ReadFile implements [git.Host].
func (a *After) ReadFile(name string, most int64) ([]byte, error) {
	real, rel, covered, err := a.covered(name)
	if err != nil || !covered {
		if err == nil {
			return git.Disk.ReadFile(real, most)
		}
		return nil, err
	}
	var text []byte
	err = a.copied(rel, func(f *os.File) error {
		if text, err = io.ReadAll(io.LimitReader(f, most+1)); err == nil && int64(len(text)) > most {
			err = errors.New("too large")
		}
		return err
	})
	return text, err
}

// ReadAt implements [git.Host].
func (a *After) ReadAt(name string, at int64, n int) ([]byte, error) {
	real, rel, covered, err := a.covered(name)
	if err != nil || !covered {
		if err == nil {
			return git.Disk.ReadAt(real, at, n)
		}
		return nil, err
	}
	text := make([]byte, n)
	err = a.copied(rel, func(f *os.File) error {
		if n, err = f.ReadAt(text, at); errors.Is(err, io.EOF) {
			err = nil
		}
		return err
	})
	return text[:n], err
}

// ReadDir implements [git.Host].
func (a *After) ReadDir(name string) ([]fs.DirEntry, error) {
	real, rel, covered, err := a.covered(name)
	if err != nil {
		return nil, err
	}
	found := map[string]fs.DirEntry{}
	if covered {
		if a.view.nodes[rel].Kind != Dir {
			return nil, &fs.PathError{Op: "readdir", Path: name, Err: unix.ENOTDIR}
		}
	} else {
		list, err := git.Disk.ReadDir(real)
		if err != nil {
			return nil, err
		}
		for _, e := range list {
			found[e.Name()] = e
		}
	}
	if _, inside := a.below(real); inside {
		for _, base := range a.view.entries[rel] {
			delete(found, base)
			if i, err := (direct{a}).Lstat(path.Join(real, base)); err == nil {
				found[base] = fs.FileInfoToDirEntry(i)
			}
		}
	}
	byName := func(x, y fs.DirEntry) int { return strings.Compare(x.Name(), y.Name()) }
	return slices.SortedFunc(maps.Values(found), byName), nil
}

// copied calls f with the opened copy of a new file. Directories whose mode closes them are open to it for that time.
func (a *After) copied(at Name, f func(*os.File) error) error {
	top := at
	for !a.view.tops[top] {
		top, _ = top.split()
	}
	if s := a.view.nodes[at]; s.Kind != File {
		return &fs.PathError{Op: "open", Path: string(at), Err: fs.ErrNotExist}
	}
	slots, err := os.Open(a.l.slots())
	if err != nil {
		return err
	}
	defer slots.Close()
	file, err := reach(int(slots.Fd()), Name(itoa(a.ops[top])+strings.TrimPrefix(string(at), string(top))))
	if err != nil {
		return err
	}
	defer file.Close()
	return f(file)
}

// stat returns the state as stat(2) has it.
func (s State) stat() unix.Stat_t {
	st := unix.Stat_t{Mode: s.Mode, Uid: s.UID, Gid: s.GID, Size: s.Size, Ino: s.Inode, Nlink: 1,
		Mtim: unix.NsecToTimespec(s.MTime), Ctim: unix.NsecToTimespec(s.CTime)}
	switch s.Kind {
	case File:
		st.Mode |= unix.S_IFREG
		st.Nlink = s.Links
	case Dir:
		st.Mode |= unix.S_IFDIR
	case Symlink:
		st.Mode |= unix.S_IFLNK | 0o777
		st.Size = int64(len(s.Target))
	default:
		st.Mode |= unix.S_IFIFO
	}
	return st
}

// info is a [fs.FileInfo] of a unix.Stat_t.
type info struct {
	name string
	st   unix.Stat_t
}

func (i *info) Name() string       { return i.name }
func (i *info) Size() int64        { return i.st.Size }
func (i *info) ModTime() time.Time { return time.Unix(0, i.st.Mtim.Nano()) }
func (i *info) IsDir() bool        { return i.Mode().IsDir() }
func (i *info) Sys() any           { return &i.st }

func (i *info) Mode() fs.FileMode {
	mode := fs.FileMode(i.st.Mode & 0o777)
	for bit, as := range map[uint32]fs.FileMode{
		unix.S_ISUID: fs.ModeSetuid, unix.S_ISGID: fs.ModeSetgid, unix.S_ISVTX: fs.ModeSticky,
	} {
		if i.st.Mode&bit != 0 {
			mode |= as
		}
	}
	switch i.st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		return mode
	case unix.S_IFDIR:
		return mode | fs.ModeDir
	case unix.S_IFLNK:
		return mode | fs.ModeSymlink
	}
	return mode | fs.ModeIrregular
}
