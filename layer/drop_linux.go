package layer

import (
	"fmt"
	"os"
	"slices"

	"sandboxd/internal/modes"
)

// Left reports whether one of the set's Ops, or then of its Dirs, has neither landed nor been dropped.
func (l *Layer) Left(i int) bool { return !l.state.At[i] && !l.dropped(i) }

func (l *Layer) dropped(i int) bool { return len(l.state.Dropped) > 0 && l.state.Dropped[i] }

// Conflicts returns the set's that concern what is left of it, or an object of which there is no copy.
func (l *Layer) Conflicts() (out []Note) {
	if l.set == nil || len(l.set.Conflicts) == 0 {
		return nil
	}
	parts := l.partsAt()
	for _, n := range l.set.Conflicts {
		if some, left := parts(n.Path); left || !some {
			out = append(out, n)
		}
	}
	return out
}

// partsAt returns a function that reports whether the set changes anything at, above or below a path, and whether any
// of that is left. Times of directories do not count.
func (l *Layer) partsAt() func(at Name) (some, left bool) {
	tops, holding := map[Name]bool{}, map[Name]bool{} // whether it is left, and whether anything in it is
	for i, op := range l.set.Ops {
		tops[op.Path] = l.Left(i)
		for up := op.Path; up != "."; {
			up, _ = up.split()
			holding[up] = holding[up] || l.Left(i)
		}
	}
	for k, d := range l.set.Dirs {
		if !d.Old.sameMetadata(d.New) {
			holding[d.Path] = holding[d.Path] || l.Left(len(l.set.Ops)+k)
		}
	}
	return func(at Name) (some, left bool) {
		left, some = holding[at]
		for {
			top, ok := tops[at]
			some, left = some || ok, left || top
			if at == "." {
				return some, left
			}
			at, _ = at.split()
		}
	}
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
	if len(chosen) == 0 || len(times) == 0 || l.lacksCopy() {
		return
	}
	for _, i := range times {
		chosen[i] = true
	}
}

// lacksCopy reports whether the upper directory alone has an object of the command's.
func (l *Layer) lacksCopy() bool {
	if len(l.set.Conflicts) == 0 {
		return false
	}
	parts := l.partsAt()
	return slices.ContainsFunc(l.set.Conflicts, func(n Note) bool {
		some, _ := parts(n.Path)
		return !some
	})
}

// ended reports whether nothing is left of the change set.
func (l *Layer) ended() bool {
	for i := range l.state.At {
		if l.Left(i) {
			return false
		}
	}
	return !l.lacksCopy()
}

// DropPart drops the part of the change set at, above and below the paths, as Land would land it: it never lands, and
// its new objects are deleted. What has landed stays. Where nothing is left then, DropPart is Drop. Call it when
// nothing is mounted above.
func (l *Layer) DropPart(root *os.File, paths ...Name) error {
	if s := l.Status(); s != Held && s != Partly {
		return fmt.Errorf("drop a part of layer %q: it is %s", l.dir, s)
	}
	if len(l.state.Dropped) == 0 {
		l.state.Dropped = make([]bool, len(l.state.At))
	}
	for i := range l.choose(root, paths) {
		l.state.Dropped[i] = !l.state.At[i]
	}
	if l.ended() {
		return l.Drop()
	}
	if err := l.save(); err != nil {
		return fmt.Errorf("drop a part of layer %q: %w", l.dir, err)
	}
	return l.Prune()
}

// Drop deletes the layer with its copies and the displaced objects. The root stays as it is.
func (l *Layer) Drop() error {
	if err := modes.RemoveAll(l.dir); err != nil {
		return fmt.Errorf("drop layer %q: %w", l.dir, err)
	}
	return nil
}
