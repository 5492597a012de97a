package document

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"sandboxd/profile"
	"sandboxd/profile/abspath"
)

// Tools is a session's configuration of the file and shell tools, and a person's trust. Paths are
// absolute; lists of hidden and protected things may hold bare names, too, and "PATH/**/NAME".
type Tools struct {
	// Resolve returns the targets of paths. Grants apply to the target, hidden and protected paths
	// to both. nil: every path is real.
	Resolve Resolve
	// OS is whose system directories are meant, as runtime.GOOS names it;
	// empty: "linux".
	OS string
	// Project is the root of the session; empty: there is none.
	Project string
	// Trusted: a person or the operator trusts the project. Without it, it
	// and everything below it is read-only.
	Trusted bool
	// Home is the person's home directory. The command gets a private one in its place, with
	// openings for granted paths.
	Home string
	// Roots are the file tool's named sandboxes.
	Roots []Root
	// Read, Write and Exec are further paths; write and exec include read.
	Read, Write, Exec []string
	// Hidden and Protected come in addition to the built-in ones.
	Hidden, Protected []string
	// Daemon are the paths that no command may reach: the daemon's sockets, state, configuration.
	Daemon []string
	// Cache is a directory of the project's own for the caches of presets' tools between runs;
	// empty: they have none that stays.
	Cache string
	// Presets are names of built-in presets; Caches are those of which only the caches apply, below Cache.
	Presets, Caches []string
	// Agent is the program of an agent with a preset ([Agent]), in its own run; empty: there is none. Its state is
	// below Cache.
	Agent string
	// Sockets and Devices of the host.
	Sockets, Devices []string
	// SearchPath lists the directories of the person's own PATH. Those that the session may execute
	// from and not write are on its PATH, in front of the system's.
	SearchPath []string
	// Network, Environment, Limits, Syscalls and Processes are taken as they
	// are; the environment is completed with PATH, HOME and TMPDIR.
	Network     profile.Network
	Environment profile.Environment
	Limits      profile.Limits
	Syscalls    []profile.SyscallGroup
	Processes   profile.Visibility
}

// Root is a named sandbox of the file tool.
type Root struct {
	Name string
	Path string
	// Mode is "ro" or "rw".
	Mode string
	// Suffixes are the only file name endings that the file tool touches; empty
	// means every name. A profile has no words for them; see [Tools.Unheld].
	Suffixes []string
}

// Unheld returns the tools' restrictions that bind the file tool but that a profile can't impose on
// commands.
func (t Tools) Unheld() []profile.Gap {
	var gaps []profile.Gap
	for _, r := range t.Roots {
		if t.Resolve != nil && path.IsAbs(r.Path) {
			r.Path, _ = t.Resolve(r.Path)
		}
		if len(r.Suffixes) > 0 {
			gaps = append(gaps, profile.Gap{Mechanism: "profile", Protection: "suffixes", Object: r.Path,
				Why: "mounts and Landlock know paths, not endings of names: commands can touch other names than " +
					strings.Join(r.Suffixes, ", ") + " there",
				Remedy: "to keep commands out, hide those names: [sandbox] hidden"})
		}
	}
	return gaps
}

// Derive returns the profile of a session: the system's grants for everyone, the project, the
// tools' roots and the presets, less hidden and protected paths. It reads the host by t.Resolve
// only. The caller intersects it with the operator's.
func Derive(t Tools) (profile.Profile, error) {
	d := derivation{Tools: t, host: profile.SystemOf(t.OS), grants: map[string]profile.Rule{}, caches: map[string]string{}}
	d.vars = Variables{Project: t.Project, Home: t.Home, Tmp: d.host.Tmp, Resolve: t.Resolve}
	for _, step := range []func() error{d.check, d.system, d.home, d.project, d.further, d.presets, d.restrict} {
		if err := step(); err != nil {
			return profile.Profile{}, err
		}
	}
	return d.finish()
}

type derivation struct {
	Tools
	host    profile.System
	vars    Variables
	grants  map[string]profile.Rule // by path: Allow rules, added up
	private []profile.Rule
	strict  []profile.Rule
	guards  []profile.Rule
	places  []Root            // Roots by absolute path, inner ones after outer ones
	roots   []string          // trees in which protected names are held
	named   []string          // those of them that Read, Write and Exec name
	path    []string          // directories in front of the system's PATH
	preset  []string          // variables that presets pass
	caches  map[string]string // variables that name a place below Cache
}

func (d *derivation) check() error {
	for name, p := range map[string]string{"project": d.Project, "home": d.Home} {
		if p != "" && (!path.IsAbs(p) || path.Clean(p) != p) {
			return fmt.Errorf("derive profile: %s %q is not an absolute, clean path", name, p)
		}
	}
	switch {
	case d.Home == "/":
		return fmt.Errorf("derive profile: home %q is everything, and can't be kept from a command; give the user a home "+
			"directory of its own (usermod --home)", d.Home)
	case d.Project == "/" || d.Project != "" && d.Home != "" && abspath.Contains(d.Project, d.Home):
		return fmt.Errorf("derive profile: project %q holds the home directory; choose a folder inside it", d.Project)
	}
	return nil
}

// allow adds access to the path's earlier access.
func (d *derivation) allow(p string, a profile.Access, origin string) {
	r, ok := d.grants[p]
	if !ok {
		r = profile.Rule{Kind: profile.Allow, Path: p, Origin: origin}
	}
	r.Access |= a
	d.grants[p] = r
}

func (d *derivation) system() error {
	for _, p := range d.host.Trees {
		d.allow(p, profile.Read|profile.Exec, "built-in")
	}
	for _, p := range d.host.Files {
		d.allow(p, profile.Read, "built-in")
	}
	for _, p := range d.host.Private {
		d.private = append(d.private, profile.Rule{Kind: profile.Private, Path: p, Origin: "built-in"})
	}
	switch {
	case d.OS == "darwin": // has no /proc
	case d.Processes == profile.ProcessesOwn:
		d.private = append(d.private, profile.Rule{Kind: profile.Private, Access: profile.Read, Path: "/proc",
			Origin: "built-in"})
	default:
		d.allow("/proc", profile.Read, "built-in")
	}
	d.Devices = slices.Concat(d.host.Devices, d.Devices)
	return nil
}

func (d *derivation) home() error {
	if d.Home != "" {
		d.private = append(d.private, profile.Rule{Kind: profile.Private, Path: d.Home, Origin: "built-in"})
	}
	return nil
}

// project grants the project, or its parts in the named sandboxes: where none of them contains the
// project, it is an empty directory for commands, with the sandboxes in it.
func (d *derivation) project() error {
	if d.Project == "" {
		return nil
	}
	for _, r := range d.Roots {
		p, err := d.vars.expand(r.Path)
		if err != nil {
			return fmt.Errorf("derive profile: sandbox %q: %w", r.Name, err)
		}
		if r.Mode != "ro" && r.Mode != "rw" {
			return fmt.Errorf("derive profile: sandbox %q: mode %q, there are ro and rw", r.Name, r.Mode)
		}
		p, loose := d.vars.real(p)
		if loose {
			continue // the file tool has nothing there either
		}
		r.Path = p
		d.places = append(d.places, r)
	}
	// The inner ones after those around them; the stricter one last, where two have one folder.
	slices.SortStableFunc(d.places, func(a, b Root) int {
		return cmp.Or(len(a.Path)-len(b.Path), strings.Compare(b.Mode, a.Mode))
	})
	d.roots = append(d.roots, d.Project)
	switch around, named := d.placeOf(d.Project); {
	case len(d.Roots) > 0 && !named:
		empty := profile.Rule{Kind: profile.Private, Access: profile.Read, Path: d.Project, Origin: OriginUnnamed}
		d.private = append(d.private, empty)
	case !d.Trusted:
		d.allow(d.Project, profile.Read, "project, not trusted yet")
	case named && around.Mode == "ro":
		d.allow(d.Project, profile.Read|profile.Exec, around.origin())
	default:
		d.allow(d.Project, profile.Read|profile.Write|profile.Exec, "trusted project")
	}
	for _, r := range d.places {
		d.place(r)
	}
	return nil
}

// OriginUnnamed is the origin of the rule for a project that no named sandbox holds.
const OriginUnnamed = "the project is in none of the sandboxes of [files.paths]"

// placeOf is the named sandbox that decides about p: the one with the most specific folder.
func (d *derivation) placeOf(p string) (Root, bool) {
	for _, r := range slices.Backward(d.places) {
		if abspath.Contains(r.Path, p) {
			return r, true
		}
	}
	return Root{}, false
}

// place grants a named sandbox of the file tool. Inside the project it can
// only take away: the project's trust decides there.
func (d *derivation) place(r Root) {
	a, have := profile.Read, d.grants[r.Path]
	if r.Mode == "rw" {
		a |= profile.Write
	}
	switch inside := abspath.Contains(d.Project, r.Path); {
	case inside && !d.Trusted:
		a = profile.Read
	case inside:
		a |= profile.Exec
	default:
		d.roots = append(d.roots, r.Path)
	}
	switch {
	case have.Origin == "built-in": // a tree of the system
		a |= have.Access
	case have.Path != "": // the project itself, or another sandbox of this folder
		a &= have.Access
	}
	rule := profile.Rule{Kind: profile.Allow, Access: a, Path: r.Path, Origin: r.origin()}
	outer, around := d.placeOf(path.Dir(r.Path))
	if around && outer.Path != r.Path && outer.Mode == "rw" && r.Mode == "ro" {
		// Held as protected paths are, so that one that does not exist yet is looked at after the run.
		rule.Kind = profile.Protect
		d.strict = append(d.strict, rule)
		return
	}
	d.grants[r.Path] = rule
}

func (r Root) origin() string { return fmt.Sprintf("sandbox %q (%s)", r.Name, r.Mode) }

// bound removes writing from the access at p, where p is in a read-only sandbox.
func (d *derivation) bound(p string, a profile.Access) profile.Access {
	if r, ok := d.placeOf(p); ok && r.Mode == "ro" {
		a &^= profile.Write
	}
	return a
}

func (d *derivation) further() error {
	for _, list := range []struct {
		word   string
		paths  []string
		access profile.Access
	}{
		{"read", d.Read, profile.Read},
		{"write", d.Write, profile.Read | profile.Write},
		{"exec", d.Exec, profile.Read | profile.Exec},
	} {
		for _, s := range list.paths {
			p, err := d.vars.expand(s)
			if err != nil {
				return fmt.Errorf("derive profile: %s: %w", list.word, err)
			}
			p, loose := d.vars.real(p)
			if loose {
				continue
			}
			access := d.bound(p, list.access)
			if d.Project != "" && !d.Trusted && abspath.Contains(d.Project, p) {
				access = profile.Read
			}
			d.roots = append(d.roots, p)
			d.named = append(d.named, p)
			d.allow(p, access, "configuration, "+list.word)
		}
	}
	return nil
}

func (d *derivation) presets() error {
	var presets []Preset
	for _, name := range d.Presets {
		preset, err := FindPreset(name)
		if err != nil {
			return err
		}
		presets = append(presets, preset)
	}
	if agent, ok := Agent(d.Agent); ok {
		presets = append(presets, agent)
	}
	for _, preset := range presets {
		name := preset.Name
		for _, list := range []struct {
			paths  []string
			access profile.Access
		}{
			{preset.Paths.Read, profile.Read},
			{preset.Paths.Write, profile.Read | profile.Write},
			{preset.Paths.Exec, profile.Read | profile.Exec},
		} {
			for _, s := range list.paths {
				if p, ok := d.presetPath(s); ok {
					d.allow(p, d.bound(p, list.access), "preset "+name)
				}
			}
		}
		for _, s := range preset.Environment.Path {
			if p, ok := d.presetPath(s); ok {
				d.path = append(d.path, p)
			}
		}
		d.preset = append(d.preset, preset.Environment.Pass...)
		d.cache(preset)
	}
	for _, name := range d.Caches {
		preset, err := FindPreset(name)
		if err != nil {
			return err
		}
		d.cache(preset)
	}
	return nil
}

// cache grants the project's own cache and passes its path to the tools of a preset. The person's
// caches are not granted: programs outside execute their content.
func (d *derivation) cache(p Preset) {
	if d.Cache == "" || len(p.Environment.Set) == 0 || d.Project != "" && abspath.Contains(d.Project, d.Cache) {
		return
	}
	d.allow(d.Cache, profile.Read|profile.Write|profile.Exec, "preset "+p.Name)
	for name, value := range p.Environment.Set {
		d.caches[name] = strings.Replace(value, "${cache}", d.Cache, 1)
	}
}

// presetPath expands a path of a preset; without a home its paths there are left out, and the
// project's own files are the project's affair.
func (d *derivation) presetPath(s string) (string, bool) {
	p, err := d.vars.expand(s)
	if err != nil || d.Project != "" && abspath.Contains(d.Project, p) {
		return "", false
	}
	return p, true
}

// restrict lists hidden and protected paths, for now and for later grants.
func (d *derivation) restrict() error {
	for _, name := range profile.ProtectedNames(profile.Executed) {
		d.everywhere(profile.Rule{Kind: profile.Protect, Name: name, Origin: "built-in"})
		d.across(name)
	}
	for _, step := range []struct {
		list   []string
		kind   profile.Kind
		origin string
	}{
		{d.host.Hidden, profile.Hide, "built-in"},
		{d.Hidden, profile.Hide, "configuration, hidden"},
		{d.Protected, profile.Protect, "configuration, protected"},
	} {
		for _, s := range step.list {
			if err := d.hold(s, profile.Rule{Kind: step.kind, Origin: step.origin}); err != nil {
				return fmt.Errorf("derive profile: %s: %w", step.origin, err)
			}
		}
	}
	return nil
}

// hold adds a rule for a path, "PATH/**/NAME", or a bare name.
func (d *derivation) hold(s string, r profile.Rule) error {
	whole := Variables{Project: "/", Home: d.Home, Tmp: d.host.Tmp}
	if bareName(s) {
		_, name, err := whole.target(s)
		r.Name = name
		d.everywhere(r)
		return err
	}
	at, name, err := d.vars.target(s)
	r.Name = name
	for _, r.Path = range d.vars.both(at) {
		d.strict = append(d.strict, r)
	}
	return err
}

// everywhere holds a name in every root, and guards it wherever a grant leads.
func (d *derivation) everywhere(r profile.Rule) {
	r.Path = "/"
	d.guards = append(d.guards, r)
	for _, r.Path = range d.roots {
		d.strict = append(d.strict, r)
	}
}

// finish makes the profile in two passes: where the first shows a secret of
// the host, the second hides it.
func (d *derivation) finish() (profile.Profile, error) {
	// Where the configuration names the home directory itself, or another
	// that would be private, it means the host's.
	private := slices.DeleteFunc(d.private, func(r profile.Rule) bool {
		_, named := d.grants[r.Path]
		return named
	})
	var sockets []string
	for _, socket := range d.Sockets {
		real, _ := d.vars.real(socket)
		sockets = append(sockets, real)
	}
	spec := profile.Spec{
		Rules: slices.Concat(slices.Collect(maps.Values(d.grants)), private, d.strict), Guards: d.guards,
		Network: d.Network, UnixSockets: sockets, Devices: d.Devices,
		Limits: d.Limits, Syscalls: d.Syscalls, Processes: d.Processes,
	}
	shown, err := profile.New(spec)
	if err != nil {
		return profile.Profile{}, fmt.Errorf("derive %w", err)
	}
	spec.Env = d.environment(shown)
	for _, s := range d.secrets() {
		if _, exact := d.grants[s.Path]; exact && s.Origin != OriginDaemon {
			continue
		}
		spec.Guards = append(spec.Guards, s)
		// A socket of the host can't be listed in a directory of the sandbox's own, so the
		// directories around it are no part of that.
		below := func(socket string) bool { return strings.HasPrefix(socket, s.Path+"/") }
		if kind, _, _ := shown.Effective(s.Path); kind == profile.Allow || kind == profile.Protect ||
			slices.ContainsFunc(sockets, below) {
			spec.Rules = append(spec.Rules, s)
		}
	}
	p, err := profile.New(spec)
	if err != nil {
		return profile.Profile{}, fmt.Errorf("derive %w", err)
	}
	return p, nil
}

// OriginDaemon is the origin of rules that keep the daemon's own files away.
const OriginDaemon = "built-in, the daemon's own"

func (d *derivation) secrets() []profile.Rule {
	var out []profile.Rule
	if d.Home != "" {
		for _, rel := range profile.HomeSecrets() {
			for _, p := range d.vars.both(d.Home + "/" + rel) {
				out = append(out, profile.Rule{Kind: profile.Hide, Path: p, Origin: "built-in, secret"})
			}
		}
	}
	for _, daemon := range d.Daemon {
		for _, p := range d.vars.both(daemon) {
			out = append(out, profile.Rule{Kind: profile.Hide, Path: p, Origin: OriginDaemon})
		}
	}
	return out
}
