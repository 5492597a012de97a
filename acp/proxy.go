package acp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"sync"

	"sandboxd/internal/jsonrpc"
	"sandboxd/ipc"
)

// Proxy serves one agent to one editor.
type Proxy struct {
	// Name is the agent's, for questions.
	Name string
	// Connect finds the daemon, or starts one. The proxy does not close the client.
	Connect func(context.Context) (*ipc.Client, error)
	// Agent and Editor take the messages for them.
	Agent, Editor io.Writer
	// Outside: the agent has no sandbox, and the directory of a command of its own is not known.
	Outside bool
	// Unsaved: the editor is asked for the text of a file that may be read, so that the agent sees unsaved changes.
	Unsaved bool

	toAgent, toEditor sync.Mutex

	mu        sync.Mutex
	sessions  map[string]*session  // by the agent's id
	opening   map[string]string    // directories by the ids of the editor's requests for sessions
	starting  string               // id of the editor's initialize, while it is not answered
	reads     bool                 // the editor reads files
	serving   map[string]*call     // by the ids of the agent's requests
	terminals map[string]*terminal // by their ids
	work      sync.WaitGroup       // of serving
}

// maxMessage bounds a message, in bytes; maxServing bounds the agent's requests at once, maxSessions its sessions.
const (
	maxMessage  = 64 << 20
	maxServing  = 256
	maxSessions = 256
)

// members are the names that a message may have.
var members = []string{"jsonrpc", "id", "method", "params", "result", "error"}

// FromEditor carries the editor's messages until their end.
func (p *Proxy) FromEditor(ctx context.Context, r io.Reader) error {
	return messages(r, p.editor, func(m jsonrpc.Message, line []byte) error {
		line, err := p.heard(ctx, m, line)
		if err != nil {
			return p.editor(failed(m["id"], err))
		}
		return p.agent(line)
	})
}

// messages passes each message of r on until the end. It answers a line that is none.
func messages(r io.Reader, answer func([]byte) error, take func(m jsonrpc.Message, line []byte) error) error {
	return jsonrpc.Lines(r, maxMessage, func(line []byte, err error) error {
		if len(bytes.TrimSpace(line)) == 0 && err == nil {
			return nil
		}
		var m jsonrpc.Message
		if err == nil {
			m, err = jsonrpc.Read(line)
		}
		if err != nil {
			return answer(unread(err))
		}
		return take(m, line)
	})
}

// heard notes sessions and turns from a message of the editor, and returns the message for the agent.
func (p *Proxy) heard(ctx context.Context, m jsonrpc.Message, line []byte) ([]byte, error) {
	switch method := m.Text("method"); method {
	case "initialize":
		return p.amended(m)
	case "session/new", "session/load", "session/resume", "session/fork":
		return line, p.open(m, method)
	case "session/prompt":
		p.turn(ctx, m)
	case "session/cancel":
		p.interrupt(m)
	case "session/close", "session/delete":
		p.forget(ctx, m)
	}
	return line, nil
}

// FromAgent carries the agent's messages until their end, serves its requests, and waits for them.
func (p *Proxy) FromAgent(ctx context.Context, r io.Reader) error {
	ctx, cancel := context.WithCancel(ctx)
	defer p.work.Wait()
	defer cancel()
	return messages(r, p.agent, func(m jsonrpc.Message, line []byte) error {
		if err := check(m); err != nil {
			return p.agent(failed(m["id"], err))
		}
		switch method := m.Text("method"); {
		case m["method"] == nil:
			return p.editor(p.answered(m, line))
		case method == "$/cancel_request" && p.withdraw(m):
			return nil
		case method == "session/update":
			return p.editor(p.note(m, line))
		case served(method):
			return p.serve(ctx, m, line)
		}
		return p.editor(line)
	})
}

// check refuses a message of the agent that is no message of JSON-RPC, or that another reader may take for another one.
func check(m jsonrpc.Message) error {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if !slices.Contains(members, name) {
			return &Error{Code: invalidRequest, Message: "the message has a member that JSON-RPC does not have: " + name}
		}
	}
	id := bytes.TrimSpace(m["id"])
	switch isText := json.Unmarshal(m["method"], new(string)) == nil; {
	case m["method"] != nil && !isText:
		return &Error{Code: invalidRequest, Message: "the method is no text"}
	case m["method"] != nil && (m["result"] != nil || m["error"] != nil):
		return &Error{Code: invalidRequest, Message: "the message is a request and an answer at once"}
	case m["method"] == nil && m["result"] == nil && m["error"] == nil:
		return &Error{Code: invalidRequest, Message: "the message has no method, and no result or error"}
	case len(id) > 256:
		return &Error{Code: invalidRequest, Message: "the id has more than 256 bytes"}
	case len(id) > 0 && (id[0] == '{' || id[0] == '[' || id[0] == 't' || id[0] == 'f'):
		return &Error{Code: invalidRequest, Message: "the id is no number and no text"}
	}
	return nil
}

// amended is the editor's initialize with the client's capabilities that the proxy has.
func (p *Proxy) amended(m jsonrpc.Message) ([]byte, error) {
	params, capabilities, files := jsonrpc.Message{}, jsonrpc.Message{}, jsonrpc.Message{}
	if json.Unmarshal(m["params"], &params) != nil {
		return nil, &Error{Code: invalidParams, Message: "initialize: params is no object"}
	}
	// A capability of another type counts as absent.
	_ = json.Unmarshal(params["clientCapabilities"], &capabilities)
	_ = json.Unmarshal(capabilities["fs"], &files)
	p.mu.Lock()
	p.starting, p.reads = string(m["id"]), string(files["readTextFile"]) == "true"
	p.mu.Unlock()
	if files == nil {
		files = jsonrpc.Message{}
	}
	if capabilities == nil {
		capabilities = jsonrpc.Message{}
	}
	files["readTextFile"], files["writeTextFile"] = json.RawMessage("true"), json.RawMessage("true")
	capabilities["fs"], capabilities["terminal"] = encoded(files), json.RawMessage("true")
	params["clientCapabilities"] = encoded(capabilities)
	var version uint32
	if json.Unmarshal(params["protocolVersion"], &version) == nil && version > 1 {
		params["protocolVersion"] = json.RawMessage("1")
	}
	m["params"] = encoded(params)
	return encoded(m), nil
}

// answered notes sessions from an answer of the agent, and returns the answer for the editor.
func (p *Proxy) answered(m jsonrpc.Message, line []byte) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	id := string(m["id"])
	if cwd, ok := p.opening[id]; ok {
		delete(p.opening, id)
		result := jsonrpc.Message{}
		if json.Unmarshal(m["result"], &result) == nil && result.Text("sessionId") != "" {
			p.add(result.Text("sessionId"), cwd)
		}
	}
	if id == "" || id != p.starting {
		return line
	}
	p.starting = ""
	return withoutLogin(m, line)
}

// withoutLogin takes the metadata of the ways to log in out of the agent's answer: there an agent can name a program
// that the editor then starts, outside of every sandbox.
func withoutLogin(m jsonrpc.Message, line []byte) []byte {
	result, methods := jsonrpc.Message{}, []jsonrpc.Message{}
	if json.Unmarshal(m["result"], &result) != nil || json.Unmarshal(result["authMethods"], &methods) != nil {
		return line
	}
	with := slices.ContainsFunc(methods, func(x jsonrpc.Message) bool { return x["_meta"] != nil })
	if !with {
		return line
	}
	for _, x := range methods {
		delete(x, "_meta")
	}
	result["authMethods"] = encoded(methods)
	m["result"] = encoded(result)
	return encoded(m)
}

// editor and agent send a line.
func (p *Proxy) editor(line []byte) error { return send(&p.toEditor, p.Editor, line) }
func (p *Proxy) agent(line []byte) error  { return send(&p.toAgent, p.Agent, line) }

func send(mu *sync.Mutex, to io.Writer, line []byte) error {
	if !bytes.HasSuffix(line, []byte("\n")) {
		line = append(slices.Clip(line), '\n')
	}
	mu.Lock()
	defer mu.Unlock()
	_, err := to.Write(line)
	return err
}

// encoded writes a value that has a JSON form.
func encoded[T any](v T) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // maps, texts and numbers of ours
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

// Codes of errors: https://www.jsonrpc.org/specification#error_object, and the protocol's schema.
const (
	parseError     = -32700
	invalidRequest = -32600
	noMethod       = -32601
	invalidParams  = -32602
	internalError  = -32603
	notFound       = -32002
	refused        = -32003 // by a rule or a person; of those that are left to implementations
	cancelled      = -32800
)

// Error is an error of JSON-RPC.
type Error struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	// Data has the daemon's code, where the daemon refused.
	Data *ErrorData `json:"data,omitempty"`
}

// ErrorData is an error's data.
type ErrorData struct {
	Code ipc.Code `json:"code"`
}

func (e *Error) Error() string { return e.Message }

// unread answers a line that is no message.
func unread(err error) []byte {
	code := parseError
	if errors.Is(err, jsonrpc.ErrLong) {
		code = invalidRequest
	}
	return failed(nil, &Error{Code: code, Message: "the message was not passed on: " + err.Error()})
}

// request is a message to the editor; one without an id is a notification.
type request[P any] struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method"`
	Params  P               `json:"params"`
}

// failed is the answer to a request that failed.
func failed(id json.RawMessage, err error) []byte {
	if id == nil {
		id = json.RawMessage("null")
	}
	return encoded(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   *Error          `json:"error"`
	}{"2.0", id, worded(err)})
}

// worded is an error in words that a model can act on.
func worded(err error) *Error {
	var own *Error
	var e *ipc.Error
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, &e):
		out := &Error{Code: refused, Message: e.Message, Data: &ErrorData{e.Code}}
		if e.Hint != "" {
			out.Message += "\nTo fix it: " + e.Hint
		}
		switch {
		case e.Conflict != nil && e.Conflict.Reason == "missing":
			out.Code, out.Message = notFound, "Resource not found: "+out.Message
		case e.Code == ipc.CodeBadRequest:
			out.Code = invalidParams
		}
		return out
	case errors.Is(err, context.Canceled):
		return &Error{Code: cancelled, Message: "the request was cancelled"}
	case errors.Is(err, ipc.ErrNoDaemon):
		return &Error{Code: internalError, Message: "sandboxd does not answer. Ask the user to start it: sbx status"}
	}
	return &Error{Code: internalError, Message: err.Error()}
}
