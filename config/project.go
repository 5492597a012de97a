package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"sandboxd/shell"
)

// ForProject returns the configuration for sessions of the project at root, an absolute and
// real path. It adds the restrictions of the project's own file, and fills in the values that
// depend on root. It does not change c.
//
// It returns an error if the project file is invalid. The caller must not use the project
// before a person fixes or removes the file.
func (c *Config) ForProject(root string) (*Config, []Warning, error) {
	text, err := ReadProject(root)
	if err != nil {
		return nil, nil, err
	}
	return c.WithProject(root, text)
}

// ProjectText is the content of a project's file; nil if there is none.
type ProjectText *string

// ReadProject reads the file of the project at root, an absolute and real path.
func ReadProject(root string) (ProjectText, error) {
	if !filepath.IsAbs(root) {
		return nil, fmt.Errorf("configuration of project %q: not an absolute path", root)
	}
	text, found, err := readProject(root)
	switch {
	case errors.Is(err, errNoProject):
		return nil, fmt.Errorf("project %q: %w", root, err)
	case err != nil:
		return nil, projectError(&Error{Origin: Origin{File: filepath.Join(root, ProjectFile)}, Err: err})
	case !found:
		return nil, nil
	}
	return &text, nil
}

// WithProject is ForProject for a text that was read already. The result depends on c, root and
// the text alone.
func (c *Config) WithProject(root string, text ProjectText) (*Config, []Warning, error) {
	file := filepath.Join(root, ProjectFile)
	l := c.layers.clone()
	var project ProjectRules
	if text != nil {
		doc, err := parse(file, *text)
		if err != nil {
			return nil, nil, projectError(err)
		}
		if err := fatal(doc); err != nil {
			return nil, nil, projectError(err)
		}
		project, err = l.addProject(file, doc)
		if err != nil {
			return nil, nil, projectError(err)
		}
	}
	warnings := l.warnings
	cfg, err := l.config()
	if err != nil {
		return nil, nil, projectError(err)
	}
	warnings = append(warnings, cfg.unknownSandboxes(&Config{Shell: project.Shell, layers: project.layers})...)
	cfg.Profiles, cfg.Project = c.Profiles, project
	cfg.Shell.Paths = cfg.roots(root)
	cfg.shellPlaces(Session{Project: root})
	cfg.Project.Shell.Paths = cfg.Shell.Paths
	return cfg, warnings, nil
}

func projectError(err error) error {
	return fmt.Errorf("%w; nothing of this project runs until its file is mended or removed", err)
}

// fatal returns the problems that make a project's file invalid: an attempt to disable
// approvals, and invalid values of keys that it may have.
func fatal(doc *parsed) error {
	var errs []error
	for _, p := range doc.denied {
		errs = append(errs, p.error())
	}
	for _, p := range doc.invalid {
		if projectMayHold(p.path) {
			errs = append(errs, p.error())
		}
	}
	return errors.Join(errs...)
}

// projectMayHold reports whether a path is, is below, or is above a key that a project's file
// may have.
func projectMayHold(path []string) bool {
	p := pattern(path)
	for _, k := range keys {
		if k.project && (p == k.name || strings.HasPrefix(k.name, p+".") || strings.HasPrefix(p, k.name+".")) {
			return true
		}
	}
	return false
}

// addProject merges the restrictions of the file and reports the rest.
func (l *layers) addProject(file string, doc *parsed) (ProjectRules, error) {
	yes, no := true, false
	rules := ProjectRules{
		File: file,
		// A call that the project does not name is left to the other judgement.
		Shell: shell.Config{Default: shell.Default{Allowed: &yes, Approval: &no}, Network: "full"},
		Tools: Tools{Unknown: "allow"},
	}
	for _, p := range doc.unknown {
		l.warnings = append(l.warnings, p.warning())
	}
	for _, p := range doc.invalid {
		l.warn(p.origin, "%v: ignored, a project's file cannot set this", p.err)
	}
	own := layers{entries: map[string]*entry{}}
	for _, s := range doc.settings {
		switch {
		case !s.key.project:
			l.warn(s.origin, "%s: a project's file can only tighten, and cannot set this: ignored", s.name)
		case isSandbox(s.path):
			l.projectSandbox(s)
		case s.name == "shell.rules":
			l.projectRules(&own, s, askingShellRule)
		case s.name == "tools.rules":
			l.projectRules(&own, s, askingToolRule)
		case s.name == "permissions.ask", s.name == "permissions.deny":
			own.put(s)
		case s.key.merge == restrict:
			l.union(s)
		case s.key.merge == grant:
			l.projectGrant(s)
		default:
			l.projectNarrow(s)
		}
	}
	var mine Config
	if err := decode(own.tree(), &mine); err != nil {
		return ProjectRules{}, &Error{Origin: Origin{File: file}, Err: err}
	}
	mine.layers = own
	mine.mark()
	rules.Shell.Rules, rules.Shell.Permissions = mine.Shell.Rules, mine.Permissions
	rules.Tools.Rules = mine.Tools.Rules
	rules.layers = own
	return rules, nil
}

func (l *layers) projectSandbox(s setting) {
	if _, ok := l.entries[sandboxKey(s.path[2], "root")]; !ok {
		l.warn(
			s.origin,
			"files.paths.%s: a project's file cannot add sandboxes; use files.read_only or files.hidden: ignored",
			s.path[2],
		)
		return
	}
	l.narrowSandbox(s.path[2], []setting{s}, "the")
}

func (l *layers) projectNarrow(s setting) {
	if e, ok := l.entries[s.name]; !ok || !s.key.narrower(s.value, e.value) {
		above, at := any("unset"), Origin{}
		if ok {
			above, at = e.value, e.origin
		}
		l.warn(s.origin, "%s = %s is wider than %s (%s): ignored", s.name, show(s.value), show(above), at)
		return
	}
	l.put(s)
}

func (l *layers) projectGrant(s setting) {
	var bound any
	whose := "the list above, which is empty"
	if e, ok := l.entries[s.name]; ok {
		bound, whose = e.value, "the list of "+e.origin.String()
	}
	if s.name == "network.allow" {
		bound = expandPorts(bound, l.entries["network.ports"].value)
	}
	l.put(l.within(s, bound, whose))
}

// projectRules keeps the rules that ask or deny. It removes the parts that could widen access
// or influence the answerer.
func (l *layers) projectRules(own *layers, s setting, asks func(map[string]any) bool) {
	kept, items := []any{}, []Origin{}
	for i, item := range asList(s.value) {
		rule, _ := item.(map[string]any)
		if !asks(rule) {
			l.warn(s.items[i], "%s: a project's rules can only ask or deny: ignored", element(s.name, i))
			continue
		}
		clean := map[string]any{}
		for name, v := range rule {
			if name == "network" || name == "description" {
				l.warn(s.items[i], "%s: a project's rules cannot set %s: that part ignored", element(s.name, i), name)
				continue
			}
			clean[name] = v
		}
		kept, items = append(kept, clean), append(items, s.items[i])
	}
	s.value, s.items = kept, items
	own.put(s)
}

func askingShellRule(rule map[string]any) bool {
	if rule["allowed"] == false {
		return true
	}
	return rule["approval"] != false
}

func askingToolRule(rule map[string]any) bool {
	return rule["decision"] == "ask" || rule["decision"] == "deny"
}

// roots returns the sandboxes of [files.paths] as absolute folders.
func (c *Config) roots(project string) map[string]string {
	out := make(map[string]string, len(c.Files.Paths))
	for name, s := range c.Files.Paths {
		if filepath.IsAbs(s.Root) {
			out[name] = filepath.Clean(s.Root)
			continue
		}
		out[name] = filepath.Join(project, s.Root)
	}
	return out
}
