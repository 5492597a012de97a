package acceptance

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sandboxd/ipc"
)

// The agents' own programs, from npm and without an account, each against a stand-in
// for its API that plays a scripted model. They have hundreds of MB, so this runs
// where SBX_VENDORS is set: to a folder that has the packages, or to 1 to install them.

// vendor is one such program, in a home of its own.
type vendor struct {
	*actor
	bin    string // of its packages
	person *peer
}

// vendorPackages returns the folder of the packages, with these in it, and "" where the programs are not wanted.
func vendorPackages(t *testing.T, pkgs ...string) string {
	t.Helper()
	dir := os.Getenv("SBX_VENDORS")
	if dir == "" {
		t.Log("not tried: SBX_VENDORS is not set")
		return ""
	}
	if !filepath.IsAbs(dir) {
		var err error
		if dir, err = os.MkdirTemp(bin, "vendor-"); err != nil {
			t.Fatal(err)
		}
		os.Chmod(dir, 0o755) // the ordinary user reads it
		npm := exec.CommandContext(t.Context(), "npm", append([]string{"install", "--prefix", dir, "--no-audit", "--no-fund",
			"--no-package-lock", "--loglevel=error"}, pkgs...)...)
		if out, err := npm.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	return filepath.Join(dir, "node_modules")
}

// newVendor returns the programs of the packages for a user whose questions are answered by decide, or yes where that
// is
// nil.
func newVendor(a *actor, packages string, decide func(ipc.Approval) ipc.Answer) *vendor {
	st := newStage(a, "[approval]\ntimeout = \"60s\"\n[sandbox]\nexec = [\""+packages+"\"]\n"+
		"[sandbox.limits]\nwall = \"6s\"\n"+
		"[[tools.rules]]\ntool = \"mcp__filesystem__write_*\"\ndecision = \"deny\"\ndescription = \"it only reads\"\n")
	person := st.persons["terminal"]
	if decide == nil {
		decide = func(ipc.Approval) ipc.Answer { return ipc.Answer{Allow: true} }
	}
	person.answering(a.t, decide)
	v := &vendor{actor: a, bin: filepath.Join(packages, ".bin"), person: person}
	home := filepath.Join(a.dir, "home")
	a.sh("mkdir " + home + " && echo SECRET > " + home + "/secret")
	a.extraEnv = []string{"HOME=" + home, "PATH=" + v.bin + ":" + bin + ":/usr/local/bin:/usr/bin:/bin"}
	return v
}

// model starts a scripted model; its first line is its port, the others are what
// the tools answered.
func (v *vendor) model(script string, args ...string) (port string, lines *bufio.Reader) {
	v.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	api := v.command(ctx, node(v.t), append([]string{filepath.Join(v.readable("testdata/models"), script)}, args...)...)
	out, err := api.StdoutPipe()
	if err == nil {
		err = api.Start()
	}
	if err != nil {
		cancel()
		v.t.Fatal(err)
	}
	v.t.Cleanup(func() { cancel(); api.Wait() })
	lines = bufio.NewReader(out)
	if port, err = lines.ReadString('\n'); err != nil {
		v.t.Fatal(err)
	}
	return strings.TrimSpace(port), lines
}

// look is what the scripted model has run: it shows a file of the project, whether the
// agent's home can be seen, and what is left in the project.
func (v *vendor) look(made string) string {
	return "cat README; ls -A " + filepath.Join(v.dir, "home") + "; echo inside > " + made
}

// answer returns the next tool result that the scripted model received.
func (v *vendor) answer(lines *bufio.Reader) string {
	v.t.Helper()
	line := make(chan string, 1)
	go func() { s, _ := lines.ReadString('\n'); line <- s }()
	select {
	case s := <-line:
		return s
	case <-time.After(time.Minute): // the program has ended
		v.t.Fatal("no tool has answered")
		return ""
	}
}

// supervised checks what the tool answered, and that the command ran in the sandbox
// for this agent.
func (v *vendor) supervised(lines *bufio.Reader, made, agent string) {
	v.t.Helper()
	if result := v.answer(lines); !strings.Contains(result, "hello") || strings.Contains(result, "secret") {
		v.t.Errorf("the tool answered %s", result)
	}
	if b, _ := os.ReadFile(filepath.Join(v.project, made)); string(b) != "inside\n" {
		v.t.Errorf("%s holds %q", made, b)
	}
	page, err := v.person.approver.Audit(v.t.Context(), ipc.AuditRequest{Grep: made})
	if err != nil || len(page.Records) < 2 || !strings.Contains(string(page.Records[0]), agent) {
		v.t.Errorf("the log has for %s, %v: %s", agent, err, page.Records)
	}
}

// secondHook adds a hook that rewrites every command, in front of ours in the list or behind it, and that ends before
// or
// after ours. Where its command ran in place of ours, that is on record.
func (v *vendor) secondHook(settings string, run func()) {
	v.t.Helper()
	path := filepath.Join(v.dir, "home", settings)
	before := v.sh("cat " + path)
	outside := func() int {
		return strings.Count(v.sbx("log", "--json").out, `"operation":"outside"`)
	}
	for _, delay := range []string{"0", "0.2", "1", "2"} {
		const answer = `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow",` +
			`"updatedInput":{"command":"echo by another > rewritten"}}}`
		group := map[string]any{"matcher": "Bash", "hooks": []any{map[string]any{"type": "command", "timeout": 60,
			"command": "sleep " + delay + "; echo '" + answer + "'"}}}
		for _, place := range []string{"in front", "behind"} {
			var all map[string]any
			if err := json.Unmarshal([]byte(before), &all); err != nil {
				v.t.Fatal(err)
			}
			hooks := all["hooks"].(map[string]any)
			if hooks["PreToolUse"] = append(hooks["PreToolUse"].([]any), group); place == "in front" {
				slices.Reverse(hooks["PreToolUse"].([]any))
			}
			if err := os.WriteFile(path, jsonOf(v.t, all), 0o644); err != nil {
				v.t.Fatal(err)
			}
			v.sh("rm -f rewritten")
			noticed := outside()
			run()
			_, err := os.Stat(filepath.Join(v.project, "rewritten"))
			if ran := err == nil; ran != (outside() > noticed) {
				v.t.Errorf("another hook %s, after %s s: its command ran: %t, records of it: %d", place, delay, ran,
					outside()-noticed)
			} else {
				v.t.Logf("another hook %s, after %s s: its command ran: %t", place, delay, ran)
			}
		}
	}
	v.sh("cat > " + path + " <<'END'\n" + before + "END")
}

// claudeEnv is the environment of Claude Code for the model at that port.
func claudeEnv(port string) []string {
	return []string{"ANTHROPIC_API_KEY=none", "ANTHROPIC_BASE_URL=http://127.0.0.1:" + port, "DISABLE_TELEMETRY=1",
		"ENABLE_TOOL_SEARCH=false", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1"}
}

// codexArgs are the arguments of Codex for the model at that port.
func codexArgs(port string) []string {
	return []string{"exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox",
		"--dangerously-bypass-hook-trust", "-c", "model_provider=stand", "-c", "model=some-model", "-c",
		`model_providers.stand={name="stand",base_url="http://127.0.0.1:` + port + `/v1",wire_api="responses"}`, "look"}
}

// Claude Code loads the hook that was installed, runs the rewritten command, and
// gives the model what the sandbox answered.
func TestClaudeCodeItself(t *testing.T) {
	t.Parallel()
	packages := vendorPackages(t, "@anthropic-ai/claude-code@2.1.330")
	if packages == "" {
		return
	}
	v := newVendor(ordinaryActor(t), packages, nil)
	port, lines := v.model("messages-api.mjs", v.look("made"))
	v.extraEnv = append(v.extraEnv, claudeEnv(port)...)
	if r := v.sbx("hook", "install", "claude", "--user"); r.code != 0 || !strings.Contains(r.out, "2.1.330") {
		t.Fatal(r)
	}
	if r := v.do(nil, filepath.Join(v.bin, "claude"), "-p", "look", "--output-format", "json"); r.code != 0 {
		t.Fatal(r)
	}
	v.supervised(lines, "made", "Claude Code")
	port, _ = v.model("messages-api.mjs", v.look("made-by-another"))
	v.secondHook(".claude/settings.json", func() {
		v.extraEnv = append(v.extraEnv, "ANTHROPIC_BASE_URL=http://127.0.0.1:"+port)
		v.do(nil, filepath.Join(v.bin, "claude"), "-p", "look", "--output-format", "json")
	})

	// A hook that can't be started lets nothing run.
	v.sh("sed -i s,/sbx\\',/missing\\', " + filepath.Join(v.dir, "home/.claude/settings.json"))
	port, lines = v.model("messages-api.mjs", "echo outside > outside")
	v.extraEnv = append(v.extraEnv, "ANTHROPIC_BASE_URL=http://127.0.0.1:"+port)
	v.do(nil, filepath.Join(v.bin, "claude"), "-p", "look", "--allowedTools", "Bash")
	if got := v.answer(lines); !strings.Contains(got, "onFailure") || v.there("outside") {
		t.Errorf("without its program, the hook let the command run: %s", got)
	}
	v.sh("sed -i s,/missing\\',/sbx\\', " + filepath.Join(v.dir, "home/.claude/settings.json"))

	// As tools, in place of its own shell; and as its permission prompt.
	if r := v.sbx("hook", "install", "claude", "--user", "--remove"); r.code != 0 {
		t.Fatal(r)
	}
	if r := v.do(nil, filepath.Join(v.bin, "claude"), "mcp", "add", "sandboxd", "--", "sbx", "mcp"); r.code != 0 {
		t.Fatal(r)
	}
	base := v.extraEnv
	port, lines = v.model("messages-api.mjs", v.look("made-too"), "mcp__sandboxd__exec")
	v.extraEnv = append(slices.Clone(base), "ANTHROPIC_BASE_URL=http://127.0.0.1:"+port)
	if r := v.do(strings.NewReader(""), filepath.Join(v.bin, "claude"), "-p", "look", "--allowedTools",
		"mcp__sandboxd__exec", "--disallowedTools", "Bash", "Write", "Edit"); r.code != 0 {
		t.Fatal(r)
	}
	v.supervised(lines, "made-too", "MCP client")
	port, lines = v.model("messages-api.mjs", "echo prompted > prompted; cat prompted")
	v.extraEnv = append(slices.Clone(base), "ANTHROPIC_BASE_URL=http://127.0.0.1:"+port)
	if r := v.do(strings.NewReader(""), filepath.Join(v.bin, "claude"), "-p", "--permission-prompt-tool",
		"mcp__sandboxd__approve", "look"); r.code != 0 {
		t.Fatal(r)
	}
	if result := v.answer(lines); !strings.Contains(result, "prompted") {
		t.Errorf("with a permission prompt: %s", result)
	}
	if page, err := v.person.approver.Audit(t.Context(), ipc.AuditRequest{Grep: "echo prompted"}); err != nil ||
		len(page.Records) == 0 {
		t.Errorf("the prompt was not asked: %s, %v", page.Records, err)
	}
}

// codexHome is a copy of Codex's settings outside of /tmp, where it does not start its own sandbox.
func (v *vendor) codexHome() string {
	v.t.Helper()
	dir := strings.TrimSpace(v.sh("mktemp -d " + v.actor.home + "/.codex-XXXXXX"))
	v.t.Cleanup(func() { os.RemoveAll(dir) })
	v.sh("cp -r " + filepath.Join(v.dir, "home/.codex") + "/. " + dir)
	return dir
}

// Codex loads the hook that was installed, runs the rewritten command, and starts
// sbx mcp and calls its tools.
func TestCodexItself(t *testing.T) {
	t.Parallel()
	packages := vendorPackages(t, "@openai/codex@0.169.0")
	if packages == "" {
		return
	}
	v := newVendor(ordinaryActor(t), packages, nil)
	run := func(port string) {
		t.Helper()
		if r := v.do(strings.NewReader(""), filepath.Join(v.bin, "codex"), codexArgs(port)...); r.code != 0 {
			t.Fatal(r)
		}
	}
	if r := v.sbx("hook", "install", "codex", "--user"); r.code != 0 || !strings.Contains(r.out, "0.169.0") {
		t.Fatal(r)
	}
	port, lines := v.model("responses-api.mjs", v.look("made"))
	run(port)
	v.supervised(lines, "made", "Codex")
	port, _ = v.model("responses-api.mjs", v.look("made-by-another"))
	v.secondHook(".codex/hooks.json", func() { run(port) })

	// In Codex's own sandbox, which lets it connect to the daemon: the ticket is good there.
	port, lines = v.model("responses-api.mjs", v.look("made-in-both"))
	both := slices.DeleteFunc(codexArgs(port), func(arg string) bool {
		return arg == "--dangerously-bypass-approvals-and-sandbox"
	})
	both = slices.Insert(both, 1, "-s", "workspace-write", "-c", "sandbox_workspace_write.network_access=true")
	base := v.extraEnv
	v.extraEnv = append(slices.Clone(base), "CODEX_HOME="+v.codexHome())
	if r := v.do(strings.NewReader(""), filepath.Join(v.bin, "codex"), both...); r.code != 0 {
		t.Fatal(r)
	}
	v.extraEnv = base
	v.supervised(lines, "made-in-both", "Codex")

	// As tools, in place of its own shell.
	if r := v.sbx("hook", "install", "codex", "--user", "--remove"); r.code != 0 {
		t.Fatal(r)
	}
	if r := v.do(nil, filepath.Join(v.bin, "codex"), "mcp", "add", "sandboxd", "--", "sbx", "--socket-dir", v.socketDir(),
		"mcp"); r.code != 0 {
		t.Fatal(r)
	}
	if r := v.do(nil, filepath.Join(v.bin, "codex"), "mcp", "list"); !strings.Contains(r.out, "sandboxd") ||
		!strings.Contains(r.out, "enabled") {
		t.Error(r)
	}
	port, lines = v.model("responses-api.mjs", v.look("made-too"), "exec")
	run(port)
	v.supervised(lines, "made-too", "MCP client")
}
