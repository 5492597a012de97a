package landlock

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"sandboxd/landlock/lsm"
	"sandboxd/profile"
	"sandboxd/profile/abspath"
	"sandboxd/profile/hosttree"
)

// Place is the set of other mechanisms where the ruleset will be applied.
type Place uint8

const (
	// Alone: no other mechanism. The ruleset grants nothing beyond the profile, outside of the gaps
	// of [Alone]; where Landlock cannot revoke a right of the directory above, less is granted.
	Alone Place = iota
	// Inside a mount namespace that shows only the profile's grants, read-only and masked: the
	// ruleset is the second wall. It grants the union of the profile's grants below a path, and
	// refuses the rest. Only execution is narrowed as it is alone, because mounts do not limit it.
	Inside
)

// ErrRoot is in the error of [Compile] for a ruleset that is to limit uid 0 alone: Landlock's gaps
// are too large for that user.
var ErrRoot = errors.New("landlock alone does not hold root")

// Host has the facts about the machine that [Compile] needs. The zero value is refused, not weak:
// its uid is 0.
type Host struct {
	// FS is the machine's file system, rooted at "/", or a snapshot such as a
	// [testing/fstest.MapFS]. A denial inside a grant is compiled into grants of its neighbours,
	// which are read from here.
	FS fs.ReadLinkFS
	// Place is the set of other mechanisms.
	Place Place
	// Euid is the user that the command will run as.
	Euid int
	// Errata are the bugs that the kernel has fixed ([lsm.FixedErrata]).
	Errata lsm.Errata
	// Audit makes the kernel log the command's refusals, from ABI 7 on.
	Audit bool
}

// Compile returns the ruleset for a kernel of that ABI, and its gaps. ABIs beyond [lsm.Newest]
// count as Newest. It is pure: it reads the host through h.FS and changes nothing.
//
// The error wraps [lsm.ErrUnavailable] for an ABI below 1 and [ErrRoot] for uid 0 alone.
func Compile(p profile.Profile, version int, h Host) (lsm.Ruleset, []profile.Gap, error) {
	switch {
	case version < 1:
		return lsm.Ruleset{}, nil, fmt.Errorf("compile for landlock ABI %d: %w", version, lsm.ErrUnavailable)
	case h.FS == nil:
		return lsm.Ruleset{}, nil, fmt.Errorf("compile for landlock: the host's file system is missing")
	case h.Place == Alone && h.Euid == 0:
		return lsm.Ruleset{}, nil, fmt.Errorf("compile for landlock: %w: run as an ordinary user, or make namespaces "+
			"available", ErrRoot)
	}
	version = min(version, lsm.Newest)
	c := &compiler{
		profile: p, abi: lsm.Handles(version), place: h.Place,
		host:  hosttree.New(h.FS),
		spots: map[string]*spot{},
		kids:  map[string][]string{},
		rules: map[string]*lsm.PathRule{},
	}
	c.collect()
	c.grant("/", c.spots["/"].access, 0)
	c.listRoot()
	r := lsm.Ruleset{HandledFS: c.abi.FS, Scoped: c.abi.Scoped}
	if p.Processes() == profile.ProcessesHost {
		r.Scoped &^= lsm.Signal
	}
	if h.Audit {
		r.Flags = c.abi.Flags & lsm.LogNewExecOn
	}
	c.network(&r)
	for _, rule := range c.rules {
		r.Paths = append(r.Paths, *rule)
	}
	slices.SortFunc(r.Paths, func(a, b lsm.PathRule) int { return strings.Compare(a.Path, b.Path) })
	return r, append(c.gaps, c.open(version, h)...), nil
}

// compiler collects the results of [Compile].
type compiler struct {
	profile profile.Profile
	abi     lsm.Handled
	place   Place
	host    *hosttree.Tree
	spots   map[string]*spot    // paths at which rights change
	kids    map[string][]string // directory → entries at or below which there is a spot
	rules   map[string]*lsm.PathRule
	gaps    []profile.Gap
}

// spot is a path at which rights change.
type spot struct {
	access lsm.AccessFS
	at     hosttree.Found
	exact  bool // a rule names this very path
}

// rights of the three accesses of a profile. Nothing grants MakeChar and
// MakeBlock: no command makes devices.
const (
	readRights  = lsm.ReadFile | lsm.ReadDir
	writeRights = lsm.WriteFile | lsm.Truncate | lsm.RemoveDir | lsm.RemoveFile |
		lsm.MakeDir | lsm.MakeReg | lsm.MakeSock | lsm.MakeFifo | lsm.MakeSym | lsm.Refer | lsm.ResolveUnix
)

// rights translates a profile's access at path.
func (c *compiler) rights(path string, kind profile.Kind, access profile.Access) lsm.AccessFS {
	var a lsm.AccessFS
	if access.Has(profile.Read) {
		a |= readRights
	}
	if access.Has(profile.Write) {
		a |= writeRights
	}
	if access.Has(profile.Exec) {
		a |= lsm.Execute
	}
	if access.Has(profile.Write) && abspath.Contains("/dev", path) {
		a |= lsm.IoctlDev
	}
	if kind == profile.Private && c.place == Alone {
		// The host's is there, not ours. Its procfs is shown nevertheless:
		// nothing works without it, and the gap "processes" says so.
		a &= readRights
		if !abspath.Contains("/proc", path) {
			a = 0
		}
	}
	return a & c.abi.FS
}

// grant grants access on path and everything below, except spots below that must do without; given
// are the rights of the directories above.
func (c *compiler) grant(path string, access, given lsm.AccessFS) {
	here := access &^ given
	blocked := c.blocked(path, access)
	give := here &^ blocked
	c.add(path, give, c.spots[path] != nil && c.spots[path].exact)
	if rest := here & blocked; rest != 0 {
		c.spread(path, rest)
	}
	for _, kid := range c.kids[path] {
		next := access
		if s := c.spots[kid]; s != nil {
			next = s.access
		}
		c.grant(kid, next, given|give)
	}
}

// blocked returns the rights of access that must not be given on path,
// because something below must not have them.
func (c *compiler) blocked(path string, access lsm.AccessFS) lsm.AccessFS {
	var blocked lsm.AccessFS
	for _, kid := range c.kids[path] {
		if s := c.spots[kid]; s != nil {
			blocked |= access &^ s.access & c.matters(s)
		}
		blocked |= c.blockedBelow(kid, access)
	}
	return blocked
}

// blockedBelow is blocked for a directory above path: there, the right to remove directories
// includes renaming the parent of a spot below.
func (c *compiler) blockedBelow(path string, access lsm.AccessFS) lsm.AccessFS {
	blocked := c.blocked(path, access)
	if blocked != 0 && c.place == Alone {
		blocked |= access & lsm.RemoveDir
	}
	return blocked
}

// matters returns the rights that, given on the directory that holds s, would
// let something be done to s.
func (c *compiler) matters(s *spot) lsm.AccessFS {
	if c.place == Inside {
		if s.access&readRights != 0 && (s.at == hosttree.Directory || s.at.IsFile()) {
			return lsm.Execute
		}
		return 0 // masked or not there: nothing of the host can be executed
	}
	switch s.at {
	case hosttree.Directory, hosttree.Absent, hosttree.Unreachable:
		return ^lsm.AccessFS(0)
	case hosttree.Link, hosttree.BehindLink:
		return lsm.RemoveFile | lsm.Refer | lsm.MakeSym
	}
	// It exists and is no directory. To make a file of its kind beside it is
	// the right to give it a second name there (link(2)).
	return ^(lsm.ReadDir | lsm.RemoveDir | lsm.MakeDir | lsm.MakeSym)
}

// spread gives rights to the present entries of a directory instead of the directory: Landlock
// cannot revoke a right of the directory above.
func (c *compiler) spread(dir string, rights lsm.AccessFS) {
	c.narrowed(dir, fmt.Sprintf("something below is denied %v; existing entries are granted one by one, later ones "+
		"are not", rights))
	if c.place == Inside && c.private(dir) {
		return // there is nothing yet
	}
	for _, entry := range c.host.List(dir) {
		path := abspath.Join(dir, entry.Name())
		if c.spots[path] != nil || len(c.kids[path]) > 0 {
			continue // speaks for itself
		}
		give := rights
		switch hosttree.Kind(entry.Type()) {
		case hosttree.Directory:
		case hosttree.Link:
			continue
		default:
			give &= lsm.File
		}
		c.add(path, give, false)
	}
}

// add records a rule.
func (c *compiler) add(path string, access lsm.AccessFS, exact bool) {
	at := c.host.Look(path)
	if at.IsFile() {
		access &= lsm.File
	}
	if access == 0 {
		return
	}
	// A directory of the sandbox's own is no link, and if it could not be made the link is not
	// followed (addPath).
	link := (at == hosttree.Link || at == hosttree.BehindLink) && !(c.place == Inside && c.private(path))
	if link {
		if real, ok := c.host.Resolve(path); !ok || c.wanted(real)&access != access {
			c.narrowed(path, "it is, or leads through, a symbolic link; write the real path")
		}
		return
	}
	if len(c.rules) >= lsm.MaxPaths {
		c.narrowed(path, fmt.Sprintf("there are more than %d rules", lsm.MaxPaths))
		return
	}
	required := exact && c.place == Alone && (at == hosttree.Directory || at.IsFile())
	c.rules[path] = &lsm.PathRule{Path: path, Access: access, Optional: !required}
}

// private reports whether path is, or is in, a directory of the sandbox's own.
func (c *compiler) private(path string) bool {
	kind, _, _ := c.profile.Effective(path)
	return kind == profile.Private
}

// wanted returns the rights that the profile grants at path.
func (c *compiler) wanted(path string) lsm.AccessFS {
	kind, access, _ := c.profile.Effective(path)
	return c.rights(path, kind, access)
}

// narrowed reports that less is granted on path than the profile does.
func (c *compiler) narrowed(path, why string) { c.gap("narrowed", path, why, "") }

func (c *compiler) gap(protection, object, why, remedy string) {
	c.gaps = append(c.gaps, profile.Gap{
		Mechanism: "landlock", Protection: protection, Object: object, Why: why, Remedy: remedy,
	})
}
