package acceptance

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The answers of the hook are values of the types that Claude Code's package
// publishes, and hold to what Codex's parser takes (docs/integrations.md has the
// places).
func TestHookAnswersFitTheVendors(t *testing.T) {
	t.Parallel()
	a := newActor(t, "")
	newStage(a, shortTimes)
	answers := map[string]string{}
	for name, c := range map[string]struct {
		tool  string
		input map[string]any
		args  []string
	}{
		"rewrite": {"Bash", bash("cat README"), []string{"claude", "--agent-version", "2.1.330"}},
		"ask":     {"Bash", bash("cat README"), []string{"claude"}},
		"deny":    {"mcp__x__y", map[string]any{"q": 1}, []string{"claude", "--patience", "1s"}},
		"allow":   {"Bash", bash("cat README"), []string{"claude", "--mode", "decide"}},
	} {
		r := a.do(strings.NewReader(call("claude", a.project, c.tool, c.input)), filepath.Join(bin, "sbx"), append([]string{"hook"}, c.args...)...)
		answers[name] = strings.TrimSpace(r.out)
		if !strings.Contains(r.out, `"permissionDecision":"`) {
			t.Errorf("%s: %v", name, r)
		}
	}
	dir := npmPackages(t, "@anthropic-ai/claude-agent-sdk@0.3.330", "typescript@5.9.3", "@types/node@20.19.9")
	var source strings.Builder
	source.WriteString("import type { PreToolUseHookInput, SyncHookJSONOutput } from \"@anthropic-ai/claude-agent-sdk\";\n")
	for name, answer := range answers {
		fmt.Fprintf(&source, "export const %s_: SyncHookJSONOutput = %s;\n", name, answer)
	}
	fmt.Fprintf(&source, "export const input: Pick<PreToolUseHookInput, \"session_id\" | \"transcript_path\" | \"cwd\" | \"permission_mode\" | \"hook_event_name\" | \"tool_name\" | \"tool_input\" | \"tool_use_id\"> = %s;\n",
		call("claude", a.project, "Bash", bash("ls")))
	if err := os.WriteFile(filepath.Join(dir, "answers.ts"), []byte(source.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	compile := func(file string) (string, error) {
		cmd := exec.Command(filepath.Join(dir, "node_modules/.bin/tsc"), "--noEmit", "--strict", "--skipLibCheck", "--module", "nodenext", "--target", "es2022", file)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := compile("answers.ts"); err != nil {
		t.Errorf("not what the types say: %v\n%s\n%s", err, out, source.String())
	}
	// The types do refuse what is not an answer.
	wrong := `import type { SyncHookJSONOutput } from "@anthropic-ai/claude-agent-sdk";
export const x: SyncHookJSONOutput = {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "perhaps"}};
`
	if err := os.WriteFile(filepath.Join(dir, "wrong.ts"), []byte(wrong), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := compile("wrong.ts"); err == nil {
		t.Error("the types take any answer")
	}

	// Codex: only these fields; an allow has an input, a deny has a reason.
	for _, c := range []struct {
		tool  string
		input map[string]any
		args  []string
	}{
		{"Bash", bash("cat README"), []string{"--agent-version", "0.169.0"}},
		{"Bash", bash("cat README"), nil},
		{"mcp__x__y", map[string]any{"q": 1}, []string{"--patience", "1s"}},
		{"Bash", map[string]any{}, nil},
	} {
		r := a.do(strings.NewReader(call("codex", a.project, c.tool, c.input)), filepath.Join(bin, "sbx"), append([]string{"hook", "codex"}, c.args...)...)
		d := json.NewDecoder(strings.NewReader(r.out))
		d.DisallowUnknownFields()
		var got struct {
			HookSpecificOutput struct {
				HookEventName            string          `json:"hookEventName"`
				PermissionDecision       string          `json:"permissionDecision"`
				PermissionDecisionReason string          `json:"permissionDecisionReason"`
				UpdatedInput             json.RawMessage `json:"updatedInput"`
			} `json:"hookSpecificOutput"`
		}
		if err := d.Decode(&got); err != nil {
			t.Errorf("codex %v: %v: %v", c, err, r)
			continue
		}
		o := got.HookSpecificOutput
		allow := o.PermissionDecision == "allow" && len(o.UpdatedInput) > 0
		deny := o.PermissionDecision == "deny" && len(o.UpdatedInput) == 0 && strings.TrimSpace(o.PermissionDecisionReason) != ""
		if !allow && !deny {
			t.Errorf("codex would ignore %s", r.out)
		}
	}
}
