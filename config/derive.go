package config

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sandboxd/profile"
	"sandboxd/profile/document"
	"sandboxd/shell"
)

// Session is the input for deriving a profile besides the configuration.
type Session struct {
	Project string // real, absolute path; empty: none
	Trusted bool   // trusted by a person, or by daemon.roots
	Home    string // the person's home directory, real and absolute
}

// derives fails where no profile of a project could be derived, so that a configuration which every request would be
// refused by is refused itself. The project and the home are examples.
func (c *Config) derives() error {
	t, err := c.ProfileTools(Session{Project: "/srv/project", Trusted: true, Home: "/home/person"})
	if err == nil {
		_, err = document.Derive(t)
	}
	return err
}

// Ceiling returns the intersection of the operator's profiles. Without profiles it is
// everything.
func (c *Config) Ceiling(v document.Variables) (profile.Profile, error) {
	docs := make([]*document.Document, len(c.Profiles))
	for i, p := range c.Profiles {
		docs[i] = p.Document
	}
	return document.Ceiling(docs, v)
}

// Granted returns the paths outside the project, or below links in it, to which the
// configuration gives a session's commands access.
func (c *Config) Granted(s Session) []string {
	return s.paths(c.Sandbox.granted())
}

// granted returns the paths of Read, Write and Exec.
func (s Sandbox) granted() []string { return slices.Concat(s.Read, s.Write, s.Exec) }

// Writable returns the trees besides the project that a session's commands may write.
func (c *Config) Writable(s Session) []string {
	list := s.paths(c.Sandbox.Write)
	for name, root := range c.roots(s.Project) {
		if c.Files.Paths[name].Mode == "rw" {
			list = append(list, root)
		}
	}
	return list
}

// ProfileTools returns the input for document.Derive for one session. The caller adds the data
// of the running daemon: its own paths, sockets, and devices. c must be the result of
// ForProject.
func (c *Config) ProfileTools(s Session) (document.Tools, error) {
	mode, err := profile.ParseNetMode(c.Network.Mode)
	if err != nil {
		return document.Tools{}, err
	}
	t := document.Tools{
		Project: s.Project, Trusted: s.Trusted, Home: s.Home,
		Read:   s.paths(c.Sandbox.Read),
		Write:  s.paths(c.Sandbox.Write),
		Exec:   s.paths(c.Sandbox.Exec),
		Hidden: slices.Concat(names(c.Files.Hidden), s.targets(c.hidden())),
		Protected: slices.Concat(
			names(c.configured("files.protected", c.Files.Protected)),
			names(c.Files.ReadOnly),
			s.targets(c.readOnly()),
		),
		Presets:     c.profilePresets(),
		Network:     profile.Network{Mode: mode},
		Environment: profile.Environment{Pass: c.Environment.Pass, Set: c.Environment.Set},
		Limits:      c.Sandbox.Limits.profile(),
	}
	if mode == profile.NetAllowlist { // the other modes ignore names
		if t.Network.Hosts, err = c.Network.hosts(); err != nil {
			return document.Tools{}, err
		}
	}
	for _, port := range c.Network.Listen {
		t.Network.Listen = append(t.Network.Listen, uint16(port))
	}
	roots := c.roots(s.Project)
	for _, name := range sortedKeys(roots) {
		sandbox := c.Files.Paths[name]
		mode := sandbox.Mode
		if mode == "" {
			mode = "ro"
		}
		t.Roots = append(t.Roots, document.Root{Name: name, Path: roots[name], Mode: mode, Suffixes: sandbox.Suffixes})
	}
	return t, nil
}

// readOnly returns the paths that commands cannot change: the listed ones and the programs that run outside sandboxes.
func (c *Config) readOnly() []string {
	list := slices.Clone(c.Sandbox.ReadOnly)
	for _, program := range []string{c.Approval.RuleProgram, c.Notify.Command} {
		if program != "" {
			list = append(list, program)
		}
	}
	return list
}

// hidden returns the paths that commands cannot reach: the listed ones and the keys of webhooks.
func (c *Config) hidden() []string {
	list := slices.Clone(c.Sandbox.Hidden)
	for _, w := range c.Notify.Webhooks {
		if w.SecretFile != "" {
			list = append(list, w.SecretFile)
		}
	}
	return list
}

// HasCache reports whether presets let tools keep files between runs.
func (c *Config) HasCache() bool { return len(c.profilePresets()) > 0 }

// ProfilePresets returns the presets in use that open paths to the sandbox.
func (c *Config) ProfilePresets() (list []document.Preset) {
	for _, name := range c.profilePresets() {
		if p, err := document.FindPreset(name); err == nil {
			list = append(list, p)
		}
	}
	return list
}

// profilePresets returns the presets that open paths to the sandbox. The others only let
// commands run unasked.
func (c *Config) profilePresets() []string {
	return slices.DeleteFunc(slices.Clone(c.Presets.Use), func(name string) bool {
		_, err := document.FindPreset(name)
		return err != nil
	})
}

// shellPlaces copies the hidden, protected and readable paths of the sandbox to the
// configuration of the shell tool. Paths below "~" stay unresolved.
func (c *Config) shellPlaces(s Session) {
	c.Shell.Hidden = slices.Concat(names(c.configured("files.hidden", c.Files.Hidden)), s.targets(c.hidden()))
	c.Shell.Protected = slices.Concat(
		names(c.configured("files.protected", c.Files.Protected)),
		names(c.Files.ReadOnly),
		s.targets(c.readOnly()),
	)
	c.Shell.ReadRoots = nil
	if extra := s.paths(c.Sandbox.granted()); len(extra) > 0 {
		c.Shell.ReadRoots = slices.Concat(shell.DefaultReadRoots, extra)
	}
}

// hosts returns the allowlist: the hosts of Allow and of the presets.
func (n Network) hosts() ([]profile.HostPort, error) {
	var list []profile.HostPort
	for _, s := range n.Allow {
		h, err := parseHostPort(s)
		if err != nil {
			return nil, err
		}
		if h.Port != 0 {
			list = append(list, h)
			continue
		}
		for _, port := range n.Ports {
			list = append(list, profile.HostPort{Host: h.Host, Port: uint16(port)})
		}
	}
	for _, name := range n.Presets {
		p, err := document.FindPreset(name)
		if err != nil {
			return nil, err
		}
		for _, s := range p.Network.Hosts {
			h, err := profile.ParseHostPort(s)
			if err != nil {
				return nil, err
			}
			list = append(list, h)
		}
	}
	return list, nil
}

// BeyondPresets reports whether Allow has a host that no preset has.
func (n Network) BeyondPresets() bool {
	listed, err := Network{Allow: n.Allow, Ports: n.Ports}.hosts()
	reviewed, bad := Network{Presets: presetsWithHosts()}.hosts()
	presets := profile.Network{Mode: profile.NetAllowlist, Hosts: reviewed}
	return err != nil || bad != nil || slices.ContainsFunc(listed, func(h profile.HostPort) bool {
		return !presets.AllowsHost(h.Host, h.Port)
	})
}

// Denied returns the hosts of Deny.
func (n Network) Denied() ([]profile.HostPort, error) {
	var list []profile.HostPort
	for _, s := range n.Deny {
		h, err := parseHostPort(s)
		if err != nil {
			return nil, err
		}
		list = append(list, h)
	}
	return list, nil
}

// Permits reports whether allow, and not deny, has the target HOST:PORT.
func (n Network) Permits(target string) bool {
	want, err := parseHostPort(target)
	allow, bad := n.hosts()
	deny, worse := n.Denied()
	if errors.Join(err, bad, worse) != nil {
		return false
	}
	on := func(list []profile.HostPort) bool {
		return profile.Network{Mode: profile.NetAllowlist, Hosts: list}.AllowsHost(want.Host, want.Port)
	}
	return on(allow) && !on(deny)
}

// configured returns the entries of a list that a file added. It omits the built-in protected
// names: the profile has these, and knows which of them ordinary commands must be able to
// write.
func (c *Config) configured(key string, list []string) []string {
	var out []string
	for i, v := range list {
		if c.Origin(element(key, i)) != (Origin{}) {
			out = append(out, v)
		}
	}
	return out
}

// names converts globs of [files] to bare names of a document. Both apply at any depth and to
// everything below a match.
func names(globs []string) []string {
	out := make([]string, len(globs))
	for i, g := range globs {
		out[i] = strings.TrimSuffix(strings.TrimPrefix(g, "**/"), "/**")
	}
	return out
}

func (s Session) home(p string) string {
	if rest, ok := strings.CutPrefix(p, "~/"); ok && s.Home != "" {
		return filepath.Join(s.Home, rest)
	}
	return p
}

// paths returns list with relative paths made absolute.
func (s Session) paths(list []string) []string {
	var out []string
	for _, p := range list {
		switch p = s.home(p); {
		case filepath.IsAbs(p) || strings.HasPrefix(p, "~"):
			out = append(out, filepath.Clean(p))
		case s.Project != "":
			out = append(out, filepath.Join(s.Project, p))
		}
	}
	return out
}

// targets is paths, but keeps names without a slash: they apply at any depth of the project.
func (s Session) targets(list []string) []string {
	var out []string
	for _, p := range list {
		if !strings.Contains(p, "/") && p != "~" && p != "." {
			out = append(out, p)
			continue
		}
		out = append(out, s.paths([]string{p})...)
	}
	return out
}

func (l Limits) profile() profile.Limits {
	return profile.Limits{
		Wall: time.Duration(l.Wall), CPU: time.Duration(l.CPU), Memory: int64(l.Memory),
		Processes: l.Processes, OpenFiles: l.OpenFiles,
		FileSize: int64(l.FileSize), Output: int64(l.Output), TmpSize: int64(l.Tmp),
		LayerSize: int64(l.Layer),
	}
}

func limitsOf(p profile.Limits) Limits {
	return Limits{
		Wall: Duration(p.Wall), CPU: Duration(p.CPU), Memory: Size(p.Memory),
		Processes: p.Processes, OpenFiles: p.OpenFiles,
		FileSize: Size(p.FileSize), Output: Size(p.Output), Tmp: Size(p.TmpSize),
		Layer: Size(p.LayerSize),
	}
}
