package acceptance

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sandboxd/ipc"
)

// event is a hook's input with other fields than call gives it; nil takes a field out.
func event(t *testing.T, input string, fields map[string]any) string {
	t.Helper()
	var c map[string]any
	if err := json.Unmarshal([]byte(input), &c); err != nil {
		t.Fatal(err)
	}
	for name, v := range fields {
		c[name] = v
		if v == nil {
			delete(c, name)
		}
	}
	b, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A hook answers allow only after the question was answered, and the command that then comes with its ticket is not
// asked about again. Nothing about the question is in the command's output, which the model reads. R-IP-03
func TestHookAsksBeforeItAllows(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		st := newStage(a, answeredTimes)
		input := call("claude", a.project, "Bash", bash("echo hi > made"))
		if decision, reason, _ := a.hook(input, "claude", "--agent-version", "2.1.330", "--patience", "2s"); decision !=
			"deny" || reason == "" {
			t.Fatalf("nobody has answered: got %q (%s), want a denial", decision, reason)
		}
		asked := answerAll(t, st, ipc.Answer{Allow: true})
		decision, reason, updated := a.hook(input, "claude", "--agent-version", "2.1.330")
		line, _ := updated["command"].(string)
		if decision != "allow" || line == "" || asked.Load() != 1 {
			t.Fatalf("got %q (%s) after %d questions, want allow after 1", decision, reason, asked.Load())
		}
		if r := a.do(nil, "/bin/bash", "-c", line); r.code != 0 || a.sh("cat made") != "hi\n" || asked.Load() != 1 {
			t.Errorf("the command with its ticket: %v, %d questions, want 1", r, asked.Load())
		} else if r.out+r.err != "" {
			t.Errorf("the command with its ticket wrote %q, want nothing", r.out+r.err)
		}
		// The same for an agent that has sbx as its shell.
		if r := a.sbx("shell", "-c", "echo hi > again"); r.code != 0 || r.out+r.err != "" || asked.Load() != 2 {
			t.Errorf("as a shell: %v after %d questions, want nothing after 2", r, asked.Load())
		}
	})
}

// answerAll answers every question alike, and counts them.
func answerAll(t *testing.T, st *stage, with ipc.Answer) *atomic.Int32 {
	var asked atomic.Int32
	st.persons["terminal"].answering(t, func(ipc.Approval) ipc.Answer {
		asked.Add(1)
		return with
	})
	return &asked
}

// Another agent's event is refused by the exit status, which every agent reads, and nothing is said in a form that only
// some do. A line of shell runs in the sandbox whatever its tool's name, and a yes for the session holds for an agent
// that has sbx as its shell. R-IP-03, R-AP-08
func TestHookOfAnotherAgent(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		st := newStage(a, answeredTimes)
		foreign := call("gemini", a.project, "run_shell_command", bash("echo hi > made"))
		for _, args := range [][]string{{"auto"}, {"claude"}, {"claude", "--agent-version", "99.0.0"}, {"codex"}} {
			r := a.do(strings.NewReader(foreign), filepath.Join(bin, "sbx"), append([]string{"hook"}, args...)...)
			if r.code != 2 || r.out != "" || !strings.Contains(r.err, `the event is "BeforeTool"`) {
				t.Errorf("%q: %v, want status 2 with the reason", args, r)
			}
		}
		asked := answerAll(t, st, ipc.Answer{Allow: true, Scope: "session"})
		for _, tool := range []string{"Bash", "run_shell_command", "shell", "exec_command", "bash"} {
			decision, reason, updated := a.hook(call("claude", a.project, tool, bash("cat README")), "claude",
				"--agent-version", "2.1.330")
			if line, _ := updated["command"].(string); decision != "allow" || !strings.Contains(line, "'--ticket'") {
				t.Errorf("%s: got %q (%s), %v, want a command for the sandbox", tool, decision, reason, updated)
			}
		}
		before := asked.Load()
		r := a.do(nil, "/usr/bin/python3", "-c", "import subprocess\nfor _ in range(2): subprocess.run(['"+
			filepath.Join(bin, "sbx")+"', 'shell', '-c', 'echo hi >> made'])")
		if got := asked.Load() - before; got != 1 || a.sh("cat made") != "hi\nhi\n" {
			t.Errorf("as a shell, twice: got %d questions, want 1: %v", got, r)
		}
	})
}

// The calls of one conversation are one session, whose yes holds; another conversation, another prompt (of a yes for
// the turn), and a conversation inside a sandbox have their own. R-AP-08, R-IP-07
func TestHookConversation(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		st := newStage(a, answeredTimes)
		asked := answerAll(t, st, ipc.Answer{Allow: true, Scope: "session"})
		wrap := func(command string, fields map[string]any) string {
			t.Helper()
			decision, reason, updated := a.hook(
				event(t, call("claude", a.project, "Bash", bash(command)), fields),
				"claude",
				"--agent-version",
				"2.1.330",
			)
			if decision != "allow" {
				t.Fatalf("%s %v: got %q (%s), want allow", command, fields, decision, reason)
			}
			return updated["command"].(string)
		}
		const write = "echo x > f"
		for i, c := range []struct {
			fields map[string]any
			want   int32 // questions so far
		}{
			{nil, 1}, {nil, 1},
			{map[string]any{"session_id": "another"}, 2},
			{map[string]any{"prompt_id": "p2"}, 2}, // a yes for the session outlives the turn
			{map[string]any{"agent_id": "a1", "agent_type": "Explore"}, 2},
		} {
			if wrap(write, c.fields); asked.Load() != c.want {
				t.Errorf("call %d, %v: got %d questions, want %d", i, c.fields, asked.Load(), c.want)
			}
		}
		inside := event(t, call("claude", a.project, "Bash", bash(write)), nil)
		a.sh("cp " + filepath.Join(bin, "sbx") + " " + filepath.Join(bin, "sbx-verbs") + " .")
		r := a.sbx("run", "--agent", "-c", "printf %s '"+inside+"' | ./sbx hook claude --agent-version 2.1.330")
		if asked.Load() != 4 {
			t.Errorf("inside a sandbox: got %d questions, want 4 (the agent, and its command): %v", asked.Load(), r)
		}
		// The conversation ends, and its yes with it.
		end := event(t, inside, map[string]any{"hook_event_name": "SessionEnd", "reason": "other"})
		if r := a.do(strings.NewReader(end), filepath.Join(bin, "sbx"), "hook", "claude"); r.code != 0 ||
			r.out != "" {
			t.Errorf("SessionEnd: %v", r)
		}
		if wrap(write, nil); asked.Load() != 5 {
			t.Errorf("after the end: got %d questions, want 5", asked.Load())
		}
	})
}

// A command that ran as another hook wrote it, without its ticket, is noticed after the call: the turn ends, the log
// has it, and the ticket is void. R-IP-03
func TestHookNoticesWhatRanOutside(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		newStage(a, answeredTimes)
		var all sync.WaitGroup // each answer after a call waits for a run that may come late
		for _, v := range []struct{ name, version string }{{"claude", "2.1.330"}, {"codex", "0.169.0"}} {
			all.Go(func() {
				before := call(v.name, a.project, "Bash", bash("cat README"))
				after := func(id string) (out string) {
					t.Helper()
					r := a.do(
						strings.NewReader(
							event(
								t,
								before,
								map[string]any{
									"hook_event_name": "PostToolUse",
									"tool_use_id":     id,
									"tool_response":   map[string]any{},
								},
							),
						),
						filepath.Join(bin, "sbx"),
						"hook",
						v.name,
						"--agent-version",
						v.version,
					)
					if r.code != 0 {
						t.Fatalf("%s after %s: %v", v.name, id, r)
					}
					return r.out
				}
				wrap := func(id string) string {
					_, _, updated := a.hook(
						event(t, before, map[string]any{"tool_use_id": id}),
						v.name,
						"--agent-version",
						v.version,
					)
					line, _ := updated["command"].(string)
					return line
				}
				stopped := func(out string) bool {
					var got struct {
						Continue   *bool
						StopReason string
					}
					return json.Unmarshal([]byte(out), &got) == nil && got.Continue != nil && !*got.Continue &&
						got.StopReason != ""
				}
				line := wrap(v.name + "-1")
				if r := a.do(nil, "/bin/bash", "-c", line); r.out != "hello\n" {
					t.Fatalf("%s: %v", v.name, r)
				}
				if got := after(v.name + "-1"); got != "" {
					t.Errorf("%s: it ran in its sandbox, and the hook answered %q, want nothing", v.name, got)
				}
				line = wrap(v.name + "-2")
				if got := after(v.name + "-2"); !stopped(got) {
					t.Errorf("%s: it did not run in its sandbox: got %q, want a stop", v.name, got)
				}
				if r := a.do(nil, "/bin/bash", "-c", line); r.code != 126 {
					t.Errorf("%s: the ticket after the call: %v, want 126", v.name, r)
				}
				if got := after(v.name + "-3"); !stopped(got) {
					t.Errorf("%s: a call that nobody asked about: got %q, want a stop", v.name, got)
				}
				noticed := regexp.MustCompile(`"operation":"outside".*"call_id":"` + v.name + `-[23]"`)
				if log := a.sbx("log", "--json"); len(noticed.FindAllString(log.out, -1)) != 2 {
					t.Errorf("%s: the log has %v, want two records of what ran outside", v.name, log)
				}
			})
		}
		all.Wait()
	})
}

// A ticket is good in the agent's own sandbox, too, in a pid namespace of its own, and nothing else is to be had there.
// A process of a sandbox of ours can't redeem one. R-IP-01, R-IP-03
func TestTicketFromAnotherPIDNamespace(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		st := newStage(a, answeredTimes)
		answerAll(t, st, ipc.Answer{Allow: true})
		ticket := func(command string) string {
			t.Helper()
			decision, reason, updated := a.hook(call("codex", a.project, "Bash", bash(command)), "codex",
				"--agent-version", "0.169.0")
			line, _ := updated["command"].(string)
			if decision != "allow" || line == "" {
				t.Fatalf("%s: got %q (%s), want allow", command, decision, reason)
			}
			return line
		}
		apart := func(line string) result {
			return a.do(strings.NewReader("typed\n"), "unshare", "--user", "--map-root-user", "--pid", "--fork",
				"/bin/bash", "-c", line)
		}
		if r := apart(ticket("cat; echo made > made; exit 7")); r.code != 7 || r.out != "typed\n" {
			t.Errorf("a ticket's command: got %v, want its output and status 7", r)
		}
		if got := a.sh("cat made"); got != "made\n" {
			t.Errorf("the ticket's command made %q", got)
		}
		sbx := filepath.Join(bin, "sbx") + " "
		for _, line := range []string{
			sbx + "run -- ls", sbx + "run --ticket 00000000000000000000000000000000 -c ls", sbx + "session ls",
			sbx + "check -- ls",
		} {
			if r := apart(line); r.code == 0 || strings.Contains(r.out, "README") {
				t.Errorf("%s: got %v, want a refusal", line, r)
			}
		}
		// The directory is read-only there, so that the ticket is all that lacks.
		a.sh("cp " + filepath.Join(bin, "sbx") + " " + filepath.Join(bin, "sbx-verbs") + " .")
		line := ticket("echo escaped > escaped")
		r := a.sbx("run", "-c", strings.Replace(line, filepath.Join(bin, "sbx"), "./sbx", 1))
		if r.code == 0 || strings.Contains(a.sh("ls"), "escaped") {
			t.Errorf("inside a sandbox: got %v, want a refusal", r)
		}
		if r := a.do(nil, "/bin/bash", "-c", line); r.code != 0 {
			t.Errorf("the same ticket outside, afterwards: %v", r)
		}
	})
}

// Under the default times a call of a hook waits nearly ten minutes for its person; the denial that then comes reaches
// the agent at once. R-IP-03
func TestHookWaitsForItsPerson(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		st := newStage(a, "")
		until := make(chan time.Time, 1)
		st.persons["terminal"].answering(t, func(q ipc.Approval) ipc.Answer {
			if q.Deadline != nil {
				until <- *q.Deadline
			}
			return ipc.Answer{Mode: "soft", Note: "use make"}
		})
		input := call("claude", a.project, "Bash", bash("echo hi > made"))
		decision, reason, _ := a.hook(input, "claude", "--agent-version", "2.1.330")
		if decision != "deny" || !strings.Contains(reason, "use make") {
			t.Errorf("got %q (%s), want the denial with its reason", decision, reason)
		}
		if waits := time.Until(<-until); waits < 9*time.Minute {
			t.Errorf("the question waits for %v, want nearly ten minutes", waits)
		}
	})
}
