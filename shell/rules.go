package shell

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"sandboxd/pattern"
	"sandboxd/shell/analysis"
	"sandboxd/shell/carried"
)

// rule is a compiled Rule.
type rule struct {
	Rule
	words   pattern.Words
	allowed bool
	asks    bool
	name    string
}

// permission is a compiled Permission for commands.
type permission struct {
	Permission
	words pattern.Words
	line  string // the whole line, if the permission has more than one simple command
	name  string
	// command is when.command parsed to words. Every command of a line is matched against it if
	// the permission allows.
	command pattern.Words
}

func isTrue(b *bool) bool { return b == nil || *b }

func newRule(r Rule, number int) (rule, error) {
	out := rule{Rule: r, allowed: isTrue(r.Allowed), asks: isTrue(r.Approval)}
	var err error
	if out.words, err = analysis.Pattern(r.Pattern, true); err != nil {
		return rule{}, err
	}
	if r.Exact {
		if last := strings.TrimSpace(r.Pattern); strings.HasSuffix(last, " *") {
			return rule{}, fmt.Errorf(
				"pattern %q: with exact = true no word follows; leave out the * at its end",
				r.Pattern,
			)
		}
		out.words = out.words.Only()
	}
	out.name = fmt.Sprintf("rule %d: %s", number, r.Pattern)
	if r.Origin != "" {
		out.name += " (" + r.Origin + ")"
	}
	if err := knownNetwork(r.Network); err != nil {
		return rule{}, err
	}
	return out, nil
}

func knownNetwork(s string) error {
	switch s {
	case "", "none", "loopback", "allowlist", "full":
		return nil
	}
	return fmt.Errorf("network %q: known are none, loopback, allowlist and full", s)
}

// isShell reports whether a permission's tool name refers to this tool.
func isShell(name string) bool {
	switch strings.ToLower(name) {
	case "bash", "shell", "exec", "run_shell_command", "shelltool":
		return true
	}
	return false
}

func newPermission(p Permission, effect string) (permission, bool, error) {
	if !isShell(p.Tool) {
		if !p.Any {
			return permission{}, false, fmt.Errorf(
				"permission %q: only Bash takes something in parentheses; name the tool alone, with when = {PARAMETER = "+
					"\"PATTERN\"}; "+
					"what commands must not read or write goes into [files] hidden and protected, hosts into [network]",
				p.String(),
			)
		}
		return permission{}, false, nil
	}
	out := permission{Permission: p, name: "permission " + effect + " " + p.String()}
	if p.Origin != "" {
		out.name += " (" + p.Origin + ")"
	}
	for key := range p.When {
		if key != "command" && key != "cwd" {
			return permission{}, false, fmt.Errorf(
				"permission %q: a command has no parameter %q; it has command and cwd",
				p.String(),
				key,
			)
		}
	}
	var err error
	if text, ok := p.When["command"]; ok {
		if out.command, err = analysis.Pattern(text, false); err != nil && effect == "allow" {
			return permission{}, false, fmt.Errorf("permission %q: when.command: %w", p.String(), err)
		}
	}
	if p.Any {
		return out, true, nil
	}
	s := analysis.Line(p.Command, analysis.Place{Cwd: "/"})
	if !p.Prefix && len(s.Calls) > 1 && len(s.Doubts) == 0 {
		out.line = strings.TrimSpace(p.Command)
		return out, true, nil
	}
	if out.words, err = analysis.Pattern(p.Command, p.Prefix); err != nil {
		return permission{}, false, fmt.Errorf("permission %q: %w", p.String(), err)
	}
	return out, true, nil
}

// allowsHere reports whether the when patterns match one command of a line, by its own words
// and directory instead of those of the line.
func (p permission) allowsHere(call *analysis.Call) bool {
	if _, ok := p.When["command"]; ok && !p.command.Permits(analysis.Plain(call.Args)) {
		return false
	}
	pat, ok := p.When["cwd"]
	return !ok || !call.Dirs.Unknown && len(call.Dirs.Paths) > 0 &&
		!slices.ContainsFunc(call.Dirs.Paths, func(dir string) bool { return !pattern.Wild(pat, dir) })
}

// permits reports whether an allowing permission covers a call.
func (p permission) permits(c *Command, call *analysis.Call) bool {
	switch {
	case !p.allowsHere(call):
		return false
	case p.Any:
		return true
	case p.line != "":
		return strings.TrimSpace(c.Line) == p.line
	}
	return p.words.Permits(analysis.Plain(call.Args))
}

// concerns reports whether the when patterns may match a call, for permissions that ask or
// deny.
func (p permission) concerns(c *Command, call *analysis.Call) bool {
	if pat, ok := p.When["command"]; ok && !pattern.WildForbids(pat, c.Text()) &&
		names(p.command, call.Args) == pattern.No {
		return false
	}
	pat, ok := p.When["cwd"]
	return !ok || call.Dirs.Unknown || pattern.WildForbids(pat, c.Cwd) ||
		slices.ContainsFunc(call.Dirs.Paths, func(dir string) bool { return pattern.WildForbids(pat, dir) })
}

// names reports whether an asking or denying permission names a call.
func (p permission) names(c *Command, call *analysis.Call) pattern.Answer {
	switch {
	case !p.concerns(c, call):
		return pattern.No
	case p.Any:
		return pattern.Yes
	case p.line != "":
		if strings.TrimSpace(c.Line) == p.line {
			return pattern.Yes
		}
		return pattern.No
	}
	return names(p.words, call.Args)
}

// names matches a forbidding pattern against every spelling of a command.
func names(w pattern.Words, args []analysis.Word) pattern.Answer {
	best := pattern.No
	if first := w.First(); len(first) > 0 && !startsAs(first[0], args) {
		return best
	}
	for _, c := range spellings(args) {
		best = max(best, w.Names(c))
	}
	return best
}

// Validate reports the errors of the configuration, including examples that a rule fails.
func (c Config) Validate() error {
	var errs []error
	note := func(err error) {
		if err != nil {
			errs = append(errs, err)
		}
	}
	if err := knownNetwork(c.Network); err != nil {
		note(fmt.Errorf("shell: %w", err))
	}
	for i, r := range c.Rules {
		compiled, err := newRule(r, i+1)
		if err != nil {
			note(fmt.Errorf("shell rule %d: %w", i+1, err))
			continue
		}
		note(compiled.examples(i + 1))
	}
	for _, list := range []struct {
		effect string
		of     []Permission
	}{{"allow", c.Permissions.Allow}, {"ask", c.Permissions.Ask}, {"deny", c.Permissions.Deny}} {
		for _, p := range list.of {
			_, _, err := newPermission(p, list.effect)
			note(err)
		}
	}
	for _, s := range c.SafeCommands {
		if !isAlias(s) {
			if _, err := analysis.Pattern(s, true); err != nil {
				note(fmt.Errorf("shell safe_commands: %w", err))
			}
		}
	}
	for _, dir := range c.SearchPath {
		if !path.IsAbs(dir) {
			note(fmt.Errorf("shell search_path %q: it is not absolute", dir))
		}
	}
	if _, err := newPlaces(c); err != nil {
		note(err)
	}
	note(checkPresets(c.Presets))
	return errors.Join(errs...)
}

func isAlias(s string) bool { return s == "ll" || s == "la" }

// examples checks the rule against its own examples.
func (r rule) examples(number int) error {
	var errs []error
	check := func(line string, want bool) {
		s := analysis.Line(line, analysis.Place{Cwd: "/"})
		got := slices.ContainsFunc(s.Calls, func(c *analysis.Call) bool { return r.matches(c.Args) })
		if got != want {
			word := "does not match"
			if got {
				word = "matches"
			}
			errs = append(
				errs,
				fmt.Errorf("shell rule %d: pattern %q: it %s its example %q", number, r.Pattern, word, line),
			)
		}
	}
	for _, line := range r.Examples.Match {
		check(line, true)
	}
	for _, line := range r.Examples.NotMatch {
		check(line, false)
	}
	return errors.Join(errs...)
}

// permissive reports whether the rule lets commands run unasked.
func (r rule) permissive() bool { return r.allowed && !r.asks }

// matches reports whether the rule's pattern matches the words: strictly if it allows, loosely
// if it asks or forbids.
func (r rule) matches(args []analysis.Word) bool {
	if r.permissive() {
		argv, _ := (&analysis.Call{Args: args}).Argv()
		found := carried.Find(argv, beyond(r.words, argv), r.words.Spelled)
		return r.words.Permits(analysis.Plain(args)) &&
			!slices.ContainsFunc(found, func(w carried.Word) bool { return w.IfFile == "" })
	}
	return names(r.words, args) == pattern.Yes
}
