package shell

import (
	"fmt"
	"slices"

	"sandboxd/pattern"
	"sandboxd/shell/analysis"
	"sandboxd/shell/presets"
)

// Tool judges commands by one configuration. It is safe for concurrent use.
type Tool struct {
	config     Config
	rules      []rule
	allow      []permission
	ask        []permission
	deny       []permission
	safe       []pattern.Words
	presets    []presets.Preset
	places     places
	autoSafe   bool
	defAllowed bool
	defAsks    bool
	searchPath []string
}

// New returns a Tool for config. It returns an error if config is invalid, including if a
// rule's example fails.
func New(config Config) (*Tool, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	t := &Tool{config: config, autoSafe: isTrue(config.AutoSafe), defAllowed: isTrue(config.Default.Allowed),
		defAsks: isTrue(config.Default.Approval), searchPath: config.SearchPath}
	if len(t.searchPath) == 0 {
		t.searchPath = DefaultSearchPath
	}
	for i, r := range config.Rules {
		compiled, err := newRule(r, i+1)
		if err != nil {
			return nil, err
		}
		t.rules = append(t.rules, compiled)
	}
	for _, list := range []struct {
		effect string
		from   []Permission
		to     *[]permission
	}{{"allow", config.Permissions.Allow, &t.allow}, {"ask", config.Permissions.Ask, &t.ask},
		{"deny", config.Permissions.Deny, &t.deny}} {
		for _, p := range list.from {
			compiled, ok, err := newPermission(p, list.effect)
			if err != nil {
				return nil, err
			}
			if ok {
				*list.to = append(*list.to, compiled)
			}
		}
	}
	for _, s := range config.SafeCommands {
		if isAlias(s) {
			continue // the safe list has an entry for it
		}
		w, err := analysis.Pattern(s, true)
		if err != nil {
			return nil, err
		}
		t.safe = append(t.safe, w)
	}
	for _, name := range config.Presets {
		p, err := presets.Lookup(name)
		if err != nil {
			return nil, err
		}
		t.presets = append(t.presets, p)
	}
	var err error
	t.places, err = newPlaces(config)
	return t, err
}

func checkPresets(names []string) error {
	for _, name := range names {
		if _, err := presets.Lookup(name); err != nil {
			return fmt.Errorf("presets: %w", err)
		}
	}
	return nil
}

// edits reports whether a preset permits redirections that write ordinary files of the project.
func (t *Tool) edits() bool {
	return slices.ContainsFunc(t.presets, func(p presets.Preset) bool { return p.Redirections })
}

// restricts reports whether a permission or a rule of the configuration asks or forbids.
func (t *Tool) restricts() bool {
	return len(t.ask) > 0 || len(t.deny) > 0 || slices.ContainsFunc(t.rules, func(r rule) bool { return !r.permissive() })
}

// SearchPath returns the directories in which the names of commands that run unasked are looked
// up.
func (t *Tool) SearchPath() []string { return append([]string(nil), t.searchPath...) }

// Quote joins an argv to words that a shell parses to the same argv, for display.
func Quote(argv []string) string { return quote(argv) }
