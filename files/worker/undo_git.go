package worker

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"sandboxd/files"
	"sandboxd/files/internal/fault"
	"sandboxd/files/snapshot"
	"sandboxd/files/tree"
	"sandboxd/git"
)

// maxReferences bounds the bytes of a file of references.
const maxReferences = 64 << 20

// checkGit adds the conflicts of the undo with git: references whose objects are gone, and locks that git holds.
func (u *undoing) checkGit(steps []files.Step, blobs []bool) error {
	disk := newUndone(u, steps, blobs)
	refuse := func(reason files.Reason, at, found string) error {
		u.firm = true
		return u.conflict(&files.Conflict{Op: files.Undo, Path: at, Reason: reason, Found: found}, at)
	}
	for i, step := range steps {
		dir, ok := u.git.Reference(step.Path)
		if !ok || disk.contents[step.Path] != i || !blobs[i] || u.leaves(step.Path) {
			continue
		}
		text, err := u.newReferences(i, step.Path)
		if err != nil {
			return err
		}
		ids, err := git.Missing(disk, dir, text)
		if err == nil && len(ids) > 0 {
			err = refuse(files.NotThere, step.Path, "git no longer has its object "+ids[0])
		} else if err != nil {
			err = refuse(files.Failed, step.Path, err.Error())
		}
		if err != nil {
			return err
		}
	}
	u.locks = u.lockFiles()
	for _, at := range u.locks {
		dir, name, err := u.server.dirOf(at)
		if err != nil {
			continue
		}
		st, err := dir.Stat(name)
		dir.Close()
		if err == nil && st.Kind != files.Absent {
			err = refuse(files.Exists, at, gitHolds)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

const gitHolds = "git holds this lock; wait until it ends, or remove the file if none runs"

// newReferences returns the lines that a file of references gets back and does not have now.
func (u *undoing) newReferences(step int, at string) (string, error) {
	f, err := u.server.need(step)
	if err != nil {
		return "", err
	}
	defer f.Close()
	old, err := io.ReadAll(io.NewSectionReader(f, 0, maxReferences))
	if err != nil {
		return "", err
	}
	present, _ := git.Disk.ReadFile(at, maxReferences) // without it all lines are new
	has := map[string]bool{}
	for line := range strings.Lines(string(present)) {
		has[line] = true
	}
	var lines strings.Builder
	for line := range strings.Lines(string(old)) {
		if !has[line] {
			lines.WriteString(line)
		}
	}
	return lines.String(), nil
}

// lockFiles returns the lock files of git that the undo has to hold: none in directories that it creates or removes.
func (u *undoing) lockFiles() []string {
	stays := func(dir string) bool { return !u.removed[dir] && !u.made[dir] }
	locks := git.LockFiles(namesOf(u.steps()), func(dir string) bool { return stays(dir) && u.git.Has(dir) })
	return slices.DeleteFunc(locks, func(at string) bool { return !stays(path.Dir(at)) })
}

// carryOut has the steps stored, and performs them while it holds git's locks.
func (u *undoing) carryOut() error {
	if err := u.change.keep(); err != nil {
		return err
	}
	fault.Point("kept")
	text := lockText(u.steps())
	err := u.lock(text)
	if err == nil {
		err = u.change.carryOut()
	}
	uerr := errors.Join(u.server.syncAll(), u.server.unlock(u.locks, text))
	if err == nil && uerr != nil {
		return &files.PartialError{Done: len(u.change.parts), Err: uerr}
	}
	fault.Point("done")
	return err
}

func (u *undoing) steps() (list []files.Step) {
	for _, p := range u.change.parts {
		list = append(list, p.step)
	}
	return list
}

// namesOf returns the paths that steps change.
func namesOf(steps []files.Step) (list []string) {
	for _, s := range steps {
		if list = append(list, s.Path); s.To != "" {
			list = append(list, s.To)
		}
	}
	return list
}

// lockText is the content of the lock files of an undo with these steps, by which it knows them after a death.
func lockText(steps []files.Step) string {
	h := sha256.New()
	for _, s := range steps {
		fmt.Fprintf(h, "%q %q %q %q\n", s.Kind, s.Path, s.To, s.Temp)
	}
	return fmt.Sprintf("sandboxd %x\n", h.Sum(nil))
}

// lock acquires git's locks, and then compares the entries in git directories again.
func (u *undoing) lock(text string) error {
	for _, at := range u.locks {
		err := u.server.beside(at, func(dir *tree.Dir, name string) error { return createLock(dir, name, text) })
		switch {
		case errors.Is(err, &files.Conflict{Reason: files.NotThere}):
		case errors.Is(err, &files.Conflict{Reason: files.Exists}):
			return &files.Conflict{Op: files.Undo, Path: at, Reason: files.Exists, Found: gitHolds}
		case err != nil && !u.closedToGit(path.Dir(at)):
			return err
		}
	}
	if len(u.locks) == 0 {
		return nil
	}
	seen := map[string]bool{}
	for _, step := range u.steps() {
		if _, ok := u.git.Of(path.Dir(step.Path)); !ok || seen[step.Path] || snapshot.InObjects(step.Path) ||
			step.Kind != files.PutStep && step.Kind != files.RemoveStep {
			continue
		}
		seen[step.Path] = true
		if now, _, err := u.server.state(step.Path); err == nil && !now.Same(step.Before) {
			return &files.Conflict{Op: files.Undo, Path: step.Path, Reason: files.Changed,
				Found: "git wrote to it meanwhile"}
		}
	}
	return nil
}

// closedToGit reports whether a directory's mode lets its owner create no lock there, and so no git.
func (u *undoing) closedToGit(dir string) bool {
	st, err := u.folder(dir)
	return err == nil && st.Mode&0o200 == 0
}

func createLock(dir *tree.Dir, name, text string) error {
	fresh, unnamed, err := dir.Unnamed(tree.TempName(), 0o600)
	if err == nil && !unnamed {
		fresh, err = dir.Named(name, 0o600)
	}
	if err != nil {
		return err
	}
	defer fresh.Close()
	if _, err := fresh.Write([]byte(text)); err != nil {
		return err
	}
	return fresh.Place(name)
}

// beside calls f with the folder and the name of a lock file; the folder's modification time stays.
func (s *server) beside(at string, f func(dir *tree.Dir, name string) error) error {
	dir, name, err := s.dirOf(at)
	if err != nil {
		return err
	}
	defer dir.Close()
	was := modTime(dir)
	if err := f(dir, name); err != nil {
		return err
	}
	return dir.SetModTime(was)
}

// unlock removes the lock files that have the text.
func (s *server) unlock(locks []string, text string) (all error) {
	for _, at := range slices.Backward(locks) {
		if s.holdsLock(at, text) {
			all = errors.Join(all, s.beside(at, (*tree.Dir).Discard))
		}
	}
	return all
}

// holdsLock reports whether a lock file has the text.
func (s *server) holdsLock(at, text string) bool {
	dir, name, err := s.dirOf(at)
	if err != nil {
		return false
	}
	defer dir.Close()
	f, _, err := dir.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	found, err := io.ReadAll(io.LimitReader(f, int64(len(text))+1))
	return err == nil && bytes.Equal(found, []byte(text))
}

// unlockSteps removes the lock files of an undo that was cut off, and gives their folders the modification times from
// before, unless they have those of its end. One that can't be removed stays: git names it in its error.
func (s *server) unlockSteps(steps []files.Step) {
	s.run = true
	defer func() { s.run = false }()
	text, known := lockText(steps), map[string]bool{}
	ours := func(dir string) bool {
		return slices.ContainsFunc(git.Locks, func(name string) bool { return s.holdsLock(path.Join(dir, name), text) })
	}
	locks := git.LockFiles(namesOf(steps), func(dir string) bool {
		if _, asked := known[dir]; !asked {
			known[dir] = ours(dir)
		}
		return known[dir]
	})
	held := map[string]bool{}
	for _, at := range locks {
		held[path.Dir(at)] = held[path.Dir(at)] || s.holdsLock(at, text)
	}
	_ = s.unlock(locks, text)
	for _, step := range steps {
		if step.Kind == files.AttrStep && held[step.Path] {
			s.setTime(step)
		}
	}
}

// setTime gives a folder the modification time from before a step that has not been made.
func (s *server) setTime(step files.Step) {
	t, rel, err := s.at(step.Path)
	if err != nil {
		return
	}
	dir, err := t.Dir(rel)
	if err != nil {
		return
	}
	defer dir.Close()
	if now, err := dir.Self(); err == nil && now.ModTime != step.After.ModTime {
		_ = dir.SetModTime(step.Before.ModTime)
	}
}
