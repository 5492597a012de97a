package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"sandboxd/display"
	"sandboxd/ipc"
)

// toolPermission is the event of a chat's stream that asks its user.
type toolPermission struct {
	Type         string          `json:"type"` // "tool_permission"
	PermissionID string          `json:"permission_id"`
	Conversation string          `json:"conversation_id"`
	ToolName     string          `json:"tool_name"`
	Input        json.RawMessage `json:"input"`
	Suggestions  []suggestion    `json:"permission_suggestions"`
	BlockedPath  *string         `json:"blocked_path"`

	// Beyond the specification (R-IP-04): details for a person.
	Message  string          `json:"message"` // "Permission required to use WebSearch."
	Text     string          `json:"text"`    // made safe to show
	Agent    string          `json:"agent,omitempty"`
	Cwd      string          `json:"cwd,omitempty"`
	Risk     string          `json:"risk"`
	Why      []string        `json:"why,omitempty"`
	Scopes   []string        `json:"scopes"`
	Confirm  bool            `json:"confirm"` // a yes must be given twice
	Sandbox  []string        `json:"sandbox,omitempty"`
	Batch    *ipc.BatchPlace `json:"batch,omitempty"`
	Deadline *time.Time      `json:"deadline,omitempty"`
}

type suggestion struct {
	ID    string `json:"id"`
	Label string `json:"label"`
}

// toolPermissionDone reports that a question is closed, by any answer.
type toolPermissionDone struct {
	Type         string `json:"type"` // "tool_permission_resolved"
	PermissionID string `json:"permission_id"`
	Behavior     string `json:"behavior"` // allow or deny
	Reason       string `json:"reason,omitempty"`
	By           string `json:"by,omitempty"`
}

func permissionOf(a ipc.Approval) toolPermission {
	p := toolPermission{Type: "tool_permission", PermissionID: a.ID, Conversation: a.Session, ToolName: a.Tool,
		Input: inputOf(a), Suggestions: suggestionsOf(a),
		Message: "Permission required to use " + display.Line(a.Tool) + ".", Text: textOf(a), Agent: display.Line(a.Agent),
		Cwd: display.Line(a.Cwd), Risk: a.Risk, Scopes: a.Scopes, Confirm: a.Confirm,
		Sandbox: a.Sandbox, Batch: a.Batch, Deadline: a.Deadline}
	for _, r := range a.Reasons {
		p.Why = append(p.Why, display.Line(r))
	}
	if a.BlockedPath != "" {
		p.BlockedPath = &a.BlockedPath
	}
	return p
}

// suggestionsOf are the wider grants on offer, made safe to show.
func suggestionsOf(a ipc.Approval) []suggestion {
	list := []suggestion{}
	for _, s := range a.Suggestions {
		list = append(list, suggestion{s.ID, display.Line(s.Label)})
	}
	return list
}

// inputOf returns the input of the tool's call.
func inputOf(a ipc.Approval) json.RawMessage {
	if a.Command != "" || len(a.Argv) > 0 {
		in := map[string]any{"command": a.Command}
		if a.Command == "" {
			in["command"] = display.Argv(a.Argv)
		}
		if a.Claim != "" {
			in["description"] = a.Claim
		}
		b, err := json.Marshal(in)
		if err == nil {
			return b
		}
	}
	if len(a.Input) > 0 {
		return a.Input
	}
	return json.RawMessage("{}")
}

// textOf returns the question in words: the request, and a line for each note.
func textOf(a ipc.Approval) string {
	text := display.Line(a.Description)
	switch {
	case a.Command != "":
		text = safeText(a.Command)
	case len(a.Argv) > 0:
		text = display.Line(display.Argv(a.Argv))
	}
	for _, n := range a.Notes {
		text = strings.TrimSuffix(text, "\n") + "\n(" + display.Line(n) + ")"
	}
	return text
}

// asked are the questions as they were sent to one caller: an answer is bound to the text that its
// user saw (promise: the shown request runs).
type asked struct {
	mu  sync.Mutex
	was map[string]map[string]ipc.Approval // by caller and id
}

const maxAsked = 1024

func (a *asked) put(who string, q ipc.Approval) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.was == nil {
		a.was = map[string]map[string]ipc.Approval{}
	}
	if a.was[who] == nil || len(a.was[who]) >= maxAsked {
		a.was[who] = map[string]ipc.Approval{}
	}
	a.was[who][q.ID] = q
}

func (a *asked) get(who, id string) (ipc.Approval, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	q, ok := a.was[who][id]
	return q, ok
}

// chatBackend returns the operations that c may use.
func (g *Gateway) chatBackend(c caller) ipc.Backend {
	switch {
	case c.front == nil:
		return &shown{&remote{g.backend, g}}
	case c.front.Role == ipc.FrontEndWatcher:
		return &watcher{&remote{g.backend, g}}
	}
	return &remote{g.backend, g}
}

// follow calls put for each question that is open or comes up, and done for
// each that is decided, until ctx ends. conversation narrows to one session, by
// its id or its label.
func (g *Gateway) follow(ctx context.Context, c caller, conversation string, after uint64,
	put func(uint64, ipc.Approval) error, done func(uint64, ipc.Decided) error, beat func() error) error {
	s, err := g.chatBackend(c).News(ctx, c.wire(), ipc.NewsRequest{After: after})
	if err != nil {
		return err
	}
	defer s.Close()
	for {
		wait, cancel := context.WithTimeout(ctx, 15*time.Second)
		n, err := s.Next(wait)
		quiet := wait.Err() != nil && ctx.Err() == nil
		cancel()
		switch {
		case quiet && errors.Is(err, context.DeadlineExceeded):
			if err := beat(); err != nil {
				return err
			}
			continue
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		switch {
		case n.Approval != nil:
			if conversation != "" && n.Approval.Session != conversation && n.Approval.Label != conversation {
				continue
			}
			g.asked.put(c.by(), *n.Approval)
			err = put(n.Seq, *n.Approval)
		case n.Decision != nil:
			err = done(n.Seq, *n.Decision)
		}
		if err != nil {
			return err
		}
	}
}

// chatStream is the chat specification's stream: its tool_permission events,
// as Server-Sent Events.
func (g *Gateway) chatStream(w http.ResponseWriter, r *http.Request) {
	c, bad := g.identify(r)
	if bad != nil {
		refuse(w, bad)
		return
	}
	// An id of an earlier daemon says nothing of this one's events: then everything that is open comes.
	after := uint64(0)
	if of, seq, ok := strings.Cut(r.Header.Get("Last-Event-ID"), "-"); ok && of == g.run {
		after, _ = strconv.ParseUint(seq, 10, 63)
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	send := func(b []byte) error {
		rc := http.NewResponseController(w)
		rc.SetWriteDeadline(time.Now().Add(10 * time.Second))
		if _, err := w.Write(b); err != nil {
			return err
		}
		return rc.Flush()
	}
	event := func(seq uint64, v any) error {
		b, err := json.Marshal(v)
		if err != nil {
			return err
		}
		var out []byte
		if seq > 0 {
			out = fmt.Appendf(out, "id: %s-%d\n", g.run, seq)
		}
		return send(fmt.Appendf(out, "data: %s\n\n", b))
	}
	if send([]byte(": sandboxd\n\n")) != nil {
		return
	}
	ctx, cancel := g.whileServing(withCaller(r, c).Context(), c)
	defer cancel()
	g.follow(ctx, c, r.URL.Query().Get("conversation_id"), after,
		func(seq uint64, a ipc.Approval) error { return event(seq, permissionOf(a)) },
		func(seq uint64, d ipc.Decided) error { return event(seq, permissionDone(d)) },
		func() error { return send([]byte(":\n\n")) })
}

func permissionDone(d ipc.Decided) toolPermissionDone {
	t := toolPermissionDone{Type: "tool_permission_resolved", PermissionID: d.ID, Behavior: "deny", Reason: d.Reason,
		By: display.Line(d.By)}
	if d.Allowed {
		t.Behavior = "allow"
	}
	return t
}

// whileServing returns a context that ends with the gateway, too, or with the caller's secret.
func (g *Gateway) whileServing(ctx context.Context, c caller) (context.Context, context.CancelFunc) {
	ctx, cancel := c.whileKnown(ctx)
	stop := make(chan struct{})
	go func() {
		select {
		case <-g.ending:
			cancel()
		case <-stop:
		}
	}()
	return ctx, sync.OnceFunc(func() { close(stop); cancel() })
}

// permissionAnswer is the body of POST /v1/agent/tool_permission.
type permissionAnswer struct {
	Conversation string `json:"conversation_id"`
	Cwd          string `json:"cwd"`
	PermissionID string `json:"permission_id"`
	Behavior     string `json:"behavior"`
	Message      string `json:"message"`

	// Beyond the specification.
	Scope   string `json:"scope"` // once (also ""), turn, session, project, agent, global: then the daemon remembers it
	ForMS   int64  `json:"for_ms"`
	Mode    string `json:"mode"`    // of a no: soft (also "") or hard
	Confirm bool   `json:"confirm"` // the second yes
	// Suggestion is the id of one of permission_suggestions, for a scope wider than once.
	Suggestion string `json:"suggestion"`
}

// chatAnswer carries an answer of the chat specification out.
func (g *Gateway) chatAnswer(w http.ResponseWriter, r *http.Request) {
	c, bad := g.identify(r)
	if bad != nil {
		refuse(w, bad)
		return
	}
	var p permissionAnswer
	if bad := readJSON(r, &p); bad != nil {
		refuse(w, bad)
		return
	}
	atEase(w)
	if p.Behavior != "allow" && p.Behavior != "deny" || p.PermissionID == "" {
		refuse(w, &ipc.Error{Code: ipc.CodeBadRequest, Message: "want permission_id, and behavior allow or deny",
			Hint: "nothing was decided"})
		return
	}
	q, ok := g.asked.get(c.by(), p.PermissionID)
	if !ok || p.Conversation != "" && p.Conversation != q.Session && p.Conversation != q.Label || p.Cwd != "" &&
		p.Cwd != q.Cwd {
		refuse(w, &ipc.Error{Code: ipc.CodeNotFound, Message: "there is no such permission to answer",
			Hint: "answer what the stream asked, with its conversation_id and cwd; nothing was decided"})
		return
	}
	a := ipc.Answer{ID: q.ID, Rev: q.Rev, Hash: q.Hash, Allow: p.Behavior == "allow", Scope: p.Scope, ForMS: p.ForMS,
		Note: p.Message,
		Key:  p.Behavior, Suggestion: p.Suggestion, Confirm: p.Confirm}
	if !a.Allow {
		a.Mode = p.Mode
		if a.Mode == "" {
			a.Mode = "soft" // the run continues with a permission error
		}
	}
	d, err := g.chatBackend(c).Decide(withCaller(r, c).Context(), c.wire(), a)
	if err != nil {
		g.refuseError(w, err)
		return
	}
	if d.ConfirmAgain {
		g.asked.put(c.by(), q)
		refuse(w, &ipc.Error{Code: ipc.CodeConfirm, Message: "this needs a second yes",
			Hint: "send it again with confirm; it is still pending"})
		return
	}
	reply(w, http.StatusOK, map[string]bool{"ok": true})
}

// refuseError sends a backend's refusal; any other error is logged, not sent.
func (g *Gateway) refuseError(w http.ResponseWriter, err error) {
	refuse(w, g.asError(err))
}

func (g *Gateway) asError(err error) *ipc.Error {
	var e *ipc.Error
	if errors.As(err, &e) {
		return e
	}
	g.log.Error("gateway", "error", err)
	return &ipc.Error{Code: ipc.CodeInternal, Message: "something in the daemon failed; the request is still pending",
		Hint: "its log says what"}
}

// readJSON reads one JSON object as a body. A page of another site can't send
// that media type unasked.
func readJSON(r *http.Request, v any) *ipc.Error {
	if r.Header.Get("Content-Type") != "application/json" {
		return &ipc.Error{Code: ipc.CodeUnsupportedMedia, Message: "want Content-Type: application/json"}
	}
	body, err := io.ReadAll(r.Body) // bounded by the guard
	if err == nil {
		err = ipc.OneMeaning(body, v)
	}
	if err == nil {
		d := json.NewDecoder(bytes.NewReader(body))
		d.DisallowUnknownFields()
		err = d.Decode(v)
	}
	if err != nil {
		return &ipc.Error{Code: ipc.CodeBadRequest, Message: "read body: " + err.Error(), Hint: "nothing was decided"}
	}
	return nil
}
