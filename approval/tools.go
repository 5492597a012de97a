package approval

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sandboxd/pattern"
)

// MetaServer is the key in Context.Metadata under which the name of the MCP
// server that offers the tool is stored, a string. A tool name of the form
// "mcp__SERVER__TOOL" says the same.
const MetaServer = "mcp_server"

// Values of ToolsConfig.Unknown.
const (
	UnknownAsk   = "ask"
	UnknownDeny  = "deny"
	UnknownAllow = "allow"
)

// ToolsConfig is the section [tools]: the rules of agents' own tools, those
// that they run themselves after POST /v1/check (R-AP-24).
type ToolsConfig struct {
	// Unknown decides calls of a tool in no table: "ask", "deny", "allow".
	// It never lowers an MCP tool below "ask".
	Unknown string     `toml:"unknown"`
	Rules   []ToolRule `toml:"rules"`
}

// ToolRule is one entry of [[tools.rules]]. Of several that match, the
// strictest decides, so that a layer that may only tighten can be appended.
type ToolRule struct {
	// Tool is a name, or a pattern with * and ?. For an MCP tool it is
	// matched against "mcp__SERVER__TOOL" and must name the server, or Server
	// must: a bare "*" never reaches one.
	Tool   string `toml:"tool"`
	Server string `toml:"server,omitempty"`
	// When wants every named argument to be a string that matches the
	// pattern; * crosses slashes. An allow never matches a value with a ".."
	// element.
	When map[string]string `toml:"when,omitempty"`
	// Decision is "allow", "ask" or "deny".
	Decision RuleEffect `toml:"decision"`
	// Reason is shown with a question or a denial.
	Reason string `toml:"reason,omitempty"`
	// Exclude names arguments that are in no description, payload or record.
	Exclude []string `toml:"exclude,omitempty"`

	// Origin is the place of the rule; Operator, that it is the operator's.
	Origin   string `toml:"-"`
	Operator bool   `toml:"-"`
}

// DefaultTools is the section without any file.
func DefaultTools() ToolsConfig { return ToolsConfig{Unknown: UnknownAsk} }

// Validate reports the first setting that cannot be taken.
func (c ToolsConfig) Validate() error {
	switch c.Unknown {
	case UnknownAsk, UnknownDeny, UnknownAllow:
	default:
		return fmt.Errorf("tools.unknown %q: want %q, %q or %q", c.Unknown, UnknownAsk, UnknownDeny, UnknownAllow)
	}
	for i, r := range c.Rules {
		at := fmt.Sprintf("tools.rules[%d] %q", i, r.Tool)
		if r.Tool == "" {
			return fmt.Errorf("%s: no tool named", at)
		}
		switch r.Decision {
		case RuleAllow, RuleAsk, RuleDeny:
		default:
			return fmt.Errorf("%s: decision %q: want \"allow\", \"ask\" or \"deny\"", at, r.Decision)
		}
		if _, ok := r.When[""]; ok {
			return fmt.Errorf("%s: when names no argument", at)
		}
	}
	return nil
}

// ToolTable judges tools by name and arguments. It is a Checker; Judge returns
// more detail. It holds no state and is safe for concurrent use.
type ToolTable struct {
	cfg  ToolsConfig
	rows map[string]ToolRow
}

// NewToolTable makes a table of the default rows and the configured rules.
func NewToolTable(cfg ToolsConfig) (*ToolTable, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	t := &ToolTable{cfg: cfg, rows: map[string]ToolRow{}}
	t.cfg.Rules = slices.Clone(cfg.Rules)
	for _, r := range DefaultToolRows() {
		t.rows[r.Tool] = r
	}
	return t, nil
}

// CheckApproval says run (nil), ask, or never.
func (t *ToolTable) CheckApproval(c Context) (*Request, error) {
	class, req, blocked := t.Judge(c)
	switch {
	case blocked != nil:
		return nil, blocked
	case class.Safe && class.Rule != RuleAsk, class.Rule == RuleAllow:
		return nil, nil
	}
	return req, nil
}

// Judge returns the parts of a Call: the class, the request (also where the
// call would run unasked, so that grants and lists can see it), or the block.
func (t *ToolTable) Judge(c Context) (Class, *Request, *BlockedError) {
	server, full := mcpName(c)
	row, listed := t.rows[c.Tool]
	if server != "" {
		row, listed = ToolRow{Tool: c.Tool, Whole: true}, false
	}
	if !listed {
		row.Whole = true
	}
	rule := t.match(c, server, full)
	exclude := secretKeys(c.Args)
	class := Class{Act: row.Act, Asks: row.Asks, Safe: row.Safe, Delete: row.Delete}
	if rule != nil {
		exclude = append(exclude, rule.Exclude...)
		class.Rule, class.Operator, class.RuleText = rule.Decision, rule.Operator, rule.String()
	}
	req := SimpleRequest(c.Tool, c.Args, Exclude(exclude...))
	req.Delete = row.Delete
	if server != "" {
		req.Description = fmt.Sprintf("MCP tool %s of server %s: %s", strings.TrimPrefix(c.Tool, "mcp__"+server+"__"), server,
			req.Description)
		req.Reasons = append(req.Reasons, "MCP tools come from others; what they do is unknown")
	}
	if rule != nil && rule.Reason != "" {
		req.Reasons = append(req.Reasons, rule.Reason)
	}
	if row.Whole {
		req.Suggestions = []Suggestion{{Label: "any call of " + c.Tool, Pattern: Pattern{Tool: c.Tool, Any: true}}}
	}
	switch {
	case rule != nil && rule.Decision == RuleDeny:
		return class, req, &BlockedError{Reason: cmp.Or(rule.Reason, "a rule forbids this tool"), Rule: rule.String()}
	case rule != nil || listed:
		return class, req, nil
	case t.cfg.Unknown == UnknownDeny:
		return class, req, &BlockedError{Reason: fmt.Sprintf("tool %q is in no table; have it allowed in [[tools.rules]]",
			c.Tool), Rule: `[tools] unknown = "deny"`}
	case t.cfg.Unknown == UnknownAllow && server == "":
		class.Rule, class.RuleText = RuleAllow, `[tools] unknown = "allow"`
	default:
		req.Reasons = append(req.Reasons, "the tool is in no table")
	}
	return class, req, nil
}

// match finds the strictest rule that matches.
func (t *ToolTable) match(c Context, server, full string) *ToolRule {
	var best *ToolRule
	for i := range t.cfg.Rules {
		r := &t.cfg.Rules[i]
		if r.matches(c, server, full) && (best == nil || strictness(r.Decision) > strictness(best.Decision)) {
			best = r
		}
	}
	return best
}

func (r *ToolRule) matches(c Context, server, full string) bool {
	wild := pattern.WildForbids
	if r.Decision == RuleAllow {
		wild = pattern.Wild
	}
	switch {
	case server == "":
		if r.Server != "" || !wild(r.Tool, c.Tool) {
			return false
		}
	case r.Server != "":
		if r.Server != server || !wild(r.Tool, full) && !wild(r.Tool, strings.TrimPrefix(full, "mcp__"+server+"__")) {
			return false
		}
	case r.Decision == RuleAllow:
		if !strings.HasPrefix(r.Tool, "mcp__"+server+"__") || !wild(r.Tool, full) {
			return false
		}
	default: // tightening may be as broad as it likes
		if !wild(r.Tool, full) && !wild(r.Tool, c.Tool) {
			return false
		}
	}
	for k, p := range r.When {
		v, ok := c.Args[k].(string)
		if !ok || !wild(p, v) {
			return false
		}
		if r.Decision == RuleAllow && slices.Contains(strings.Split(v, "/"), "..") {
			return false
		}
	}
	return true
}

// String is the rule as it would be written, with its place.
func (r *ToolRule) String() string {
	s := fmt.Sprintf("[[tools.rules]] %s %q", r.Decision, r.Tool)
	if r.Server != "" {
		s += fmt.Sprintf(" of server %q", r.Server)
	}
	for _, k := range slices.Sorted(maps.Keys(r.When)) {
		s += fmt.Sprintf(" when %s = %q", k, r.When[k])
	}
	if r.Origin != "" {
		s += " (" + r.Origin + ")"
	}
	return s
}

// mcpName returns the server of an MCP tool, and its full name.
func mcpName(c Context) (server, full string) {
	if rest, ok := strings.CutPrefix(c.Tool, "mcp__"); ok {
		server, _, _ := strings.Cut(rest, "__")
		return cmp.Or(server, "?"), c.Tool
	}
	if s, _ := c.Metadata[MetaServer].(string); s != "" {
		return s, "mcp__" + s + "__" + c.Tool
	}
	return "", c.Tool
}
