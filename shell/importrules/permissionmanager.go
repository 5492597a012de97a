package importrules

import (
	"encoding/json"
	"fmt"
	"regexp/syntax"
	"slices"
	"strings"

	"sandboxd/shell"
)

// permissionManager converts the section "permissions" of the permission manager's config.json,
// or that section alone.
func (c *converter) permissionManager(data []byte) error {
	var file map[string]json.RawMessage
	if err := json.Unmarshal(data, &file); err != nil {
		return err
	}
	if inner, ok := file["permissions"]; ok {
		clear(file)
		if err := json.Unmarshal(inner, &file); err != nil {
			return fmt.Errorf("permissions: %w", err)
		}
	}
	for _, key := range sorted(file) {
		if err := c.option(key, file[key]); err != nil {
			return fmt.Errorf("permissions.%s: %w", key, err)
		}
	}
	return nil
}

// option converts one option of the permission manager.
func (c *converter) option(key string, raw json.RawMessage) error {
	switch key {
	case "enabled", "yolo_mode":
		var on bool
		if err := json.Unmarshal(raw, &on); err != nil {
			return err
		}
		if on != (key == "enabled") {
			c.skip(fmt.Sprintf("%s = %t", key, on), "approvals are not switched off by a file; a person starts "+
				"`sandboxd --mode approve-all`, or `sbx mode approve-all` for one session")
		}
		return nil
	case "approval_timeout":
		var seconds float64
		if err := json.Unmarshal(raw, &seconds); err != nil {
			return err
		}
		c.approval = append(c.approval, fmt.Sprintf("timeout = \"%gs\"", seconds))
		return nil
	case "safe_commands_only", "double_confirm_deletes":
		return c.flag(&c.approval, key, raw)
	case "show_approval_stats":
		return c.flag(&c.approval, "show_stats", raw)
	case "auto_approve_safe_commands":
		return c.flag(&c.shell, "auto_safe", raw)
	case "auto_approve_safe_paths":
		return c.flag(&c.files, "auto_safe", raw)
	case "safe_commands":
		var list []string
		err := json.Unmarshal(raw, &list)
		for _, s := range list {
			if _, bad := shell.New(shell.Config{SafeCommands: []string{s}}); bad != nil {
				c.skip("safe_commands "+s, bad.Error())
				continue
			}
			add(&c.safeCommands, s)
		}
		return err
	case "protected_paths":
		var list []string
		err := json.Unmarshal(raw, &list)
		c.protected = append(c.protected, list...)
		return err
	case "safe_file_patterns":
		var list []string
		if err := json.Unmarshal(raw, &list); err != nil {
			return err
		}
		for _, expr := range list {
			c.safePattern(expr)
		}
		return nil
	}
	c.skip(key, "it is no option of the permission manager")
	return nil
}

// flag converts a boolean option.
func (c *converter) flag(lines *[]string, name string, raw json.RawMessage) error {
	var on bool
	err := json.Unmarshal(raw, &on)
	*lines = append(*lines, fmt.Sprintf("%s = %t", name, on))
	return err
}

// safePattern converts a regular expression, which is searched for in a path, to globs.
func (c *converter) safePattern(expr string) {
	globs, err := globsOf(expr)
	if err != nil {
		c.skip("safe_file_patterns "+expr, err.Error()+"; write globs into files.safe")
		return
	}
	for _, g := range globs {
		add(&c.safe, g)
	}
}

// maxGlobs bounds the globs of one expression.
const maxGlobs = 32

// globsOf returns globs that together match the paths in which expr is found, or an
// error where globs can't say it.
func globsOf(expr string) ([]string, error) {
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil, err
	}
	// Unless it is anchored, anything may stand around it.
	parts := []*syntax.Regexp{re}
	if re.Op == syntax.OpConcat {
		parts = re.Sub
	}
	out := []string{""}
	if n := len(parts); n > 0 && begins(parts[0]) {
		parts = parts[1:]
	} else {
		out = []string{"**/*"}
	}
	open := true
	if n := len(parts); n > 0 && ends(parts[n-1]) {
		parts, open = parts[:n-1], false
	}
	for _, p := range parts {
		if out, err = appendGlob(out, p); err != nil {
			return nil, err
		}
	}
	if open {
		out = anything(out)
	}
	for i, g := range out {
		// Without a slash a glob is about the name at any depth.
		if rest, ok := strings.CutPrefix(g, "**/"); ok && !strings.Contains(rest, "/") {
			out[i] = rest
		} else if !strings.Contains(g, "/") {
			return nil, fmt.Errorf("%q is about the top folder alone, which a glob without a slash can't say", expr)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

func begins(r *syntax.Regexp) bool { return r.Op == syntax.OpBeginText || r.Op == syntax.OpBeginLine }

func ends(r *syntax.Regexp) bool { return r.Op == syntax.OpEndText || r.Op == syntax.OpEndLine }

// appendGlob writes an expression behind each glob.
func appendGlob(globs []string, r *syntax.Regexp) ([]string, error) {
	switch r.Op {
	case syntax.OpEmptyMatch:
		return globs, nil
	case syntax.OpCapture:
		return appendGlob(globs, r.Sub[0])
	case syntax.OpLiteral:
		if r.Flags&syntax.FoldCase != 0 {
			return nil, fmt.Errorf("%q: a glob is case-sensitive", r)
		}
		return suffixed(globs, quoteGlob(string(r.Rune))), nil
	case syntax.OpAnyCharNotNL, syntax.OpAnyChar:
		return suffixed(globs, "?"), nil // a slash, too, in the expression: the glob is narrower
	case syntax.OpConcat:
		var err error
		for _, p := range r.Sub {
			if globs, err = appendGlob(globs, p); err != nil {
				return nil, err
			}
		}
		return globs, nil
	case syntax.OpAlternate, syntax.OpQuest:
		all := slices.Clone(globs)
		if r.Op == syntax.OpAlternate {
			all = nil
		}
		for _, p := range r.Sub {
			more, err := appendGlob(globs, p)
			if err != nil {
				return nil, err
			}
			all = append(all, more...)
		}
		if len(all) > maxGlobs {
			return nil, fmt.Errorf("%q is more than %d globs", r, maxGlobs)
		}
		return all, nil
	case syntax.OpStar, syntax.OpPlus:
		return repeated(globs, r)
	}
	return nil, fmt.Errorf("a glob has no %q", r)
}

// repeated writes ".*", ".+", "[^/]*" or "[^/]+".
func repeated(globs []string, r *syntax.Regexp) ([]string, error) {
	if r.Op == syntax.OpPlus {
		globs = suffixed(globs, "?")
	}
	switch of := r.Sub[0]; {
	case of.Op == syntax.OpAnyCharNotNL || of.Op == syntax.OpAnyChar:
		return anything(globs), nil
	case of.Op == syntax.OpCharClass && of.String() == "[^/]":
		return suffixed(globs, "*"), nil
	}
	return nil, fmt.Errorf("a glob has no %q", r)
}

// anything writes any text, slashes included.
func anything(globs []string) (out []string) {
	for _, g := range globs {
		switch {
		case g == "" || strings.HasSuffix(g, "/"):
			out = append(out, g+"**/*")
		case strings.HasSuffix(g, "**/*"):
			out = append(out, g)
		default:
			out = append(out, g+"*", g+"*/**/*")
		}
	}
	return out
}

func suffixed(globs []string, text string) []string {
	out := make([]string, len(globs))
	for i, g := range globs {
		out[i] = g + text
	}
	return out
}

// quoteGlob has the characters of a glob mean themselves.
func quoteGlob(s string) string {
	var b strings.Builder
	for _, r := range s {
		if strings.ContainsRune(`*?[]{}\`, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
