package bwrap

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"sandboxd/profile"
	"sandboxd/profile/abspath"
	"sandboxd/profile/hosttree"
)

// MaxEntries bounds how many directory entries one compilation looks at for
// names, sockets and FIFOs.
const MaxEntries = 100_000

// dependencies hold other people's projects by the thousand; the names in
// them are left to the check after the run.
var dependencies = profile.Dependencies()

// systemTrees hold no sockets and nothing that a sandbox could have placed.
var systemTrees = []string{
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix", "/snap", "/boot", "/sys",
	"/dev", "/proc",
}

// candidate is a path that a scan found and that needs a mount.
type candidate struct {
	path string
	view view
	rank int
}

// scanner looks for names at any depth, and for sockets and FIFOs in readable trees.
type scanner struct {
	*plan
	hides      []profile.Rule             // rules by name that hide
	mounted    map[string]map[string]bool // directory → entries that have a mount
	left       int                        // entries that may still be looked at
	candidates []candidate
	skipped    []string
	foreign    []string // sockets of programs outside, in writable trees
}

// scan looks through every tree of the host that is mounted.
func (p *plan) scan(hides []profile.Rule) {
	s := scanner{plan: p, hides: hides, left: MaxEntries, mounted: map[string]map[string]bool{}}
	for path := range p.mounts {
		dir := abspath.Parent(path)
		if s.mounted[dir] == nil {
			s.mounted[dir] = map[string]bool{}
		}
		s.mounted[dir][abspath.Base(path)] = true
	}
	var read []string
	for _, m := range p.ordered() {
		switch {
		case p.host.Look(m.Path) != hosttree.Directory:
		case m.Form == Writable || m.Form == Pin:
			s.walk(m.Path, m.Path, p.root.at(m.Path))
		case m.Form == ReadOnly:
			read = append(read, m.Path)
		}
	}
	for _, path := range read {
		s.walk(path, path, p.root.at(path))
	}
	for _, dir := range p.host.Closed() {
		if p.root.at(dir).view().want() == writable {
			p.gap("names", dir, "the daemon cannot list it", "give its user access")
		}
	}
	for _, path := range s.foreign {
		p.narrowed(path, "a program outside listens there", "list it in the profile's sockets")
	}
	for _, dir := range s.skipped {
		p.gap("names", dir, "the names in a folder of dependencies are not looked for", CheckedAfter)
	}
	if s.left <= 0 {
		p.gap("names", "", fmt.Sprintf("the trees have more than %d entries, the rest was not looked at", MaxEntries),
			"mount less, or keep generated files elsewhere")
	}
	s.choose()
}

// walk judges the entries of dir, which is in the mount at top.
func (s *scanner) walk(top, dir string, at layers) {
	writes := at.view().want() == writable
	sockets := !slices.ContainsFunc(systemTrees, func(t string) bool { return abspath.Contains(t, dir) })
	if !sockets && (at.settled() || !writes && !s.hiddenNames(dir)) {
		return
	}
	var memory layers
	for _, entry := range s.host.List(dir) {
		if s.left--; s.left < 0 {
			return
		}
		name, kind := entry.Name(), hosttree.Kind(entry.Type())
		if s.mounted[dir][name] {
			continue // walked as a mount of its own, or nothing to see
		}
		next := at.childIn(memory, name)
		s.judge(top, dir, name, kind, at, next)
		if memory = next; kind != hosttree.Directory {
			continue
		}
		memory = nil // the walk below continues from next
		switch path := abspath.Join(dir, name); {
		case next.view().want() == hidden || s.objects(path):
		case !slices.Contains(dependencies, name):
			s.enter(top, path, next)
		case !next.settled():
			s.skipped = append(s.skipped, path)
		}
	}
}

// enter walks a directory below the one that is walked. If only its owner may
// enter it, root's bwrap can't make a mount and root's command can't use its entries,
// as neither has the capability over other users' files: entries that would need mounts
// are hidden with the directory.
func (s *scanner) enter(top, dir string, at layers) {
	candidates, foreign := len(s.candidates), len(s.foreign)
	s.walk(top, dir, at)
	if s.euid == 0 && len(s.candidates) > candidates && s.host.Barred(dir) {
		first := s.candidates[candidates]
		s.candidates = append(s.candidates[:candidates], candidate{dir, view{rule: first.view.rule}, rank(top, dir)})
		s.foreign = s.foreign[:foreign]
	}
}

// judge makes a candidate of an entry that needs a mount.
func (s *scanner) judge(top, dir, name string, kind hosttree.Found, at, next layers) {
	turned := next.turned()
	if !turned && kind != hosttree.Socket && kind != hosttree.Pipe {
		return
	}
	path, v := abspath.Join(dir, name), next.view()
	switch {
	case kind == hosttree.Socket && v.want() == readOnly && !s.connect(path),
		kind == hosttree.Pipe && v.want() == readOnly: // a read-only mount lets both be written to
		v = view{rule: v.rule}
	case kind == hosttree.Socket && v.want() == writable && !slices.Contains(s.listed, path) && !s.lonely(top):
		// The listener is outside: the sandbox is not running yet.
		v = view{rule: v.rule}
		s.foreign = append(s.foreign, path)
	case !turned || s.exact[path] || v.want() == at.view().want():
		return
	}
	s.candidates = append(s.candidates, candidate{path, v, rank(top, path)})
}

// lonely reports whether no program inside can reach the listeners of sockets in a mount: an overlay's sockets have
// none, and a worker connects to nothing. Such a socket can be removed, which a mount on it would prevent (EBUSY).
func (s *scanner) lonely(top string) bool { return s.worker || slices.Contains(s.layers, top) }

// objects reports git's object store, in which nobody keeps a file by name.
func (s *scanner) objects(path string) bool {
	return abspath.Base(path) == "objects" && (abspath.Base(abspath.Parent(path)) == ".git" ||
		strings.Contains(path, "/.git/modules/"))
}

// hiddenNames reports whether a rule by name hides something in or below dir.
func (s *scanner) hiddenNames(dir string) bool {
	return slices.ContainsFunc(s.hides, func(r profile.Rule) bool {
		return abspath.Contains(r.Path, dir) ||
			abspath.Contains(dir, r.Path)
	})
}

// rank puts the project's own repositories first, then the entries of
// the mount, then the rest.
func rank(top, path string) int {
	switch {
	case strings.Contains(path+"/", "/.git/"):
		return 0
	case abspath.Parent(path) == top:
		return 1
	}
	return 2
}

// choose mounts the candidates that fit and reports the others. What is hidden comes first and has a bound of its own:
// no look after the run makes up for it, so that a command would not run where it does not fit.
func (s *scanner) choose() {
	s.candidates = slices.DeleteFunc(s.candidates, s.unreadable)
	slices.SortFunc(s.candidates, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(min(a.view.want(), readOnly), min(b.view.want(), readOnly)), cmp.Compare(a.rank, b.rank),
			cmp.Compare(depth(a.path), depth(b.path)), cmp.Compare(a.view.want(), b.view.want()),
			cmp.Compare(a.path, b.path))
	})
	fixed, hides := s.protective, 0
	for _, c := range s.candidates {
		most, used := max(MaxProtective, fixed+atLeast), s.protective-hides
		if c.view.want() == hidden {
			most, used = MaxHidden, hides
		}
		if cost := s.cost(c); used+cost <= most {
			s.lay(c.path, c.view)
			if c.view.want() == hidden {
				hides += cost
			}
			continue
		}
		s.unheld(c.path, c.view, fmt.Sprintf("more than %d protective mounts would be needed", most),
			"what changes there is found after the run")
	}
}

// unreadable reports whether a candidate for hiding needs no mount: it is another user's file that its mode closes to
// everybody else, in a tree in which nobody inside can change that.
func (s *scanner) unreadable(c candidate) bool {
	return c.view.want() == hidden && s.around(c.path).Form.ground() == hostRead && s.host.Others(c.path, s.euid)
}

// cost is how many protective mounts c needs.
func (s *scanner) cost(c candidate) int {
	if s.around(c.path).Form.ground() == hostRead && c.view.want() != hidden {
		return 0
	}
	return 1 + len(s.unpinned(c.path))
}
