package bwrap

import (
	"slices"

	"sandboxd/profile/abspath"
)

// pin keeps every directory above path from being renamed away to put
// something else in its place: the kernel refuses to rename a mount point
// (EBUSY). In a tree of the host a directory is mounted on itself; in a
// private one, where there is nothing to mount, an empty one of its own is.
func (p *plan) pin(path string) {
	for _, m := range p.unpinned(path) {
		p.mounts[m.Path] = m
		p.protective++
	}
}

// unpinned returns the mounts that pin will add.
func (p *plan) unpinned(path string) []*Mount {
	var pins []*Mount
	for {
		m := p.around(path)
		ground := m.Form.ground()
		if ground != hostWrite && ground != own {
			return pins // nothing above can be renamed
		}
		for _, dir := range between(m.Path, path) {
			v := p.root.at(dir).view()
			form := Pin
			switch {
			case ground == own:
				form = Private
			case v.want() == hidden:
				form = HiddenDirectory
			case v.want() == readOnly:
				form = ReadOnly
			}
			pins = append(pins, &Mount{Path: dir, Form: form, Rule: v.rule, view: v})
		}
		path = m.Path
		if path == "/" {
			return pins
		}
	}
}

// between returns the directories strictly between from and path, outermost first.
func between(from, path string) []string {
	var dirs []string
	for path = abspath.Parent(path); path != from && path != "/"; path = abspath.Parent(path) {
		dirs = append(dirs, path)
	}
	slices.Reverse(dirs)
	return dirs
}
