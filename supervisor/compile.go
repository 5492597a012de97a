package supervisor

import (
	"sync"

	"sandboxd/config"
	"sandboxd/profile"
	"sandboxd/shell"
)

// compilation is what follows from the configuration and one project's own file,
// and from nothing else: it is made once for every state of the two.
type compilation struct {
	base *config.Config // it was made from
	text config.ProjectText

	cfg      *config.Config
	warnings []string
	tool     *shell.Tool
	project  *shell.Tool // judges by the project's own rules; nil: it has none
}

// profileKey is all that a session's profiles depend on.
type profileKey struct {
	cfg                 *config.Config
	root, home, network string
	paths               string // the configured ones, with their links resolved
	cache               string // of the project's own, where there is one
	trusted, agent      bool
}

// toolsKey is all that config.ProfileTools depends on.
type toolsKey struct {
	cfg     *config.Config
	session config.Session
}

// derived are the profiles of a session's commands.
type derived struct {
	effective profile.Profile
	operator  *profile.Profile // the ceiling alone; nil: there is none
}

// kept is a small store of what can be made again. The zero value is empty and
// ready.
type kept[K comparable, V any] struct {
	mu sync.Mutex
	of map[K]V
}

// maxKept bounds each store; what is beyond it is made again.
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

// compile returns what follows from the configuration in force for a project.
// The project's file is read anew every time: it may change between two
// commands, and it can only tighten.
func (s *Supervisor) compile(root string) (*compilation, error) {
	text, err := config.ReadProject(root)
	if err != nil {
		return nil, err
	}
	base := s.Config()
	if c, ok := s.compiled.get(root); ok && c.base == base && sameText(c.text, text) {
		return c, nil
	}
	cfg, found, err := base.WithProject(root, text)
	if err != nil {
		return nil, err
	}
	c := &compilation{base: base, text: text, cfg: cfg}
	for _, w := range found {
		c.warnings = append(c.warnings, w.String())
	}
	if c.tool, err = shell.New(cfg.Shell); err != nil {
		return nil, err
	}
	if cfg.Project.File != "" {
		if c.project, err = shell.New(cfg.Project.Shell); err != nil {
			return nil, err
		}
	}
	s.compiled.put(root, c)
	return c, nil
}

func sameText(a, b config.ProjectText) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}

// projectConfig is the configuration with the project's own file. The caller
// appends to the warnings, and to nothing else.
func (s *Supervisor) projectConfig(root string) (*config.Config, []string, error) {
	c, err := s.compile(root)
	if err != nil {
		return nil, nil, err
	}
	return c.cfg, c.warnings[:len(c.warnings):len(c.warnings)], nil
}
