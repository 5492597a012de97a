package acp

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"sandboxd/internal/jsonrpc"
	"sandboxd/ipc"
)

// maxCalls bounds the tool calls and the tickets that a session remembers.
const maxCalls = 1000

// note remembers a tool call as the agent reports it, since a question about the call has only the changes. It returns
// the report for the editor.
func (p *Proxy) note(m jsonrpc.Message, line []byte) []byte {
	s, err := p.session(m["params"])
	params, update := jsonrpc.Message{}, jsonrpc.Message{}
	if err != nil || json.Unmarshal(m["params"], &params) != nil || json.Unmarshal(params["update"], &update) != nil {
		return line
	}
	if kind := update.Text("sessionUpdate"); kind != "tool_call" && kind != "tool_call_update" {
		return line
	}
	s.mu.Lock()
	s.merge(update)
	if status := update.Text("status"); status == "completed" || status == "failed" {
		delete(s.calls, update.Text("toolCallId"))
	}
	s.mu.Unlock()
	content, ok := s.withoutTerminals(update)
	if !ok {
		return line
	}
	update["content"] = content
	params["update"] = encoded(update)
	m["params"] = encoded(params)
	return encoded(m)
}

// withoutTerminals replaces the terminals in a tool call's content by their output, as the editor knows none of them;
// ok is false where there is none. The editor gets the whole output when a command has ended.
func (s *session) withoutTerminals(update jsonrpc.Message) (content json.RawMessage, ok bool) {
	var parts []json.RawMessage
	_ = json.Unmarshal(update["content"], &parts) // of another form: it is none
	for i, part := range parts {
		m := jsonrpc.Message{}
		if json.Unmarshal(part, &m) != nil || m.Text("type") != "terminal" {
			continue
		}
		t, err := s.terminal(m.Text("terminalId"))
		if err != nil {
			continue
		}
		t.mu.Lock()
		t.call = update.Text("toolCallId")
		parts[i] = encoded(t.shown())
		t.mu.Unlock()
		ok = true
	}
	return encoded(parts), ok
}

// merge returns a tool call with its changes. s.mu is held.
func (s *session) merge(update jsonrpc.Message) jsonrpc.Message {
	id := update.Text("toolCallId")
	if s.calls == nil || len(s.calls) >= maxCalls {
		s.calls = map[string]jsonrpc.Message{}
	}
	known := s.calls[id]
	if known == nil {
		known = jsonrpc.Message{}
		s.calls[id] = known
	}
	for _, name := range []string{"kind", "rawInput", "locations", "content"} {
		if value := update[name]; value != nil && string(value) != "null" {
			known[name] = value
		}
	}
	return known
}

type permitParams struct {
	Call    jsonrpc.Message `json:"toolCall"`
	Options []option        `json:"options"`
}

type option struct {
	ID   string `json:"optionId"`
	Kind string `json:"kind"`
}

type permission struct {
	Outcome outcome `json:"outcome"`
}

type outcome struct {
	Outcome string `json:"outcome"`
	Option  string `json:"optionId,omitempty"`
}

// permit answers the agent's question about a tool call where the tool layer decides: it selects the yes for this once,
// or refuses with the reason as an error, which the model reads. Else the editor asks its user.
func permit(ctx context.Context, s *session, c *call, in permitParams) (*permission, error) {
	s.mu.Lock()
	known := s.merge(in.Call)
	kind, input := known.Text("kind"), known["rawInput"]
	paths, changes := touched(known)
	s.mu.Unlock()
	once := slices.IndexFunc(in.Options, func(o option) bool { return o.Kind == "allow_once" })
	var decision string
	var err error
	switch {
	case once < 0:
		// There is no answer for just this call.
	case kind == "execute":
		decision, err = s.judgeCommand(ctx, in.Call.Text("toolCallId"), input)
	case kind == "read" || kind == "delete" || kind == "edit":
		decision, err = s.judgeFiles(ctx, kind, paths, changes)
	}
	switch {
	case ctx.Err() != nil:
		return &permission{outcome{Outcome: "cancelled"}}, nil
	case err != nil:
		return nil, err
	case decision == ipc.DecisionAuto:
		return &permission{outcome{"selected", in.Options[once].ID}}, nil
	}
	return nil, s.proxy.editor(c.line)
}

// touched are the paths of a tool call, and its changes of files.
func touched(known jsonrpc.Message) (paths []string, changes []diff) {
	var locations []struct {
		Path string `json:"path"`
	}
	var content []diff
	_ = json.Unmarshal(known["locations"], &locations) // of another form: there are none
	_ = json.Unmarshal(known["content"], &content)
	for _, l := range locations {
		paths = append(paths, l.Path)
	}
	for _, d := range content {
		if d.Type == "diff" {
			changes = append(changes, d)
		}
	}
	return paths, changes
}

type diff struct {
	Type string `json:"type"`
	Path string `json:"path"`
	Old  string `json:"oldText"`
	New  string `json:"newText"`
}

// judgeCommand has the daemon judge a command, and a person where its rules ask. The ticket lets the command run in a
// terminal without a second question. It returns "" where there is no command.
func (s *session) judgeCommand(ctx context.Context, callID string, input json.RawMessage) (string, error) {
	m := jsonrpc.Message{}
	if json.Unmarshal(input, &m) != nil {
		return "", nil
	}
	var argv []string
	line := m.Text("command")
	if line == "" && (json.Unmarshal(m["command"], &argv) != nil || len(argv) == 0) {
		return "", nil
	}
	cwd := s.cwd
	for _, name := range []string{"cwd", "workdir", "directory"} {
		if given := m.Text(name); filepath.IsAbs(given) {
			cwd = given
		} else if given != "" {
			cwd = filepath.Join(s.cwd, given)
		}
	}
	client, id, err := s.open(ctx)
	if err != nil {
		return "", err
	}
	s.mu.Lock()
	env := s.env
	s.mu.Unlock()
	q := ipc.CheckRequest{Session: id, Command: line, Argv: argv, Cwd: cwd, Env: env, TicketMS: 120_000,
		Description: m.Text("description")}
	if s.proxy.Outside && cwd == s.cwd { // a shell of its own stays where a cd has led it
		q.Cwd, q.CwdUnknown, q.TicketMS = "", true, 0
	}
	v, err := client.Check(ctx, q)
	switch {
	case err != nil:
		return "", err
	case v.Allowed && v.Ticket == "":
		return ipc.DecisionAuto, nil
	case v.Allowed:
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.tickets == nil || len(s.tickets) >= maxCalls {
			s.tickets = map[string]ipc.Secret{}
		}
		s.tickets[keyOf(line, argv, cwd)] = v.Ticket
		return ipc.DecisionAuto, nil
	case v.Denied != nil:
		return "", &ipc.Error{Code: v.Denied.Code, Message: v.Denied.Message}
	}
	return "", &ipc.Error{Code: ipc.CodeDenied, Message: "Denied by sandboxd: " + v.Why}
}

// keyOf names a command in a directory.
func keyOf(line string, argv []string, cwd string) string {
	return strings.Join(append([]string{cwd, line}, argv...), "\x00")
}

// ticket returns the ticket for a command, once; "" where there is none.
func (s *session) ticket(key string) ipc.Secret {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tickets[key]
	delete(s.tickets, key)
	return t
}

// judgeFiles returns the decision of the file tool about a call; "" where a person is asked, or where the call does not
// have its changes.
func (s *session) judgeFiles(ctx context.Context, kind string, paths []string, changes []diff) (string, error) {
	var ops []ipc.FileRequest
	for _, d := range changes {
		paths = slices.DeleteFunc(paths, func(p string) bool { return p == d.Path })
		op := ipc.FileRequest{Op: "write", Path: d.Path, Content: d.New, Parents: true}
		if d.Old != "" {
			op = ipc.FileRequest{Op: "edit", Path: d.Path, Edits: []ipc.Edit{{Find: d.Old, Replace: d.New}}}
		}
		ops = append(ops, op)
	}
	if kind == "edit" && len(paths) > 0 {
		return "", nil
	}
	for _, p := range paths {
		ops = append(ops, ipc.FileRequest{Op: kind, Path: p})
	}
	if len(ops) == 0 || len(ops) > 100 {
		return "", nil
	}
	client, id, err := s.open(ctx)
	if err != nil {
		return "", err
	}
	all := ipc.DecisionAuto
	for _, q := range ops {
		q.Session, q.DryRun = id, true
		if !filepath.IsAbs(q.Path) {
			return "", nil
		}
		r, err := client.File(ctx, q)
		switch code := ipc.CodeOf(err); {
		case code == ipc.CodeDenied || code == ipc.CodeBlocked:
			return "", err
		case err != nil:
			all = "" // as where the file is not as the call says
		case r.Decision == ipc.DecisionDeny:
			return "", &ipc.Error{Code: ipc.CodeBlocked, Message: "Denied by sandboxd: " + r.Why}
		case r.Decision != ipc.DecisionAuto:
			all = ""
		}
	}
	return all, nil
}
