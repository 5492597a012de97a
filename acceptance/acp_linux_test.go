package acceptance

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"sandboxd/ipc"
)

// An agent's commands, files and questions are judged in place of its editor: commands run in the sandbox, a refusal is
// an error with the reason, a person is asked once, and the agent itself is in the sandbox.
func TestACP(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		asked := 0
		e := newPuppet(t, a, "[[shell.rules]]\npattern = \"curl\"\nallowed = false\ndescription = \"no downloads\"\n"+
			"[files]\nhidden = [\".env\"]\n", `{}`, func(q ipc.Approval) ipc.Answer {
			asked++
			if strings.Contains(q.Command, "yes") {
				return ipc.Answer{Allow: true}
			}
			return ipc.Answer{Mode: "soft", Note: denial}
		})
		outside := filepath.Join(a.dir, "outside.txt")
		output, status := e.run(`"command":"cat README; ls ` + a.stateDir() + ` # yes"`)
		if !strings.Contains(output, "hello") || !strings.Contains(output, "No such file") ||
			!strings.Contains(status, `"exitCode":2`) {
			t.Errorf("a line of shell: %s, %s", output, status)
		}
		output, status = e.run(`"command":"echo","args":["one two","$HOME"],"outputByteLimit":6,` +
			`"env":[{"name":"CLAUDECODE","value":"1"}]`)
		if !strings.Contains(output, `"output":"$HOME\n","truncated":true`) || !strings.Contains(status, `"exitCode":0`) {
			t.Errorf("a program: %s, %s", output, status)
		}
		for _, c := range []struct {
			method, params string
			code           int
			words          string
		}{
			{"terminal/create", `"command":"curl http://x"`, -32003, "no downloads"},
			{"terminal/create", `"command":"touch no"`, -32003, denial},
			{"terminal/create", `"command":"ls","cwd":"docs"`, -32602, "cwd is no absolute path"},
			{"terminal/create", `"command":7`, -32602, "terminal/create: "},
			{"fs/write_text_file", `"path":"` + outside + `","content":"x"`, -32003, "none of the sandboxes"},
			{"fs/write_text_file", `"path":"` + a.home + `/.ssh/authorized_keys","content":"x"`, -32003, ""},
			{"fs/write_text_file", `"path":"x.txt","content":"x"`, -32602, "path is no absolute path"},
			{"fs/read_text_file", `"path":"` + a.project + `/.env"`, -32003, ""},
			{"fs/read_text_file", `"path":"` + a.project + `/absent"`, -32002, "Resource not found"},
			{"fs/read_text_file", `"path":"` + a.project + `/README","Path":"/etc/shadow"`, -32602, `"Path"`},
			{"fs/move", `"path":"x"`, -32601, "fs/move"},
		} {
			if m := e.asks(c.method, c.params); !m.refusedWith(c.code, c.words) {
				t.Errorf("%s %s: got %s %+v, want %d %q", c.method, c.params, m.Result, m.Error, c.code, c.words)
			}
		}
		if _, err := os.Lstat(outside); err == nil {
			t.Error("a refused write was made")
		}
		file := `"path":"` + a.project + `/new/file.txt"`
		m := e.asks("fs/write_text_file", file+`,"content":"1\n2\n3"`)
		if m.Error != nil || a.sh("cat new/file.txt") != "1\n2\n3" {
			t.Errorf("a write in the project: %+v", m.Error)
		}
		for params, want := range map[string]string{"": `1\n2\n3`, `,"line":2`: `2\n3`, `,"line":2,"limit":1`: `2\n`,
			`,"line":9`: "", `,"limit":0`: "", `,"line":3,"limit":7`: "3"} {
			if m := e.asks("fs/read_text_file", file+params); string(m.Result) != `{"content":"`+want+`"}` {
				t.Errorf("a read with %s: %s", params, m.Result)
			}
		}
		// One yes answers the question about the call and starts the command in a terminal, with the variables that the
		// agent has given its terminals before.
		const env = `,"env":[{"name":"CLAUDECODE","value":"1"}]`
		e.run(`"command":"pwd"` + env)
		before := asked
		m = e.asks("session/request_permission", e.permission("execute", `"rawInput":{"command":"touch yes"}`))
		if string(m.Result) != `{"outcome":{"outcome":"selected","optionId":"once"}}` {
			t.Errorf("a command that a person allows: %s %+v", m.Result, m.Error)
		}
		if _, status := e.run(`"command":"touch yes"` + env); asked != before+1 || !strings.Contains(status, `"exitCode":0`) {
			t.Errorf("%d questions for one command, %s", asked-before, status)
		}
		e.permissions(a)
	})
}

// permission are the parameters of a question about a tool call.
func (e *editor) permission(kind, call string) string {
	return `"toolCall":{"toolCallId":"` + fmt.Sprint(e.next) + `","kind":"` + kind + `",` + call + `},"options":[` +
		`{"optionId":"always","name":"Always","kind":"allow_always"},{"optionId":"once","name":"Yes","kind":"allow_once"},` +
		`{"optionId":"no","name":"No","kind":"reject_once"}]`
}

// permissions tries what is answered by itself, what is refused, and what reaches the editor.
func (e *editor) permissions(a *actor) {
	t := e.t
	t.Helper()
	at := func(name string) string { return `"locations":[{"path":"` + name + `"}]` }
	change := func(name string) string {
		return `"content":[{"type":"diff","path":"` + name + `","oldText":null,"newText":"x"}]`
	}
	const auto = `{"outcome":{"outcome":"selected","optionId":"once"}}`
	for _, c := range []struct{ kind, call, want string }{
		{"execute", `"rawInput":{"command":"git status"}`, auto},
		{"execute", `"rawInput":{"command":["ls","-l"]}`, auto},
		{"execute", `"rawInput":{"command":"curl http://x"}`, "no downloads"},
		{"execute", `"rawInput":{"command":"touch no"}`, denial},
		{"execute", `"title":"rm -rf /"`, "editor"},
		{"read", at(a.project + "/README"), auto},
		{"read", at(a.project + "/.env"), ".env"},
		{"read", at(a.home + "/.ssh/id_rsa"), "none of the sandboxes"},
		{"read", at(a.project + "/absent"), "editor"},
		{"read", at("README"), "editor"},
		{"edit", change(a.project + "/other.txt"), auto},
		{"edit", change(a.project+"/other.txt") + "," + at(a.project+"/README"), "editor"},
		{"edit", change(a.project + "/.git/hooks/pre-commit"), "editor"},
		{"edit", at(a.project + "/README"), "editor"},
		{"other", `"rawInput":{"command":"ls"}`, "editor"},
	} {
		e.agentSends("session/request_permission", e.permission(c.kind, c.call))
		m := e.read()
		if m.Method == "session/request_permission" {
			if c.want != "editor" {
				t.Errorf("%s %s reached the editor", c.kind, c.call)
			}
			e.send(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{"outcome":{"outcome":"selected","optionId":"no"}}}`)
			if m := e.got(); !strings.Contains(string(m.Result), `"no"`) {
				t.Errorf("the editor's answer: %+v", m)
			}
			continue
		}
		var p struct{ Got rpc }
		if err := json.Unmarshal(m.Params, &p); err != nil || !strings.Contains(string(p.Got.Result), c.want) &&
			!p.Got.refusedWith(-32003, c.want) {
			t.Errorf("%s %s: got %s %+v, want %s", c.kind, c.call, p.Got.Result, p.Got.Error, c.want)
		}
	}
}

// What passes is unchanged, the capabilities are the proxy's, no request for a file or a command reaches the editor in
// any disguise, and each message that is refused is answered with the reason.
func TestACPHostile(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		e := newPuppet(t, a, "", `{"fs":{"readTextFile":false},"_meta":{"x":1}}`, func(ipc.Approval) ipc.Answer {
			return ipc.Answer{Mode: "soft"}
		})
		heard := string(e.request("initialize", `{"protocolVersion":2,"clientCapabilities":{"terminal":false,"other":[1]}}`))
		for _, want := range []string{`"terminal":true`, `"readTextFile":true`, `"writeTextFile":true`, `"other":[1]`,
			`"protocolVersion":1`} {
			if !strings.Contains(heard, want) {
				t.Errorf("the agent heard %s, want %s", heard, want)
			}
		}
		if strings.Contains(heard, "terminal-auth") {
			t.Errorf("the editor is to run a program of the agent's: %s", heard)
		}
		const odd = `{ "method":"_ext/thing" ,"jsonrpc":"2.0", "params":{"a":"<\u00e9>\ud83d", "b":1, "b":1.50}}`
		e.says(odd)
		if got := e.line(); got != odd+"\n" {
			t.Errorf("the editor got %q, want %q", got, odd)
		}
		const read = `{"jsonrpc":"2.0","id":1,"method":"fs/read_text_file","params":{"sessionId":"s1","path":"/etc/passwd"}}`
		for text, want := range map[string]string{
			"not JSON":       "not JSON",
			`[` + read + `]`: "a batch",
			"{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":\r" + read + "\r}":           "a carriage return",
			`{"jsonrpc":"2.0","method":"x","id":1,"method":"fs/read_text_file"}`:           `"method" twice`,
			`{"jsonrpc":"2.0","Method":"fs/read_text_file","method":"x","id":1}`:           "JSON-RPC does not have: Method",
			`{"jsonrpc":"2.0","method":["fs/read_text_file"],"id":1}`:                      "the method is no text",
			`{"jsonrpc":"2.0","method":"x","result":1,"id":1}`:                             "a request and an answer at once",
			`{"jsonrpc":"2.0","id":1}`:                                                     "no method",
			`{"jsonrpc":"2.0","method":"x","id":{"a":1}}`:                                  "the id is no number and no text",
			`{"jsonrpc":"2.0","method":"fs/read_text_file","id":1,"params":[]}`:            "params is no object",
			`{"jsonrpc":"2.0","method":"terminal/output","id":1,"params":{"sessionId":7}}`: "no session has the sessionId 7",
			strings.Replace(read, `"s1"`, `"s9"`, 1):                                       `no session has the sessionId "s9"`,
		} {
			e.says(text)
			if m := e.got(); m.Error == nil || !strings.Contains(m.Error.Message, want) {
				t.Errorf("%q: got %+v, want %q", text, m, want)
			}
		}
		e.send(`{"jsonrpc":"2.0","method":"session/prompt","params":{"sessionId":"s1","prompt":[{"type":"text",` +
			`"text":"` + strings.Repeat("x", 1<<20) + `","times":70}]}}`)
		if m := e.got(); !m.refusedWith(-32600, "too long") {
			t.Errorf("a message of 70 MB: %+v", m)
		}
		e.terminals(a)
		// A notification with such a method has no effect, and an answer to nobody's request is passed on.
		e.says(strings.Replace(read, `"id":1,`, "", 1))
		e.says(`{"jsonrpc":"2.0","id":"nobody","result":{}}`)
		if m := e.read(); string(m.ID) != `"nobody"` {
			t.Errorf("got %+v", m)
		}
	})
}

// terminals tries terminals of others, ids that are in use, cancellation, and the end of commands.
func (e *editor) terminals(a *actor) {
	t := e.t
	t.Helper()
	e.request("session/new", `{"cwd":"`+a.project+`","mcpServers":[]}`)
	var c struct{ TerminalID string }
	m := e.asks("terminal/create", `"command":"echo started; sleep 3610"`)
	if err := json.Unmarshal(m.Result, &c); err != nil || c.TerminalID == "" {
		t.Fatalf("%+v", m)
	}
	id := `"terminalId":"` + c.TerminalID + `"`
	if m := e.asks("terminal/kill", `"terminalId":"nobody"`); !m.refusedWith(-32002, `no terminal "nobody"`) {
		t.Errorf("an unknown terminal: %+v", m)
	}
	e.says(`{"jsonrpc":"2.0","id":1,"method":"terminal/kill","params":{"sessionId":"s2",` + id + `}}`)
	if m := e.got(); !m.refusedWith(-32002, "no terminal") {
		t.Errorf("another session's terminal: %+v", m)
	}
	e.says(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"tool_call",` +
		`"toolCallId":"c","content":[{"type":"terminal",` + id + `},{"type":"x"}]}}}`)
	if got := e.line(); strings.Contains(got, c.TerminalID) || !strings.Contains(got, `{"type":"x"}`) {
		t.Errorf("a terminal that the editor does not know: %s", got)
	}
	wait := `{"jsonrpc":"2.0","id":7,"method":"terminal/wait_for_exit","params":{"sessionId":"s1",` + id + `}}`
	e.says(wait)
	e.says(wait)
	if m := e.got(); !m.refusedWith(-32600, "the id 7 is that of a request") {
		t.Errorf("an id in use: %+v", m)
	}
	e.says(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":7}}`)
	if m := e.got(); !m.refusedWith(-32800, "cancelled") || string(m.ID) != "7" {
		t.Errorf("a cancelled wait: %+v", m)
	}
	for begin := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		m := e.asks("terminal/output", id)
		if strings.Contains(string(m.Result), "exitStatus") {
			t.Errorf("a cancelled wait ended the command: %s", m.Result)
		}
		if strings.Contains(string(m.Result), "started") || time.Since(begin) > 20*time.Second {
			break
		}
	}
	e.agentSends("terminal/kill", id)
	killed, shown := false, false
	for range 2 { // in either order
		got := e.line()
		killed = killed || strings.Contains(got, `"got"`) && !strings.Contains(got, `"error"`)
		shown = shown || strings.Contains(got, `"toolCallId":"c"`) && strings.Contains(got, "started")
	}
	if !killed || !shown {
		t.Errorf("kill: done %t, its output shown %t", killed, shown)
	}
	if m := e.asks("terminal/wait_for_exit", id); !strings.Contains(string(m.Result), `"signal":"SIG`) {
		t.Errorf("after kill: %s %+v", m.Result, m.Error)
	}
}

// With --unsaved the editor reads what the session may read, and is sent no more than what was judged; an agent outside
// of the sandbox is served alike. A cancelled turn withdraws its questions, and the end of the editor ends all.
func TestACPOutside(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		put := make(chan bool, 8)
		e := newPuppet(t, a, "[files]\nhidden = [\".env\"]\n", `{"fs":{"readTextFile":true}}`, func(ipc.Approval) ipc.Answer {
			put <- true
			return ipc.Answer{} // nobody answers
		}, "--outside", "--unsaved")
		if len(put) > 0 {
			t.Error("the start of an agent outside of the sandbox is asked about")
		}
		a.sh("ln -s README link")
		e.agentSends("fs/read_text_file", `"path":"`+a.project+`/link","limit":3,"more":1`)
		got := e.line()
		want := fmt.Sprintf(`{"jsonrpc":"2.0","id":"a%d","method":"fs/read_text_file","params":{"sessionId":"s1",`+
			`"path":"%s/README","limit":3}}`+"\n", e.next, a.project)
		if got != want {
			t.Errorf("the editor is asked %s, want %s", got, want)
		}
		e.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"a%d","result":{"content":"unsaved"}}`, e.next))
		if m := e.got(); !strings.Contains(string(m.Result), "unsaved") {
			t.Errorf("got %+v", m)
		}
		if m := e.asks("fs/read_text_file", `"path":"`+a.project+`/.env"`); !m.refusedWith(-32003, ".env") {
			t.Errorf("a hidden file: %+v", m)
		}
		for _, c := range []struct{ method, params, want string }{
			{"terminal/create", `"command":"touch x"`, "cancelled"},
			{"session/request_permission", e.permission("execute", `"rawInput":{"command":"touch x"}`), `"outcome":"cancelled"`},
		} {
			e.agentSends(c.method, c.params)
			select {
			case <-put:
			case <-time.After(time.Minute):
				t.Fatalf("%s: nobody is asked", c.method)
			}
			e.send(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s1"}}`)
			for answered, heard := false, false; !answered || !heard; { // the agent hears of it, too
				line := e.line()
				heard = heard || strings.Contains(line, "session/cancel")
				answered = answered || strings.Contains(line, c.want)
			}
		}
		e.asks("terminal/create", `"command":"sleep 3611"`)
		if err := e.end(); err != nil {
			t.Errorf("the agent ended with %v", err)
		}
	})
}

// An agent that ends neither with its editor's messages nor by SIGTERM is ended, and one outside of the sandbox dies
// with sbx acp.
func TestACPDeafAgent(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		nobody := func(ipc.Approval) ipc.Answer { return ipc.Answer{} }
		inside := newPuppet(t, a, "", `{}`, nobody, "-e", "DEAF=1")
		outside := a.edit(`{}`, "--outside", "-e", "DEAF=1", "--", "python3", "agent.py")
		var ends sync.WaitGroup
		for name, e := range map[string]*editor{"inside": inside, "outside": outside} {
			ends.Go(func() {
				if err := e.end(); err == nil {
					t.Errorf("%s: the agent ended by itself", name)
				}
			})
		}
		ends.Wait()
		e := a.edit(`{}`, "--outside", "--", "python3", "agent.py")
		var heard struct{ Pid int }
		if err := json.Unmarshal(e.request("initialize", `{"protocolVersion":1}`), &heard); err != nil || heard.Pid == 0 {
			t.Fatalf("no pid: %v", err)
		}
		if err := e.kill(); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the agent's end", func() bool {
			_, err := os.Stat(fmt.Sprintf("/proc/%d", heard.Pid))
			return err != nil
		})
	})
}
