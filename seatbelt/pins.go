package seatbelt

import (
	"fmt"
	"slices"

	"sandboxd/profile"
	"sandboxd/profile/abspath"
)

// pins writes the rules after all path rules: single operations denied, and the few that are
// allowed besides.
func (f *files) pins() {
	var keep, still []match
	pin := func(p string) {
		for _, dir := range above(p) {
			if f.holds(dir).Has(profile.Write) {
				keep = append(keep, literal(dir))
			}
		}
	}
	for _, t := range f.turns {
		switch {
		case !t.rule:
		case !t.access.Has(profile.Write):
			pin(t.path)
		case t.path == "/" || !f.holds(abspath.Parent(t.path)).Has(profile.Write):
			still = append(still, literal(t.path))
		}
	}
	for _, p := range f.found {
		pin(realPath(p))
	}
	for _, r := range f.byName {
		keep = append(keep, regex(r))
	}
	f.comment("an ancestor of a protected or hidden path can't be moved")
	f.rule("deny", pinned, keep)
	f.comment("what is writable in a directory that is not stays where it is, too")
	f.rule("deny", fixed, still)
	f.walkThrough()
}

// walkThrough allows stat of the directories above the granted paths, and connections to the listed
// sockets.
func (f *files) walkThrough() {
	var dirs, sockets []match
	see := func(p string) {
		for _, dir := range above(p) {
			if !f.holds(dir).Has(profile.Read) {
				dirs = append(dirs, literal(dir))
			}
		}
	}
	for _, t := range f.turns {
		if _, access, _ := f.profile.Effective(t.path); t.rule && access != 0 {
			see(t.path)
		}
	}
	for _, s := range f.profile.UnixSockets() {
		see(s)
		sockets = append(sockets, literal(s))
		dirs = append(dirs, literal(s))
	}
	f.comment("directories on the way, and sockets of the host")
	f.rule("allow", []string{"file-read-metadata"}, dirs)
	f.rule("allow", []string{"network-outbound"}, sockets)
}

// absent are directories that macOS does not have: nobody misses a private one.
var absent = []string{"/proc", "/sys", "/dev/pts", "/dev/shm"}

// report adds gaps for the rules of paths that the text could not express.
func (f *files) report() {
	hidden, strict := false, false
	for _, r := range f.profile.Rules() {
		switch {
		case r.Kind == profile.Private && !slices.Contains(absent, r.Path):
			f.gap("private", r.Path, "Seatbelt has no directory to put in its place; it is hidden, and shows its metadata "+
				"where it leads to something granted",
				"give the command a directory of its session as HOME and TMPDIR")
		case r.Kind == profile.Private:
		case r.Kind == profile.Hide:
			hidden, strict = true, true
		case r.Kind == profile.Protect:
			strict = true
		}
		if r.Name != "" && f.found == nil {
			f.gap("rename", r.Target(), "a directory that holds such a name deeper down can be renamed",
				"name those that exist, and look after the run")
		}
	}
	if hidden {
		f.gap("stat", "", "hidden names show no metadata, where others would show that they exist", "")
	}
	if strict {
		f.gap("rename", "", "a directory can be moved to a name under which its content would be protected or hidden, if "+
			"nothing has "+
			"that name yet; an ancestor of a protected path cannot be removed, even when it is empty", "look after the run")
	}
}

// processes writes whose processes can be seen and signalled, and the groups of system calls.
func (w *writer) processes(p profile.Profile) {
	target := " (target same-sandbox)"
	if p.Processes() == profile.ProcessesHost {
		target = ""
		w.raw("(allow sysctl-read (sysctl-name-prefix \"kern.proc.\"))\n")
	}
	w.raw(fmt.Sprintf("(allow signal%[1]s)\n(allow process-info*%[1]s)\n", target))
	if slices.Contains(p.Syscalls(), profile.SyscallsDebug) {
		w.raw("(allow mach-priv-task-port (target same-sandbox))\n")
	}
}
