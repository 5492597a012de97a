package supervisor

import (
	"fmt"
	"sync"

	"sandboxd/config"
	"sandboxd/profile"
	"sandboxd/shell"
)

// compilation is the result of the configuration, one project's own file, and the targets of
// the paths of both: it is made once for every state of the three.
type compilation struct {
	base  *config.Config // it was made from
	text  config.ProjectText
	own   [2]string // what its user set for the project, and for the session
	links *links

	cfg      *config.Config
	warnings []string
	tool     *shell.Tool
	project  *shell.Tool // judges by the project's own rules; nil: it has none
}

// profileKey is all that a session's profiles depend on besides links.
type profileKey struct {
	cfg                 *config.Config
	root, home, network string
	cache               string // of the project's own, where there is one
	caches              string // see toolchains
	trusted             bool
	agent               agentRun
	gitDir              string // see gitOf
	gitFile             bool
}

// derived are the profiles of a session's commands.
type derived struct {
	links     *links // that they depend on
	effective profile.Profile
	operator  *profile.Profile // the ceiling alone; nil: there is none
}

// kept is a small cache of values that can be computed again. The zero value is empty and
// ready.
type kept[K comparable, V any] struct {
	mu sync.Mutex
	of map[K]V
}

// maxKept bounds the values of each cache; further ones are computed again.
const maxKept = 256

func (k *kept[K, V]) get(key K) (V, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	v, ok := k.of[key]
	return v, ok
}

func (k *kept[K, V]) put(key K, v V) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.of == nil || len(k.of) >= maxKept {
		k.of = map[K]V{}
	}
	k.of[key] = v
}

// compile returns the compilation of the configuration in force for a project.
// The project's file is read every time: it may change between two
// commands, and it can only tighten.
func (s *Supervisor) compile(sess *Session) (*compilation, error) {
	return s.compileFrom(s.Config(), sess)
}

// compileFrom is compile with base in place of the configuration in force.
func (s *Supervisor) compileFrom(base *config.Config, sess *Session) (*compilation, error) {
	text, err := config.ReadProject(sess.Root)
	if err != nil {
		return nil, err
	}
	own := [2]string{s.Settings.text(sess.Peer.UID, sess.Root), sess.ownText()}
	key := compiledKey{sess.Root, sess.Home, sess.Peer.UID}
	if c, ok := s.compiled.get(key); ok && c.base == base && sameText(c.text, text) && c.own == own &&
		c.links.still(s.linksOf(c.cfg, sess)) {
		return c, nil
	}
	yours, warnings, err := s.ownOf(base, sess, own)
	if err != nil {
		return nil, err
	}
	cfg, found, err := yours.WithProject(sess.Root, text)
	if err != nil {
		return nil, err
	}
	c := &compilation{base: base, text: text, own: own, cfg: cfg, links: s.linksOf(cfg, sess)}
	for _, w := range append(warnings, found...) {
		c.warnings = append(c.warnings, w.String())
	}
	c.resolve(sess)
	if c.tool, err = shell.New(cfg.Shell); err != nil {
		return nil, err
	}
	if cfg.Project.File != "" {
		if c.project, err = shell.New(cfg.Project.Shell); err != nil {
			return nil, err
		}
	}
	s.compiled.put(key, c)
	return c, nil
}

// resolve has the shell tool judge by the paths that the sandbox holds, and warns of
// grants that lead through a link that commands can change.
func (c *compilation) resolve(sess *Session) {
	tool := &c.cfg.Shell
	tool.Hidden, tool.Protected = c.links.targets(tool.Hidden, sess.Home), c.links.targets(tool.Protected, sess.Home)
	if tool.ReadRoots != nil {
		tool.ReadRoots = c.links.grants(tool.ReadRoots, sess.Home)
	}
	at := config.Session{Project: sess.Root, Home: sess.Home}
	for _, path := range c.cfg.Granted(at) {
		if real, loose := c.links.resolve(path); loose {
			c.warnings = append(c.warnings,
				fmt.Sprintf("%s leads through a symbolic link that commands can change to %s: "+
					"the configuration grants nothing there; name %s itself", path, real, real))
		}
	}
}

// compiledKey names a project of a user.
type compiledKey struct {
	root, home string
	uid        int
}

func sameText(a, b config.ProjectText) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}

// projectConfig is the configuration with the project's own file. The caller
// appends to the warnings, and to nothing else.
func (s *Supervisor) projectConfig(sess *Session) (*config.Config, []string, error) {
	c, err := s.compile(sess)
	if err != nil {
		return nil, nil, err
	}
	return c.cfg, c.warnings[:len(c.warnings):len(c.warnings)], nil
}
