package approval_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"

	"sandboxd/approval"
)

func table(t *testing.T, text string) *approval.ToolTable {
	t.Helper()
	cfg := approval.DefaultTools()
	if _, err := toml.Decode(text, &cfg); err != nil {
		t.Fatal(err)
	}
	tt, err := approval.NewToolTable(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return tt
}

// TestToolTable: R-AP-24.
func TestToolTable(t *testing.T) {
	const rules = `
[[rules]]
tool = "read_*"
decision = "allow"
[[rules]]
tool = "write"
when = { file_path = "*.md" }
decision = "allow"
[[rules]]
tool = "write"
when = { file_path = "*secret*" }
decision = "ask"
reason = "looks secret"
[[rules]]
tool = "rm_rf"
decision = "deny"
reason = "never"
[[rules]]
tool = "mcp__github__get_*"
decision = "allow"
[[rules]]
tool = "search"
server = "web"
decision = "allow"
[[rules]]
tool = "*"
decision = "allow"
when = { star = "yes" }
[[rules]]
tool = "*drop*"
decision = "deny"
[[rules]]
tool = "list_files"
when = { path = "app/[id]/*" }
decision = "deny"
[[rules]]
tool = "view"
when = { path = 'app/\[id\]/*' }
decision = "allow"
`
	mcp := map[string]any{approval.MetaServer: "web"}
	for _, c := range []struct {
		name, config, tool string
		args, meta         map[string]any
		want               string // run, ask, block
	}{
		{"safe", "", "list_files", nil, nil, "run"},
		{"dangerous", "", "send_email", nil, nil, "ask"},
		{"unknown", "", "frobnicate", nil, nil, "ask"},
		{"unknown, denied", `unknown = "deny"`, "frobnicate", nil, nil, "block"},
		{"unknown, allowed", `unknown = "allow"`, "frobnicate", nil, nil, "run"},
		{"dangerous, unknown allowed", `unknown = "allow"`, "send_email", nil, nil, "ask"},
		{"mcp", "", "mcp__web__search", nil, nil, "ask"},
		{"mcp by metadata", "", "search", nil, mcp, "ask"},
		{"mcp that is called like a safe tool", "", "list_files", nil, mcp, "ask"},
		{"mcp, unknown allowed", `unknown = "allow"`, "mcp__web__search", nil, nil, "ask"},
		{"mcp, unknown denied", `unknown = "deny"`, "mcp__web__search", nil, nil, "block"},
		{"rule by name", rules, "read_file", nil, nil, "run"},
		{"rule by parameter", rules, "write", map[string]any{"file_path": "docs/a.md"}, nil, "run"},
		{"another parameter", rules, "write", map[string]any{"file_path": "a.py"}, nil, "ask"},
		{"no such parameter", rules, "write", map[string]any{"path": "a.md"}, nil, "ask"},
		{"parameter of another type", rules, "write", map[string]any{"file_path": []any{"a.md"}}, nil, "ask"},
		{"a path that climbs", rules, "write", map[string]any{"file_path": "../a.md"}, nil, "ask"},
		{"the strictest wins", rules, "write", map[string]any{"file_path": "secret.md"}, nil, "ask"},
		{"denied", rules, "rm_rf", nil, nil, "block"},
		{"mcp named by a rule", rules, "mcp__github__get_issue", nil, nil, "run"},
		{"mcp of that server, not named", rules, "mcp__github__create_issue", nil, nil, "ask"},
		{"mcp named with its server", rules, "search", nil, mcp, "run"},
		{"mcp named with its server, full name", rules, "mcp__web__search", nil, nil, "run"},
		{"mcp of another server", rules, "mcp__evil__search", nil, nil, "ask"},
		{"a bare star does not name mcp", rules, "mcp__web__x", map[string]any{"star": "yes"}, nil, "ask"},
		{"a star allows others", rules, "x", map[string]any{"star": "yes"}, nil, "run"},
		{"a deny with a bracket, of that name", rules, "list_files", map[string]any{"path": "app/[id]/x"}, nil, "block"},
		{"a deny with a bracket, of the set", rules, "list_files", map[string]any{"path": "app/i/x"}, nil, "block"},
		{"an allow of that name", rules, "view", map[string]any{"path": "app/[id]/x"}, nil, "run"},
		{"an allow of that name, of the set", rules, "view", map[string]any{"path": "app/i/x"}, nil, "ask"},
		{"a broad deny reaches mcp", rules, "mcp__web__drop_all", nil, nil, "block"},
		{"annotations lower nothing", "", "search", nil, map[string]any{approval.MetaServer: "web", "annotations": map[string]any{"readOnlyHint": true}}, "ask"},
		{"a rule for a server does not reach others", rules, "search", nil, nil, "ask"},
		{"an odd mcp name", "", "mcp__", nil, nil, "ask"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tt := table(t, c.config)
			req, err := tt.CheckApproval(approval.Context{Tool: c.tool, Args: c.args, Metadata: c.meta})
			var blocked *approval.BlockedError
			got := "run"
			switch {
			case errors.As(err, &blocked):
				got = "block"
			case err != nil:
				t.Fatal(err)
			case req != nil:
				got = "ask"
			}
			if got != c.want {
				t.Errorf("%s, want %s (%v)", got, c.want, err)
			}
		})
	}
}

// TestToolTableRequest: what is asked about a tool.
func TestToolTableRequest(t *testing.T) {
	tt := table(t, "")
	ask := func(tool string, args map[string]any) *approval.Request {
		_, req, blocked := tt.Judge(approval.Context{Tool: tool, Args: args})
		if blocked != nil {
			t.Fatal(blocked)
		}
		return req
	}
	if r := ask("delete", map[string]any{"path": "x"}); !r.Delete {
		t.Error("a delete is not marked as one")
	}
	for tool, whole := range map[string]bool{"send_email": true, "WebSearch": true, "mcp__web__search": true,
		"bash": false, "write": false, "edit": false, "multi_edit": false, "delete": false, "run_background": false} {
		if r := ask(tool, map[string]any{"x": "y"}); (len(r.Suggestions) == 1) != whole {
			t.Errorf("%s: suggestions %v (R-AP-05: never the whole of a shell or file tool)", tool, r.Suggestions)
		}
	}
	r := ask("WebSearch", map[string]any{"q": "x", "API-Key": "k", "auth": map[string]any{"password": "p", "user": "u"},
		"access_token": "t"})
	if s := r.Description; strings.Contains(strings.ToLower(s), "key") || strings.Contains(s, "password") ||
		strings.Contains(s, "token") || !strings.Contains(s, "user") {
		t.Errorf("description is %s", s)
	}
	if r := ask("write", map[string]any{"file_path": "x", "content": "large"}); r.Payload["content"] != "large" {
		t.Errorf("payload is %v, want the content in it", r.Payload) // a yes to one content is none to another
	}
}

func TestToolsConfigRefuses(t *testing.T) {
	for name, c := range map[string]approval.ToolsConfig{
		"unknown":     {Unknown: "perhaps"},
		"no unknown":  {},
		"no tool":     {Unknown: "ask", Rules: []approval.ToolRule{{Decision: "allow"}}},
		"no decision": {Unknown: "ask", Rules: []approval.ToolRule{{Tool: "x"}}},
		"run":         {Unknown: "ask", Rules: []approval.ToolRule{{Tool: "x", Decision: "run"}}},
		"no argument": {Unknown: "ask", Rules: []approval.ToolRule{{Tool: "x", Decision: "ask",
			When: map[string]string{"": "x"}}}},
	} {
		if err := c.Validate(); err == nil {
			t.Errorf("%s: taken", name)
		}
		if _, err := approval.NewToolTable(c); err == nil {
			t.Errorf("%s: a table was made", name)
		}
	}
}
