package supervisor

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sandboxd/config"
	"sandboxd/files"
	"sandboxd/git"
	"sandboxd/profile"
	"sandboxd/profile/abspath"
	"sandboxd/profile/document"
)

// profiles derives the profiles of the session's commands. effective is
// derived ∩ operator; operator is the ceiling alone, nil where there is none.
// They are cached by their key and used while every path of the
// configuration has the same target.
func (s *Supervisor) profiles(cfg *config.Config, sess *Session, trusted bool,
	network string) (effective profile.Profile, operator *profile.Profile, err error) {
	return s.profilesOf(cfg, sess, trusted, network, agentRun{})
}

// agentRun is the part of a profile that only an agent's run has (`sbx run --agent`); the zero value is a command's.
type agentRun struct {
	socket bool // it reaches agent.sock
	long   bool // sandbox.limits.agent_wall bounds its time, and not sandbox.limits.wall
	// preset is the agent's program, where it has a preset; "": it has none.
	preset string
}

// profilesOf is profiles with that part.
func (s *Supervisor) profilesOf(
	cfg *config.Config, sess *Session, trusted bool, network string, agent agentRun,
) (effective profile.Profile, operator *profile.Profile, err error) {
	now := s.linksOf(cfg, sess)
	key := profileKey{cfg: cfg, root: sess.Root, home: sess.Home, network: network, trusted: trusted, agent: agent,
		cache: s.cacheOf(cfg, sess, trusted, agent.preset)}
	if trusted && key.cache != "" {
		key.caches = strings.Join(s.toolchains(sess.Root), " ")
	}
	key.gitDir, key.gitFile = gitOf(sess.Root)
	known, ok := s.derived.get(key)
	if !ok || !known.links.still(now) {
		known = derived{links: now}
		if known.effective, known.operator, err = s.derive(cfg, sess, key, now); err != nil {
			return effective, nil, err
		}
		s.derived.put(key, known)
	}
	effective, operator = sess.narrowed(known.effective, known.operator)
	return effective, operator, nil
}

// narrowedBy intersects a profile and the operator's with a document; nil: there is none.
func narrowedBy(d *document.Document, sess *Session, effective profile.Profile, operator *profile.Profile) (
	profile.Profile, *profile.Profile, error,
) {
	if d == nil {
		return effective, operator, nil
	}
	bound, err := d.Profile(sess.variables(newLinks(nil)))
	if err != nil {
		return effective, operator, err
	}
	if operator != nil {
		bound = operator.Intersect(bound)
	}
	return effective.Intersect(bound), &bound, nil
}

// gitOf returns the git directory outside of root that a work tree at root needs, "" where there is none, and whether
// root has a .git file, by which git finds its directory: that of a linked work tree, or of a submodule.
func gitOf(root string) (dir string, file bool) {
	info, err := os.Lstat(filepath.Join(root, ".git"))
	if root == "" || err != nil || info.IsDir() {
		return "", false
	}
	return git.Outside(git.Disk, root), info.Mode().IsRegular()
}

// derive depends on the key and on where links lead, and on nothing else.
func (s *Supervisor) derive(cfg *config.Config, sess *Session, key profileKey, at *links) (effective profile.Profile,
	operator *profile.Profile, err error) {
	tools, err := s.tools(cfg, sess, key.trusted, key.network, at)
	if err != nil {
		return effective, nil, err
	}
	tools.Cache, tools.Caches = key.cache, strings.Fields(key.caches)
	if key.gitDir != "" {
		tools.Read = append(tools.Read, key.gitDir)
	}
	if key.gitFile {
		tools.Protected = append(tools.Protected, filepath.Join(sess.Root, ".git"))
	}
	if key.agent.long {
		tools.Limits.Wall = time.Duration(cfg.Sandbox.Limits.AgentWall)
	}
	if preset, ok := document.Agent(key.agent.preset); ok {
		if err := addAgent(&tools, preset, cfg); err != nil {
			return effective, nil, err
		}
	}
	if key.agent.socket && s.agentSocket != "" {
		tools.Sockets = append(tools.Sockets, s.agentSocket)
	}
	mine, err := document.Derive(tools)
	if err != nil {
		return effective, nil, err
	}
	if len(cfg.Profiles) == 0 {
		return mine, nil, nil
	}
	ceiling, err := cfg.Ceiling(sess.variables(at))
	if err != nil {
		return effective, nil, err
	}
	return mine.Intersect(ceiling), &ceiling, nil
}

// addAgent adds an agent's preset, the toolchains that agents are installed with, and its
// hosts, unless the configuration names the network of commands.
func addAgent(t *document.Tools, agent document.Preset, cfg *config.Config) error {
	t.Agent = agent.Name
	for _, name := range []string{"node", "python"} {
		if !slices.Contains(t.Presets, name) {
			t.Presets = append(slices.Clone(t.Presets), name)
		}
	}
	if t.Network.Mode == profile.NetLoopback && cfg.Origin("network.mode") == (config.Origin{}) {
		t.Network.Mode = profile.NetAllowlist
	}
	if t.Network.Mode != profile.NetAllowlist {
		return nil
	}
	for _, name := range agent.Network.Hosts {
		host, err := profile.ParseHostPort(name)
		if err != nil {
			return err
		}
		t.Network.Hosts = append(slices.Clone(t.Network.Hosts), host)
	}
	return nil
}

// tools converts the configuration for document.Derive. network is the mode that
// the deciding rule gives the command; the [network] section bounds it.
func (s *Supervisor) tools(cfg *config.Config, sess *Session, trusted bool, network string,
	at *links) (document.Tools, error) {
	t, err := cfg.ProfileTools(config.Session{Project: sess.Root, Trusted: trusted, Home: sess.Home})
	if err != nil {
		return t, err
	}
	t.Resolve, t.Daemon, t.SearchPath = at.resolve, s.own, personsPath()
	if !s.ownLoopback(cfg, trusted) {
		t.Network.Mode = profile.NetNone
	}
	if network != "" {
		mode, err := profile.ParseNetMode(network)
		if err != nil {
			return t, err
		}
		t.Network.Mode = min(t.Network.Mode, mode)
	}
	if t.Network.Mode != profile.NetAllowlist {
		t.Network.Hosts = nil // a rule took the hosts away with the mode
	}
	t.Network.ListenAny = len(t.Network.Listen) == 0 && t.Network.Mode >= profile.NetLoopback
	return t, nil
}

// ownLoopback reports whether the configuration's network mode applies. The built-in one gives a
// loopback, which takes a trusted project and a namespace of the command's own.
func (s *Supervisor) ownLoopback(cfg *config.Config, trusted bool) bool {
	return cfg.Origin("network.mode") != (config.Origin{}) || trusted && s.Host.Report().Namespaces().Active
}

func (s *Session) variables(at *links) document.Variables {
	return document.Variables{Project: s.Root, Home: s.Home, Tmp: "/tmp", Resolve: at.resolve}
}

// unheld lists the paths that the file tool's configuration denies to the session and its commands' profile can't.
func (s *Supervisor) unheld(cfg *config.Config, sess *Session) ([]profile.Gap, error) {
	named := slices.Collect(maps.Values(cfg.Files.Paths))
	if !slices.ContainsFunc(named, func(f files.Sandbox) bool { return len(f.Suffixes) > 0 }) {
		return nil, nil
	}
	tools, err := s.tools(cfg, sess, true, "", s.linksOf(cfg, sess))
	return tools.Unheld(), err
}

// UnheldOf lists the paths that the configuration in force denies to the session's file tool and no mechanism denies to
// its commands; without a session, by the configuration of all.
func (s *Supervisor) UnheldOf(sess *Session) ([]profile.Gap, error) {
	if sess == nil {
		return s.unheld(s.Config(), &Session{})
	}
	cfg, _, err := s.projectConfig(sess)
	if err != nil {
		return nil, err
	}
	return s.unheld(cfg, sess)
}

// ProfileOf is the profile under which the session's commands run now.
func (s *Supervisor) ProfileOf(sess *Session) (profile.Profile, error) {
	cfg, _, err := s.projectConfig(sess)
	if err != nil {
		return profile.Profile{}, err
	}
	p, _, err := s.profiles(cfg, sess, s.trusted(sess, cfg), "")
	return p, err
}

// OperatorProfile is the operator's ceiling for a user.
func (s *Supervisor) OperatorProfile(uid int) (profile.Profile, error) {
	name, home, err := account(uid)
	if err != nil {
		return profile.Profile{}, err
	}
	cfg, sess := s.Config(), &Session{Peer: Peer{UID: uid}, Home: home, User: name}
	return cfg.Ceiling(sess.variables(s.linksOf(cfg, sess)))
}

// Paths are the files that the configuration comes from.
func (s *Supervisor) Paths() config.Paths { return s.paths }

// Overlap reports whether one of two roots contains the other.
func Overlap(a, b string) bool {
	return a != "" && b != "" && (abspath.Contains(b, a) || abspath.Contains(a, b))
}
