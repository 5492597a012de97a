package servers_test

import (
	"encoding/json"
	"strings"
	"testing"

	"sandboxd/mcp/servers"
)

const claude = `{
  "mcpServers": {
    "fs": { "command": "npx", "args": [ "-y", "server-filesystem", "." ], "env": {"KEY": "x", "LANG": "C"} },
    "bare": {"type": "stdio", "command":"/usr/bin/memory" },
    "empty": {"args": [], "command": "memory"},
    "far": {"type": "http", "url": "https://example.org/mcp"},
    "sandboxd": {"command": "sbx", "args": ["mcp"]}
  },
  "projects": {"/p": {"mcpServers": {"lines": {"command": "a\"b", "args": [
    "one"
  ]}}}, "servers": 3}
}
`

const codex = `model = "m"

[mcp_servers.fs]
command = "npx"   # a comment
args = ["-y", 'server ] filesystem',
  "."]
env = { "KEY" = "a = b", LANG = "C" }

[mcp_servers."with space"]
command = 'memory'
[mcp_servers."with space".env]
TOKEN = "x"

[mcp_servers.far]
url = "https://example.org/mcp"
`

// What was wrapped is restored byte for byte, and a second time changes nothing.
func TestWrap(t *testing.T) {
	t.Parallel()
	for text, wants := range map[string][]string{
		claude: {
			`"fs": { "command": "sbx", "args": ["mcp", "wrap", "--name", "fs", "-e", "KEY", "-e", "LANG", "--", "npx",  "-y"`,
			`"bare": {"type": "stdio", "command":"sbx", "args": ["mcp", "wrap", "--name", "bare", "/usr/bin/memory"] }`,
			`"empty": {"args": ["mcp", "wrap", "--name", "empty", "--", "memory"], "command": "sbx"}`,
			`"sandboxd": {"command": "sbx", "args": ["mcp"]}`,
			`"--name", "lines", "--", "a\"b", ` + "\n",
		},
		codex: {
			`command = "sbx"   # a comment` + "\n" +
				`args = ["mcp", "wrap", "--name", "fs", "-e", "KEY", "-e", "LANG", "--", "npx", "-y", 'ser`,
			`command = "sbx"` + "\n" + `args = ["mcp", "wrap", "--name", "with space", "-e", "TOKEN", 'memory']` + "\n[",
		},
		"": nil, "{}": nil, "a = 1\n": nil,
	} {
		wrapped, err := servers.Wrap([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range wants {
			if !strings.Contains(string(wrapped), want) {
				t.Errorf("got %s, want %s", wrapped, want)
			}
		}
		if strings.HasPrefix(text, "{") && !json.Valid(wrapped) {
			t.Errorf("it is no JSON: %s", wrapped)
		}
		if again, err := servers.Wrap(wrapped); err != nil || string(again) != string(wrapped) {
			t.Errorf("wrapped again: %v\n%s", err, again)
		}
		if back, err := servers.Unwrap(wrapped); err != nil || string(back) != text {
			t.Errorf("restored: %v\n%s", err, back)
		}
		if same, err := servers.Unwrap([]byte(text)); err != nil || string(same) != text {
			t.Errorf("never wrapped: %v\n%s", err, same)
		}
	}
	for _, bad := range []string{
		`{"mcpServers": {`, "{ // a comment\n}", `{"mcpServers": {"x": {"command": "y"]}}`,
		"a = '''\n'''",
	} {
		if got, err := servers.Wrap([]byte(bad)); err == nil {
			t.Errorf("%s: got %s, want an error", bad, got)
		}
	}
}
