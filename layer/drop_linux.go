package layer

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Left reports whether one of the set's Ops, or then of its Dirs, has neither landed nor been dropped.
func (l *Layer) Left(i int) bool { return !l.state.At[i] && !l.dropped(i) }

func (l *Layer) dropped(i int) bool { return len(l.state.Dropped) > 0 && l.state.Dropped[i] }

// droppedAt reports whether all that is left of the change set at, above and below a path was dropped.
func (l *Layer) droppedAt(at Name) (dropped bool) {
	for i, op := range l.set.Ops {
		if at.within(op.Path) || op.Path.within(at) {
			if l.Left(i) {
				return false
			}
			dropped = dropped || !l.state.At[i]
		}
	}
	return dropped
}

// chooseTimes adds the Dirs of which only the times change where all else that is left was chosen.
func (l *Layer) chooseTimes(chosen map[int]bool) {
	var times []int
	for i := range l.state.At {
		k := i - len(l.set.Ops)
		switch {
		case chosen[i] || !l.Left(i):
		case k < 0 || !l.set.Dirs[k].Old.sameMetadata(l.set.Dirs[k].New):
			return
		default:
			times = append(times, i)
		}
	}
	uncopied := func(n Note) bool { // its object is in the upper directory alone
		return !slices.ContainsFunc(l.set.Ops, func(op Op) bool { return related(n.Path, []Name{op.Path}) })
	}
	if len(chosen) > 0 && !slices.ContainsFunc(l.set.Conflicts, uncopied) {
		for _, i := range times {
			chosen[i] = true
		}
	}
}

// DropPart drops the part of the change set at, above and below the paths, as Land would land it: it never lands, and
// its new objects are deleted. What has landed stays. Call it when nothing is mounted above.
func (l *Layer) DropPart(root *os.File, paths ...Name) error {
	err := errors.New("it is not held")
	if s := l.Status(); s == Held || s == Partly {
		if len(l.state.Dropped) == 0 {
			l.state.Dropped = make([]bool, len(l.state.At))
		}
		for i := range l.choose(root, paths) {
			l.state.Dropped[i] = !l.state.At[i]
		}
		if err = l.save(); err == nil {
			return l.Prune()
		}
	}
	return fmt.Errorf("drop a part of layer %q: %w", l.dir, err)
}

// Drop deletes the layer with its copies and the displaced objects. The root stays as it is.
func (l *Layer) Drop() error {
	if err := Remove(l.dir); err != nil {
		return fmt.Errorf("drop layer %q: %w", l.dir, err)
	}
	return nil
}

// Remove deletes a directory, directories without the owner's rights in it included.
func Remove(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(name, 0o700) // RemoveAll says where it fails
		}
		return nil
	})
	return os.RemoveAll(dir)
}
