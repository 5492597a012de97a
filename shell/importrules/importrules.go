// Package importrules converts the permission settings of other agents to this configuration.
//
//	result, err := importrules.Convert(importrules.Claude, ".claude/settings.json", data)
//	fmt.Print(result.TOML)
//	for _, s := range result.Skipped { … } // settings that were not converted, and why
//
// The result is text for a person to read and copy into a configuration file; the package
// applies nothing. If the nearest setting here permits more than the original, the original is
// skipped or converted to a stricter one, and the result says so.
package importrules

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"sandboxd/shell"
)

// Vendor names the agent that a file of settings belongs to.
type Vendor string

// The vendors.
const (
	claude Vendor = "claude" // .claude/settings.json
	codex  Vendor = "codex"  // config.toml, or rules/*.rules
	gemini Vendor = "gemini" // settings.json, or policies/*.toml
	// permissionManager is config.json of the permission manager's specification.
	permissionManager Vendor = "permission-manager"
)

// vendors lists all vendors.
var vendors = []Vendor{claude, codex, gemini, permissionManager}

// Result is the converted configuration and the list of skipped settings.
type Result struct {
	TOML    string    `json:"toml"`
	Skipped []Skipped `json:"skipped,omitempty"`
}

// Skipped is a setting that was not converted.
type Skipped struct {
	What string `json:"what"`
	Why  string `json:"why"`
}

// Convert converts one file. name appears in the result, and selects the format if a vendor has
// several. Convert returns an error if data is malformed or vendor is unknown.
func Convert(vendor Vendor, name string, data []byte) (Result, error) {
	c := &converter{}
	var err error
	switch vendor {
	case claude:
		err = c.claude(data)
	case codex:
		err = c.codex(name, data)
	case gemini:
		err = c.gemini(name, data)
	case permissionManager:
		err = c.permissionManager(data)
	default:
		return Result{}, fmt.Errorf("import rules: vendor %q is not known; known are %q", vendor, vendors)
	}
	if err != nil {
		return Result{}, fmt.Errorf("import rules from %q: %w", name, err)
	}
	return Result{TOML: c.write(vendor, name), Skipped: c.skipped}, nil
}

// converter collects the converted settings.
type converter struct {
	allow, ask, deny  []string
	hidden, protected []string
	writable          []string // roots besides the project
	rules             []ruleText
	onlyRules         bool // commands without a rule are refused
	network           string
	environment       map[string]string
	// approval, shell and files are further lines of these sections.
	approval, shell, files []string
	safe, safeCommands     []string
	skipped                []Skipped
}

type ruleText struct {
	pattern  string
	allowed  bool
	approval bool
	match    []string
	notMatch []string
}

func (r ruleText) strictness() int {
	switch {
	case !r.allowed:
		return 2
	case r.approval:
		return 1
	}
	return 0
}

func (c *converter) skip(what, why string) { c.skipped = append(c.skipped, Skipped{what, why}) }

// tool adds a rule about a whole tool.
func (c *converter) tool(list *[]string, s string) {
	if p, err := shell.ParsePermission(s); err != nil || !p.Any {
		c.skip(s, "it is not the name of a tool")
		return
	}
	add(list, s)
}

func add(list *[]string, s string) {
	if !slices.Contains(*list, s) {
		*list = append(*list, s)
	}
}

// write returns the converted settings as TOML.
func (c *converter) write(vendor Vendor, name string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# From %s (%s). Read it before you use it.\n", comment(name), vendor)
	if len(c.approval) > 0 {
		fmt.Fprintf(&b, "\n[approval]\n%s\n", strings.Join(c.approval, "\n"))
	}
	if c.onlyRules || c.network != "" || len(c.shell)+len(c.safeCommands) > 0 {
		b.WriteString("\n[shell]\n")
		for _, line := range c.shell {
			b.WriteString(line + "\n")
		}
		lines(&b, "safe_commands", c.safeCommands)
		if c.onlyRules {
			b.WriteString("default = {allowed = false}\n")
		}
		if c.network != "" {
			fmt.Fprintf(&b, "network = %s\n", str(c.network))
		}
	}
	for _, r := range c.rules {
		fmt.Fprintf(&b, "\n[[shell.rules]]\npattern = %s\n", str(r.pattern))
		switch {
		case !r.allowed:
			b.WriteString("allowed = false\n")
		default:
			fmt.Fprintf(&b, "approval = %t\n", r.approval)
		}
		if len(r.match)+len(r.notMatch) > 0 {
			b.WriteString("examples = {")
			if len(r.match) > 0 {
				fmt.Fprintf(&b, "match = %s", list(r.match))
			}
			if len(r.notMatch) > 0 {
				if len(r.match) > 0 {
					b.WriteString(", ")
				}
				fmt.Fprintf(&b, "not_match = %s", list(r.notMatch))
			}
			b.WriteString("}\n")
		}
	}
	if len(c.allow)+len(c.ask)+len(c.deny) > 0 {
		b.WriteString("\n[permissions]\n")
		lines(&b, "allow", c.allow)
		lines(&b, "ask", c.ask)
		lines(&b, "deny", c.deny)
	}
	hiddenNames, hiddenPaths := apart(c.hidden)
	protectedNames, protectedPaths := apart(c.protected)
	if len(hiddenNames)+len(protectedNames)+len(c.safe)+len(c.files) > 0 {
		b.WriteString("\n[files]\n")
		for _, line := range c.files {
			b.WriteString(line + "\n")
		}
		lines(&b, "safe", c.safe)
		lines(&b, "hidden", hiddenNames)
		lines(&b, "protected", protectedNames)
	}
	if len(hiddenPaths)+len(protectedPaths) > 0 {
		b.WriteString("\n[sandbox]\n")
		lines(&b, "hidden", hiddenPaths)
		lines(&b, "read_only", protectedPaths)
	}
	for i, root := range c.writable {
		fmt.Fprintf(&b, "\n[files.paths.imported%d]\nroot = %s\nmode = \"rw\"\nwrite_approval = true\n", i+1, str(root))
	}
	if len(c.environment) > 0 {
		b.WriteString("\n[environment.set]\n")
		for _, k := range sorted(c.environment) {
			fmt.Fprintf(&b, "%s = %s\n", str(k), str(c.environment[k]))
		}
	}
	return b.String()
}

// apart separates names, which match at any depth, from whole paths.
func apart(list []string) (names, paths []string) {
	for _, s := range list {
		if strings.HasPrefix(s, "/") || strings.HasPrefix(s, "~/") {
			paths = append(paths, s)
		} else {
			names = append(names, s)
		}
	}
	return names, paths
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func lines(b *strings.Builder, key string, values []string) {
	if len(values) == 0 {
		return
	}
	fmt.Fprintf(b, "%s = [\n", key)
	for _, v := range values {
		fmt.Fprintf(b, "  %s,\n", str(v))
	}
	b.WriteString("]\n")
}

func list(values []string) string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = str(v)
	}
	return "[" + strings.Join(out, ", ") + "]"
}

// str returns s as a TOML basic string.
func str(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < 0x20 || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// comment replaces control characters, so that a name cannot end its comment.
func comment(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f {
			return '?'
		}
		return r
	}, s)
}
