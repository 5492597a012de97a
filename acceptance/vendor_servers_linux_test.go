package acceptance

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"sandboxd/ipc"
)

// wrappedServers are servers of others, from npm, and one that steals.
var wrappedServers = []struct{ name, program string }{
	{"everything", "server-everything/dist/index.js"},
	{"filesystem", "server-filesystem/dist/index.js"},
	{"memory", "server-memory/dist/index.js"},
	{"thief", ""},
}

// serverCalls are the calls of the wrapped servers' tools, with a part of each answer. HOME and PROJECT stand for both.
var serverCalls = []struct{ server, tool, input, answer string }{
	{"everything", "echo", `{"message": "over the filter"}`, "over the filter"},
	{"filesystem", "read_text_file", `{"path": "PROJECT/README"}`, "hello"},
	{"filesystem", "read_text_file", `{"path": "HOME/.ssh/key"}`, "outside allowed directories"},
	{"filesystem", "write_file", `{"path": "PROJECT/written", "content": "x"}`, "it only reads"},
	{"memory", "create_entities", `{"entities": [{"name": "n", "entityType": "t", "observations": ["kept"]}]}`, "kept"},
	{"memory", "read_graph", `{}`, "kept"},
	{"thief", "steal", `{}`, "refused: [Errno 2]"},
}

// serverClients are programs that start the servers in their settings, wrapped by --install.
var serverClients = []struct {
	name, pkg, model string
	step             func(server, tool string, input json.RawMessage) any
	start            func(port string) (env, argv []string)
	settings         []string // which of its settings have the servers
}{
	{
		name: "claude", pkg: "@anthropic-ai/claude-code@2.1.330", model: "messages-api.mjs",
		step: func(server, tool string, input json.RawMessage) any {
			return []any{"mcp__" + server + "__" + tool, input}
		},
		start: func(port string) (env, argv []string) {
			env = append(claudeEnv(port), "MCP_TIMEOUT=60000", "MCP_CONNECTION_NONBLOCKING=0")
			return env, []string{"-p", "call", "--mcp-config", ".mcp.json", "--strict-mcp-config",
				"--allowedTools", "mcp__everything,mcp__filesystem,mcp__memory,mcp__thief"}
		},
	},
	{
		name: "codex", pkg: "@openai/codex@0.169.0", model: "responses-api.mjs",
		step:     func(server, tool string, input json.RawMessage) any { return []any{server, tool, input} },
		start:    func(port string) (env, argv []string) { return nil, codexArgs(port) },
		settings: []string{"--user"},
	},
}

// The servers of others run in the sandbox under the agents' own programs, each after one question: their tools answer,
// what they may not do fails, and the client reads why; a rule for a tool holds.
func TestWrappedServersThemselves(t *testing.T) {
	t.Parallel()
	for _, client := range serverClients {
		t.Run(client.name, func(t *testing.T) {
			packages := vendorPackages(t, client.pkg, "@modelcontextprotocol/server-everything",
				"@modelcontextprotocol/server-filesystem", "@modelcontextprotocol/server-memory")
			if packages == "" {
				return
			}
			eachUser(t, func(t *testing.T, a *actor) {
				var asked atomic.Int32
				v := newVendor(a, packages, func(ipc.Approval) ipc.Answer {
					asked.Add(1)
					return ipc.Answer{Allow: true}
				})
				home := filepath.Join(v.dir, "home")
				v.settings(".ssh/key", "PRIVATE")
				v.do(strings.NewReader(thief), "/bin/sh", "-c", "cat > thief.py")
				v.do(strings.NewReader(v.serverSettings(client.name)), "/bin/sh", "-c",
					"mkdir -p "+home+"/.codex; cat > "+v.clientSettings(client.name))
				before := v.sh("cat " + v.clientSettings(client.name))
				if r := v.sbx(append([]string{"mcp", "wrap", "--install", client.name}, client.settings...)...); r.code != 0 {
					t.Fatal(r)
				}
				var steps []any
				for _, c := range serverCalls {
					input := strings.NewReplacer("PROJECT", v.project, "HOME", home).Replace(c.input)
					steps = append(steps, client.step(c.server, c.tool, json.RawMessage(input)))
				}
				port, lines := v.model(client.model, string(jsonOf(t, steps)))
				env, argv := client.start(port)
				v.extraEnv = append(v.extraEnv, env...)
				r := v.do(strings.NewReader(""), filepath.Join(v.bin, client.name), argv...)
				if r.code != 0 {
					t.Fatal(r)
				}
				for _, c := range serverCalls {
					got := v.answer(lines)
					if !strings.Contains(got, c.answer) || strings.Contains(got, "PRIVATE") ||
						c.server == "thief" && strings.Count(got, "refused: ") != 3 {
						t.Fatalf("%s of %s answered %s, want %q: %v", c.tool, c.server, got, c.answer, r)
					}
				}
				if asked.Load() != int32(len(wrappedServers)) {
					t.Errorf("got %d questions, want one for each of %d servers", asked.Load(), len(wrappedServers))
				}
				if _, err := os.Stat(filepath.Join(v.project, "written")); err == nil {
					t.Error("the refused tool wrote")
				}
				r = v.sbx(append([]string{"mcp", "wrap", "--remove", "--install", client.name}, client.settings...)...)
				if after := v.sh("cat " + v.clientSettings(client.name)); r.code != 0 || after != before {
					t.Errorf("restored, the settings are\n%s, were\n%s: %v", after, before, r)
				}
			})
		})
	}
}

// clientSettings is the file with the client's servers.
func (v *vendor) clientSettings(client string) string {
	if client == "codex" {
		return filepath.Join(v.dir, "home/.codex/config.toml")
	}
	return ".mcp.json"
}

// serverSettings are the client's settings with the servers.
func (v *vendor) serverSettings(client string) string {
	home, packages := filepath.Join(v.dir, "home"), filepath.Join(filepath.Dir(v.bin), "@modelcontextprotocol")
	var list []string
	for _, s := range wrappedServers {
		argv := []string{node(v.t), filepath.Join(packages, s.program), v.project, home}
		switch s.name {
		case "everything":
			argv = append(argv[:2], "stdio")
		case "thief":
			argv = []string{"/usr/bin/python3", "thief.py", home + "/.ssh/key", v.socketDir() + "/agent.sock"}
		}
		env := []string{"MEMORY_FILE_PATH=" + v.project + "/memory.json", "SBX_SOCKET_DIR=" + v.socketDir(),
			"SBX_STATE_DIR=" + v.stateDir()}
		assign, form := `%q = %q`, "[mcp_servers.%s]\ncommand = %q\nargs = %s\nenv = { %s }\n"+
			"startup_timeout_sec = 60\nrequired = true\n" // its first step has the tools
		if client == "claude" {
			assign, form = `%q: %q`, `%q: {"command": %q, "args": %s, "env": {%s}}`
		}
		for i, e := range env {
			name, value, _ := strings.Cut(e, "=")
			env[i] = fmt.Sprintf(assign, name, value)
		}
		args, _ := json.Marshal(argv[1:])
		list = append(list, fmt.Sprintf(form, s.name, argv[0], args, strings.Join(env, ", ")))
	}
	if client == "claude" {
		return `{"mcpServers": {` + strings.Join(list, ", ") + "}}"
	}
	return strings.Join(list, "")
}
