package worker

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"

	"sandboxd/files"
	"sandboxd/files/snapshot"
	"sandboxd/files/tree"
)

// undo undoes the steps of a change, the last one first. blobs marks the steps whose content the
// daemon has and sends on demand. An undo is itself a change: its steps are stored before they are
// made, so that it can be undone.
//
// Every entry is checked before anything is changed: one that differs from the change's result is a
// conflict, unless force. With rest, steps in conflict are left out and listed. One that already
// equals the state before the change stays, so that an interrupted undo can be repeated.
func (s *server) undo(steps []files.Step, blobs []bool, how files.UndoHow) (out files.Result, err error) {
	if len(steps) == 0 || len(blobs) != len(steps) {
		return files.Result{}, errors.New("undo: nothing to undo")
	}
	s.run, s.bulk = how.Run, len(steps) > fewSteps
	defer func() { s.run, s.bulk = false, false }()
	u := &undoing{server: s, how: how, change: &change{server: s}, closed: map[string]uint32{},
		git: snapshot.NewGitDirs(s.rules, steps), left: map[string]*files.Conflict{}}
	defer u.change.close()
	defer func() { err = errors.Join(err, u.close(steps, err == nil)) }()
	if err := u.open(steps); err != nil {
		return files.Result{}, named(files.Undo, err, steps[0].Path)
	}
	if err := u.plan(steps, blobs); err != nil {
		return files.Result{}, err
	}
	if err := u.refused(); err != nil {
		return files.Result{}, err
	}
	if err := u.attributes(); err != nil {
		return files.Result{}, named(files.Undo, err, steps[0].Path)
	}
	if len(u.change.parts) == 0 {
		return files.Result{Left: u.leftOut()}, nil
	}
	u.change.passes = u.passes
	if err := u.carryOut(); err != nil {
		return files.Result{}, named(files.Undo, err, steps[0].Path)
	}
	return files.Result{Path: steps[0].Path, To: steps[0].To, Left: u.leftOut(), Changed: true}, nil
}

// plan collects the inverse steps, the last one first. With Rest, a git directory with a conflict stays as it is.
func (u *undoing) plan(steps []files.Step, blobs []bool) error {
	for again := true; again; {
		left := len(u.left)
		u.removed, u.made, u.stays = map[string]bool{}, map[string]bool{}, map[string]bool{}
		u.change.parts, u.attrs, u.conflicts = nil, nil, nil
		for i := len(steps) - 1; i >= 0; i-- {
			if u.leaves(steps[i].Path) {
				continue
			}
			var content func() (*os.File, error)
			if blobs[i] {
				content = func() (*os.File, error) { return u.server.need(i) }
			}
			parts := len(u.change.parts)
			if err := u.inverse(steps[i], content); err != nil {
				u.change.parts = u.change.parts[:parts]
				if err := u.conflict(named(files.Undo, err, steps[0].Path), steps[i].Path); err != nil {
					return err
				}
			}
		}
		if err := u.checkGit(steps, blobs); err != nil {
			return err
		}
		again = len(u.left) > left
	}
	return nil
}

// fewSteps is how many steps of an undo are brought to disk one by one.
const fewSteps = 16

// undoing collects the inverse steps. removed and made are the paths that earlier
// inverse steps will have freed or filled by the time a later one runs; stays are the
// created folders that hold a tree which snapshots skip.
type undoing struct {
	server        *server
	how           files.UndoHow
	change        *change
	removed, made map[string]bool
	stays         map[string]bool
	conflicts     []*files.Conflict
	attrs         []attribute
	git           *snapshot.GitDirs
	left          map[string]*files.Conflict // git directories that Rest leaves out, each with its first conflict
	locks         []string                   // of git, that the undo holds
	firm          bool                       // Force does not help
	closed        map[string]uint32          // the modes of folders that are opened meanwhile
}

func (u *undoing) inverse(step files.Step, content func() (*os.File, error)) error {
	switch step.Kind {
	case files.PutStep:
		return u.inversePut(step, content)
	case files.RemoveStep:
		return u.restore(step.Path, step.Before, files.State{Kind: files.Absent}, content, step.ParentTime)
	case files.MkdirStep:
		return u.inverseMkdir(step)
	case files.RmdirStep:
		return u.inverseRmdir(step)
	case files.RenameStep:
		return u.inverseRename(step, content)
	case files.AttrStep:
		return u.inverseAttr(step)
	}
	return fmt.Errorf("undo: a step of an unknown kind %q", step.Kind)
}

// now is the present entry at a path.
type now struct {
	spot spot
	stat tree.Stat // with hash, target and attributes
	lone bool      // its folder is missing
}

// look finds the entry at a real path; a link on the way is an error.
func (u *undoing) look(abs string) (now, error) {
	t, rel, err := u.server.at(abs)
	if err != nil {
		return now{}, err
	}
	n := now{spot: spot{tree: t, rel: rel, fact: files.Fact{Asked: abs, Real: abs}}}
	if u.made[path.Dir(abs)] { // the folder comes back first
		n.stat.Kind = files.Absent
		return n, nil
	}
	dir, err := n.spot.parent()
	// An earlier undo may have put the file or link of before in the folder's place.
	if errors.Is(err, &files.Conflict{Reason: files.NotThere}) || u.how.Again && errors.As(err, new(*files.Conflict)) {
		n.stat.Kind, n.lone = files.Absent, true
		return n, nil
	}
	if err != nil {
		return n, err
	}
	defer dir.Close()
	if n.stat, err = dir.Stat(n.spot.name()); err != nil {
		return n, err
	}
	n.stat = u.asClosed(abs, n.stat)
	if u.removed[abs] {
		n.stat = tree.Stat{State: files.State{Kind: files.Absent}}
	}
	n.spot.stat, n.spot.fact.Kind = n.stat, n.stat.Kind
	if n.stat.Kind != files.File && n.stat.Kind != files.Symlink {
		return n, nil
	}
	if n.stat.Kind == files.File && u.server.beyondKeeping(n.stat.Size) {
		return n, nil // it can have been moved and no more, so that its hash is not known
	}
	p := &plan{}
	defer p.close()
	if err := u.server.recordRemoved(p, n.spot); err != nil {
		return n, err
	}
	n.stat = p.oldStat
	return n, nil
}

// expect refuses a path that is not as the change left it.
func (u *undoing) expect(n now, want files.State) error {
	if u.how.Force || n.stat.State.Same(want) {
		return nil
	}
	found := string(n.stat.Kind)
	if n.stat.Kind == files.File && want.Kind == files.File {
		found = "other content, " + n.stat.Hash
		if n.stat.Hash == want.Hash {
			found = fmt.Sprintf("mode %04o, uid %d, gid %d", n.stat.Mode, n.stat.UID, n.stat.GID)
		}
	}
	return &files.Conflict{
		Op: files.Undo, Path: n.spot.fact.Real, Reason: files.Changed, Expected: string(want.Kind) + " " + want.Hash,
		Found: found,
		Hint:  "it was changed since; undo it only if that change may go (it is kept, too)",
	}
}

func (u *undoing) inversePut(step files.Step, content func() (*os.File, error)) error {
	if step.Before.Kind != files.Absent {
		return u.restore(step.Path, step.Before, step.After, content, step.ParentTime)
	}
	if u.how.Rest && snapshot.InObjects(step.Path) {
		return nil // what else stays of the repository can need it
	}
	n, err := u.look(step.Path)
	if err != nil {
		return err
	}
	if n.stat.Kind == files.Absent {
		return nil // undone already, or gone since
	}
	if err := u.expect(n, step.After); err != nil {
		return err
	}
	if n.stat.Kind == files.Dir || n.stat.Kind == files.Other && !u.how.Run {
		return &files.Conflict{Path: step.Path, Reason: files.Exists, Found: string(n.stat.Kind)}
	}
	u.removed[step.Path] = true
	before := len(u.change.parts)
	if err := u.server.removeStep(u.change, n.spot, n.stat); err != nil {
		return err
	}
	u.thenTime(before, step.Path, step.ParentTime)
	return nil
}

// restore restores a file or link.
func (u *undoing) restore(abs string, want, left files.State, content func() (*os.File, error),
	parentTime int64) error {
	n, err := u.look(abs)
	if err != nil {
		return err
	}
	if n.lone {
		return &files.Conflict{Op: files.Undo, Path: abs, Reason: files.NotThere, Found: "its folder, which is gone"}
	}
	if n.stat.State.Same(want) && !left.Same(want) {
		return nil // undone already, by an undoing that was cut off
	}
	halfway := u.how.Again && n.stat.Kind == files.Absent // an earlier undo removed a link or a file for the other
	if err := u.expect(n, left); err != nil && !halfway {
		return err
	}
	if n.stat.Kind == files.Dir || n.stat.Kind == files.Other && !u.how.Run {
		return &files.Conflict{Path: abs, Reason: files.Exists, Found: string(n.stat.Kind)}
	}
	before := len(u.change.parts)
	if want.Kind == files.Symlink {
		err = u.restoreLink(n, want)
	} else {
		err = u.restoreFile(n, want, content)
	}
	u.thenTime(before, abs, parentTime)
	return err
}

func (u *undoing) restoreFile(n now, want files.State, content func() (*os.File, error)) error {
	if content == nil {
		return &files.Conflict{Path: n.spot.fact.Real, Reason: files.NotThere, Found: "its content is no longer kept"}
	}
	if err := u.intact(n, want, content); err != nil {
		return err
	}
	if n.stat.Kind == files.Symlink || n.stat.Kind == files.Other {
		if err := u.server.removeStep(u.change, n.spot, n.stat); err != nil {
			return err
		}
		n.stat = tree.Stat{State: files.State{Kind: files.Absent}}
	}
	l := &landing{hash: want.Hash, size: want.Size, want: &want, perm: 0o600, old: n.stat, inPlace: true}
	l.open = func() (io.ReadCloser, error) { return content() }
	u.change.putLater(n.spot, l, u.lost(n))
	return nil
}

// lost opens the content that a restored one replaces.
func (u *undoing) lost(n now) func() (*os.File, error) {
	if n.stat.Kind != files.File {
		return nil
	}
	return func() (*os.File, error) {
		dir, err := n.spot.parent()
		if err != nil {
			return nil, err
		}
		defer dir.Close()
		f, _, err := dir.Open(n.spot.name())
		return f, err
	}
}

func (u *undoing) restoreLink(n now, want files.State) error {
	if n.stat.Kind != files.Absent {
		if err := u.server.removeStep(u.change, n.spot, n.stat); err != nil {
			return err
		}
	}
	abs := n.spot.fact.Real
	step := files.Step{Kind: files.PutStep, Path: abs, Before: files.State{Kind: files.Absent}, After: want,
		Temp: tree.TempName()}
	u.change.add(step, nil, func() error {
		dir, name, err := u.server.dirOf(abs)
		if err != nil {
			return err
		}
		defer dir.Close()
		return dir.Symlink(name, step.Temp, want)
	})
	return nil
}

func (u *undoing) inverseMkdir(step files.Step) error {
	n, err := u.look(step.Path)
	if err != nil {
		return err
	}
	if n.stat.Kind == files.Absent || u.how.Again && n.stat.Kind != files.Dir {
		return nil
	}
	if n.stat.Kind != files.Dir {
		return u.expect(n, files.State{Kind: files.Dir})
	}
	dir, err := n.spot.tree.Dir(n.spot.rel)
	if err != nil {
		return err
	}
	names, _, err := dir.Names(snapshot.MaxEntries)
	dir.Close()
	if err != nil {
		return err
	}
	for _, name := range names {
		switch at := path.Join(step.Path, name); {
		case u.removed[at]:
		case u.how.Run && (u.stays[at] || u.skips(step.Path, name)):
			u.stays[step.Path] = true
		case u.how.Run && !u.how.Rest && snapshot.InObjects(at): // of a later run, whose undo left them in place
			if err := u.removeObjects(at); err != nil {
				return err
			}
		default:
			return &files.Conflict{Op: files.Undo, Path: step.Path, Reason: files.NotEmpty, Found: name,
				Hint: "something was put into the folder since"}
		}
	}
	if u.stays[step.Path] {
		return nil
	}
	u.removed[step.Path] = true
	before := len(u.change.parts)
	if err := u.server.rmdirStep(u.change, n.spot); err != nil {
		return err
	}
	u.thenTime(before, step.Path, step.ParentTime)
	return nil
}

func (u *undoing) inverseRmdir(step files.Step) error {
	n, err := u.look(step.Path)
	if err != nil {
		return err
	}
	if n.stat.Kind == files.Dir { // there already
		if u.how.Again { // as an earlier undo left it
			u.attrs = append(u.attrs, attribute{path: step.Path, want: step.Before})
		}
		return nil
	}
	if err := u.expect(n, files.State{Kind: files.Absent}); err != nil {
		return err
	}
	if n.stat.Kind != files.Absent { // by force
		if err := u.server.removeStep(u.change, n.spot, n.stat); err != nil {
			return err
		}
	}
	u.made[step.Path] = true
	want := step.Before
	if u.how.Run { // its entries come first, and its looks last
		u.attrs = append(u.attrs, attribute{path: step.Path, want: want})
		want.Mode |= 0o700
	}
	back := files.Step{
		Kind: files.MkdirStep, Path: step.Path, Temp: tree.TempName(),
		Before: files.State{Kind: files.Absent}, After: files.State{Kind: files.Dir},
	}
	before := len(u.change.parts)
	u.change.add(back, nil, func() error { return u.server.mkdirLike(step.Path, back.Temp, want) })
	u.thenTime(before, step.Path, step.ParentTime)
	return nil
}

func (u *undoing) inverseRename(step files.Step, content func() (*os.File, error)) error {
	n, err := u.look(step.To)
	if err != nil {
		return err
	}
	if done, err := u.renamedBack(step, n); err != nil {
		return err
	} else if done && step.Displaced != nil {
		return u.restore(step.To, *step.Displaced, files.State{Kind: files.Absent}, content, step.ToParentTime)
	} else if done {
		return nil
	}
	if !u.how.Force && !sameMoved(n.stat.State, step.Before) {
		return u.expect(n, step.Before)
	}
	if n.stat.Kind == files.Absent {
		return &files.Conflict{Op: files.Undo, Path: step.To, Reason: files.NotThere}
	}
	from, err := u.look(step.Path)
	if err != nil {
		return err
	}
	if from.stat.Kind != files.Absent {
		return &files.Conflict{Op: files.Undo, Path: step.Path, Reason: files.Exists, Found: string(from.stat.Kind)}
	}
	before := len(u.change.parts)
	u.removed[step.To] = true
	back := files.Step{
		Kind: files.RenameStep, Path: step.To, To: step.Path, Before: n.stat.State, After: files.State{Kind: files.Absent},
	}
	u.change.add(back, nil, func() error { return u.server.rename(step.To, n.stat, step.Path) })
	u.thenTime(before, step.Path, step.ParentTime)
	u.thenTime(before, step.To, step.ToParentTime)
	if step.Displaced == nil {
		return nil
	}
	return u.restore(step.To, *step.Displaced, files.State{Kind: files.Absent}, content, step.ToParentTime)
}

// renamedBack reports whether an undoing that was cut off has done it already.
func (u *undoing) renamedBack(step files.Step, to now) (bool, error) {
	if to.stat.Kind != files.Absent && (step.Displaced == nil || !to.stat.State.Same(*step.Displaced)) {
		return false, nil
	}
	from, err := u.look(step.Path)
	return err == nil && from.stat.Kind != files.Absent && sameMoved(from.stat.State, step.Before), err
}

// sameMoved compares a moved entry with the present one. A file too large for a hash is compared by
// size and time; of a folder only the kind counts, since its entries move along.
func sameMoved(is, was files.State) bool {
	switch {
	case is.Kind != was.Kind:
		return false
	case is.Kind == files.Dir:
		return true
	case is.Kind == files.File && was.Hash == "":
		return is.Size == was.Size && is.ModTime == was.ModTime
	}
	return is.Same(was)
}

// rename moves a name to a free one.
func (s *server) rename(from string, old tree.Stat, to string) error {
	dir, name, err := s.dirOf(from)
	if err != nil {
		return err
	}
	defer dir.Close()
	toDir, toName, err := s.dirOf(to)
	if err != nil {
		return err
	}
	defer toDir.Close()
	return dir.Rename(name, old, toDir, toName)
}

// thenTime has the folder of a path get its old modification time back after
// the last step that was added since.
func (u *undoing) thenTime(since int, abs string, ns int64) {
	parts := u.change.parts
	if ns == 0 || len(parts) == since {
		return
	}
	last := &parts[len(parts)-1]
	act := last.act
	last.act = func() error {
		if err := act(); err != nil {
			return err
		}
		dir, _, err := u.server.dirOf(abs)
		if err == nil {
			err = dir.SetModTime(ns)
			dir.Close()
		}
		if u.how.Run && errors.Is(err, &files.Conflict{Reason: files.Forbidden}) {
			err = nil // another user's folder keeps the time of this change
		}
		if err != nil {
			return &tree.MadeError{Err: err}
		}
		return nil
	}
}
