package sandbox

import (
	"slices"
	"strings"
)

// Level says how far a protection holds.
type Level string

// The levels, best first.
const (
	Enforced Level = "enforced"
	Partial  Level = "partial"
	Absent   Level = "absent"
)

func (l Level) rank() int {
	return map[Level]int{Enforced: 0, Partial: 1, Absent: 2}[l]
}

// Protection is one promise and how far this host keeps it.
type Protection struct {
	Name  string // one of [Protections]
	Level Level
	By    string // the mechanisms that hold it, "bwrap+landlock"
	// Missing names the gap of a partial protection, Why its cause and
	// Remedy the administrator's remedy.
	Missing, Why, Remedy string
}

// Names of protections, as they stand in require_os_sandbox lists, in reports
// and in audit records.
const (
	ProtectFiles      = "files"      // nothing outside the profile can be written, and nothing not granted read
	ProtectHidden     = "hidden"     // secrets inside granted trees can't be read or listed
	ProtectProtected  = "protected"  // protected names can't be changed, removed or replaced
	ProtectProcesses  = "processes"  // the host's processes can't be seen, signalled or traced
	ProtectNetwork    = "network"    // no network beyond the profile's grants
	ProtectIPC        = "ipc"        // no System V, POSIX or abstract-socket channel to the host
	ProtectSyscalls   = "syscalls"   // the system call filter
	ProtectPrivileges = "privileges" // no capability, no_new_privs
	ProtectLimits     = "limits"     // memory and processes of the whole tree are bounded
)

// Protections are all names, in the order of reports.
var Protections = []string{
	ProtectFiles, ProtectHidden, ProtectProtected, ProtectProcesses, ProtectNetwork,
	ProtectIPC, ProtectSyscalls, ProtectPrivileges, ProtectLimits,
}

// Layer is one mechanism on this host.
type Layer struct {
	Name    string // native, bwrap, landlock, seccomp, cgroup, overlay
	Active  bool
	Version string
	Why     string // why it is not active
	Remedy  string
}

// Report lists the protections that a host, or one plan, enforces.
type Report struct {
	Layers      []Layer
	Protections []Protection
}

// Level is the worst of the protections.
func (r Report) Level() Level {
	worst := Enforced
	for _, p := range r.Protections {
		if p.Level.rank() > worst.rank() {
			worst = p.Level
		}
	}
	return worst
}

// Find returns the protection of that name; an unknown name is absent.
func (r Report) Find(name string) Protection {
	for _, p := range r.Protections {
		if p.Name == name {
			return p
		}
	}
	return Protection{Name: name, Level: Absent, Why: "not known to this host"}
}

// Layer returns the mechanism of that name.
func (r Report) Layer(name string) Layer {
	for _, l := range r.Layers {
		if l.Name == name {
			return l
		}
	}
	return Layer{Name: name, Why: "not part of this platform"}
}

// Back ends, which make a sandbox's namespaces and mounts.
const (
	BackendNative = "native" // sandboxd-launch itself
	BackendBwrap  = "bwrap"
)

// Namespaces returns the back end that makes this host's sandboxes. Where there is none it is the
// inactive one that was tried first.
func (r Report) Namespaces() Layer {
	var tried []Layer
	for _, l := range r.Layers {
		switch {
		case l.Name != BackendNative && l.Name != BackendBwrap:
		case l.Active:
			return l
		default:
			tried = append(tried, l)
		}
	}
	return append(tried, r.Layer(BackendBwrap))[0]
}

// Degraded lists the protections that are not enforced in full, a sentence for each reason.
func (r Report) Degraded() []string {
	return sentences(r.Unmet(Protections))
}

func (p Protection) sentence() string {
	parts := []string{p.Name + " " + string(p.Level)}
	for _, s := range []string{p.Missing, p.Why} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	text := strings.Join(parts, ": ")
	if p.Remedy != "" {
		text += " (" + p.Remedy + ")"
	}
	return text
}

// Unmet lists the protections of required that r does not enforce in full.
func (r Report) Unmet(required []string) []Protection {
	var list []Protection
	for _, name := range required {
		if p := r.Find(name); p.Level != Enforced {
			list = append(list, p)
		}
	}
	return list
}

// weaken lowers a protection; an already lower level stays.
func (r *Report) weaken(name string, to Level, missing, why, remedy string) {
	i := slices.IndexFunc(r.Protections, func(p Protection) bool { return p.Name == name })
	if i < 0 || r.Protections[i].Level.rank() > to.rank() {
		return
	}
	p := &r.Protections[i]
	p.Level = to
	p.Missing = join(p.Missing, missing)
	p.Why = join(p.Why, why)
	p.Remedy = join(p.Remedy, remedy)
}

func join(a, b string) string {
	switch {
	case a == "" || a == b:
		return b
	case b == "" || strings.Contains(a, b):
		return a
	}
	return a + "; " + b
}

// UnenforcedError says that the configuration requires protections that this
// host, or this plan, does not hold. Nothing ran.
type UnenforcedError struct{ Unmet []Protection }

func (e *UnenforcedError) Error() string {
	return "the required OS sandbox is not enforced: " + strings.Join(sentences(e.Unmet), "; ")
}

// sentences describes the gaps of protections; those with the same gap and
// reason share a sentence.
func sentences(list []Protection) []string {
	names := map[Protection][]string{}
	var order []Protection
	for _, p := range list {
		name := p.Name
		p.Name, p.By = "", ""
		if names[p] == nil {
			order = append(order, p)
		}
		names[p] = append(names[p], name)
	}
	var out []string
	for _, p := range order {
		p.Name = strings.Join(names[p], ", ")
		out = append(out, p.sentence())
	}
	return out
}

// nothing is the report of a host that can run no command.
func nothing(why, remedy string) Report {
	var r Report
	for _, name := range Protections {
		r.Protections = append(r.Protections, Protection{Name: name, Level: Absent, Why: why, Remedy: remedy})
	}
	return r
}

func (r Report) clone() Report {
	return Report{Layers: slices.Clone(r.Layers), Protections: slices.Clone(r.Protections)}
}
