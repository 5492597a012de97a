package layer

import (
	"errors"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"sandboxd/git"
)

// maxReferences bounds the bytes of a file of references.
const maxReferences = 64 << 20

// repositories returns a function that finds the nearest git directory at or above a path of the root: a directory with
// a file HEAD and directories objects and refs, or the own part of a linked work tree (gitrepository-layout(5)).
func repositories(root int) func(at Name) (Name, bool) {
	is := gitDirs(root)
	return func(at Name) (Name, bool) {
		dir, ok := git.Enclosing(string(at), is)
		return Name(dir), ok
	}
}

// gitDirs returns isGitDir for a root. It looks once at each directory.
func gitDirs(root int) func(dir string) bool {
	known := map[string]bool{}
	return func(dir string) bool {
		if _, asked := known[dir]; !asked {
			known[dir] = isGitDir(root, Name(dir))
		}
		return known[dir]
	}
}

func isGitDir(root int, dir Name) bool {
	kind := func(name string) Kind {
		fd, err := open(root, path.Join(string(dir), name), unix.O_PATH)
		if err != nil {
			return Absent
		}
		defer unix.Close(fd)
		s, err := fstat(fd)
		if err != nil {
			return Absent
		}
		return s.Kind
	}
	return kind("HEAD") == File && (kind("objects") == Dir && kind("refs") == Dir || kind("commondir") == File)
}

// lockFiles returns the lock files of git that a landing of the paths has to hold ([git.LockFiles]).
func lockFiles(root int, paths []Name) (out []Name) {
	var names []string
	for _, at := range paths {
		names = append(names, string(at))
	}
	for _, at := range git.LockFiles(names, gitDirs(root)) {
		out = append(out, Name(at))
	}
	return out
}

// pruned returns the references that the move restored, without the objects that they name.
func (m *mover) pruned() (missing []Note) {
	repository := repositories(m.root)
	for _, i := range m.todo {
		at := m.set.Ops[i].Path
		repo, ok := repository(at)
		if m.to[i] || !ok || at == repo || !git.IsReference(strings.TrimPrefix(string(at), string(repo)+"/")) {
			continue
		}
		for _, node := range m.set.Ops[i].Old {
			text, _ := git.Disk.ReadFile(procPath(m.root)+"/"+string(join(at, node.Path)), maxReferences)
			lost, err := git.Missing(git.Disk, procPath(m.root)+"/"+string(repo), string(text))
			if err != nil {
				missing = append(missing, Note{at, err.Error()})
			}
			for _, id := range lost {
				missing = append(missing, Note{join(at, node.Path), "git no longer has its object " + id})
			}
		}
	}
	return missing
}

// lock makes the lock files. It fails with a ConflictError where git holds one of them; none is left then.
func (m *mover) lock() error {
	for _, at := range m.l.state.Locks {
		dir, base := at.split()
		fd, err := open(m.root, string(dir), unix.O_PATH|unix.O_DIRECTORY)
		if err == unix.ENOENT || err == unix.ENOTDIR {
			continue // a reference in a new directory: nobody else locks it
		}
		if err != nil {
			return err
		}
		err = lockFile(fd, base, m.l.state.Lock)
		unix.Close(fd)
		if err == unix.EEXIST {
			return &ConflictError{[]Note{{at, "git holds this lock; wait until it ends, or remove the file if none runs"}}}
		}
		if err != nil {
			return os.NewSyscallError("lock "+string(at), err)
		}
	}
	return nil
}

// lockFile makes a file that has its content from the beginning, so that recovery knows it.
func lockFile(dir int, name, content string) error {
	fd, err := unix.Openat(dir, ".", unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := pwriteFull(fd, []byte(content), 0); err != nil {
		return err
	}
	return unix.Linkat(unix.AT_FDCWD, procPath(fd), dir, name, unix.AT_SYMLINK_FOLLOW)
}

// unlock removes the lock files that have the layer's own content.
func (m *mover) unlock() error {
	var errs []error
	for _, at := range m.l.state.Locks {
		dir, base := at.split()
		fd, err := open(m.root, string(dir), unix.O_PATH|unix.O_DIRECTORY)
		if err != nil {
			continue
		}
		if m.ours(fd, base) {
			if err := unix.Unlinkat(fd, base, 0); err != nil {
				errs = append(errs, os.NewSyscallError("unlock "+string(at), err))
			}
		}
		unix.Close(fd)
	}
	return errors.Join(errs...)
}

// ours reports whether a lock file was made by this move.
func (m *mover) ours(dir int, name string) bool {
	f, err := open(dir, name, unix.O_RDONLY|unix.O_NONBLOCK)
	if err != nil {
		return false
	}
	defer unix.Close(f)
	buf := make([]byte, len(m.l.state.Lock)+1)
	n, err := preadFull(f, buf, 0)
	return err == nil && string(buf[:n]) == m.l.state.Lock
}
