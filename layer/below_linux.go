package layer

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"sandboxd/internal/modes"
)

// below is the tree under a layer: the root, as it will be when the held change sets above it have landed. Its objects
// have the inodes that they have in the root then.
type below []view

// view is a part of a change set that the root does not have.
type view struct {
	// nodes are the objects of its Ops by path. A removed one is Absent.
	nodes map[Name]State
	// tops are the paths of its Ops: nothing else is seen at or below them.
	tops map[Name]bool
	// dirs are the new states of directories that exist in the root.
	dirs map[Name]State
	// entries are the names in a directory that nodes has.
	entries map[Name][]string
}

// viewsOf returns the tree under a layer that is mounted above held ones, the lowest first.
func viewsOf(held []*Layer) (b below) {
	for _, l := range held {
		b = append(b, viewOf(l, l.Left))
	}
	return b
}

// viewOf returns the part of a change set that consists of the chosen Ops and then Dirs, by index.
func viewOf(l *Layer, chosen func(i int) bool) view {
	v := view{map[Name]State{}, map[Name]bool{}, map[Name]State{}, map[Name][]string{}}
	for i, op := range l.set.Ops {
		if !chosen(i) {
			continue
		}
		v.tops[op.Path], v.nodes[op.Path] = true, State{}
		for _, n := range op.New {
			at := join(op.Path, n.Path)
			v.nodes[at] = n.State
			if n.Path != "." {
				dir, base := at.split()
				v.entries[dir] = append(v.entries[dir], base)
			}
		}
		dir, base := op.Path.split()
		v.entries[dir] = append(v.entries[dir], base)
	}
	for k, d := range l.set.Dirs {
		if chosen(len(l.set.Ops) + k) {
			v.dirs[d.Path] = d.New
		}
	}
	return v
}

// covered reports whether the view alone decides about a path.
func (v view) covered(at Name) bool {
	for ; at != "."; at, _ = at.split() {
		if v.tops[at] {
			return true
		}
	}
	return false
}

// hides reports whether nothing of the root is seen at a path.
func (b below) hides(at Name) bool {
	return slices.ContainsFunc(b, func(v view) bool { return v.covered(at) })
}

// state returns the object under a name: dir is the root's directory, -1 where that is hidden.
func (b below) state(dir int, at Name, name string) (s State, err error) {
	if dir >= 0 && !b.hides(at) {
		if s, _, err = full(dir, name); errors.Is(err, unix.EACCES) { // attributes that nobody can read are not compared
			s, err = stat(dir, name)
		}
		if err != nil {
			return s, err
		}
	}
	for _, v := range b {
		now, known := v.dirs[at]
		switch {
		case v.covered(at):
			s = v.nodes[at]
		case known && s.Kind == Dir: // it keeps its identity
			s.Mode, s.UID, s.GID, s.MTime, s.Xattrs = now.Mode, now.UID, now.GID, now.MTime, now.Xattrs
		}
	}
	return s, nil
}

// list is lister.list of the tree under a name.
func (b below) list(l *lister, dir int, at Name, name string) ([]Node, error) {
	if !slices.ContainsFunc(b, func(v view) bool { return v.touches(at) }) {
		return l.list(dir, name)
	}
	s, err := b.state(dir, at, name)
	if err != nil || s.Kind == Absent {
		return nil, err
	}
	out := []Node{{".", s}}
	if s.Kind == Dir {
		err = b.listBelow(l, dir, at, name, ".", &out)
	}
	return out, err
}

// touches reports whether the view has something at, above or below a path.
func (v view) touches(at Name) bool {
	for top := range v.tops {
		if top.within(at) || at.within(top) {
			return true
		}
	}
	for dir := range v.dirs {
		if dir.within(at) {
			return true
		}
	}
	return false
}

func (b below) listBelow(l *lister, dir int, at Name, name string, rel Name, out *[]Node) error {
	own, found := -1, map[string]bool{}
	if dir >= 0 && !b.hides(at) {
		fd, leave, err := enter(dir, name)
		if err != nil {
			return err
		}
		defer leave()
		own = fd
		entries, err := names(fd, &l.left)
		if err != nil {
			return err
		}
		for _, e := range entries {
			found[e] = true
		}
	}
	for _, v := range b {
		for _, e := range v.entries[at] {
			found[e] = true
		}
	}
	for _, e := range slices.Sorted(maps.Keys(found)) {
		s, err := b.state(own, join(at, Name(e)), e)
		if err != nil {
			return err
		}
		if s.Kind == Absent {
			continue
		}
		inner := Name(path.Join(string(rel), e))
		*out = append(*out, Node{inner, s})
		if s.Kind == Dir {
			if err := b.listBelow(l, own, join(at, Name(e)), e, inner, out); err != nil {
				return err
			}
		}
	}
	return nil
}

// Prune removes from the upper directory what is not part of the change set, has landed or was dropped: a mount above
// it then shows the root's. It deletes the copies of what was dropped. Call it after a part has landed or was dropped,
// when nothing is mounted above.
func (l *Layer) Prune() error {
	upper, err := os.Open(l.Upper())
	if err != nil {
		return fmt.Errorf("prune layer %q: %w", l.dir, err)
	}
	defer upper.Close()
	left, dirs := map[Name]bool{}, map[Name]bool{}
	for i, op := range l.set.Ops {
		if left[op.Path] = l.Left(i); left[op.Path] || l.state.At[i] {
			continue
		}
		if err := modes.RemoveAll(filepath.Join(l.slots(), itoa(i))); err != nil {
			return fmt.Errorf("prune layer %q: %w", l.dir, err)
		}
	}
	for _, d := range l.set.Dirs {
		dirs[d.Path] = true
	}
	if err := prune(int(upper.Fd()), ".", left, dirs); err != nil {
		return fmt.Errorf("prune layer %q: %w", l.dir, err)
	}
	return nil
}

// prune removes the entries of an opened directory that are neither left nor dirs, and those below the latter.
func prune(dir int, rel Name, left, dirs map[Name]bool) error {
	entries, err := names(dir, new(maxEntries))
	if err != nil {
		return err
	}
	for _, name := range entries {
		at := join(rel, Name(name))
		switch {
		case left[at]:
		case dirs[at]:
			fd, leave, err := enter(dir, name)
			if err == nil {
				err = prune(fd, at, left, dirs)
				leave()
			}
			if err != nil {
				return err
			}
		default:
			restore, err := loosen(dir, ".", 0o700)
			if err == nil {
				err = modes.RemoveAll(procPath(dir) + "/" + name)
				restore()
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}
