package acceptance

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sandboxd/ipc"
)

// puppet is an agent of the Agent Client Protocol that writes what its prompts say, as it is, and reports each answer
// that it gets.
const puppet = `import json, os, signal, sys, time
def say(m): sys.stdout.write(json.dumps(m, separators=(",", ":")) + "\n"); sys.stdout.flush()
def answer(q, result): say({"jsonrpc": "2.0", "id": q["id"], "result": result})
sessions = 0
for line in sys.stdin:
    q = json.loads(line)
    if "method" not in q:
        say({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s1", "got": q}})
    elif q["method"] == "initialize":
        login = {"id": "login", "name": "Log in", "_meta": {"terminal-auth": {"command": "sh"}}}
        answer(q, {"protocolVersion": 1, "authMethods": [login], "heard": q["params"], "pid": os.getpid()})
    elif q["method"] == "session/new":
        sessions += 1
        answer(q, {"sessionId": "s%d" % sessions})
    elif q["method"] == "session/prompt":
        text = q["params"]["prompt"][0]["text"]
        sys.stdout.write(text * q["params"]["prompt"][0].get("times", 1) + "\n"); sys.stdout.flush()
    else:
        say({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s1", "heard": line}})
if os.environ.get("DEAF"):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(3612)
`

// rpc is a message.
type rpc struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// editor is a client of sbx acp.
type editor struct {
	t     *testing.T
	in    io.WriteCloser
	lines chan string
	next  int
	end   func() error
	kill  func() error // of sbx acp
}

// edit starts an agent for an editor, and opens a session in the project.
func (a *actor) edit(capabilities string, args ...string) *editor {
	a.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cmd := a.command(ctx, filepath.Join(bin, "sbx"), append([]string{"acp"}, args...)...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		a.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		a.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		a.t.Fatal(err)
	}
	e := &editor{t: a.t, in: in, lines: make(chan string, 1000)}
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer close(e.lines)
		for r := bufio.NewReader(out); ; {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			e.lines <- line
		}
	}()
	e.kill = cmd.Process.Kill
	ended := false
	e.end = func() error {
		if ended {
			return nil
		}
		ended = true
		in.Close()
		defer cancel()
		select {
		case <-read:
		case <-time.After(patience):
			a.t.Error("the agent does not end with its input")
			cancel()
		}
		return cmd.Wait()
	}
	a.t.Cleanup(func() { e.end() })
	e.request("initialize", `{"protocolVersion":1,"clientCapabilities":`+capabilities+`}`)
	e.request("session/new", `{"cwd":"`+a.project+`","mcpServers":[]}`)
	return e
}

// request sends a request to the agent, and returns the result.
func (e *editor) request(method, params string) json.RawMessage {
	e.t.Helper()
	e.next++
	e.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, e.next, method, params))
	m := e.read()
	if string(m.ID) != fmt.Sprint(e.next) || m.Result == nil {
		e.t.Fatalf("%s: got %+v", method, m)
	}
	return m.Result
}

func (e *editor) send(line string) {
	e.t.Helper()
	if _, err := io.WriteString(e.in, line+"\n"); err != nil {
		e.t.Fatal(err)
	}
}

// line returns the next line that reaches the editor.
func (e *editor) line() string {
	e.t.Helper()
	select {
	case line, ok := <-e.lines:
		if !ok {
			e.t.Fatal("sbx acp has ended")
		}
		return line
	case <-time.After(patience):
		e.t.Fatal("nothing reached the editor in a minute")
		return ""
	}
}

func (e *editor) read() (m rpc) {
	e.t.Helper()
	line := e.line()
	if err := json.Unmarshal([]byte(line), &m); err != nil {
		e.t.Fatalf("the editor got %q: %v", line, err)
	}
	return m
}

// says has the agent write a text, as it is.
func (e *editor) says(text string) {
	e.t.Helper()
	b, err := json.Marshal(text)
	if err != nil {
		e.t.Fatal(err)
	}
	e.send(`{"jsonrpc":"2.0","method":"session/prompt","params":{"sessionId":"s1","prompt":[{"type":"text","text":` +
		string(b) + `}]}}`)
}

// got returns the next answer that reached the agent.
func (e *editor) got() (m rpc) {
	e.t.Helper()
	var p struct{ Got *rpc }
	if got := e.read(); got.Method != "session/update" || json.Unmarshal(got.Params, &p) != nil || p.Got == nil {
		e.t.Fatalf("the editor got %+v, want an answer to the agent", got)
	}
	return *p.Got
}

// asks has the agent send a request, and returns its answer.
func (e *editor) asks(method, params string) rpc {
	e.t.Helper()
	e.agentSends(method, params)
	m := e.got()
	if string(m.ID) != fmt.Sprintf(`"a%d"`, e.next) {
		e.t.Fatalf("%s %s: got %+v", method, params, m)
	}
	return m
}

func (e *editor) agentSends(method, params string) {
	e.t.Helper()
	e.next++
	e.says(fmt.Sprintf(`{"jsonrpc":"2.0","id":"a%d","method":%q,"params":{"sessionId":"s1",%s}}`, e.next, method, params))
}

// refusedWith reports whether an answer is an error with these words.
func (m rpc) refusedWith(code int, words string) bool {
	return m.Error != nil && m.Error.Code == code && strings.Contains(m.Error.Message, words)
}

// run has the agent run a line in a terminal, and returns the output and the end.
func (e *editor) run(params string) (output, status string) {
	e.t.Helper()
	m := e.asks("terminal/create", params)
	var c struct{ TerminalID string }
	if json.Unmarshal(m.Result, &c) != nil || c.TerminalID == "" {
		e.t.Fatalf("terminal/create %s: got %+v", params, m)
	}
	id := `"terminalId":"` + c.TerminalID + `"`
	status = string(e.asks("terminal/wait_for_exit", id).Result)
	output = string(e.asks("terminal/output", id).Result)
	if m := e.asks("terminal/release", id); m.Error != nil {
		e.t.Errorf("terminal/release: %+v", m)
	}
	if m := e.asks("terminal/output", id); !m.refusedWith(-32002, "was released") {
		e.t.Errorf("a released terminal: %+v", m)
	}
	return output, status
}

// newPuppet starts the puppet for an editor.
func newPuppet(t *testing.T, a *actor, config, capabilities string, decide func(ipc.Approval) ipc.Answer,
	args ...string,
) *editor {
	t.Helper()
	a.do(strings.NewReader(puppet), "/bin/sh", "-c", "cat > agent.py")
	st := newStage(a, config)
	st.persons["terminal"].answering(t, func(q ipc.Approval) ipc.Answer {
		if len(q.Argv) > 1 && q.Argv[1] == "agent.py" {
			return ipc.Answer{Allow: true}
		}
		return decide(q)
	})
	return a.edit(capabilities, append(args, "--", "python3", "agent.py")...)
}
