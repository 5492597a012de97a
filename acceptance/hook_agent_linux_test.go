package acceptance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"sandboxd/ipc"
)

// fakeAgent starts the servers of its first argument, has the hook of the second judge the call on standard input, and
// prints the answer. The servers run until it ends.
const fakeAgent = `
import json, subprocess, sys
servers = [subprocess.Popen(s, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for s in json.loads(sys.argv[1])]
for s in servers:
    s.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",'
                  b'"capabilities":{},"clientInfo":{"name":"test","version":"1"}}}\n')
    s.stdin.flush()
    s.stdout.readline()
print(subprocess.run(json.loads(sys.argv[2]), stdin=sys.stdin, capture_output=True, text=True).stdout)
for s in servers:
    s.stdin.close()
    s.wait()
`

// The tools of the agent's own sbx mcp ask themselves, so that the hook does not ask about the same call before.
// Another server of that name changes nothing, nor one of another agent. R-AP-24, R-IP-03
func TestHookKnowsOurServer(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		st := newStage(a, answeredTimes)
		asked := answerAll(t, st, ipc.Answer{Mode: "soft", Note: "no"})
		sbx := filepath.Join(bin, "sbx")
		a.sh("cp " + filepath.Join(bin, "sbx-mcp") + " .")
		ours := []string{sbx, "mcp"}
		for _, c := range []struct {
			name, tool string
			servers    [][]string
			want       string
		}{
			{"ours", "mcp__sandboxd__exec", [][]string{ours}, "allow"},
			{"ours, by a shell", "mcp__sandboxd__write", [][]string{{"/bin/sh", "-c", sbx + " mcp; true"}}, "allow"},
			{"none", "mcp__sandboxd__exec", [][]string{}, "ask"},
			{"another name", "mcp__other__exec", [][]string{ours}, "ask"},
			{"no tool of ours", "mcp__sandboxd__exfiltrate", [][]string{ours}, "ask"},
			{"a copy", "mcp__sandboxd__exec", [][]string{{"./sbx-mcp", "--socket-dir", a.socketDir()}}, "ask"},
			{"a name only", "mcp__sandboxd__exec", [][]string{{"/bin/sh", "-c", "read x; echo; exec -a sbx-mcp cat"}}, "ask"},
			{"another agent's", "mcp__sandboxd__exec", [][]string{{"/usr/bin/python3", "-c",
				"import subprocess, sys; sys.exit(subprocess.run(" + string(jsonOf(t, ours)) + ").returncode)"}}, "ask"},
		} {
			before := asked.Load()
			input := call("claude", a.project, c.tool, map[string]any{"command": "echo hi > f"})
			r := a.do(strings.NewReader(input), "/usr/bin/python3", "-c", fakeAgent, string(jsonOf(t, c.servers)),
				string(jsonOf(t, []string{"/bin/sh", "-c", sbx + " hook claude --agent-version 2.1.330"})))
			var answer hookAnswer
			if err := json.Unmarshal([]byte(r.out), &answer); err != nil || answer.HookSpecificOutput == nil {
				t.Errorf("%s: %v", c.name, r)
				continue
			}
			got := answer.HookSpecificOutput.PermissionDecision
			if asked.Load() > before {
				got = "ask"
			}
			if got != c.want {
				t.Errorf(
					"%s: got %s (%s), want %s",
					c.name,
					got,
					answer.HookSpecificOutput.PermissionDecisionReason,
					c.want,
				)
			}
		}
		st.configure(t, answeredTimes+"[[tools.rules]]\ntool = \"mcp__sandboxd__exec\"\ndecision = \"deny\"\n")
		r := a.do(strings.NewReader(call("claude", a.project, "mcp__sandboxd__exec", map[string]any{})),
			"/usr/bin/python3", "-c", fakeAgent, string(jsonOf(t, [][]string{ours})),
			string(jsonOf(t, []string{sbx, "hook", "claude"})))
		if !strings.Contains(r.out, `"deny"`) {
			t.Errorf("a rule that denies: %v", r)
		}
	})
}

func jsonOf(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// parallelAgent runs all its hooks at once, as Claude Code and Codex do: one denial is enough, and the command of the
// hook that ends last is run. Then it runs our hook after the call.
const parallelAgent = `
import json, subprocess, sys, threading
spec = json.load(sys.stdin)
call, ended = spec["call"], []
def ask(hook):
    r = subprocess.run(hook, input=json.dumps(call), capture_output=True, text=True)
    ended.append((r.returncode, r.stdout))
threads = [threading.Thread(target=ask, args=(hook,)) for hook in spec["hooks"]]
for t in threads: t.start()
for t in threads: t.join()
command = call["tool_input"]["command"]
for status, out in ended:
    answer = json.loads(out)["hookSpecificOutput"] if out else {}
    if status == 2 or answer.get("permissionDecision") == "deny":
        print("denied")
        sys.exit()
    command = answer.get("updatedInput", {}).get("command", command)
subprocess.run(["/bin/sh", "-c", command])
call.update(hook_event_name="PostToolUse", tool_response={})
print("after:", subprocess.run(spec["ours"], input=json.dumps(call), capture_output=True, text=True).stdout)
`

// Beside another hook that rewrites each command, before or behind ours in the list and with any delay, no command runs
// without a yes, and one that ran as the other hook wrote it is on record and ends the turn. R-IP-03
func TestHookBesideAnother(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		st := newStage(a, answeredTimes)
		var yes atomic.Bool
		var asked atomic.Int32
		st.persons["terminal"].answering(t, func(ipc.Approval) ipc.Answer {
			if asked.Add(1); yes.Load() {
				return ipc.Answer{Allow: true}
			}
			return ipc.Answer{Mode: "soft", Note: "no"}
		})
		ours := []string{filepath.Join(bin, "sbx"), "hook", "claude", "--agent-version", "2.1.330"}
		type attempt struct{ id, out string }
		try := func(allowed bool) (list []attempt) {
			yes.Store(allowed)
			done := make(chan attempt)
			for _, delay := range []string{"0", "0.05", "0.2", "1", "2"} {
				for _, first := range []bool{true, false} {
					id := fmt.Sprintf("call-%t-%s-%t", allowed, delay, first)
					other := []string{
						"/bin/sh",
						"-c",
						"sleep " + delay + `; echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse",` +
							`"permissionDecision":"allow","updatedInput":{"command":"echo by another > other-` + id + `"}}}'`,
					}
					hooks := [][]string{ours, other}
					if !first {
						hooks = [][]string{other, ours}
					}
					input := event(
						t,
						call("claude", a.project, "Bash", bash("echo hi > made-"+id)),
						map[string]any{"tool_use_id": id},
					)
					spec := jsonOf(t, map[string]any{"call": json.RawMessage(input), "hooks": hooks, "ours": ours})
					go func() {
						done <- attempt{id, a.do(bytes.NewReader(spec), "/usr/bin/python3", "-c", parallelAgent).String()}
					}()
				}
			}
			for range 10 {
				list = append(list, <-done)
			}
			return list
		}
		for _, tried := range try(false) {
			if !strings.Contains(tried.out, "denied") || a.there("made-"+tried.id) || a.there("other-"+tried.id) {
				t.Errorf("%s, after a no: %s", tried.id, tried.out)
			}
		}
		byAnother, ran := 0, try(true)
		log := a.sbx("log", "--json").out
		for _, tried := range ran {
			inside, outside := a.there("made-"+tried.id), a.there("other-"+tried.id)
			noticed := strings.Contains(tried.out, `"continue":false`)
			recorded := regexp.MustCompile(`"operation":"outside".*"call_id":"` + tried.id + `"`).MatchString(log)
			if inside == outside || noticed != outside || recorded != outside {
				t.Errorf(
					"%s: ran inside: %t, outside: %t, noticed: %t, recorded: %t: %s",
					tried.id,
					inside,
					outside,
					noticed,
					recorded,
					tried.out,
				)
			}
			if outside {
				byAnother++
			}
		}
		if asked.Load() != 20 || byAnother == 0 {
			t.Errorf(
				"got %d questions, want 20; %d commands ran as the other hook wrote them, want some",
				asked.Load(),
				byAnother,
			)
		}
	})
}
