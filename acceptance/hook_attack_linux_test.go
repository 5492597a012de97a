package acceptance

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sandboxd/hook"
	"sandboxd/ipc"
)

// R-UX-06: whatever comes on standard input is answered, with a refusal in the
// vendor's form, and what is judged is what the agent would run.
func TestHookInput(t *testing.T) {
	t.Parallel()
	a := newActor(t, "")
	newStage(a, shortTimes)
	bashCall := func(input string) string {
		return strings.Replace(call("claude", a.project, "Bash", map[string]any{"XX": 1}), `{"XX":1}`, input, 1)
	}
	deep := strings.Repeat("[", 50000) + strings.Repeat("]", 50000)
	for name, c := range map[string]struct{ input, want string }{
		"blanks":                    {" \n\t ", "deny"},
		"a number":                  {"7", "deny"},
		"null":                      {"null", "deny"},
		"half of it":                {bashCall(`{"command":"ls"}`)[:40], "deny"},
		"two":                       {bashCall(`{"command":"ls"}`) + bashCall(`{"command":"ls"}`), "deny"},
		"deep":                      {deep, "deny"},
		"deep inside":               {bashCall(`{"command":"ls","x":` + deep + `}`), "deny"},
		"huge":                      {bashCall(`{"command":"ls","x":"` + strings.Repeat("x", 17<<20) + `"}`), "deny"},
		"a huge command":            {bashCall(`{"command":"` + strings.Repeat("x", 4<<20) + `"}`), "deny"},
		"bytes":                     {"\xff\xfe\x00", "deny"},
		"a tool that is a number":   {strings.Replace(bashCall(`{"command":"ls"}`), `"Bash"`, "7", 1), "deny"},
		"an unknown tool":           {strings.Replace(bashCall(`{"command":"ls"}`), `"Bash"`, `"\u202eBash"`, 1), "deny"},
		"an input that is a list":   {bashCall(`["ls"]`), "deny"},
		"an input that is a string": {bashCall(`"ls"`), "deny"},
		"a command that is a list":  {bashCall(`{"command":["ls"]}`), "deny"},
		"a command in another case": {bashCall(`{"Command":"ls"}`), "deny"},
		"an event in another case": {strings.Replace(bashCall(`{"command":"ls"}`), "hook_event_name", "Hook_Event_Name",
			1), "deny"},
		"two commands":                {bashCall(`{"command":"rm -rf /","Command":"ls"}`), "deny"},
		"two commands, the other way": {bashCall(`{"Command":"rm -rf /","command":"ls"}`), "allow"},
		"a description that is none":  {bashCall(`{"command":"ls","description":{}}`), "allow"},
		"half a character":            {bashCall(`{"command":"echo \ud800"}`), "allow"},
		"more fields":                 {bashCall(`{"command":"ls","run_in_background":true,"x":{"y":[]}}`), "allow"},
	} {
		// In mode decide the agent runs the command itself: there the answer counts.
		patience := map[string]string{"allow": "1m", "deny": "3s"}[c.want]
		decision, reason, updated := a.hook(c.input, "claude", "--mode", "decide", "--patience", patience)
		if decision != c.want || reason == "" || updated != nil {
			t.Errorf("%s: %q %q %v", name, decision, reason, updated)
		}
	}
}

// A daemon that does not answer, and a caller that does not end its input, are
// refused in time.
func TestHookInTime(t *testing.T) {
	t.Parallel()
	a := newActor(t, "")
	newStage(a, shortTimes)
	program := filepath.Join(bin, "sbx")
	slow := func(in io.Reader, status int) string {
		cmd := a.command(t.Context(), program, "hook", "claude", "--agent-version", "2.1.330", "--patience", "2s")
		cmd.Stdin = in
		var out safeBuffer
		cmd.Stdout, cmd.Stderr = &out, &out
		began := time.Now()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		state, err := cmd.Process.Wait()
		if err != nil || state.ExitCode() != status || time.Since(began) > 30*time.Second {
			t.Errorf("%v, %v after %s", state, err, time.Since(began))
		}
		eventually(t, "it has answered", func() bool { return strings.HasSuffix(out.String(), "\n") })
		return out.String()
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	w.WriteString(call("claude", a.project, "Bash", bash("ls"))[:50])
	if out := slow(r, hook.RefusalStatus); !strings.Contains(out, "in time") {
		t.Errorf("no end of the input: %q", out)
	}
	w.Close()
	a.daemon.Process.Signal(syscall.SIGSTOP)
	defer a.daemon.Process.Signal(syscall.SIGCONT)
	out := slow(strings.NewReader(call("claude", a.project, "Bash", bash("ls"))), 0)
	if !strings.Contains(out, `"permissionDecision":"deny"`) || !json.Valid([]byte(out)) {
		t.Errorf("a daemon that hangs: %q", out)
	}
}

// R-SH-05: the agent's own shell parses the rewritten line to the command that the
// model wrote, whatever characters the path of sbx contains.
func TestHookQuoting(t *testing.T) {
	t.Parallel()
	a := newActor(t, "")
	st := newStage(a, "[approval]\ntimeout = \"60s\"\n")
	st.persons["terminal"].answering(t, func(ipc.Approval) ipc.Answer { return ipc.Answer{Allow: true} })
	// sbx and its daemon in a folder with a name that needs quoting.
	odd := filepath.Join(a.dir, `it's "my" $(tools)`)
	if err := os.Mkdir(odd, 0o755); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(odd, "sbx")
	if out, err := exec.Command("cp", filepath.Join(bin, "sbx"), filepath.Join(bin, "sbx-verbs"),
		odd).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	for i, command := range []string{
		`printf '%s\n' "a'b" 'c"d' "$((1+1))" \$HOME` + " \"`echo x`\"",
		"cat <<'EOF'\nit's \"quoted\" $HOME `x`\n\ttab\nEOF",
		"cat <<EOF\n$((1+2)) \\$x\nEOF\necho after",
		"echo a\necho b # it's a comment\n\necho c",
		`printf 'é\t😀\n'; echo 'trailing \'; echo "!x" '!!' ~+`,
		"for i in 1 '2 3'; do\n  echo \"$i\"\ndone | tr 2 4 && (echo sub; exit 3)",
		"echo one \\\n  two; echo '-c' --ticket x -- \"\"",
		"false || { echo >&2 err; exit 7; }",
	} {
		plain := a.do(nil, "/bin/bash", "-c", command)
		v, shell := "claude", func(line string) []string {
			return []string{"-c", "eval " + hook.Quote(line) +
				" < /dev/null"}
		}
		if i%2 == 1 {
			v, shell = "codex", func(line string) []string { return []string{"-lc", line} }
		}
		r := a.do(
			strings.NewReader(call(v, a.project, "Bash", bash(command))),
			program,
			"hook",
			v,
			"--agent-version",
			"2.1.330",
		)
		var got hookAnswer
		if err := json.Unmarshal([]byte(r.out), &got); err != nil || got.HookSpecificOutput == nil {
			t.Errorf("%q: %v", command, r)
			continue
		}
		line, _ := got.HookSpecificOutput.UpdatedInput["command"].(string)
		ran := a.do(nil, "/bin/bash", shell(line)...)
		if ran.out != plain.out || ran.code != plain.code {
			t.Errorf("%q by %s's shell: %v\nwant %v\nline: %s", command, v, ran, plain, line)
		}
	}
}
