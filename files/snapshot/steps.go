package snapshot

import (
	"errors"
	"io"
	"path"
	"slices"

	"sandboxd/files"
)

// Changes are the paths of a run's change set, absolute.
type Changes struct{ Created, Modified, Deleted []string }

// Len counts the paths.
func (c Changes) Len() int { return len(c.Created) + len(c.Modified) + len(c.Deleted) }

// Source gives entries in the order of Compare, then io.EOF.
type Source interface{ Next() (Entry, error) }

// List is a source of entries that are in memory, in any order.
func List(entries []Entry) Source {
	slices.SortFunc(entries, func(a, b Entry) int { return Compare(a.Path, b.Path) })
	return &list{entries}
}

type list struct{ left []Entry }

// Next returns the next entry.
func (l *list) Next() (e Entry, err error) {
	if len(l.left) == 0 {
		return e, io.EOF
	}
	e, l.left = l.left[0], l.left[1:]
	return e, nil
}

// Steps returns the steps from one manifest to another, in an order whose reverse can be carried
// out: attributes of directories first, then removals, children before parents, then modifications
// and creations. Paths whose present state a manifest lacks have no step.
func Steps(root string, before, after Source) ([]files.Step, Changes, error) {
	was, is := &side{r: before}, &side{r: after}
	d := &difference{root: root}
	for was.advance() && is.advance() {
		order := 0
		switch {
		case was.done && is.done:
			slices.Reverse(d.removed)
			return slices.Concat(d.attrs, d.removed, d.modified, d.made), d.changes, nil
		case was.done:
			order = 1
		case is.done:
			order = -1
		default:
			order = Compare(was.entry.Path, is.entry.Path)
		}
		switch {
		case order < 0:
			if !was.entry.lacking() && !is.lacks(was.entry.Path) {
				d.remove(was.entry)
			}
		case order > 0:
			if !is.entry.lacking() && !was.lacks(is.entry.Path) {
				d.create(is.entry)
			}
		case !was.entry.lacking() && !is.entry.lacking():
			d.compare(was.entry, is.entry)
		}
		was.used, is.used = order <= 0, order >= 0
	}
	return nil, Changes{}, errors.Join(was.err, is.err)
}

// side is one of two manifests that are compared.
type side struct {
	r       Source
	entry   Entry // the current one
	started bool
	used    bool // the current entry is compared
	done    bool
	partial string // the path of the latest partial entry that was used
	lack    bool   // there is one
	err     error
}

// advance reads the next entry where the current one was used; false after an error.
func (s *side) advance() bool {
	if s.done || s.started && !s.used {
		return true
	}
	if s.started && s.entry.Partial {
		s.partial, s.lack = s.entry.Path, true
	}
	s.started, s.used = true, false
	if s.entry, s.err = s.r.Next(); s.err == io.EOF {
		s.done, s.err = true, nil
	}
	return s.err == nil
}

// lacks reports whether the manifest may lack an entry that exists.
func (s *side) lacks(rel string) bool { return s.lack && below(s.partial, rel) }

// difference collects the steps.
type difference struct {
	root                           string
	attrs, removed, modified, made []files.Step
	changes                        Changes
	// around are the directories around the entry that both manifests have and that have no step.
	around []Entry
	// fresh is the latest created directory that is in no other created one.
	fresh string
}

func (d *difference) compare(was, is Entry) {
	abs := path.Join(d.root, was.Path)
	dir, isDir := was.State.Kind == files.Dir, is.State.Kind == files.Dir
	switch {
	case equal(was.State, is.State):
		if dir {
			d.around = append(d.outside(was.Path), was)
		}
	case dir && isDir:
		d.attrs = append(d.attrs, files.Step{Kind: files.AttrStep, Path: abs, Before: was.State, After: is.State})
		if !was.State.Same(is.State) {
			d.changes.Modified = append(d.changes.Modified, abs)
		}
	case dir != isDir:
		d.remove(was)
		d.create(is)
	default:
		d.changes.Modified = append(d.changes.Modified, abs)
		if was.State.Kind != files.Other {
			d.keepTime(was.Path)
			step := files.Step{Kind: files.PutStep, Path: abs, Before: was.State, After: is.State}
			d.modified = append(d.modified, step)
		}
	}
}

// outside drops the directories that are not around a path.
func (d *difference) outside(rel string) []Entry {
	n := len(d.around)
	for n > 0 && !below(d.around[n-1].Path, rel) {
		n--
	}
	d.around = d.around[:n]
	return d.around
}

// keepTime adds a step for the directory that holds a path: an undo in it changes its times, and one
// that is repeated must know them.
func (d *difference) keepTime(rel string) {
	n := len(d.outside(rel))
	dir := path.Dir("/" + rel)[1:]
	if n == 0 || d.around[n-1].Path != dir {
		return
	}
	e := d.around[n-1]
	d.around = d.around[:n-1]
	step := files.Step{Kind: files.AttrStep, Path: path.Join(d.root, dir), Before: e.State, After: e.State}
	d.attrs = append(d.attrs, step)
}

func (d *difference) remove(e Entry) {
	s := files.Step{
		Kind:   files.RemoveStep,
		Path:   path.Join(d.root, e.Path),
		Before: e.State,
		After:  files.State{Kind: files.Absent},
	}
	d.changes.Deleted = append(d.changes.Deleted, s.Path)
	switch e.State.Kind {
	case files.Other:
		return
	case files.Dir:
		s.Kind = files.RmdirStep
	}
	d.removed = append(d.removed, s)
}

func (d *difference) create(e Entry) {
	s := files.Step{
		Kind:   files.PutStep,
		Path:   path.Join(d.root, e.Path),
		Before: files.State{Kind: files.Absent},
		After:  e.State,
	}
	d.changes.Created = append(d.changes.Created, s.Path)
	inFresh := d.fresh != "" && below(d.fresh, e.Path)
	switch {
	case InObjects(e.Path) && !inFresh: // others can need them by now; those of a created repository go with it
		return
	case e.State.Kind == files.Dir:
		s.Kind = files.MkdirStep
		if !inFresh {
			d.fresh = e.Path
		}
	}
	d.made = append(d.made, s)
}

// Select returns the steps of the paths, and of the directories around them that have to exist
// again; without paths all.
func Select(steps []files.Step, paths []string) []files.Step {
	if len(paths) == 0 {
		return steps
	}
	return slices.DeleteFunc(slices.Clone(steps), func(s files.Step) bool {
		return !slices.ContainsFunc(paths, func(p string) bool {
			return below(p, s.Path) || s.To != "" && below(p, s.To) || s.Kind == files.RmdirStep && below(s.Path, p)
		})
	})
}
