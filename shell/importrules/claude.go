package importrules

import (
	"encoding/json"
	"fmt"
	"strings"

	"sandboxd/shell"
)

// claude converts settings.json of Claude Code.
func (c *converter) claude(data []byte) error {
	var settings struct {
		Permissions struct {
			Allow                        []string `json:"allow"`
			Ask                          []string `json:"ask"`
			Deny                         []string `json:"deny"`
			AdditionalDirectories        []string `json:"additionalDirectories"`
			DefaultMode                  string   `json:"defaultMode"`
			DisableBypassPermissionsMode string   `json:"disableBypassPermissionsMode"`
		} `json:"permissions"`
		Env map[string]string `json:"env"`
	}
	if err := json.Unmarshal(data, &settings); err != nil {
		return err
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		return err
	}
	p := settings.Permissions
	for _, s := range p.Allow {
		c.claudeRule(s, &c.allow, "allow")
	}
	for _, s := range p.Ask {
		c.claudeRule(s, &c.ask, "ask")
	}
	for _, s := range p.Deny {
		c.claudeRule(s, &c.deny, "deny")
	}
	for _, dir := range p.AdditionalDirectories {
		c.directory(dir)
	}
	switch p.DefaultMode {
	case "", "default":
	case "plan":
		c.skip("permissions.defaultMode = plan", "a session that must not change anything is an untrusted project here")
	case "acceptEdits":
		c.skip("permissions.defaultMode = acceptEdits", "files that may be edited unasked are listed in [files] safe")
	default:
		c.skip(
			"permissions.defaultMode = "+p.DefaultMode,
			"a mode that asks nothing comes from a person only: sbx mode approve-all",
		)
	}
	for _, key := range sorted(settings.Env) {
		if secret(key) {
			c.skip("env "+key, "it looks like a secret; secrets do not belong into a configuration file")
			continue
		}
		if c.environment == nil {
			c.environment = map[string]string{}
		}
		c.environment[key] = settings.Env[key]
	}
	for key := range all {
		switch key {
		case "permissions", "env", "$schema":
		case "hooks":
			c.skip(key, "programs that judge calls are configured as external rules here")
		case "sandbox":
			c.skip(key, "what the sandbox lets through is in profiles here (sbx profile)")
		default:
			c.skip(key, "it is not about permissions")
		}
	}
	return nil
}

// secret reports whether a variable's name suggests a secret.
func secret(name string) bool {
	n := strings.ToUpper(name)
	for _, part := range []string{"KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "AUTH"} {
		if strings.Contains(n, part) {
			return true
		}
	}
	return false
}

// claudeRule converts one rule: Tool or Tool(pattern).
func (c *converter) claudeRule(s string, list *[]string, effect string) {
	tool, what, _ := strings.Cut(strings.TrimSuffix(s, ")"), "(")
	switch tool {
	case "Bash":
		if _, err := shell.ParsePermission(s); err != nil {
			c.skip(s, err.Error())
			return
		}
		if inner := strings.TrimSuffix(strings.TrimSuffix(what, ":*"), " *"); strings.ContainsAny(inner, "*") {
			c.wildcard(s, inner, effect)
			return
		}
		if _, err := shell.New(config(effect, s)); err != nil {
			c.skip(s, err.Error())
			return
		}
		add(list, s)
	case "Read":
		c.claudePath(s, what, effect, &c.hidden, "reading")
	case "Edit", "Write", "MultiEdit", "NotebookEdit":
		c.claudePath(s, what, effect, &c.protected, "writing")
	case "WebFetch", "WebSearch":
		if what == "" {
			c.tool(list, tool)
			return
		}
		c.skip(s, "which hosts may be reached is in [network] allow")
	default:
		if strings.HasPrefix(tool, "mcp__") && what == "" {
			c.tool(list, tool)
			return
		}
		if what == "" && effect != "allow" {
			c.tool(list, tool)
			return
		}
		c.skip(s, "there is no tool of that name here")
	}
}

func config(effect, s string) shell.Config {
	p, err := shell.ParsePermission(s)
	if err != nil {
		return shell.Config{}
	}
	var c shell.Config
	switch effect {
	case "allow":
		c.Permissions.Allow = []shell.Permission{p}
	case "ask":
		c.Permissions.Ask = []shell.Permission{p}
	default:
		c.Permissions.Deny = []shell.Permission{p}
	}
	return c
}

// wildcard converts a pattern with a star in the middle to a rule.
func (c *converter) wildcard(s, pattern, effect string) {
	if effect == "allow" {
		c.skip(s, "a star in the middle of what is allowed could stand for options; name the words, or write a "+
			"[[shell.rules]] pattern")
		return
	}
	r := ruleText{pattern: pattern, allowed: effect != "deny", approval: true}
	if _, err := shell.New(shell.Config{Rules: []shell.Rule{{Pattern: pattern}}}); err != nil {
		c.skip(s, err.Error())
		return
	}
	c.rules = append(c.rules, r)
}

// claudePath converts a rule about files, which has gitignore-like patterns.
func (c *converter) claudePath(s, what, effect string, list *[]string, doing string) {
	if effect == "allow" {
		c.skip(s, fmt.Sprintf("%s in the project needs no rule; elsewhere it is a [files.paths] entry", doing))
		return
	}
	p, ok := filePattern(what)
	if !ok {
		c.skip(s, "the pattern has no counterpart")
		return
	}
	if effect == "ask" {
		list = &c.protected
		if doing == "reading" {
			c.skip(s, "reading cannot be made to ask by name; it can be hidden")
			return
		}
	}
	add(list, p)
}

// filePattern converts a gitignore-like pattern to one of this configuration: absolute, below
// the home directory, or a name at any depth. It returns false if there is no counterpart.
func filePattern(s string) (string, bool) {
	switch {
	case s == "":
		return "", false
	case strings.HasPrefix(s, "//"):
		s = s[1:]
	case strings.HasPrefix(s, "/"), strings.HasPrefix(s, "./"):
		s = strings.TrimPrefix(strings.TrimPrefix(s, "/"), "./") // relative to the settings or the project
	}
	s = strings.TrimSuffix(s, "/**")
	s = strings.TrimSuffix(s, "/*")
	s = strings.TrimPrefix(s, "**/")
	s = strings.TrimSuffix(s, "/")
	if s == "" || s == "~" || strings.Contains(s, "**") || strings.Contains(s, "..") || strings.Contains(s, "//") {
		return "", false
	}
	return s, true
}

func (c *converter) directory(dir string) {
	if !strings.HasPrefix(dir, "/") {
		c.skip("directory "+dir, "a root besides the project must be absolute, without ~: [files.paths.NAME] root")
		return
	}
	add(&c.writable, dir)
}
