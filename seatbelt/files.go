package seatbelt

import (
	"slices"
	"strings"

	"sandboxd/pattern"
	"sandboxd/profile"
	"sandboxd/profile/abspath"
)

// The operations of a path rule. They are the same in every rule, so that it does not matter
// whether a rule for a single operation beats one for a group. On sockets with a name, the network
// operations have paths.
var (
	readOps  = []string{"file-read*"}
	writeOps = []string{"file-write*", "file-link", "file-ioctl", "network-outbound", "network-bind", "network-inbound"}
	execOps  = []string{"process-exec*", "file-map-executable"}
	pinned   = []string{"file-write-unlink"}
	fixed    = []string{"file-write-create", "file-write-unlink"}
)

func operations(a profile.Access) []string {
	var ops []string
	if a.Has(profile.Read) {
		ops = append(ops, readOps...)
	}
	if a.Has(profile.Write) {
		ops = append(ops, writeOps...)
	}
	if a.Has(profile.Exec) {
		ops = append(ops, execOps...)
	}
	return ops
}

const everything = profile.Read | profile.Write | profile.Exec

// files writes the rules of paths. Its profile has real paths.
type files struct {
	*writer
	profile profile.Profile
	found   []string
	turns   []turn
	byName  []string // expressions of directories that begin a protected name
}

// turn is a path where something begins to hold: a path rule, or the base of rules by name.
type turn struct {
	path   string
	rule   bool
	access profile.Access // as it is here: private is nothing
}

// holds returns the host's access at a path. A private path grants nothing of it, and there is no
// own one to grant.
func (f *files) holds(p string) profile.Access {
	kind, access, _ := f.profile.Effective(p)
	if kind == profile.Private {
		return 0
	}
	return access
}

// order lists the turns, a directory before its entries.
func (f *files) order() {
	rules := map[string]bool{}
	for _, r := range f.profile.NameRules() {
		rules[r.Path] = false
	}
	for _, r := range f.profile.PathRules() {
		rules[r.Path] = true
	}
	for p, rule := range rules {
		f.turns = append(f.turns, turn{p, rule, f.holds(p)})
	}
	slices.SortFunc(f.turns, func(a, b turn) int { return byDepthFirst(a.path, b.path) })
}

// write writes the path rules. A rule for a path covers everything below, overriding earlier ones;
// so the names that are hidden and protected there follow it, and then deeper paths.
func (f *files) write() {
	f.order()
	f.comment("paths, a directory before what is below it: the last match decides")
	var around []turn // the rules that hold around the next turn, the nearest last
	for _, t := range f.turns {
		for len(around) > 0 && !abspath.Contains(around[len(around)-1].path, t.path) {
			around = around[:len(around)-1]
		}
		if t.rule {
			f.rule("allow", operations(t.access), []match{subpath(t.path)})
			before := runtimeAt(t.path)
			if len(around) > 0 {
				before |= around[len(around)-1].access
			}
			f.rule("deny", operations(before&^t.access), denied(t.path))
			around = append(around, t)
		}
		f.names(t, profile.Protect, writeOps)
		f.names(t, profile.Hide, operations(everything))
	}
	f.report()
}

// denied matches a path and everything below it, by any name of it.
func denied(p string) []match {
	if p == "/" {
		return []match{subpath(p)}
	}
	return []match{subpath(p), regex(at(p)), regex(below(p))}
}

// names denies the operations that rules by name of one kind forbid below a turn.
func (f *files) names(t turn, kind profile.Kind, ops []string) {
	if t.access == 0 || kind == profile.Protect && !t.access.Has(profile.Write) {
		return
	}
	var everywhere, here []string
	for _, r := range f.profile.NameRules() {
		if r.Kind != kind || !abspath.Contains(r.Path, t.path) || !t.rule && r.Path != t.path {
			continue
		}
		parts := strings.Split(r.Name, "/")
		everywhere = append(everywhere, joined(parts))
		f.begin(t, anyDirs, parts)
		for n := range spans(r.Path, t.path, parts) {
			here = append(here, joined(parts[n:]))
			f.begin(t, "", parts[n:])
		}
	}
	var filters []match
	for _, after := range []string{"$", "/"} {
		for _, r := range append(names(start(t.path)+anyDirs, everywhere, after), names(start(t.path), here, after)...) {
			filters = append(filters, regex(r))
		}
	}
	f.rule("deny", ops, filters)
}

// begin protects the directories with which a name of several elements begins: renaming one would
// move protected entries along.
func (f *files) begin(t turn, dirs string, parts []string) {
	if !t.access.Has(profile.Write) {
		return
	}
	for n := 1; n < len(parts); n++ {
		f.byName = append(f.byName, start(t.path)+dirs+joined(parts[:n])+"$")
	}
}

// spans yields how many elements of a name the last elements of p match already, base lying above them all.
func spans(base, p string, parts []string) func(func(int) bool) {
	inside := abspath.Elements(p)[len(abspath.Elements(base)):]
	return func(yield func(int) bool) {
		for n := 1; n < len(parts) && n <= len(inside); n++ {
			if slices.EqualFunc(parts[:n], inside[len(inside)-n:], pattern.Match) && !yield(n) {
				return
			}
		}
	}
}

// start returns the prefix of the paths below p.
func start(p string) string {
	if p == "/" {
		return "^" + dataVolume + "/"
	}
	return below(p)
}

func joined(parts []string) string {
	out := make([]string, len(parts))
	for i, part := range parts {
		out[i] = element(part)
	}
	return strings.Join(out, "/")
}
