package worker

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"sandboxd/files"
	"sandboxd/files/snapshot"
	"sandboxd/files/tree"
	"sandboxd/internal/modes"
)

// attribute is a folder whose mode, owner, attributes and times are set at the end of an undo.
type attribute struct {
	path string
	want files.State
}

// maxLeft bounds how many conflicts are listed.
const maxLeft = 100

// conflict notes a conflict at a path; any other error ends the undo.
func (u *undoing) conflict(err error, at string) error {
	var c *files.Conflict
	if !errors.As(err, &c) || !u.how.Run && !u.how.Rest {
		return err
	}
	if dir, ok := u.git.Of(at); ok && u.how.Rest {
		if u.left[dir] == nil {
			u.left[dir] = c
		}
		return nil
	}
	u.conflicts = append(u.conflicts, c)
	return nil
}

// passes notes a step that failed, with Rest, so that the others are made.
func (u *undoing) passes(err error) bool {
	var c *files.Conflict
	if !u.how.Rest || errors.As(err, new(*tree.MadeError)) || !errors.As(err, &c) {
		return false
	}
	c.Op = files.Undo
	u.conflicts = append(u.conflicts, c)
	return true
}

// leaves reports whether Rest leaves out the git directory of a path.
func (u *undoing) leaves(at string) bool {
	dir, ok := u.git.Of(at)
	return ok && u.left[dir] != nil
}

// refused is the conflict of an undo that was to be whole.
func (u *undoing) refused() error {
	if len(u.conflicts) == 0 || u.how.Rest {
		return nil
	}
	c := *u.conflicts[len(u.conflicts)-1] // the first path of the change set
	if n := len(u.conflicts) - 1; n > 0 {
		c.Found += fmt.Sprintf(" (%d other paths can't be undone either)", n)
	}
	if c.Hint = "undo everything else by --rest"; !u.how.Force && !u.firm {
		c.Hint += ", or all of it by --force (it is kept, too)"
	}
	return &c
}

// intact fails where a kept content is no longer the lost one. It is read before the first step, as an undo that finds
// that on the way is half done.
func (u *undoing) intact(n now, want files.State, content func() (*os.File, error)) error {
	damaged := func(found string) error {
		u.firm = true
		return &files.Conflict{Op: files.Undo, Path: n.spot.fact.Real, Reason: files.Damaged, Expected: want.Hash,
			Found: found}
	}
	f, err := content()
	if c := (*files.Conflict)(nil); errors.As(err, &c) {
		return damaged(c.Found)
	}
	if err != nil {
		return err
	}
	defer f.Close()
	sum, size, err := tree.Hash(io.LimitReader(f, want.Size+1))
	switch {
	case err != nil:
		return damaged(err.Error())
	case sum != want.Hash || size != want.Size:
		return damaged(sum)
	}
	return nil
}

// skips reports whether snapshots skip the folder of a name: a run's change set has nothing of it.
func (u *undoing) skips(in, name string) bool {
	if _, err := u.folder(path.Join(in, name)); err != nil {
		return false
	}
	return snapshot.Skips(name, func() []byte { return nil }, func(beside string) bool {
		t, rel, err := u.server.at(path.Join(in, path.Dir(beside)))
		if err != nil {
			return false
		}
		dir, err := t.Dir(rel)
		if err != nil {
			return false
		}
		defer dir.Close()
		st, err := dir.Stat(path.Base(beside))
		return err == nil && st.Kind == files.File
	})
}

// removeObjects removes a git object, or a folder of objects.
func (u *undoing) removeObjects(abs string) error {
	n, err := u.look(abs)
	if err != nil || n.stat.Kind == files.Absent {
		return err
	}
	u.removed[abs] = true
	if n.stat.Kind != files.Dir {
		if n.stat.Kind == files.File && n.stat.Hash == "" {
			return &files.Conflict{Op: files.Undo, Path: abs, Reason: files.TooLarge}
		}
		return u.server.removeStep(u.change, n.spot, n.stat)
	}
	dir, err := n.spot.tree.Dir(n.spot.rel)
	if err != nil {
		return err
	}
	names, _, err := dir.Names(snapshot.MaxEntries)
	dir.Close()
	for _, name := range names {
		err = errors.Join(err, u.removeObjects(path.Join(abs, name)))
	}
	if err != nil {
		return err
	}
	return u.server.rmdirStep(u.change, n.spot)
}

// leftOut lists the conflicts.
func (u *undoing) leftOut() (list []string) {
	for _, dir := range slices.Sorted(maps.Keys(u.left)) {
		list = append(list, dir+", which is undone as a whole: "+u.left[dir].Error())
	}
	for i, c := range u.conflicts {
		if i == maxLeft {
			return append(list, fmt.Sprintf("and %d more", len(u.conflicts)-i))
		}
		list = append(list, c.Error())
	}
	return list
}

// inverseAttr has a folder's attributes set at the end. A modification time that is another by now
// stays.
func (u *undoing) inverseAttr(step files.Step) error {
	if u.made[step.Path] { // this undo makes it again with what it had
		return nil
	}
	for i := range u.attrs {
		if u.attrs[i].path == step.Path { // a later step wrote it
			u.attrs[i].want = step.Before
			return nil
		}
	}
	st, err := u.folder(step.Path)
	switch {
	case errors.Is(err, &files.Conflict{Reason: files.NotThere}):
		return nil // it was removed since
	case err != nil:
		return err
	case !u.how.Again && step.Before.Same(step.After) &&
		st.ModTime != step.After.ModTime && step.After.ModTime != 0:
		return nil
	}
	if !u.how.Force && !st.State.Same(step.After) && !st.State.Same(step.Before) {
		return &files.Conflict{
			Op: files.Undo, Path: step.Path, Reason: files.Changed,
			Expected: fmt.Sprintf("mode %04o, uid %d, gid %d", step.After.Mode, step.After.UID, step.After.GID),
			Found:    fmt.Sprintf("mode %04o, uid %d, gid %d", st.Mode, st.UID, st.GID),
		}
	}
	u.attrs = append(u.attrs, attribute{path: step.Path, want: step.Before})
	return nil
}

// folder looks at a folder.
func (u *undoing) folder(abs string) (tree.Stat, error) {
	t, rel, err := u.server.at(abs)
	if err != nil {
		return tree.Stat{}, err
	}
	dir, err := t.Dir(rel)
	if err != nil {
		return tree.Stat{}, err
	}
	defer dir.Close()
	st, err := dir.Self()
	return u.asClosed(abs, st), err
}

// attributes adds the steps for folders: those that can't be written to are opened up first, and all
// get what they had last, the innermost first.
func (u *undoing) attributes() error {
	if !u.how.Run {
		return nil
	}
	var first []changePart
	seen := map[string]bool{}
	for _, p := range u.change.parts {
		dir := path.Dir(p.step.Path)
		if seen[dir] || u.made[dir] {
			continue
		}
		seen[dir] = true
		st, err := u.folder(dir)
		if err != nil || modes.Bind() && int(st.UID) != os.Geteuid() {
			continue // what can be set is set by its owner
		}
		if !slices.ContainsFunc(u.attrs, func(a attribute) bool { return a.path == dir }) {
			u.attrs = append(u.attrs, attribute{path: dir, want: st.State}) // the run left its names as they were
		}
		if open := st.State; st.Mode&0o700 != 0o700 && modes.Bind() {
			open.Mode |= 0o700
			first = append(first, u.attrPart(dir, st.State, open, (*tree.Dir).Loosen))
		}
	}
	u.change.parts = append(first, u.change.parts...)
	slices.SortStableFunc(
		u.attrs,
		func(a, b attribute) int { return strings.Count(b.path, "/") - strings.Count(a.path, "/") },
	)
	for _, a := range u.attrs {
		if u.removed[a.path] && !u.made[a.path] {
			continue
		}
		is := a.want
		if st, err := u.folder(a.path); err == nil {
			if is = st.State; !u.made[a.path] && modes.Bind() && int(st.UID) != os.Geteuid() {
				continue // no command can have changed them
			}
		}
		u.change.parts = append(
			u.change.parts,
			u.attrPart(a.path, is, a.want, func(d *tree.Dir) error { return d.Dress(a.want) }),
		)
	}
	return nil
}

func (u *undoing) attrPart(abs string, is, want files.State, act func(*tree.Dir) error) changePart {
	step := files.Step{Kind: files.AttrStep, Path: abs, Before: is, After: want}
	return changePart{step: step, act: func() error {
		t, rel, err := u.server.at(abs)
		if err != nil {
			return err
		}
		dir, err := t.Dir(rel)
		if err == nil && is.Mode&0o700 != 0o700 && modes.Bind() { // its descriptor may be one for the path only
			err = dir.Loosen()
			dir.Close()
			if err == nil {
				dir, err = t.Dir(rel)
			}
		}
		if err != nil {
			return err
		}
		defer dir.Close()
		return act(dir)
	}}
}
