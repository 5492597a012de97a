package bwrap

import (
	"fmt"
	"slices"

	"sandboxd/profile/abspath"
	"sandboxd/profile/hosttree"
)

// lay decides the mounts that path needs, given those around it.
func (p *plan) lay(path string, v view) {
	switch p.around(path).Form.ground() {
	case bare:
		p.layBare(path, v)
	case hostRead, hostWrite:
		p.layHost(path, v)
	case own:
		p.layOwn(path, v)
	case instance:
		p.layInstance(path, v)
	case devices:
		p.layDevice(path, v)
	case leaf:
		if v.want() != hidden {
			p.narrowed(path, "the path above it is not a directory of the host", "write the real path")
		}
	}
}

// layBare: bwrap can make any destination here, and a path without a mount does not exist.
func (p *plan) layBare(path string, v view) {
	switch v.want() {
	case hidden:
	case private:
		p.add(path, Private, v)
	case privateRead:
		p.add(path, Empty, v)
	default:
		p.bind(path, v)
	}
}

// bind mounts the host's path where bwrap may make the mount point.
func (p *plan) bind(path string, v view) {
	switch p.host.Look(path) {
	case hosttree.Absent:
		if v.want() == writable {
			p.narrowed(path, "it does not exist and is not made", "create it before")
		}
	case hosttree.Unreachable:
		p.narrowed(path, "the daemon may not look at it", "give its user access")
	case hosttree.BehindLink:
		p.narrowed(path, "it leads through a symbolic link", "write the real path")
	case hosttree.Link:
		p.layLink(path, v)
	case hosttree.Device:
		p.add(path, Device, v)
	default:
		p.add(path, bound(v), v)
	}
}

func bound(v view) Form {
	if v.want() == writable {
		return Writable
	}
	return ReadOnly
}

// layLink copies a link of the host into our own root; its target is
// granted by its own path or not at all.
func (p *plan) layLink(path string, v view) {
	text, ok := p.host.Target(path)
	if !ok {
		p.narrowed(path, "the symbolic link cannot be read", "give the daemon's user access")
		return
	}
	p.add(path, Link, v).Target = text
}

// layHost: bwrap must make nothing here, so that no placeholder is left and
// no link is followed (CVE-2026-87766).
func (p *plan) layHost(path string, v view) {
	writes := p.around(path).Form.ground() == hostWrite
	want := v.want()
	if writes && want == writable || !writes && want == readOnly {
		return // as it is around it
	}
	switch at := p.host.Look(path); at {
	case hosttree.Absent:
		switch {
		case writes:
			p.unheld(path, v, "it does not exist, and nothing is placed on the host to hold the name", CheckedAfter)
		case want != hidden:
			p.narrowed(path, "it does not exist and is not made", "create it before")
		}
	case hosttree.Unreachable:
		switch {
		case writes:
			p.unheld(path, v, "the daemon may not look at it", "give its user access")
		case want != hidden:
			p.narrowed(path, "the daemon may not look at it", "give its user access")
		}
	case hosttree.Link, hosttree.BehindLink:
		switch {
		case writes:
			p.unheld(path, v, "a mount cannot hold a symbolic link", "write the real path")
		case want != hidden:
			p.narrowed(path, "it is, or leads through, a symbolic link", "write the real path")
		}
		if want == hidden {
			p.crossing = append(p.crossing, Mount{Path: path, Rule: v.rule})
		}
	default:
		p.layOver(path, v, at)
	}
}

// layOver covers something that exists in a tree of the host.
func (p *plan) layOver(path string, v view, at hosttree.Found) {
	form := HiddenFile
	switch want := v.want(); {
	case want == writable || want == readOnly:
		if form = bound(v); at == hosttree.Device {
			form = Device
		}
	case at != hosttree.Directory && want != hidden:
		p.narrowed(path, "only a directory can be private: it is hidden", "make it a directory")
	case at != hosttree.Directory:
	case want == hidden:
		form = HiddenDirectory
	case want == private:
		form = Private
	default:
		form = Empty
	}
	if v.want() != writable {
		shareable := at == hosttree.File || at == hosttree.Pipe
		if writes := p.around(path).Form.ground() == hostWrite; writes && shareable && p.host.Shared(path) {
			p.unheld(path, v, "the file has other names (hard links), which the mount does not cover", "make a copy of it")
		}
		p.pin(path)
		p.protective++
	}
	p.add(path, form, v)
}

// layOwn: the path is the sandbox's own, and it may write; bwrap makes
// missing entries, and a stricter path needs an entry that holds its name.
func (p *plan) layOwn(path string, v view) {
	at := p.host.Look(path)
	there := at == hosttree.Directory || at.IsFile()
	switch want := v.want(); {
	case want == private:
		return
	case want == writable:
		if at != hosttree.Absent {
			p.bind(path, v)
		}
		return
	case want == readOnly && at == hosttree.Absent:
		p.vacant = append(p.vacant, path)
		return
	case want == readOnly && there:
		p.pin(path)
		p.bind(path, v)
		return
	case want == hidden && slices.ContainsFunc(p.listed, func(s string) bool { return abspath.Contains(path, s) }):
		p.add(path, HiddenDirectory, v)
	case want == hidden:
		p.add(path, HiddenFile, v)
	case want == privateRead && at != hosttree.Directory && !p.spokenBelow(path):
		p.add(path, EmptyFile, v)
	default:
		if want == readOnly {
			p.narrowed(path, "it is, or leads through, a symbolic link, or cannot be looked at", "write the real path")
		}
		p.add(path, Empty, v)
	}
	p.pin(path)
	p.protective++
}

// spokenBelow reports whether a rule names a path below dir, which then has
// to be a directory.
func (p *plan) spokenBelow(dir string) bool {
	for path := range p.exact {
		if path != dir && abspath.Contains(dir, path) {
			return true
		}
	}
	return false
}

// layInstance: a procfs of our own, with the host's entries.
func (p *plan) layInstance(path string, v view) {
	at := p.host.Look(path)
	if at == hosttree.Absent || at == hosttree.Unreachable || at == hosttree.Link || at == hosttree.BehindLink {
		p.unheld(path, v, "the procfs is the sandbox's own, and the host's has nothing there", "leave the rule out")
		return
	}
	switch v.want() {
	case hidden:
		form := HiddenFile
		if at == hosttree.Directory {
			form = HiddenDirectory
		}
		p.add(path, form, v)
	default:
		p.add(path, ReadOnly, v)
	}
	p.protective++
}

// layCrossing hides the real target of a hidden link.
func (p *plan) layCrossing() {
	for _, m := range p.crossing {
		real, ok := p.host.Resolve(m.Path)
		if !ok || real == "/" || p.mounts[real] != nil || p.exact[real] || p.spokenBelow(real) {
			continue
		}
		if p.root.at(real).view().want() == hidden {
			continue
		}
		p.narrowed(real, fmt.Sprintf("the hidden %q leads here", m.Path), "hide it by its real path")
		p.lay(real, view{rule: m.Rule})
	}
}
