package profile

import (
	"slices"

	"sandboxd/profile/abspath"
)

// ReadOnly returns the profile without write access to files of the host. Devices and the sandbox's own directories
// stay writable. The profile keeps the result.
func (p Profile) ReadOnly() Profile {
	b := p.get()
	if made := b.readOnly.Load(); made != nil {
		return Profile{made}
	}
	made := b.readOnlyBut(nil)
	b.readOnly.Store(made)
	return Profile{made}
}

// ReadOnlyBut is ReadOnly with some directories, and all below them, as they are.
func (p Profile) ReadOnlyBut(dirs ...string) Profile { return Profile{p.get().readOnlyBut(dirs)} }

func (b *body) readOnlyBut(dirs []string) *body {
	d := b.draft()
	for _, dir := range dirs { // a directory may have its access from one above it
		d.points = slices.DeleteFunc(d.points, func(pt point) bool { return pt.path == dir })
		d.points = append(d.points, b.fixed(dir))
	}
	for i, pt := range d.points {
		c := b.tree.at(pt.path)
		spared := func(dir string) bool { return abspath.Contains(dir, pt.path) }
		if c.state.private || spared("/dev") || slices.ContainsFunc(dirs, spared) {
			continue
		}
		_, _, rule := c.Effective()
		t := turn{c.state, rule}
		t.state.access &^= Write
		t.state = t.state.normal()
		t.rule.Access &^= Write
		d.points[i].state = func(Cursor) turn { return t }
	}
	return assemble(d)
}

// WithoutProtectedNames returns the profile without the rules that protect names at or below a directory. Single paths
// stay protected, and so do names outside.
func (p Profile) WithoutProtectedNames(dir string) Profile {
	b := p.get()
	d := b.draft()
	d.names = slices.DeleteFunc(slices.Clone(d.names), func(n named) bool {
		return n.rule.Kind == Protect && abspath.Contains(dir, n.rule.Path)
	})
	return Profile{assemble(d)}
}
