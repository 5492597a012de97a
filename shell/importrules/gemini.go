package importrules

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"sandboxd/shell"
)

// gemini converts settings.json or a policy file.
func (c *converter) gemini(name string, data []byte) error {
	if strings.HasSuffix(name, ".toml") {
		return c.geminiPolicy(data)
	}
	var settings struct {
		CoreTools    []string `json:"coreTools"`
		ExcludeTools []string `json:"excludeTools"`
		AllowedTools []string `json:"allowedTools"`
		Tools        struct {
			Core    []string `json:"core"`
			Exclude []string `json:"exclude"`
			Allowed []string `json:"allowed"`
		} `json:"tools"`
		IncludeDirectories []string `json:"includeDirectories"`
		Context            struct {
			IncludeDirectories []string `json:"includeDirectories"`
		} `json:"context"`
		AutoAccept bool `json:"autoAccept"`
	}
	if err := json.Unmarshal(data, &settings); err != nil {
		return err
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		return err
	}
	c.geminiCore(append(settings.CoreTools, settings.Tools.Core...))
	for _, s := range append(settings.ExcludeTools, settings.Tools.Exclude...) {
		c.geminiTool(s, &c.deny)
	}
	for _, s := range append(settings.AllowedTools, settings.Tools.Allowed...) {
		c.geminiTool(s, &c.allow)
	}
	for _, dir := range append(settings.IncludeDirectories, settings.Context.IncludeDirectories...) {
		c.directory(dir)
	}
	known := []string{"coreTools", "excludeTools", "allowedTools", "tools", "includeDirectories", "context", "$schema"}
	for key := range all {
		switch {
		case slices.Contains(known, key):
		case key == "autoAccept":
			c.skip(key, "calls that only read run without asking anyway")
		default:
			c.skip(key, "it is not about permissions")
		}
	}
	return nil
}

// geminiShell reports whether a tool's name refers to the shell.
func geminiShell(tool string) bool { return tool == "ShellTool" || tool == "run_shell_command" }

// geminiTool converts "tool" or "tool(command prefix)".
func (c *converter) geminiTool(s string, list *[]string) {
	tool, what, args := strings.Cut(strings.TrimSuffix(s, ")"), "(")
	switch {
	case !geminiShell(tool) && args:
		c.skip(s, "there is no tool of that name here")
	case !geminiShell(tool):
		c.tool(list, tool)
	case !args:
		add(list, "Bash")
	default:
		c.shellPrefix(s, what, list)
	}
}

func (c *converter) shellPrefix(s, prefix string, list *[]string) {
	p := "Bash(" + strings.TrimSpace(prefix) + " *)"
	if _, err := shell.New(config("deny", p)); err != nil || strings.TrimSpace(prefix) == "" {
		c.skip(s, "it is not the words of one command")
		return
	}
	add(list, p)
}

// geminiCore converts the list of enabled tools. If it has commands, only these may run, and
// they ask as before.
func (c *converter) geminiCore(list []string) {
	var prefixes []string
	for _, s := range list {
		tool, what, args := strings.Cut(strings.TrimSuffix(s, ")"), "(")
		switch {
		case geminiShell(tool) && args:
			prefixes = append(prefixes, what)
		case geminiShell(tool):
			return // any command
		default:
			c.skip("core tool "+s, "which tools an agent has is its own affair")
		}
	}
	for _, p := range prefixes {
		if _, err := shell.New(shell.Config{Rules: []shell.Rule{{Pattern: p}}}); err != nil {
			c.skip("core tool run_shell_command("+p+")", err.Error())
			continue
		}
		c.onlyRules = true
		c.rules = append(c.rules, ruleText{pattern: p, allowed: true, approval: true})
	}
}

// geminiPolicy converts [[rule]] tables. There the rule with the highest priority wins, here
// the first one.
func (c *converter) geminiPolicy(data []byte) error {
	var policy struct {
		Rule []struct {
			ToolName      any    `toml:"toolName"`
			MCPName       string `toml:"mcpName"`
			CommandPrefix any    `toml:"commandPrefix"`
			CommandRegex  string `toml:"commandRegex"`
			ArgsPattern   string `toml:"argsPattern"`
			Decision      string `toml:"decision"`
			Priority      int    `toml:"priority"`
		} `toml:"rule"`
	}
	if err := toml.Unmarshal(data, &policy); err != nil {
		return err
	}
	rules := policy.Rule
	for i := range rules {
		for k := i; k > 0 && rules[k].Priority > rules[k-1].Priority; k-- {
			rules[k], rules[k-1] = rules[k-1], rules[k]
		}
	}
	for _, r := range rules {
		for _, tool := range texts(r.ToolName) {
			what := fmt.Sprintf("rule for %s, priority %d", tool, r.Priority)
			switch {
			case r.CommandRegex != "" || r.ArgsPattern != "":
				c.skip(what, "a regular expression over the arguments has no counterpart")
			case r.MCPName != "":
				c.skip(what, "rules for MCP servers are [[tools.rules]]")
			case geminiShell(tool):
				c.geminiRule(what, texts(r.CommandPrefix), r.Decision)
			default:
				switch r.Decision {
				case "allow":
					c.tool(&c.allow, tool)
				case "deny":
					c.tool(&c.deny, tool)
				case "ask_user":
					c.tool(&c.ask, tool)
				default:
					c.skip(what, "the decision "+r.Decision+" is not known")
				}
			}
		}
	}
	return nil
}

func (c *converter) geminiRule(what string, prefixes []string, decision string) {
	if len(prefixes) == 0 {
		switch decision {
		case "deny":
			c.onlyRules = true
		case "allow":
			c.skip(what, "allowing every command unasked has no counterpart; see the presets")
		}
		return
	}
	for _, p := range prefixes {
		r := ruleText{pattern: strings.TrimSpace(p), allowed: decision != "deny", approval: decision != "allow"}
		if _, err := shell.New(shell.Config{Rules: []shell.Rule{{Pattern: r.pattern}}}); err != nil {
			c.skip(what+": "+p, err.Error())
			continue
		}
		c.rules = append(c.rules, r)
	}
}

// texts returns the elements of a string or a list of strings.
func texts(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		var out []string
		for _, x := range v {
			if s, ok := x.(string); ok {
				out = append(out, s)
			}
		}
		return out
	}
	return nil
}
