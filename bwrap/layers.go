package bwrap

import (
	"slices"

	"sandboxd/profile"
	"sandboxd/profile/abspath"
)

// layers walks several profiles at once. The right at a path is the one that all of
// them grant there, worked out path by path: a mistake in the intersection
// that the first of them is does not reach the mounts.
type layers []profile.Cursor

func newLayers(p profile.Profile, extra []profile.Profile) layers {
	l := layers{p.Cursor()}
	for _, e := range extra {
		l = append(l, e.Cursor())
	}
	return l
}

func (l layers) child(element string) layers { return l.childIn(nil, element) }

// childIn is child in the memory of a slice that is no longer needed.
func (l layers) childIn(next layers, element string) layers {
	next = next[:0]
	for _, c := range l {
		next = append(next, c.Child(element))
	}
	return next
}

// at walks to a clean absolute path.
func (l layers) at(path string) layers {
	for _, element := range abspath.Elements(path) {
		l = l.child(element)
	}
	return l
}

func (l layers) turned() bool { return slices.ContainsFunc(l, profile.Cursor.Turned) }

func (l layers) settled() bool {
	for _, c := range l {
		if !c.Settled() {
			return false
		}
	}
	return true
}

// view is the layers' joint meaning of one path.
type view struct {
	access  profile.Access
	private bool
	rule    profile.Rule // of the layer that decided
}

func (l layers) view() view {
	v := view{access: profile.Read | profile.Write | profile.Exec}
	for i, c := range l {
		kind, access, rule := c.Effective()
		private := kind == profile.Private
		if i == 0 || v.access&access != v.access || private && !v.private {
			v.rule = rule
		}
		v.access &= access
		v.private = v.private || private
	}
	if !v.access.Has(profile.Read) {
		v.access, v.private = 0, false
	}
	return v
}

// same reports whether v and w are the same, by any rules.
func (v view) same(w view) bool { return v.access == w.access && v.private == w.private }

// want is how a path has to look inside.
type want uint8

const (
	hidden      want = iota // not there, or there and unreadable
	readOnly                // the host's, not writable
	writable                // the host's
	private                 // an empty one of the sandbox's own
	privateRead             // the same, not writable
)

func (v view) want() want {
	switch {
	case v.access == 0:
		return hidden
	case v.private && v.access.Has(profile.Write):
		return private
	case v.private:
		return privateRead
	case v.access.Has(profile.Write):
		return writable
	}
	return readOnly
}

func depth(path string) int { return len(abspath.Elements(path)) }
