package git

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"

	"sandboxd/profile/abspath"
)

// Host is the file system that repositories are read from. Names are absolute and use slashes.
type Host interface {
	Lstat(name string) (fs.FileInfo, error)
	Readlink(name string) (string, error)
	// ReadFile reads a regular file of at most max bytes, without waiting on pipes. A directory does not exist to it.
	ReadFile(name string, max int64) ([]byte, error)
	// ReadAt reads up to n bytes of a regular file, fewer where it ends before. It waits on no pipe, and a directory does
	// not exist to it.
	ReadAt(name string, at int64, n int) ([]byte, error)
	// ReadDir reads a directory. Another kind of file does not exist to it.
	ReadDir(name string) ([]fs.DirEntry, error)
}

// Disk is the machine's own file system.
var Disk Host = disk{}

type disk struct{}

func (disk) Lstat(name string) (fs.FileInfo, error) { return os.Lstat(name) }
func (disk) Readlink(name string) (string, error)   { return os.Readlink(name) }

func (disk) ReadDir(name string) ([]fs.DirEntry, error) {
	d, err := OpenDir(name)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	out, err := d.ReadDir(-1)
	slices.SortFunc(out, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return out, err
}

// OpenDir opens a directory. It fails at once for a file of another kind, a pipe included.
func OpenDir(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
}

func (disk) ReadFile(name string, most int64) ([]byte, error) {
	f, err := openRegular(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(b)) > most {
		err = errors.New("too large")
	}
	return b, err
}

func (disk) ReadAt(name string, at int64, n int) ([]byte, error) {
	f, err := openRegular(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := make([]byte, n)
	n, err = f.ReadAt(b, at)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return b[:n], err
}

// openRegular opens a regular file without waiting on a pipe.
func openRegular(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case info.IsDir():
		err = fs.ErrNotExist
	case !info.Mode().IsRegular():
		err = &fs.PathError{Op: "read", Path: name, Err: errors.New("not a regular file")}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Resolve returns the path to which name leads ([abspath.Follow]). It reports missing where the end does not exist; the
// rest of the path follows unchanged.
func Resolve(h Host, name string) (real string, missing bool, err error) {
	real, missing, _, err = Way(h, name)
	return real, missing, err
}

// Way is [Resolve], and returns in steps each path that decides where name leads: the directories and links that it
// passes, existing or not, and its end. The steps are complete up to an error.
func Way(h Host, name string) (real string, missing bool, steps []string, err error) {
	real, err = abspath.Follow(name, func(at string) (string, error) {
		steps = append(steps, at)
		if missing {
			return "", nil
		}
		info, err := h.Lstat(at)
		if missing = absent(err); missing {
			return "", nil
		}
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			return "", err
		}
		return h.Readlink(at)
	})
	return real, missing, steps, err
}

// absent reports whether an error says that a file does not exist.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// stat is Lstat of where a name leads.
func stat(h Host, name string) (fs.FileInfo, error) {
	real, missing, err := Resolve(h, name)
	switch {
	case err != nil:
		return nil, err
	case missing:
		return nil, fs.ErrNotExist
	}
	return h.Lstat(real)
}

// reason is the part of a file error that does not repeat the path.
func reason(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}
