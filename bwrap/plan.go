package bwrap

import (
	"fmt"
	"maps"
	"slices"

	"sandboxd/profile"
	"sandboxd/profile/abspath"
	"sandboxd/profile/hosttree"
)

// Form is the kind of a [Mount].
type Form uint8

// The forms of a mount.
const (
	Directory       Form = iota // a directory of the sandbox's own root, to hold others
	ReadOnly                    // the host's, read-only
	Writable                    // the host's, writable
	Pin                         // the host's, writable, mounted on itself so that it cannot be renamed away
	Device                      // one device node
	Link                        // a symbolic link in the sandbox's own root
	Private                     // an empty writable directory
	Empty                       // an empty directory, read-only
	EmptyFile                   // an empty file, read-only
	HiddenDirectory             // an unreadable directory, read-only
	HiddenFile                  // an unreadable file, read-only
	Proc                        // a procfs of the sandbox's own
	Dev                         // bwrap's own /dev with devpts
)

var formNames = [...]string{
	"directory", "read-only", "writable", "pin", "device", "link", "private", "empty", "empty file",
	"hidden directory", "hidden file", "proc", "dev",
}

func (f Form) String() string { return formNames[f] }

// ground classifies the content of the mount around a mount.
type ground uint8

const (
	bare      ground = iota // our own root, or a mask: bwrap makes missing entries
	hostRead                // nothing can be made
	hostWrite               // nothing may be made
	own                     // a private directory: bwrap makes missing entries, the command may write
	instance                // procfs
	devices                 // bwrap's /dev
	leaf                    // nothing can be below
)

func (f Form) ground() ground {
	switch f {
	case Directory, Empty, HiddenDirectory:
		return bare
	case ReadOnly:
		return hostRead
	case Writable, Pin:
		return hostWrite
	case Private:
		return own
	case Proc:
		return instance
	case Dev:
		return devices
	}
	return leaf
}

// Host reports whether a mount of the form shows a tree of the host, in which nothing may be made.
func (f Form) Host() bool {
	g := f.ground()
	return g == hostRead || g == hostWrite
}

// A Mount is one mount that bwrap makes.
type Mount struct {
	Path string
	Form Form
	// Rule is why; zero where it follows from the rest.
	Rule profile.Rule
	// Mode is that of a Directory, HiddenDirectory and Dev, Target of a Link, and Size the bound of a
	// Private directory in bytes, 0 for none. Sealed says that a Proc is read-only.
	Mode   uint32
	Target string
	Size   int64
	Sealed bool

	view view
}

// MaxProtective is how many protective mounts (read-only binds inside
// what is writable, and pins) the expansion of names may bring a sandbox to.
// Rules that name one path always get their mounts, and names get
// atLeast of their own besides. MaxHidden is how many the names that are hidden get besides those.
const (
	MaxProtective = 64
	MaxHidden     = 1024
	atLeast       = 24
)

// plan collects the mounts.
type plan struct {
	host       *hosttree.Tree
	euid       int
	root       layers
	connect    func(path string) bool
	listed     []string // sockets that the profile names
	layers     []string // directories that overlays replace
	worker     bool     // the sandbox is a worker of the daemon, which connects to nothing
	mounts     map[string]*Mount
	exact      map[string]bool // paths that rules name, mounted or reported
	protective int
	crossing   []Mount  // hidden paths that lead through a link
	vacant     []string // granted paths in private directories that the host does not have
	gaps       []profile.Gap
}

// around returns the mount that path would stand on.
func (p *plan) around(path string) *Mount {
	for path != "/" {
		path = abspath.Parent(path)
		if m := p.mounts[path]; m != nil {
			return m
		}
	}
	return p.mounts["/"]
}

// add records a mount and returns it.
func (p *plan) add(path string, form Form, v view) *Mount {
	m := &Mount{Path: path, Form: form, Rule: v.rule, view: v}
	p.mounts[path] = m
	return m
}

// unheld reports a path on which the mounts do not enforce the profile.
func (p *plan) unheld(path string, v view, why, remedy string) {
	protection := "protect"
	switch v.want() {
	case hidden:
		protection = "hide"
	case private, privateRead:
		protection = "private"
	}
	p.gap(protection, path, why, remedy)
}

// narrowed reports a path on which less is granted than the profile does.
func (p *plan) narrowed(path, why, remedy string) { p.gap("narrowed", path, why, remedy) }

func (p *plan) gap(protection, object, why, remedy string) {
	p.gaps = append(p.gaps, profile.Gap{
		Mechanism: "bwrap", Protection: protection, Object: object, Why: why, Remedy: remedy,
	})
}

// ordered returns the mounts, outer ones first.
func (p *plan) ordered() []*Mount {
	return slices.SortedFunc(maps.Values(p.mounts), func(a, b *Mount) int { return outerFirst(a.Path, b.Path) })
}

func (m Mount) String() string { return fmt.Sprintf("%s %s", m.Form, m.Path) }
