package supervisor

import (
	"path/filepath"
	"slices"
	"strings"

	"sandboxd/config"
	"sandboxd/profile"
	"sandboxd/profile/document"
)

// profiles derives what the session's commands may touch. effective is
// derived ∩ operator; operator is the ceiling alone, nil where there is none.
// What was derived is kept: it depends on nothing but what is in the key.
func (s *Supervisor) profiles(cfg *config.Config, sess *Session, trusted bool, network string) (effective profile.Profile, operator *profile.Profile, err error) {
	return s.profilesOf(cfg, sess, trusted, network, false)
}

// profilesOf is profiles; an agent reaches agent.sock besides.
func (s *Supervisor) profilesOf(cfg *config.Config, sess *Session, trusted bool, network string, agent bool) (effective profile.Profile, operator *profile.Profile, err error) {
	tools, err := s.tools(cfg, sess, trusted, network)
	if err != nil {
		return effective, nil, err
	}
	if agent && s.agentSocket != "" {
		tools.Sockets = append(tools.Sockets, filepath.Join(RealPath(filepath.Dir(s.agentSocket)), filepath.Base(s.agentSocket)))
	}
	key := profileKey{cfg: cfg, root: sess.Root, home: sess.Home, network: network, trusted: trusted, agent: agent,
		paths: strings.Join(slices.Concat(tools.Read, []string{""}, tools.Write, []string{""}, tools.Hidden, []string{""}, tools.Protected), "\x00"), cache: tools.Cache}
	known, ok := s.derived.get(key)
	if !ok {
		if known.effective, known.operator, err = derive(cfg, sess, tools); err != nil {
			return effective, nil, err
		}
		s.derived.put(key, known)
	}
	effective, operator = sess.narrowed(known.effective, known.operator)
	return effective, operator, nil
}

func derive(cfg *config.Config, sess *Session, tools document.Tools) (effective profile.Profile, operator *profile.Profile, err error) {
	mine, err := document.Derive(tools)
	if err != nil {
		return effective, nil, err
	}
	if len(cfg.Profiles) == 0 {
		return mine, nil, nil
	}
	ceiling, err := cfg.Ceiling(sess.variables(), realIn)
	if err != nil {
		return effective, nil, err
	}
	return mine.Intersect(ceiling), &ceiling, nil
}

// tools is the configuration in the words of document.Derive. network is what
// the deciding rule gives the command; the [network] section bounds it.
func (s *Supervisor) tools(cfg *config.Config, sess *Session, trusted bool, network string) (document.Tools, error) {
	key := toolsKey{cfg, config.Session{Project: sess.Root, Trusted: trusted, Home: sess.Home}}
	t, ok := s.configured.get(key)
	if !ok {
		var err error
		if t, err = cfg.ProfileTools(key.session); err != nil {
			return t, err
		}
		s.configured.put(key, t)
	}
	t.Read, t.Write, t.Sockets = slices.Clone(t.Read), slices.Clone(t.Write), slices.Clone(t.Sockets)
	t.Daemon = s.own
	if len(t.Presets) > 0 {
		t.Cache = cacheOf(sess)
	}
	for _, list := range [][]string{t.Read, t.Write} {
		for i, p := range list {
			if filepath.IsAbs(p) {
				list[i] = RealPath(p)
			}
		}
	}
	t.Hidden, t.Protected = alsoRealTargets(t.Hidden), alsoRealTargets(t.Protected)
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

// realIn is alsoRealTargets for paths that may begin with a variable, as in the operator's documents.
func realIn(list []string, v document.Variables) []string {
	out := slices.Clone(list)
	for _, target := range list {
		for name, value := range map[string]string{"~/": v.Home, "${home}/": v.Home, "${project}/": v.Project, "${tmp}/": v.Tmp, "/": "/"} {
			rest, ok := strings.CutPrefix(target, name)
			if !ok || value == "" {
				continue
			}
			path := strings.TrimSuffix(value, "/") + "/" + rest
			out = append(out, alsoRealTargets([]string{path})[1:]...)
		}
	}
	return out
}

// alsoRealTargets adds to a list of paths, "PATH/**/NAME" and bare names where the paths really are: what is granted
// is granted there, and what is taken away must be as well.
func alsoRealTargets(list []string) []string {
	out := slices.Clone(list)
	for _, target := range list {
		path, name, named := strings.Cut(target, "/**")
		if !filepath.IsAbs(path) {
			continue
		}
		real := RealPath(path)
		if named {
			real = strings.TrimSuffix(real, "/") + "/**" + name
		}
		if !slices.Contains(out, real) {
			out = append(out, real)
		}
	}
	return out
}

func (s *Session) variables() document.Variables {
	return document.Variables{Project: s.Root, Home: s.Home, Tmp: "/tmp"}
}

// ProfileOf is the profile under which the session's commands run now.
func (s *Supervisor) ProfileOf(sess *Session) (profile.Profile, error) {
	cfg, _, err := s.projectConfig(sess.Root)
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
	return s.Config().Ceiling((&Session{Home: home, User: name}).variables(), realIn)
}

// Paths are the files that the configuration comes from.
func (s *Supervisor) Paths() config.Paths { return s.paths }

// Overlap reports whether one of two roots lies in the other.
func Overlap(a, b string) bool { return a != "" && b != "" && (within(a, b) || within(b, a)) }
