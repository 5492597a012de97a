package sandbox

import (
	"cmp"
	"fmt"
	"strings"

	"sandboxd/bwrap"
	"sandboxd/profile"
)

// weakens says which protection a mechanism's gap lowers. Gaps that another
// mechanism of the same plan closes (execution and ports by Landlock), and
// "narrowed", which grants less than the profile, lower none; nor does "tmp
// size", which is watched and counts as memory. All of them stand in Plan.Gaps.
var weakens = map[string]string{
	"hide": ProtectHidden, "protect": ProtectProtected, "names": ProtectProtected, "private": ProtectFiles,
	"syscalls": ProtectSyscalls, "network": ProtectNetwork, "suffixes": ProtectFiles,
}

// weakensAlone is the same for the gaps of Landlock alone
// (landlock.AloneGaps). "narrowed" and "names" are as above; closedByFilter
// lists the gaps that the system call filter closes without a namespace.
var weakensAlone = map[string]string{
	"metadata": ProtectFiles, "stat": ProtectFiles, "private": ProtectFiles, "exec": ProtectFiles,
	"hard links": ProtectFiles, "truncate": ProtectFiles, "ioctl": ProtectFiles, "disconnected directories": ProtectFiles,
	"processes": ProtectProcesses, "process settings": ProtectProcesses, "signals": ProtectProcesses,
	"ipc": ProtectIPC, "abstract sockets": ProtectIPC, "unix sockets": ProtectIPC,
	"tcp": ProtectNetwork, "udp": ProtectNetwork, "other protocols": ProtectNetwork,
}

// closedByFilter: without a network of their own commands get no IP socket, and
// never System V objects, message queues and keyrings (package seccomp, Wall).
var closedByFilter = []string{"tcp", "udp", "other protocols", "ipc"}

// With returns r lowered by gaps.
func (r Report) With(gaps []profile.Gap) Report {
	r = r.clone()
	r.lower(gaps)
	return r
}

// lower adds the gaps of a plan to its report, one cause at a time. Further
// tables extend weakens.
func (r *Report) lower(gaps []profile.Gap, also ...map[string]string) {
	type cause struct{ name, why, remedy string }
	objects := map[cause][]string{}
	var order []cause
	for _, g := range gaps {
		name := weakens[g.Protection]
		for _, table := range also {
			name = cmp.Or(name, table[g.Protection])
		}
		if name == "" || hidesOnlyItsOwn(g) || checkedAfter(g) {
			continue
		}
		c := cause{name, g.Why, g.Remedy}
		if objects[c] == nil {
			order = append(order, c)
		}
		object := g.Object
		if g.Protection == "suffixes" {
			object = "endings of names in " + object
		}
		objects[c] = append(objects[c], object)
	}
	for _, c := range order {
		r.weaken(c.name, Partial, some(objects[c]), c.why, c.remedy)
	}
}

// hidesOnlyItsOwn: a hidden name that appears during the run was made by the
// command itself, which knows its content anyway.
func hidesOnlyItsOwn(g profile.Gap) bool {
	return g.Protection == "hide" && strings.Contains(g.Object, "/**/")
}

// checkedAfter: a protected path that does not exist yet can't be held by a
// mount; the supervisor's check after the run holds it. Names that
// exist where no mount reaches (dependencies, one too many) stay partial: for
// as long as the command runs they can be changed.
func checkedAfter(g profile.Gap) bool {
	return g.Protection == "protect" && g.Remedy == bwrap.CheckedAfter
}

// some lists at most three objects and counts the rest.
func some(list []string) string {
	const most = 3
	var shown []string
	for _, o := range list {
		if o != "" && len(shown) < most {
			shown = append(shown, o)
		}
	}
	if rest := len(list) - len(shown); rest > 0 && len(shown) > 0 {
		shown = append(shown, fmt.Sprintf("and %d more", rest))
	}
	return strings.Join(shown, ", ")
}
