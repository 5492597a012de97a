package supervisor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"sandboxd/internal/durable"
	"sandboxd/profile"
)

// A worktree's new place outside the project, which a yes opens, has to exist before the sandbox is made: a mount needs
// it. git accepts an empty directory. The daemon creates it, and removes it where the command left it empty; a note in
// the state directory has the next daemon do so.

// mayCreate reports whether a person may be offered to have a directory created: its parent is a directory that only
// the daemon's user writes, and what is openable. A directory that exists is empty.
func (s *Supervisor) mayCreate(sess *Session, p profile.Profile, path string) bool {
	parent := filepath.Dir(path)
	if real, err := filepath.EvalSymlinks(parent); err != nil || real != parent || s.created == "" {
		return false
	}
	if !onlyOurs(parent) {
		return false
	}
	if entries, err := os.ReadDir(path); err == nil && len(entries) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	if info, err := os.Lstat(path); err == nil && !info.IsDir() {
		return false
	}
	return s.openable(sess, p, path)
}

// onlyOurs reports whether a directory is writable for the daemon's user alone.
func onlyOurs(dir string) bool {
	var st unix.Stat_t
	return unix.Lstat(dir, &st) == nil && int(st.Uid) == os.Geteuid() && st.Mode&0o022 == 0
}

// create makes the directory that a yes opened, unless it exists.
func (s *Supervisor) create(e *Exec, path string) error {
	if e.created == path {
		return nil
	}
	if err := os.MkdirAll(s.created, 0o700); err != nil {
		return err
	}
	note := filepath.Join(s.created, e.ID)
	if err := durable.Replace(note, []byte(path)); err != nil {
		return fmt.Errorf("note what is created: %w", err)
	}
	e.created = path
	parent, err := openRoot(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("create %q: %w", path, err)
	}
	defer parent.Close()
	dir := int(parent.Fd())
	switch err = unix.Mkdirat(dir, filepath.Base(path), 0o755); {
	case errors.Is(err, fs.ErrExist):
		e.created = "" // another's
		return os.Remove(note)
	case err != nil:
		return fmt.Errorf("create %q: %w", path, err)
	}
	return unix.Fchmodat(dir, filepath.Base(path), 0o755, 0) // the daemon's umask is not the person's
}

// clearCreated removes the directory that was created for a command and is still empty.
func (s *Supervisor) clearCreated(e *Exec) {
	if e.created != "" {
		removeCreated(filepath.Join(s.created, e.ID), e.created)
	}
}

// recoverCreated does so for the commands of a daemon that died.
func (s *Supervisor) recoverCreated() {
	notes, _ := filepath.Glob(filepath.Join(s.created, "x-*"))
	for _, note := range notes {
		if path, err := os.ReadFile(note); err == nil {
			removeCreated(note, string(path))
		}
	}
}

// removeCreated removes a directory, unless it has entries, and then its note.
func removeCreated(note, path string) {
	_ = unix.Rmdir(path)
	_ = os.Remove(note)
}
