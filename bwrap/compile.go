package bwrap

import (
	"fmt"
	"io/fs"
	pathpkg "path"
	"slices"
	"strings"

	"sandboxd/profile"
	"sandboxd/profile/abspath"
	"sandboxd/profile/hosttree"
)

// Host is the knowledge of the machine that [Compile] needs.
type Host struct {
	// Version is that of the bwrap that will run. It must be at least [Oldest].
	Version Version
	// FS is the machine's file system, rooted at "/": [HostFS], or a snapshot
	// such as a [testing/fstest.MapFS]. It must not follow links in Lstat.
	FS fs.ReadLinkFS
	// Euid is the user that bwrap will run as.
	Euid int
	// Terminal says that the command gets a terminal of our own. It then keeps
	// the session that the stage makes; otherwise bwrap makes one, so that no
	// terminal of anybody else's controls the command.
	Terminal bool
	// Descriptor is the first of [Result.Descriptors] descriptors, each open on
	// something empty such as /dev/null, that bwrap will inherit.
	Descriptor int
	// Layers are the mounts that overlays will replace ([Result.WithOverlay]).
	Layers []string
}

// Result holds the arguments and descriptors for bwrap.
type Result struct {
	// Args are the options, for --args (see [Encode]); "--" and the command
	// are the caller's.
	Args []string
	// Gaps lists the rights that the mounts do not enforce, and with Protection "narrowed"
	// those that they grant less of than the profile.
	Gaps []profile.Gap
	// Mounts is how many mounts only protect.
	Mounts int
	// Descriptors is how many descriptors, from Host.Descriptor on, bwrap reads
	// and closes.
	Descriptors int
	// Layout is every mount in the order in which bwrap makes it.
	Layout []Mount
	// Depends are the directories on whose entries this result depends: if one
	// of them changes, compile again.
	Depends []string
}

// Compile works out the options that make bwrap show the meet of p and every profile
// of extra: the right at a path is the strictest of all of them,
// computed here independently of the intersection that p claims to be.
//
// It is pure: it reads the host through h.FS only and changes nothing. It
// fails if h is not complete or bwrap is too old. Rights that it cannot express it
// leaves out or reports, never grants.
func Compile(p profile.Profile, extra []profile.Profile, h Host) (Result, error) {
	switch {
	case h.FS == nil:
		return Result{}, fmt.Errorf("compile for bwrap: the host's file system is missing")
	case h.Version.Less(Oldest):
		return Result{}, fmt.Errorf("compile for bwrap %v: too old; install %v or newer", h.Version, Oldest)
	case h.Descriptor < 3:
		return Result{}, fmt.Errorf("compile for bwrap: first descriptor is %d; 0 to 2 are the command's", h.Descriptor)
	}
	all := append([]profile.Profile{p}, extra...)
	plan := &plan{
		host:    hosttree.New(h.FS),
		euid:    h.Euid,
		root:    newLayers(p, extra),
		connect: func(path string) bool { return allow(all, profile.OpConnect, path) },
		listed:  p.UnixSockets(),
		layers:  h.Layers,
		worker:  slices.Contains(p.Syscalls(), profile.SyscallsLeases),
		mounts:  map[string]*Mount{},
		exact:   map[string]bool{},
	}
	plan.layRoot()
	plan.layProc()
	plan.layRules(all)
	plan.laySockets(all)
	plan.layHome(p.Environment().Set)
	plan.layCrossing()
	plan.scan(hidingNames(all))
	plan.finishDev()
	plan.hold()
	plan.report(all, h)
	out := writer{descriptor: h.Descriptor}
	if !h.Version.Less(sizeSince) {
		out.size = tmpSize(all)
	}
	out.system(network(all), h)
	layout := plan.ordered()
	for _, m := range layout {
		out.mount(m)
	}
	out.seal(layout)
	if len(out.args) > maxArgs {
		return Result{}, fmt.Errorf("compile for bwrap: %d options are more than bwrap takes; write fewer rules for single "+
			"paths", len(out.args))
	}
	r := Result{
		Args: out.args, Gaps: plan.gaps, Mounts: plan.protective,
		Descriptors: out.descriptor - h.Descriptor, Depends: plan.host.Seen(),
	}
	for _, m := range layout {
		if m.Form == Private {
			m.Size = tmpSize(all)
		}
		m.Sealed = m.Form == Proc && !m.view.access.Has(profile.Write)
		r.Layout = append(r.Layout, *m)
	}
	return r, nil
}

// maxArgs is a little less than MAX_ARGS of bubblewrap.c, 9000.
const maxArgs = 8900

func allow(all []profile.Profile, op profile.Op, path string) bool {
	for _, p := range all {
		if !p.Allows(op, path).Allowed {
			return false
		}
	}
	return true
}

func hidingNames(all []profile.Profile) []profile.Rule {
	var out []profile.Rule
	for _, p := range all {
		for _, r := range p.NameRules() {
			if r.Kind == profile.Hide {
				out = append(out, r)
			}
		}
	}
	return out
}

// layRoot chooses the kind of "/": the host's, or an empty one of our own.
func (p *plan) layRoot() {
	v := p.root.view()
	form := Directory
	switch v.want() {
	case readOnly:
		form = ReadOnly
	case writable:
		form = Writable
	case private:
		form = Private
	}
	p.add("/", form, v)
}

// layRules plans the mounts for rules that name one path, outer paths first.
func (p *plan) layRules(all []profile.Profile) {
	for _, each := range all {
		for _, r := range each.PathRules() {
			p.speak(r.Path)
		}
		for _, path := range each.UnixSockets() {
			p.speak(abspath.Parent(path))
		}
	}
	p.layDev()
	for _, path := range sortedPaths(p.exact) {
		if p.mounts[path] == nil {
			p.lay(path, p.root.at(path).view())
		}
	}
}

// speak marks path, and the directories above that names speak of, as spoken
// of: where the layers together make something else of it than of what is
// around it.
func (p *plan) speak(path string) {
	at, walked := p.root, "/"
	for _, element := range abspath.Elements(path) {
		next := at.child(element)
		walked = abspath.Join(walked, element)
		if (next.turned() || walked == path) && !next.view().same(at.view()) {
			p.exact[walked] = true
		}
		at = next
	}
}

// layHome makes the directories that the environment names where they lie in
// a larger private directory, in which nothing is.
func (p *plan) layHome(set map[string]string) {
	for _, name := range []string{"HOME", "TMPDIR"} {
		path := set[name]
		if !strings.HasPrefix(path, "/") || pathpkg.Clean(path) != path || p.mounts[path] != nil {
			continue
		}
		if v := p.root.at(path).view(); v.want() == private && p.around(path).Form.ground() == own {
			p.add(path, Private, v)
		}
	}
}

// laySockets shows the listed sockets that all profiles list.
func (p *plan) laySockets(all []profile.Profile) {
	for _, path := range all[0].UnixSockets() {
		if p.mounts[path] != nil || !p.connect(path) {
			continue
		}
		p.exact[path] = true
		v := p.root.at(path).view()
		if v.want() == writable || v.want() == readOnly {
			continue // in a tree that is shown
		}
		switch p.host.Look(path) {
		case hosttree.Socket:
			p.add(path, ReadOnly, v)
		default:
			p.narrowed(path, "there is no socket", "start what listens there first")
		}
	}
}

// hold makes the directories that hold mounts in our own root. Those are listable where all
// profiles let them be listed, and so is "/" itself: programs list it.
func (p *plan) hold() {
	for _, m := range p.ordered() {
		if m.Path == "/" {
			continue
		}
		top := p.around(m.Path)
		if ground := top.Form.ground(); ground != bare && ground != devices {
			continue
		}
		if top.Form == HiddenDirectory {
			top.Mode = 0o111
		}
		for _, dir := range between(top.Path, m.Path) {
			p.add(dir, Directory, view{})
		}
	}
	for _, m := range p.mounts {
		if m.Form == Directory || m.Form == Dev {
			m.Mode = 0o111
			if m.Path == "/" || p.root.at(m.Path).view().access.Has(profile.Read) {
				m.Mode = 0o755
			}
		}
	}
}

func outerFirst(a, b string) int {
	if c := depth(a) - depth(b); c != 0 {
		return c
	}
	return strings.Compare(a, b)
}
