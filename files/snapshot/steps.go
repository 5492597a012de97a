package snapshot

import (
	"path"
	"slices"
	"strings"

	"sandboxd/files"
)

// Changes are the paths of a run's change set, absolute.
type Changes struct{ Created, Modified, Deleted []string }

// Len counts the paths.
func (c Changes) Len() int { return len(c.Created) + len(c.Modified) + len(c.Deleted) }

// Steps returns the steps from one manifest to another, in an order whose reverse can be carried
// out: attributes of directories first, then removals, children before parents, then creations and
// modifications. Paths whose present state a manifest lacks have no step.
func Steps(before, after *Manifest) ([]files.Step, Changes) {
	was, is := before.Index(), after.Index()
	var attrs, removed, made []files.Step
	var c Changes
	absent := files.State{Kind: files.Absent}
	for _, e := range before.Entries {
		abs := path.Join(before.Root, e.Path)
		now, kept := is[e.Path]
		switch {
		case kept && equal(e.State, now.State):
		case kept && e.State.Kind == files.Dir && now.State.Kind == files.Dir:
			attrs = append(attrs, files.Step{Kind: files.AttrStep, Path: abs, Before: e.State, After: now.State})
			if !e.State.Same(now.State) {
				c.Modified = append(c.Modified, abs)
			}
		case kept && e.State.Kind != files.Dir && now.State.Kind != files.Dir:
			c.Modified = append(c.Modified, abs)
			if e.State.Kind != files.Other {
				made = append(made, files.Step{Kind: files.PutStep, Path: abs, Before: e.State, After: now.State})
			}
		case kept || !after.lacks(e.Path, is):
			c.Deleted = append(c.Deleted, abs)
			if s := (files.Step{Kind: files.RemoveStep, Path: abs, Before: e.State, After: absent}); e.State.Kind == files.Dir {
				s.Kind = files.RmdirStep
				removed = append(removed, s)
			} else if e.State.Kind != files.Other {
				removed = append(removed, s)
			}
		}
	}
	slices.Reverse(removed)
	for _, e := range after.Entries {
		old, kept := was[e.Path]
		if kept && (old.State.Kind == files.Dir) == (e.State.Kind == files.Dir) || !kept && before.lacks(e.Path, was) {
			continue
		}
		abs := path.Join(after.Root, e.Path)
		c.Created = append(c.Created, abs)
		if InObjects(e.Path) {
			continue
		}
		s := files.Step{Kind: files.PutStep, Path: abs, Before: absent, After: e.State}
		if e.State.Kind == files.Dir {
			s.Kind = files.MkdirStep
		}
		made = append(made, s)
	}
	return slices.Concat(attrs, removed, made), c
}

// lacks reports whether the manifest may lack an entry that exists.
func (m *Manifest) lacks(rel string, by map[string]*Entry) bool {
	below := func(list []string) bool {
		return slices.ContainsFunc(list, func(s string) bool {
			s, _, _ = strings.Cut(s, ": ")
			if e := by[s]; e != nil && e.State.Kind == files.File { // one of several names, which it has
				return false
			}
			return rel == s || strings.HasPrefix(rel, s+"/")
		})
	}
	return below(m.LeftOut) || below(m.Skipped)
}

// Select returns the steps of the paths, and of the directories around them that have to exist
// again; without paths all.
func Select(steps []files.Step, paths []string) []files.Step {
	if len(paths) == 0 {
		return steps
	}
	below := func(dir, p string) bool { return p == dir || strings.HasPrefix(p, dir+"/") }
	return slices.DeleteFunc(slices.Clone(steps), func(s files.Step) bool {
		return !slices.ContainsFunc(paths, func(p string) bool {
			return below(p, s.Path) || s.To != "" && below(p, s.To) || s.Kind == files.RmdirStep && below(s.Path, p)
		})
	})
}
