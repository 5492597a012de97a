package gateway

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"

	"sandboxd/display"
	"sandboxd/ipc"
)

// approvalNeeded is the web specification's question.
type approvalNeeded struct {
	Type      string          `json:"type"` // "approval_needed"
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	Remaining []nextCall      `json:"batch_remaining"`

	// Beyond the specification.
	ID      string   `json:"id"`
	Session string   `json:"session"`
	Text    string   `json:"text"`
	Risk    string   `json:"risk"`
	Why     []string `json:"why,omitempty"`
	Scopes  []string `json:"scopes"`
	Confirm bool     `json:"confirm"`
	// Suggestions are wider grants that an answer may take.
	Suggestions []suggestion `json:"suggestions"`
}

// nextCall is a call that is still to come; its arguments are JSON in a string,
// as the specification has it.
type nextCall struct {
	Tool      string `json:"tool"`
	Arguments string `json:"arguments"`
}

// approvalAnswer is the client's answer to a question.
type approvalAnswer struct {
	ID       string `json:"id"` // may be left out while only one question is open
	Approved *bool  `json:"approved"`
	Scope    string `json:"scope"`    // once or session, or another that is on offer
	Mode     string `json:"mode"`     // of a no: reject_soft or reject_hard (also "")
	Feedback string `json:"feedback"` // reaches the agent
	Confirm  bool   `json:"confirm"`
	// Suggestion is the id of one that the question offers, for a scope wider than once.
	Suggestion string `json:"suggestion"`
}

// approvalSettled reports the end of a question, or the result of an answer.
type approvalSettled struct {
	Type     string     `json:"type"` // "approval_resolved", "approval_confirm" or "error"
	ID       string     `json:"id,omitempty"`
	Approved bool       `json:"approved"`
	By       string     `json:"by,omitempty"`
	Error    *ipc.Error `json:"error,omitempty"`
}

func neededOf(a ipc.Approval) approvalNeeded {
	n := approvalNeeded{Type: "approval_needed", Tool: a.Tool, Arguments: inputOf(a), Remaining: []nextCall{}, ID: a.ID,
		Session: a.Session,
		Text:    textOf(a), Risk: a.Risk, Scopes: a.Scopes, Confirm: a.Confirm, Suggestions: suggestionsOf(a)}
	for _, r := range a.Reasons {
		n.Why = append(n.Why, display.Line(r))
	}
	if a.Batch != nil {
		for _, c := range a.Batch.Remaining {
			n.Remaining = append(n.Remaining, nextCall{c.Tool, argumentsOf(c)})
		}
	}
	return n
}

func argumentsOf(c ipc.NextCall) string {
	if len(c.Args) > 0 {
		return string(c.Args)
	}
	if c.Tool != "bash" { // it could not be looked at
		return "{}"
	}
	command := c.Command
	if command == "" {
		command = display.Argv(c.Argv)
	}
	b, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		return "{}"
	}
	return string(b)
}

// chatSocket is the web specification's WebSocket.
func (g *Gateway) chatSocket(w http.ResponseWriter, r *http.Request) {
	c, bad := g.identify(r)
	if bad != nil {
		refuse(w, bad)
		return
	}
	// The origin was checked by the guard.
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil {
		return
	}
	defer ws.CloseNow()
	ws.SetReadLimit(64 << 10)
	ctx, cancel := g.whileServing(withCaller(r, c).Context(), c)
	defer cancel()
	s := &chatSocket{g: g, c: c, ws: ws, ctx: ctx, open: map[string]bool{}}
	var reading sync.WaitGroup
	reading.Go(func() { defer cancel(); s.read() })
	defer reading.Wait()
	defer cancel()
	g.follow(ctx, c, r.URL.Query().Get("conversation_id"), 0, s.put, s.done, s.ping)
	ws.Close(websocket.StatusGoingAway, "the daemon is ending")
}

type chatSocket struct {
	g   *Gateway
	c   caller
	ws  *websocket.Conn
	ctx context.Context

	mu   sync.Mutex
	open map[string]bool // questions that were put here and are not settled
}

// taken is how long the other end has to take a message, or to answer a ping.
const taken = 10 * time.Second

// ping checks that the other end is connected. No question is sent while it waits.
func (s *chatSocket) ping() error {
	ctx, cancel := context.WithTimeout(s.ctx, taken)
	defer cancel()
	return s.ws.Ping(ctx)
}

func (s *chatSocket) send(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(s.ctx, taken)
	defer cancel()
	return s.ws.Write(ctx, websocket.MessageText, b)
}

func (s *chatSocket) put(_ uint64, a ipc.Approval) error {
	s.mu.Lock()
	s.open[a.ID] = true
	s.mu.Unlock()
	return s.send(neededOf(a))
}

func (s *chatSocket) done(_ uint64, d ipc.Decided) error {
	s.mu.Lock()
	mine := s.open[d.ID]
	delete(s.open, d.ID)
	s.mu.Unlock()
	if !mine {
		return nil
	}
	return s.send(approvalSettled{Type: "approval_resolved", ID: d.ID, Approved: d.Allowed, By: display.Line(d.By)})
}

// read reads answers until the client disconnects. An invalid one decides nothing; its sender gets
// the reason.
func (s *chatSocket) read() {
	for {
		kind, message, err := s.ws.Read(s.ctx)
		if err != nil {
			return
		}
		var a approvalAnswer
		if kind != websocket.MessageText || ipc.OneMeaning(message, &a) != nil || json.Unmarshal(message, &a) != nil ||
			a.Approved == nil {
			err = s.send(approvalSettled{Type: "error",
				Error: &ipc.Error{Code: ipc.CodeBadRequest, Message: `want {"approved": true or false}, once`,
					Hint: "nothing was decided"}})
		} else {
			err = s.answer(a)
		}
		if err != nil {
			return
		}
	}
}

func (s *chatSocket) answer(a approvalAnswer) error {
	fail := func(e *ipc.Error) error {
		return s.send(approvalSettled{Type: "error", ID: a.ID, Error: e})
	}
	s.mu.Lock()
	if a.ID == "" && len(s.open) == 1 {
		for id := range s.open {
			a.ID = id
		}
	}
	open := s.open[a.ID]
	s.mu.Unlock()
	q, ok := s.g.asked.get(s.c.by(), a.ID)
	if !open || !ok {
		return fail(&ipc.Error{Code: ipc.CodeNotFound, Message: "there is no such open question here",
			Hint: "answer with the id of its approval_needed; nothing was decided"})
	}
	wire := ipc.Answer{ID: q.ID, Rev: q.Rev, Hash: q.Hash, Allow: *a.Approved, Scope: a.Scope, Note: a.Feedback,
		Suggestion: a.Suggestion,
		Key:        "approved", Confirm: a.Confirm}
	if !wire.Allow {
		switch a.Mode {
		case "", "reject_hard":
			wire.Mode, wire.Key = "hard", "reject_hard"
		case "reject_soft":
			wire.Mode, wire.Key = "soft", "reject_soft"
		default:
			return fail(&ipc.Error{Code: ipc.CodeBadRequest, Message: "mode: want reject_soft or reject_hard",
				Hint: "nothing was decided"})
		}
	}
	d, err := s.g.chatBackend(s.c).Decide(s.ctx, s.c.wire(), wire)
	if err != nil {
		return fail(s.g.asError(err))
	}
	if d.ConfirmAgain {
		return s.send(approvalSettled{Type: "approval_confirm", ID: a.ID})
	}
	return nil // the stream reports it
}
