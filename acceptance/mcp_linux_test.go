package acceptance

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sandboxd/ipc"
)

// mcpClient drives the real `sbx mcp` with the go-sdk's client.
func (a *actor) mcpClient() *mcp.ClientSession { return a.mcpClientWith(nil, nil) }

func (a *actor) mcpClientWith(o *mcp.ClientOptions, so *mcp.ClientSessionOptions) *mcp.ClientSession {
	a.t.Helper()
	cmd := a.command(context.Background(), filepath.Join(bin, "sbx"), "mcp") // it ends with its input
	var errs safeBuffer
	cmd.Stderr = &errs
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o)
	s, err := client.Connect(a.t.Context(), &mcp.CommandTransport{Command: cmd}, so)
	if err != nil {
		a.t.Fatalf("sbx mcp: got %v, %s, want a connection", err, errs.String())
	}
	a.t.Cleanup(func() {
		if err := s.Close(); err != nil || errs.String() != "" {
			a.t.Errorf("end of sbx mcp: got %v and the messages %q, want no error and no message", err, errs.String())
		}
	})
	return s
}

// tool calls one, and returns its text, its structured answer, and whether it
// is a refusal.
func tool(
	t *testing.T, s *mcp.ClientSession, name string, args map[string]any,
) (text string, structured map[string]any, isError bool) {
	t.Helper()
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		t.Fatalf("%s %v: got %v, want an answer", name, args, err)
	}
	for _, c := range r.Content {
		if c, ok := c.(*mcp.TextContent); ok {
			text += c.Text
		}
	}
	structured, _ = r.StructuredContent.(map[string]any)
	return text, structured, r.IsError
}

// answering answers every question as decide says, until the test is over; what
// decide says nothing about stays open.
func (p *peer) answering(t *testing.T, decide func(q ipc.Approval) ipc.Answer) {
	t.Helper()
	news, err := p.approver.News(t.Context(), ipc.NewsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	t.Cleanup(func() { news.Close(); <-ended })
	go func() {
		defer close(ended)
		for {
			n, err := news.Next(t.Context())
			if err != nil {
				return
			}
			if n.Type != ipc.NewsRequested || n.Approval == nil {
				continue
			}
			// One that changed since is looked at again.
			for tries := 0; tries < 100 && p.answer(t.Context(), n.Approval.ID, decide) == ipc.CodeStale; tries++ {
				time.Sleep(10 * time.Millisecond)
			}
		}
	}()
}

// answer answers one question, twice where that is wanted; the code says why not.
func (p *peer) answer(ctx context.Context, id string, decide func(q ipc.Approval) ipc.Answer) ipc.Code {
	q, err := p.approver.Approval(ctx, ipc.ApprovalRequest{ID: id})
	if err != nil {
		return ipc.CodeOf(err) // withdrawn meanwhile
	}
	a := decide(q)
	if reflect.ValueOf(a).IsZero() {
		return "" // it is somebody else's to answer
	}
	a.ID, a.Rev, a.Hash = q.ID, q.Rev, q.Hash
	d, err := p.approver.Decide(ctx, a)
	if err == nil && d.ConfirmAgain {
		a.Rev, a.Confirm = d.Rev, true
		_, err = p.approver.Decide(ctx, a)
	}
	return ipc.CodeOf(err)
}

// yesUnlessNo refuses what has the word "no" in it.
func yesUnlessNo(q ipc.Approval) ipc.Answer {
	if strings.Contains(q.Description+q.Command+string(q.Input), "no ") || strings.Contains(string(q.Input), `"no"`) {
		return ipc.Answer{Mode: "soft", Note: "no means no"}
	}
	return ipc.Answer{Allow: true}
}

// A real client drives every tool: answers, refusals, a cancelled call and a
// long run.
//
//   - Row 002-31 yes: the SDK's permission callback, as the tool approve of sbx mcp
func TestMCP(t *testing.T) {
	t.Parallel()
	a, person := workshop(t)
	person.answering(t, yesUnlessNo)
	s := a.mcpClient()
	list, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, x := range list.Tools {
		switch hints := x.Annotations; {
		case hints != nil && hints.ReadOnlyHint:
			got = append(got, x.Name+"(reads)")
		case hints != nil && hints.DestructiveHint != nil && *hints.DestructiveHint:
			got = append(got, x.Name)
		default:
			got = append(got, x.Name+"(no hint)")
		}
	}
	const want = "approve(reads) cancel changes edit exec grep(reads) list(reads) output(reads) read(reads) " +
		"status(reads) undo write"
	if got := strings.Join(got, " "); got != want {
		t.Errorf("tools: got %s, want %s", got, want)
	}
	client := mcpSteps{a, s}
	client.play(t, mcpCommands, mcpFiles)
	client.longRun(t)
	client.withdrawn(t)
	client.prompts(t)
	// The daemon goes away, and comes back with other sessions.
	a.start()
	tool(t, s, "status", nil)
	client.play(t, []mcpStep{{tool: "status", name: "after the daemon's restart"}})
}

// R-LY-05: a client has a command's changes held, looks at them, lands a part and drops the rest.
func TestMCPHeldChanges(t *testing.T) {
	t.Parallel()
	a := newActor(t, "")
	a.nativeBackend("--mode", "approve-all")
	s := a.mcpClient()
	text, out, failed := tool(t, s, "exec", map[string]any{"command": "echo x > one; echo y > two", "hold": true})
	if failed || a.there("one") || a.there("two") {
		t.Fatalf("hold: got %s %v, one %v, two %v; want neither file", text, out, a.there("one"), a.there("two"))
	}
	held := func(want string, args map[string]any) string {
		t.Helper()
		text, _, failed := tool(t, s, "changes", args)
		if failed || !strings.Contains(text, want) {
			t.Fatalf("%v: got %s, want %s", args, text, want)
		}
		return text
	}
	var list ipc.HeldChanges
	if err := json.Unmarshal([]byte(held(`"id"`, nil)), &list); err != nil || len(list.Changes) != 1 {
		t.Fatalf("got %+v, %v, want one held change", list, err)
	}
	id := list.Changes[0].ID
	held(`"content":"x`, map[string]any{"id": id})
	held("undo_id", map[string]any{"id": id, "do": "land", "paths": []string{"one"}})
	held("", map[string]any{"id": id, "do": "drop"})
	if got, want := a.sh("cat one; ls"), "x\nREADME\none\n"; got != want {
		t.Errorf("landed: got %q, want %q", got, want)
	}
	if text, _, failed := tool(t, s, "undo", map[string]any{"undo_id": "last"}); failed || a.there("one") {
		t.Errorf("undo: got %s, failed %v, one %v; want neither", text, failed, a.there("one"))
	}
	held(`"changes":[]`, nil)
}

// mcpStep is one call of a tool and what it returns.
type mcpStep struct {
	name, tool string
	args       map[string]any
	fails      bool
	text       string // a part of the text
	// out is a part of the structured answer. Some clients show the model nothing else, so a failure without out has
	// none.
	out  map[string]any
	file string // the content of the file "new" then; "": any
}

// anyText is a value of an answer that is not known before.
const anyText = "any text"

// mcpCommands are commands that end.
var mcpCommands = []mcpStep{
	{name: "an exit status", tool: "exec", args: map[string]any{"command": "cat README; cat absent"}, fails: true,
		text: "No such file", out: map[string]any{"exit_code": 1.0, "stdout": "hello\n"}},
	{name: "input", tool: "exec", args: map[string]any{"argv": []string{"cat"}, "stdin": "in\n", "cwd": "."},
		out: map[string]any{"stdout": "in\n", "sandbox": anyText}},
	{name: "a refusal", tool: "exec", args: map[string]any{"command": "touch no thing"}, fails: true, text: "no means no"},
	{name: "a bad root", tool: "exec", args: map[string]any{"command": "ls", "root": "/"}, fails: true},
	{name: "a relative root", tool: "exec", args: map[string]any{"command": "ls", "root": "relative"}, fails: true,
		text: "absolute"},
}

// mcpFiles are operations on files, in this order.
var mcpFiles = []mcpStep{
	{name: "write", tool: "write", args: map[string]any{"path": "new", "content": "one\ntwo\n"},
		out: map[string]any{"undo_id": anyText}, file: "one\ntwo\n"},
	{name: "edit", tool: "edit", args: edits("two", "three"), file: "one\nthree\n"},
	{name: "an edit that fits nowhere", tool: "edit", args: edits("absent", ""), fails: true},
	{name: "read", tool: "read", args: map[string]any{"path": "new"}, text: "one\nthree\n"},
	{name: "read a secret", tool: "read", args: map[string]any{"path": "/etc/shadow"}, fails: true},
	{name: "grep", tool: "grep", args: map[string]any{"path": ".", "pattern": "^thr"}, text: "new:2:three"},
	{name: "list", tool: "list", args: map[string]any{"path": "."}, text: "README"},
	{name: "undo", tool: "undo", args: map[string]any{"undo_id": "last"}, file: "one\ntwo\n"},
}

// edits are the arguments of an edit of the file "new".
func edits(find, replace string) map[string]any {
	return map[string]any{"path": "new", "edits": []any{map[string]any{"find": find, "replace": replace}}}
}

// mcpSteps is a client of the server.
type mcpSteps struct {
	a *actor
	s *mcp.ClientSession
}

func (c mcpSteps) play(t *testing.T, tables ...[]mcpStep) {
	t.Helper()
	for _, step := range slices.Concat(tables...) {
		text, out, failed := tool(t, c.s, step.tool, step.args)
		if failed != step.fails || !strings.Contains(text, step.text) || failed && text == "" {
			t.Errorf("%s: got %q, failed %v; want %q, failed %v", step.name, text, failed, step.text, step.fails)
		}
		if failed && step.out == nil && out != nil {
			t.Errorf("%s: got %v, want no structured answer", step.name, out)
		}
		for key, want := range step.out {
			if got := out[key]; got != want && (want != anyText || got == nil || got == "") {
				t.Errorf("%s: got %s %v, want %v", step.name, key, got, want)
			}
		}
		if step.file == "" {
			continue
		}
		if got := c.a.sh("cat new"); got != step.file {
			t.Errorf("%s: got the content %q, want %q", step.name, got, step.file)
		}
	}
}

// longRun reads a long run on, and ends it.
func (c mcpSteps) longRun(t *testing.T) {
	text, out, failed := tool(t, c.s, "exec", map[string]any{"command": "cat README; sleep 600", "wait_ms": 1500})
	handle, _ := out["handle"].(string)
	if failed || handle == "" || out["running"] != true || out["stdout"] != "hello\n" || !strings.Contains(text, handle) {
		t.Fatalf("got %s %v, want a command that runs, with a handle", text, out)
	}
	_, out, _ = tool(t, c.s, "status", nil)
	if got := strings.Join(texts(out["commands"]), " "); out["trusted"] != true || !strings.Contains(got, handle) {
		t.Errorf("got the status %v, want a trusted project and %s", out, handle)
	}
	c.play(t, []mcpStep{
		{name: "read on", tool: "output", args: map[string]any{"handle": handle, "wait_ms": 50},
			out: map[string]any{"running": true, "stdout": ""}},
		{name: "cancel", tool: "cancel", args: map[string]any{"handle": handle}, fails: true,
			out: map[string]any{"running": false}},
		{name: "after its end", tool: "output", args: map[string]any{"handle": handle}, fails: true},
	})
}

// withdrawn takes a call back, which ends its command.
func (c mcpSteps) withdrawn(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
	defer cancel()
	args := map[string]any{"command": "sleep 654"}
	if _, err := c.s.CallTool(ctx, &mcp.CallToolParams{Name: "exec", Arguments: args}); err == nil {
		t.Error("got an answer to a call that was taken back, want an error")
	}
	eventually(t, "the command of a call that was taken back has ended", func() bool { return !running("sleep 654") })
}

// prompts are questions of the permission prompt.
func (c mcpSteps) prompts(t *testing.T) {
	const asks, denies = "mcp__x__y", `"behavior":"deny"`
	bash := map[string]any{"command": "ls", "timeout": 5}
	for _, p := range []struct {
		in   map[string]any
		want string
	}{
		{map[string]any{"tool_name": "Bash", "input": bash, "tool_use_id": "toolu_1", "cwd": c.a.project},
			`{"behavior":"allow","updatedInput":{"command":"ls","timeout":5}}`},
		{map[string]any{"tool_name": asks, "input": map[string]any{"q": "yes"}},
			`{"behavior":"allow","updatedInput":{"q":"yes"}}`},
		{map[string]any{"tool_name": asks, "input": map[string]any{"q": "no"}}, denies},
		{map[string]any{"tool_name": "", "input": map[string]any{}}, denies},
	} {
		if text, _, _ := tool(t, c.s, "approve", p.in); !strings.Contains(text, p.want) || !json.Valid([]byte(text)) {
			t.Errorf("approve %v: got %s, want JSON with %s", p.in, text, p.want)
		}
	}
}

// A permission prompt does not contain the current directory of the agent's shell. The daemon does
// not judge the command as one in the project, where git would start no program, and the question
// shows no guessed directory. R-AP-14, R-IP-04
func TestPromptWithoutDirectory(t *testing.T) {
	t.Parallel()
	a, person := workshop(t)
	a.sh("mkdir sub && cd sub && git init -q . && git config core.fsmonitor 'touch /tmp/never'")
	questions := make(chan ipc.Approval, 8)
	person.answering(t, func(q ipc.Approval) ipc.Answer {
		questions <- q
		return ipc.Answer{Mode: "soft", Note: "not there"}
	})
	s := a.mcpClient()
	for _, c := range []struct {
		command, cwd string
		asks         bool
	}{
		{"git status", a.project, false},
		{"git status", "", true},
		{"cat README", "", true},
		{"cat " + a.project + "/README", "", false},
		{"echo hello", "", false},
	} {
		in := map[string]any{"tool_name": "Bash", "input": map[string]any{"command": c.command}}
		if c.cwd != "" {
			in["cwd"] = c.cwd
		}
		text, _, _ := tool(t, s, "approve", in)
		if c.asks != strings.Contains(text, `"behavior":"deny"`) || c.asks != (len(questions) > 0) {
			t.Errorf("%s in %q: got %s and %d questions, want one: %v", c.command, c.cwd, text, len(questions), c.asks)
		}
		for range len(questions) {
			const why = "does not say in which directory"
			if q := <-questions; q.Cwd != "" || !strings.Contains(strings.Join(q.Reasons, "\n"), why) {
				t.Errorf("question: got the directory %q and %q, want none and %q", q.Cwd, q.Reasons, why)
			}
		}
	}
}

// What our own programs ask for is asked for somebody else: their executables are nobody's
// identity, to which a lasting yes for this agent could be given, and every agent would then
// have it. R-AP-08
func TestOurProgramsAreNoIdentity(t *testing.T) {
	t.Parallel()
	a, person := workshop(t)
	questions := make(chan ipc.Approval, 1)
	person.answering(t, func(q ipc.Approval) ipc.Answer {
		questions <- q
		return ipc.Answer{Mode: "soft", Note: "not now"}
	})
	check := func(way, name string) {
		t.Helper()
		if len(questions) != 1 {
			t.Fatalf("%s: got %d questions, want 1", way, len(questions))
		}
		if q := <-questions; q.Agent != name || !q.Claimed || slices.Contains(q.Scopes, "agent") {
			t.Errorf("%s: got the agent %q, claimed %v, with the scopes %q; want %q, claimed, without the scope agent",
				way, q.Agent, q.Claimed, q.Scopes, name)
		}
	}
	tool(t, a.mcpClient(), "exec", map[string]any{"command": "echo hi > new"})
	check("sbx mcp", `claims to be "MCP client"`)
	a.sbx("run", "--session", a.joined(), "-c", "echo hi > new")
	check("sbx session open", "unknown agent")
}

// running reports whether a process with that command line runs.
func running(cmdline string) bool {
	for _, p := range processes() {
		if p.state != 'Z' && strings.HasPrefix(p.cmdline, cmdline) {
			return true
		}
	}
	return false
}

func texts(v any) (list []string) {
	l, _ := v.([]any)
	for _, x := range l {
		s, _ := x.(string)
		list = append(list, s)
	}
	return list
}

// npmPackages installs packages of npm, by name and exact version, into a folder
// for the tests, and returns it.
func npmPackages(t *testing.T, names ...string) string {
	t.Helper()
	dir, err := os.MkdirTemp(bin, "packages-")
	if err != nil {
		t.Fatal(err)
	}
	os.Chmod(dir, 0o755)
	os.WriteFile(filepath.Join(dir, "package.json"), []byte(`{"type": "module", "private": true}`), 0o644)
	cmd := exec.Command("npm", append([]string{"install", "--no-audit", "--no-fund", "--no-package-lock",
		"--omit=optional", "--ignore-scripts", "--loglevel=error"}, names...)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("npm install %q: %v\n%s", names, err, out)
	}
	return dir
}

// The TypeScript SDK's client, and the inspector's command-line mode.
func TestMCPOfOthers(t *testing.T) {
	t.Parallel()
	a, person := workshop(t)
	person.answering(t, yesUnlessNo)
	dir := npmPackages(t, "@modelcontextprotocol/sdk@1.32.2", "@modelcontextprotocol/inspector-cli@0.14.3")
	for _, name := range []string{"client.mjs", "elicit.mjs"} {
		script, err := os.ReadFile("testdata/mcp/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), script, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	inspect := func(args ...string) result {
		// The arguments of the server come first, and its environment is named.
		all := []string{filepath.Join(dir, "node_modules/@modelcontextprotocol/inspector-cli/build/cli.js"), "--cli",
			"-e", "SBX_SOCKET_DIR=" + a.socketDir(), "-e", "SBX_STATE_DIR=" + a.stateDir(), filepath.Join(bin, "sbx"), "mcp"}
		return a.do(nil, node(t), append(all, args...)...)
	}
	call := func(arg string) result {
		return inspect("--method", "tools/call", "--tool-name", "exec", "--tool-arg", arg)
	}
	const done = "all is as it should be"
	for _, c := range []struct {
		name string
		got  result
		want []string // parts of the output
	}{
		{"the TypeScript SDK's client",
			a.do(nil, node(t), filepath.Join(dir, "client.mjs"), filepath.Join(bin, "sbx")), []string{done}},
		{"the inspector's list", inspect("--method", "tools/list"), []string{`"name": "exec"`}},
		{"a command of the inspector", call("command=cat README"), []string{`"stdout": "hello\n"`}},
		{"a refused one", call("command=touch no thing"), []string{`"isError": true`, "no means no"}},
	} {
		for _, want := range c.want {
			if c.got.code != 0 || !strings.Contains(c.got.out, want) {
				t.Errorf("%s: got %v, want exit 0 and %s", c.name, c.got, want)
			}
		}
	}
	// Where the configuration says so, the client's own user is asked.
	st := newStage(newActor(t, a.user()), clientAnswers)
	in, hold := io.Pipe()
	defer hold.Close()
	cmd := st.command(t.Context(), node(t), filepath.Join(dir, "elicit.mjs"), filepath.Join(bin, "sbx"))
	var out safeBuffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the script has ended", func() bool {
		return strings.Contains(out.String(), done) || strings.Contains(out.String(), "Error")
	})
	eventually(t, "the question of the call that was taken back is gone", func() bool {
		return len(pendingOf(t, st.persons["terminal"])) == 0
	})
	if strings.Contains(out.String(), "Error") {
		t.Errorf("the TypeScript SDK's client with a user: got %s, want no error", out.String())
	}
	hold.Close()
	cmd.Wait()
}
