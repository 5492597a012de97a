package acceptance

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sandboxd/ipc"
)

// An agent from npm, inside the sandbox, and a client from npm as its editor: commands run in terminals, after one
// question where one is due, files are written and read, and the model reads the reasons of refusals.
func TestACPThemselves(t *testing.T) {
	t.Parallel()
	packages := vendorPackages(t, "@zed-industries/claude-code-acp@0.16.2", "@agentclientprotocol/sdk@2.4.0")
	if packages == "" {
		return
	}
	v := &vendor{actor: ordinaryActor(t)}
	bash := func(line string) []any {
		return []any{"mcp__acp__Bash", map[string]any{"command": line, "description": "look", "timeout": 60000}}
	}
	write := func(path string) []any {
		return []any{"mcp__acp__Write", map[string]any{"file_path": path, "content": "by the agent\n"}}
	}
	steps, err := json.Marshal([]any{bash("git status"), bash("touch no"), bash("touch yes"),
		write(v.project + "/made.txt"), []any{"mcp__acp__Read", map[string]any{"file_path": v.project + "/README"}},
		write(v.home + "/.ssh/authorized_keys")})
	if err != nil {
		t.Fatal(err)
	}
	port, model := v.model("messages-api.mjs", string(steps))
	st := newStage(v.actor, fmt.Sprintf("[sandbox]\nexec = [%q]\n[network]\nmode = \"loopback\"\nhost_ports = [%s]\n",
		packages, port))
	var asked []string
	st.persons["terminal"].answering(t, func(q ipc.Approval) ipc.Answer {
		asked = append(asked, q.Command)
		if q.Command == "touch no" {
			return ipc.Answer{Mode: "soft", Note: denial}
		}
		return ipc.Answer{Allow: true}
	})
	argv := []string{filepath.Join(v.readable("testdata/acp"), "editor.mjs"), packages + "/@agentclientprotocol/sdk",
		v.project, filepath.Join(bin, "sbx"), "acp"}
	for _, e := range append(claudeEnv(port), "CLAUDE_CONFIG_DIR=/tmp/claude") {
		argv = append(argv, "-e", e)
	}
	r := v.do(nil, node(t), append(argv, "--", node(t), packages+"/@zed-industries/claude-code-acp/dist/index.js")...)
	// The agent does not end with its input.
	if r.code != 0 || !strings.Contains(r.out, `{"end":"end_turn"}`) || !strings.Contains(r.out, `{"exit":143}`) {
		t.Errorf("the editor: %v", r)
	}
	for i, want := range []string{"Exited with code 0", denial, "Exited with code 0", "updated successfully", "hello",
		"none of the sandboxes"} {
		if got := v.answer(model); !strings.Contains(got, want) {
			t.Errorf("the model got for call %d %s, want %q", i, got, want)
		}
	}
	if want := []string{"", "touch no", "touch yes"}; !slices.Equal(asked, want) {
		t.Errorf("asked about %q, want %q", asked, want)
	}
	if made := v.sh("cat made.txt; ls yes"); made != "by the agent\nyes\n" {
		t.Errorf("the project has %q", made)
	}
}
