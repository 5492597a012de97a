package landlock

import (
	"fmt"
	"slices"
	"strings"

	"sandboxd/landlock/lsm"
	"sandboxd/profile"
	"sandboxd/profile/abspath"
	"sandboxd/profile/hosttree"
)

// maxEntries bounds how many directory entries one compilation looks at for
// names.
const maxEntries = 100_000

// collect finds every path at which the granted rights change.
func (c *compiler) collect() {
	c.mark("/", c.profile.Cursor(), true)
	for _, r := range c.profile.PathRules() {
		at := c.profile.Cursor()
		for _, element := range abspath.Elements(r.Path) {
			at = at.Child(element)
		}
		c.mark(r.Path, at, true)
		if r.Kind == profile.Hide && c.place == Alone {
			c.hideTarget(r.Path)
		}
	}
	if c.place == Alone && len(c.profile.NameRules()) > 0 {
		left := maxEntries
		c.scan("/", c.profile.Cursor(), &left)
	}
	for _, path := range c.profile.UnixSockets() {
		c.markSocket(path)
	}
	c.index()
}

// listRoot permits listing "/" inside a mount namespace. Landlock gives the right to everything
// below, too, which adds nothing there: a profile reads each directory that it shows, hidden ones
// are masked, and the namespace's own directories hold only the way to them. The rules below keep the
// right: a directory that is passed in by a descriptor is on the host's mount, and not below this "/".
func (c *compiler) listRoot() {
	if c.place != Inside {
		return
	}
	access := lsm.ReadDir & c.abi.FS
	if r := c.rules["/"]; r != nil {
		access |= r.Access
	}
	c.add("/", access, true)
}

// mark records the rights at path.
func (c *compiler) mark(path string, at profile.Cursor, exact bool) {
	kind, access, _ := at.Effective()
	c.spots[path] = &spot{c.rights(path, kind, access), c.host.Look(path), exact}
}

// markSocket permits connecting to a listed socket, with any rights around it.
func (c *compiler) markSocket(path string) {
	s := c.spots[path]
	if s == nil {
		at := c.profile.Cursor()
		for _, element := range abspath.Elements(path) {
			at = at.Child(element)
		}
		c.mark(path, at, false)
		s = c.spots[path]
	}
	s.access |= lsm.ResolveUnix & c.abi.FS
}

// hideTarget denies the target of a hidden link, unless a rule names it.
func (c *compiler) hideTarget(path string) {
	switch c.host.Look(path) {
	case hosttree.Link, hosttree.BehindLink:
	default:
		return
	}
	real, ok := c.host.Resolve(path)
	if !ok || real == "/" {
		return
	}
	for _, r := range c.profile.PathRules() {
		if abspath.Contains(real, r.Path) {
			return
		}
	}
	c.narrowed(real, fmt.Sprintf("the hidden %q leads here", path))
	c.spots[real] = &spot{at: c.host.Look(real)}
}

// scan looks for names in granted directories. Those beyond its limit are denied.
func (c *compiler) scan(dir string, at profile.Cursor, left *int) {
	if at.Settled() || !c.namesMatter(dir, at) {
		return
	}
	if *left <= 0 {
		if c.spots[dir] == nil {
			c.spots[dir] = &spot{at: hosttree.Directory}
			c.narrowed(dir, fmt.Sprintf("names are looked for in at most %d entries; what was not looked at is denied",
				maxEntries))
		}
		return
	}
	entries := c.host.List(dir)
	*left -= len(entries)
	for _, entry := range entries {
		path, next := abspath.Join(dir, entry.Name()), at.Child(entry.Name())
		if next.Turned() && c.spots[path] == nil {
			c.mark(path, next, false)
		}
		if entry.IsDir() {
			c.scan(path, next, left)
		}
	}
}

// namesMatter reports whether rules by name can change rights in dir or below: nothing is granted
// in most of the machine, and where nothing may be written there is nothing to protect.
func (c *compiler) namesMatter(dir string, at profile.Cursor) bool {
	granted, writes := false, false
	look := func(kind profile.Kind, access profile.Access, _ profile.Rule) {
		granted = granted || access != 0 && kind != profile.Private
		writes = writes || access.Has(profile.Write) && kind != profile.Private
	}
	look(at.Effective())
	for _, r := range c.profile.PathRules() {
		if abspath.Contains(dir, r.Path) {
			look(r.Kind, r.Access, r)
		}
	}
	return slices.ContainsFunc(c.profile.NameRules(), func(r profile.Rule) bool {
		reaches := abspath.Contains(r.Path, dir) || abspath.Contains(dir, r.Path)
		return reaches && (writes || granted && r.Kind == profile.Hide)
	})
}

// index makes the directories above spots known.
func (c *compiler) index() {
	known := map[string]bool{"/": true}
	for path := range c.spots {
		for path != "/" && !known[path] {
			known[path] = true
			up := abspath.Parent(path)
			c.kids[up] = append(c.kids[up], path)
			path = up
		}
	}
	for _, kids := range c.kids {
		slices.SortFunc(kids, strings.Compare)
	}
}
