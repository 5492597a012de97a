package acceptance

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"sandboxd/hook"
	"sandboxd/ipc"
)

// call is the input of a vendor's hook, in the form that its documents have.
func call(vendor, cwd, tool string, input map[string]any) string {
	c := map[string]any{"session_id": "abc123", "transcript_path": "/nowhere/transcript.jsonl", "cwd": cwd,
		"permission_mode": "default",
		"hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": input, "tool_use_id": "toolu_01ABC123"}
	if vendor == "codex" {
		c["turn_id"], c["model"] = "turn-1", "some-model"
	}
	switch vendor {
	case "gemini":
		c["hook_event_name"] = "BeforeTool"
		delete(c, "tool_use_id")
	case "copilot":
		args, _ := json.Marshal(input)
		c = map[string]any{"timestamp": 1, "cwd": cwd, "sessionId": "abc123", "toolName": tool, "toolArgs": string(args)}
	case "vscode":
		c = map[string]any{"timestamp": "2026-02-09T10:30:00.000Z", "cwd": cwd, "sessionId": "abc123",
			"hookEventName": "PreToolUse", "transcript_path": "/nowhere",
			"tool_name": tool, "tool_input": input, "tool_use_id": "tool-123"}
	case "cursor":
		c = map[string]any{"conversation_id": "abc123", "generation_id": "g1", "model": "some-model",
			"hook_event_name": "preToolUse", "cursor_version": "2.0.77",
			"workspace_roots": []string{cwd}, "tool_name": tool, "tool_input": input,
			"tool_use_id": "abc", "cwd": cwd, "agent_message": "look"}
	case "cline":
		c = map[string]any{"clineVersion": "", "hookName": "tool_call", "taskId": "abc123",
			"workspaceRoots": []string{cwd},
			"preToolUse":     map[string]any{"toolName": tool, "parameters": input},
			"tool_call":      map[string]any{"id": "call_1", "name": tool, "input": input}}
	}
	b, err := json.Marshal(c)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// hookAnswer is what the vendors read: Claude Code's form, which most use, Gemini CLI's and Copilot CLI's.
type hookAnswer struct {
	HookSpecificOutput *struct {
		HookEventName            string
		PermissionDecision       string
		PermissionDecisionReason string
		UpdatedInput             map[string]any
		ToolInput                map[string]any `json:"tool_input"`
	}
	Decision, Reason                             string
	PermissionDecision, PermissionDecisionReason string
	ModifiedArgs                                 map[string]any
	Permission                                   string // Cursor's
	AgentMessage                                 string `json:"agent_message"`
	Cancel                                       *bool  // Cline's
	ErrorMessage                                 string
}

// hook asks the real sbx about one call. "": it said nothing.
func (a *actor) hook(input string, args ...string) (decision, reason string, updated map[string]any) {
	a.t.Helper()
	r := a.do(strings.NewReader(input), filepath.Join(bin, "sbx"), append([]string{"hook"}, args...)...)
	if r.code == hook.RefusalStatus && r.out == "" {
		return "deny", r.err, nil // what every vendor takes for one
	}
	if r.code != 0 {
		a.t.Fatalf("hook %q: %v", args, r)
	}
	if r.out == "" {
		return "", "", nil
	}
	var got hookAnswer
	err := json.Unmarshal([]byte(r.out), &got)
	switch o := got.HookSpecificOutput; {
	case err == nil && args[0] == "gemini" && o != nil:
		return got.Decision, got.Reason, o.ToolInput
	case err == nil && args[0] == "gemini":
		return got.Decision, got.Reason, nil
	case err == nil && args[0] == "copilot":
		return got.PermissionDecision, got.PermissionDecisionReason, got.ModifiedArgs
	case err == nil && args[0] == "cursor":
		return got.Permission, got.AgentMessage, nil
	case err == nil && args[0] == "cline" && got.Cancel != nil:
		return map[bool]string{true: "deny", false: "allow"}[*got.Cancel], got.ErrorMessage, nil
	}
	if err != nil || got.HookSpecificOutput == nil || got.HookSpecificOutput.HookEventName != "PreToolUse" {
		a.t.Fatalf("hook %q answered %q: %v", args, r.out, err)
	}
	o := got.HookSpecificOutput
	return o.PermissionDecision, o.PermissionDecisionReason, o.UpdatedInput
}

func bash(command string) map[string]any { return map[string]any{"command": command, "timeout": 5000} }

// R-SH-05, R-UX-06: the hook wraps a command so that it runs in the sandbox by a
// ticket, once; the ticket is bound to command and directory.
func TestHookWraps(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		answerAll(t, newStage(a, answeredTimes), ipc.Answer{Allow: true})
		for _, v := range []struct{ name, version string }{{"claude", "2.1.330"}, {"codex", "0.169.0"}, {"gemini", "0.61.0"},
			{"copilot", "1.0.102"}, {"opencode", "1.18.33"}, {"pi", "0.73.1"}} {
			wrap := func(command string) string {
				decision, reason, updated := a.hook(call(v.name, a.project, "Bash", bash(command)), v.name, "--agent-version",
					v.version)
				line, _ := updated["command"].(string)
				if decision != "allow" || line == "" || updated["timeout"] != 5000.0 {
					t.Fatalf("%s: %q (%s): %v", v.name, decision, reason, updated)
				}
				return line
			}
			run := func(line string) result { return a.do(nil, "/bin/bash", "-c", line) }

			line := wrap(`cat README; echo "it's" '$HOME'; pwd`)
			if r := run(line); r.code != 0 || r.out != "hello\nit's $HOME\n"+a.project+"\n" {
				t.Errorf("%s: %s: %v", v.name, line, r)
			}
			if r := run(line); r.code != 126 || !strings.Contains(r.err, "it was used") {
				t.Errorf("%s, a second time: %v", v.name, r)
			}
			line = wrap("cat README")
			if r := run(strings.Replace(line, "cat README", "cat .git/config", 1)); r.code != 126 ||
				!strings.Contains(r.err, "another command") {
				t.Errorf("%s, another command: %v", v.name, r)
			}
			if r := run(line); r.code != 126 {
				t.Errorf("%s: the ticket was not used up by another command: %v", v.name, r)
			}
			if r := run("cd .git && " + wrap("ls")); r.code != 126 || !strings.Contains(r.err, "another working directory") {
				t.Errorf("%s, another directory: %v", v.name, r)
			}
			// An output that the sandbox may not have is relayed, by the same ticket.
			into := filepath.Join(a.dir, "output")
			if r := run(wrap("cat README") + " > " + into); r.code != 0 || a.sh("cat "+into) != "hello\n" {
				t.Errorf("%s, into a file of the agent's: %v", v.name, r)
			}
			// In the sandbox: what it may not see is not there.
			if r := run(wrap("ls " + a.stateDir())); r.code == 0 {
				t.Errorf("%s: the command ran outside: %v", v.name, r)
			}
			// Auto distinguishes the vendors; without a version it rewrites nothing.
			want, found := map[string]string{"claude": "ask", "codex": "deny"}[v.name]
			if !found {
				if decision, reason, updated := a.hook(call(v.name, a.project, "Bash", bash("ls")), v.name); decision != "deny" ||
					reason == "" || updated != nil {
					t.Errorf("%s without a version: %q %q %v", v.name, decision, reason, updated)
				}
				continue
			}
			for _, version := range []string{"", "1.0.0", "0.1.0"} {
				args := []string{"auto"}
				if version != "" {
					args = append(args, "--agent-version", version)
				}
				if decision, reason, updated := a.hook(call(v.name, a.project, "Bash", bash("ls")), args...); decision != want &&
					version != "1.0.0" || updated != nil && version != "1.0.0" || reason == "" && version == "" {
					t.Errorf("%s %q: %q %q %v", v.name, version, decision, reason, updated)
				}
			}
		}
	})
}

// R-IP-03: a ticket carries an approval only where one was given for exactly
// this; it is refused late, and where what the session may touch has changed.
func TestTickets(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		newStage(a, answeredTimes)
		agent, person := a.agentPeer("tickets"), a.personPeer("tickets", true)
		ctx := t.Context()
		a.trust(ctx, person)
		s, err := agent.agent.OpenSession(ctx, ipc.SessionRequest{Kind: ipc.KindAPI, Root: a.project})
		if err != nil {
			t.Fatal(err)
		}
		c := &ipc.Client{Socket: agent.agent.Socket, Secret: s.Secret}
		defer c.Close()
		check := func(q ipc.CheckRequest) ipc.Verdict {
			t.Helper()
			q.Session, q.Cwd = s.ID, a.project
			v, err := c.Check(ctx, q)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		answer := func(allow bool) {
			t.Helper()
			for {
				l, err := person.approver.Approvals(ctx)
				if err != nil {
					t.Error(err)
					return
				}
				for _, q := range l.Approvals {
					person.approver.Decide(ctx, ipc.Answer{ID: q.ID, Rev: q.Rev, Hash: q.Hash, Allow: allow})
					return
				}
			}
		}
		// Another process of the same user, without the session's secret.
		redeem := func(ticket ipc.Secret, command string) (*ipc.Exit, error) {
			t.Helper()
			other := &ipc.Client{Socket: person.agent.Socket}
			defer other.Close()
			started, err := other.StartExec(ctx, ipc.ExecRequest{Ticket: ticket, Command: command, Cwd: a.project})
			if err != nil {
				return nil, err
			}
			return endOf(t, ctx, other, started.ID), nil
		}

		go answer(true)
		v := check(ipc.CheckRequest{Command: "echo hi > made", TicketMS: 60000})
		if !v.Allowed || v.Ticket == "" {
			t.Fatalf("%+v", v)
		}
		if exit, err := redeem(v.Ticket, "echo hi > made"); err != nil || exit.Code != 0 {
			t.Errorf("what a person allowed: %+v, %v", exit, err)
		}
		if b, err := os.ReadFile(filepath.Join(a.project, "made")); string(b) != "hi\n" {
			t.Errorf("it did not run: %q, %v", b, err)
		}
		if _, err := redeem(v.Ticket, "echo hi > made"); ipc.CodeOf(err) != ipc.CodeDenied {
			t.Errorf("a second time: %v", err)
		}
		// Of a dry run: identity, and no approval.
		v = check(ipc.CheckRequest{Command: "echo ho > made", DryRun: true, TicketMS: 60000})
		go answer(false)
		if exit, err := redeem(v.Ticket, "echo ho > made"); err != nil || exit.Denied == nil {
			t.Errorf("of a dry run: %+v, %v", exit, err)
		}
		if _, err := c.Turn(ctx, ipc.TurnRequest{Session: s.ID}); err != nil {
			t.Fatal(err)
		}
		v = check(ipc.CheckRequest{Command: "ls", DryRun: true, TicketMS: 1})
		time.Sleep(2 * time.Millisecond)
		if _, err := redeem(v.Ticket, "ls"); ipc.CodeOf(err) != ipc.CodeDenied {
			t.Errorf("late: %v", err)
		}
		v = check(ipc.CheckRequest{Command: "ls", DryRun: true, TicketMS: 60000})
		if err := person.approver.Distrust(ctx, ipc.TrustRequest{Dir: a.project}); err != nil {
			t.Fatal(err)
		}
		if exit, err := redeem(v.Ticket, "ls"); err != nil || exit.Error == nil {
			t.Errorf("what it may touch has changed: %+v, %v", exit, err)
		}
		v = check(ipc.CheckRequest{Command: "ls", DryRun: true, TicketMS: 60000})
		if _, err := c.CloseSession(ctx, ipc.CloseRequest{Session: s.ID}); err != nil {
			t.Fatal(err)
		}
		if _, err := redeem(v.Ticket, "ls"); ipc.CodeOf(err) != ipc.CodeDenied {
			t.Errorf("after the session's end: %v", err)
		}
	})
}

// endOf follows a command to its end.
func endOf(t *testing.T, ctx context.Context, c *ipc.Client, id string) *ipc.Exit {
	t.Helper()
	stream, err := c.ExecEvents(ctx, ipc.EventsRequest{ID: id})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	for {
		e, err := stream.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if e.Type == ipc.EventExit {
			return e.Exit
		}
	}
}

// R-UX-06: every way in which a call can't be judged is a refusal in the
// vendor's form, and says what to do.
func TestHookFailsClosed(t *testing.T) {
	t.Parallel()
	a := newActor(t, "")
	newStage(a, shortTimes)
	part := filepath.Join(a.dir, "sbx")
	if out, err := exec.Command("cp", filepath.Join(bin, "sbx"), part).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	for _, v := range hook.Vendors {
		for name, input := range map[string]string{
			"nothing":  "",
			"not JSON": "hello",
			"an array": "[]",
			"another event": strings.NewReplacer("PreToolUse", "Other", "preToolUse", "other", "BeforeTool", "Other",
				"toolName", "other", "tool_call", "other").
				Replace(call(v.Name, a.project, "Bash", bash("ls"))),
			"no tool":         call(v.Name, a.project, "", bash("ls")),
			"no input":        call(v.Name, a.project, "Bash", nil),
			"no command":      call(v.Name, a.project, "Bash", map[string]any{}),
			"a relative cwd":  call(v.Name, "sub", "Bash", bash("ls")),
			"a cwd elsewhere": call(v.Name, "/does/not/exist", "Bash", bash("ls")),
			"a NUL":           call(v.Name, a.project, "Bash", bash("ls\x00")),
		} {
			if decision, reason, _ := a.hook(input, v.Name, "--agent-version", v.Rewrites); decision != "deny" || reason == "" {
				t.Errorf("%s, %s: %q %q", v.Name, name, decision, reason)
			}
		}
		// What is no answer is a refusal by its exit status: settings of another version, and
		// an sbx of which only a part is there.
		for _, line := range [][]string{{"hook", v.Name, "--no-such-flag"}, {"hook", v.Name, "more"},
			{"--no-such-flag", "hook", v.Name}, {"hook", "not-" + v.Name}, {"hook", v.Name, "--mode", "other"}} {
			if r := a.do(strings.NewReader("{}"), filepath.Join(bin, "sbx"), line...); r.code != 2 {
				t.Errorf("sbx %q: %v", line, r)
			}
		}
		if r := a.do(strings.NewReader(call(v.Name, a.project, "Bash", bash("ls"))), part, "hook", v.Name); r.code != 2 {
			t.Errorf("%s: sbx without sbx-verbs: %v", v.Name, r)
		}
		// Nobody answers: in time, with what to tell the user.
		if decision, reason, _ := a.hook(call(v.Name, a.project, "send_email", map[string]any{"to": "anna"}), v.Name,
			"--patience", "1s"); decision != "deny" || !strings.Contains(reason, "sbx approve") {
			t.Errorf("%s, nobody there: %q %q", v.Name, decision, reason)
		}
	}
	// A daemon can't be had at all: its directory is somebody else's file.
	a.stop()
	blocked := filepath.Join(a.dir, "blocked")
	a.sh("echo > " + blocked)
	a.extraEnv = []string{"SBX_SOCKET_DIR=" + blocked}
	for _, v := range hook.Vendors {
		if decision, reason, _ := a.hook(call(v.Name, a.project, "Bash", bash("ls")), v.Name, "--agent-version",
			v.Rewrites); decision != "deny" || reason == "" {
			t.Errorf("%s without a daemon: %q %q", v.Name, decision, reason)
		}
	}
}

// R-AP-24: tools that the agent runs itself follow [tools]: what is unknown and
// every MCP tool asks, unless a rule names it.
func TestHookDecides(t *testing.T) {
	t.Parallel()
	a := newActor(t, "")
	st := newStage(a, answeredTimes+"[[tools.rules]]\ntool = \"Read\"\ndecision = \"allow\"\n[[tools.rules]]\ntool = "+
		"\"WebFetch\"\nwhen = { url = \"https://example.org/*\" }\ndecision = \"allow\"\n"+
		"[[tools.rules]]\ntool = \"mcp__github__get_*\"\ndecision = \"allow\"\n[[tools.rules]]\ntool = \"Task\"\ndecision "+
		"= \"deny\"\n[presets]\nuse = [\"python\"]\n")
	defer st.stop()
	for _, c := range []struct {
		tool    string
		input   map[string]any
		allowed bool
	}{
		{"Read", map[string]any{"file_path": "/etc/hostname"}, true},
		{"WebFetch", map[string]any{"url": "https://example.org/a"}, true},
		{"WebFetch", map[string]any{"url": "https://evil.example/a"}, false},
		{"mcp__github__get_issue", map[string]any{"n": 1}, true},
		{"mcp__github__delete_repo", map[string]any{"n": 1}, false},
		{"Task", map[string]any{"prompt": "x"}, false},
		{"Unknown", map[string]any{}, false},
	} {
		var all sync.WaitGroup // a denial waits for its patience to end
		for _, v := range hook.Vendors {
			all.Go(func() {
				patience := map[bool]string{true: "1m", false: "1s"}[c.allowed]
				decision, reason, _ := a.hook(call(v.Name, a.project, c.tool, c.input), v.Name, "--patience", patience)
				allowed := decision == "allow" || decision == "" && v.Name == "codex"
				if allowed != c.allowed || !allowed && (decision != "deny" || reason == "") {
					t.Errorf("%s %s %v: got %q %q, want allowed %v", v.Name, c.tool, c.input, decision, reason, c.allowed)
				}
			})
		}
		all.Wait()
	}
	if decision, _, updated := a.hook(call("claude", a.project, "Bash", bash("ls")), "claude", "--mode",
		"decide"); decision != "allow" || updated != nil {
		t.Errorf("decide: %q %v", decision, updated)
	}
	if decision, _, _ := a.hook(call("codex", a.project, "Bash", bash("ls")), "codex", "--mode",
		"decide"); decision != "" {
		t.Errorf("decide: codex received %q", decision)
	}
	// What is harmless only inside the sandbox is not let go outside of it: neither by a preset, nor by a yes to run it
	// inside.
	a.sh("echo 'print(1)' > x.py")
	outside := func(command string) string {
		decision, _, _ := a.hook(call("claude", a.project, "Bash", bash(command)), "claude", "--mode", "decide", "--patience",
			"1s")
		return decision
	}
	for _, command := range []string{"python3 x.py", "grep -R x .", "find -L . -name x"} {
		if r := a.sbx("check", "-c", command); !strings.HasPrefix(r.out, "auto") {
			t.Errorf("inside, %q asks: %v", command, r)
		}
		if got := outside(command); got != "deny" {
			t.Errorf("outside, %q: %q", command, got)
		}
	}
	id, ended := a.ask("echo x > y")
	if r := a.sbx("approve", id, "--allow", "--scope", "global"); r.code != 0 {
		t.Fatal(r)
	}
	if r := <-ended; r.code != 0 {
		t.Fatal(r)
	}
	if r := a.sbx("run", "-c", "echo x > y"); r.code != 0 {
		t.Errorf("granted for good, inside: %v", r)
	}
	if got := outside("echo x > y"); got != "deny" {
		t.Errorf("granted for good inside, %q outside", got)
	}
	// Nor what our environment keeps a repository's configuration from naming.
	a.sh("git config core.pager 'sh -c evil'")
	if r := a.sbx("check", "-c", "git log"); !strings.HasPrefix(r.out, "auto") {
		t.Errorf("inside, with the repository's own pager, git log asks: %v", r)
	}
	if got := outside("git log"); got != "deny" {
		t.Errorf("outside, with the repository's own pager: %q", got)
	}
}
