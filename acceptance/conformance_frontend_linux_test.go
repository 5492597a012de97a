package acceptance

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"sandboxd/approval"
	"sandboxd/approval/approvaltest"
	"sandboxd/ipc"
)

// frontEnd is how a person answers in a specification's own words. A stage without
// one answers by POST /v1/approvals/{id}/decision.
type frontEnd interface {
	// asked checks the question as the front end received it.
	asked(m *made, id string) error
	// answer gives an answer and waits until it is settled, or a second yes is wanted.
	answer(p *performance, m *made, id string, a approvaltest.Answer) (again bool, err error)
}

// messages holds the messages that a front end received, by the question's id.
type messages struct {
	mu  sync.Mutex
	all map[string][]map[string]any
	// taken counts those that were read by next.
	taken map[string]int
}

func (g *messages) put(raw []byte, key string) {
	var m map[string]any
	if json.Unmarshal(raw, &m) != nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.all == nil {
		g.all, g.taken = map[string][]map[string]any{}, map[string]int{}
	}
	id, _ := m[key].(string)
	g.all[id] = append(g.all[id], m)
}

// first waits for the first message of a type about a question.
func (g *messages) first(id, kind string) (map[string]any, error) {
	return g.find(id, func(list []map[string]any) map[string]any {
		i := slices.IndexFunc(list, func(m map[string]any) bool { return m["type"] == kind })
		if i < 0 {
			return nil
		}
		return list[i]
	})
}

// next waits for the next message about a question besides its first.
func (g *messages) next(id string) (map[string]any, error) {
	return g.find(id, func(list []map[string]any) map[string]any {
		n := g.taken[id]
		if id != "" {
			n++ // its first is the question
		}
		if n < len(list) {
			g.taken[id]++
			return list[n]
		}
		return nil
	})
}

func (g *messages) find(id string, pick func([]map[string]any) map[string]any) (map[string]any, error) {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		g.mu.Lock()
		m := pick(g.all[id])
		g.mu.Unlock()
		if m != nil {
			return m, nil
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return nil, fmt.Errorf("the front end received about %s only %v", id, g.all[id])
}

// shownArguments compares the arguments that a front end was shown with those of the
// call: what is left out of them is a secret or content.
func shownArguments(tool string, shown any, args map[string]any) error {
	m, ok := shown.(map[string]any)
	if !ok || len(m) == 0 && len(args) > 0 {
		return fmt.Errorf("the arguments of %s are %v", tool, shown)
	}
	var want map[string]any
	if err := json.Unmarshal(arguments(args), &want); err != nil {
		return err
	}
	for k, v := range m {
		if !reflect.DeepEqual(v, want[k]) {
			return fmt.Errorf("argument %s of %s is %v, want %v", k, tool, v, want[k])
		}
	}
	return nil
}

// chat is the front end of the chat specification: events come on /v1/agent/stream,
// and answers go to POST /v1/agent/tool_permission.
type chat struct {
	*visitor
	messages
}

func newChat(st *stage) frontEnd {
	c := &chat{visitor: st.visitor("chat")}
	r, err := http.NewRequestWithContext(st.t.Context(), "GET", c.address+"/v1/agent/stream", nil)
	if err != nil {
		st.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+c.token)
	res, err := http.DefaultClient.Do(r)
	if err != nil || res.StatusCode != http.StatusOK {
		st.t.Fatal(res, err)
	}
	go func() {
		defer res.Body.Close()
		for s := bufio.NewScanner(res.Body); s.Scan(); {
			if data, ok := strings.CutPrefix(s.Text(), "data: "); ok {
				c.put([]byte(data), "permission_id")
			}
		}
	}()
	return c
}

func (c *chat) asked(m *made, id string) error {
	e, err := c.first(id, "tool_permission")
	if err != nil {
		return err
	}
	_, path := e["blocked_path"]
	suggestions, listed := e["permission_suggestions"].([]any)
	switch {
	case e["tool_name"] != m.call.Tool || e["message"] != "Permission required to use "+m.call.Tool+".":
		return fmt.Errorf("the event names the tool %v: %v", e["tool_name"], e["message"])
	case !path || !listed || e["conversation_id"] != m.session.id:
		return fmt.Errorf("the event lacks a field: %v", e)
	case m.call.Tool == "WebSearch" && fmt.Sprint(suggestions) != "[map[id:1 label:any call of WebSearch]]":
		return fmt.Errorf("the event suggests %v", suggestions)
	}
	return shownArguments(m.call.Tool, e["input"], m.call.Args)
}

func (c *chat) answer(p *performance, m *made, id string, a approvaltest.Answer) (again bool, err error) {
	if err := c.asked(m, id); err != nil {
		return false, err
	}
	m.key = string(a.Verb)
	body := map[string]any{"conversation_id": m.session.id, "permission_id": id,
		"behavior": string(a.Verb), "message": a.Note,
		"scope": string(a.Scope), "for_ms": p.lifetime(a.For), "confirm": p.confirm[a.To]}
	if a.Suggestion > 0 {
		body["suggestion"] = fmt.Sprint(a.Suggestion)
	}
	if a.Mode == approval.RejectHard {
		body["mode"] = "hard"
	}
	status, text, _ := c.request("POST", "/v1/agent/tool_permission", body, nil)
	switch {
	case status == http.StatusOK && strings.TrimSpace(text) != `{"ok":true}`:
		return false, fmt.Errorf("the answer is answered with %s", text)
	case status != http.StatusOK:
		var e struct{ Error ipc.Error }
		if err := json.Unmarshal([]byte(text), &e); err != nil || e.Error.Message == "" {
			return false, fmt.Errorf("%d %s: no error that can be shown: %v", status, text, err)
		}
		if e.Error.Code == ipc.CodeConfirm {
			return true, nil
		}
		return false, errors.New(e.Error.Message)
	}
	done, err := c.first(id, "tool_permission_resolved")
	if err == nil && done["behavior"] != string(a.Verb) {
		err = fmt.Errorf("the stream says %v of an answer %s", done["behavior"], a.Verb)
	}
	return false, err
}

// socket is the front end of the web specification: the WebSocket /v1/agent/approvals.
type socket struct {
	messages
	ws  *websocket.Conn
	ctx context.Context
}

func newSocket(st *stage) frontEnd {
	v := st.visitor("page")
	ws, _, err := websocket.Dial(st.t.Context(), "ws"+strings.TrimPrefix(v.address, "http")+"/v1/agent/approvals",
		&websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + v.token}}})
	if err != nil {
		st.t.Fatal(err)
	}
	st.t.Cleanup(func() { ws.CloseNow() })
	s := &socket{ws: ws, ctx: st.t.Context()}
	go func() {
		for {
			_, raw, err := ws.Read(s.ctx)
			if err != nil {
				return
			}
			s.put(raw, "id")
		}
	}()
	return s
}

func (s *socket) asked(m *made, id string) error {
	e, err := s.first(id, "approval_needed")
	if err != nil {
		return err
	}
	remaining, ok := e["batch_remaining"].([]any)
	if e["tool"] != m.call.Tool || !ok || len(remaining) != len(m.call.Later) {
		return fmt.Errorf("the message is %v, with %d calls to come, want %d", e, len(remaining), len(m.call.Later))
	}
	for i, l := range m.call.Later {
		next, _ := remaining[i].(map[string]any)
		text, _ := next["arguments"].(string) // JSON in a string
		var args any
		if err := json.Unmarshal([]byte(text), &args); err != nil || next["tool"] != l.Tool {
			return fmt.Errorf("call %d to come is %v, want one of %s: %v", i, next, l.Tool, err)
		}
		if err := shownArguments(l.Tool, args, l.Args); err != nil {
			return fmt.Errorf("call %d to come: %w", i, err)
		}
	}
	return shownArguments(m.call.Tool, e["arguments"], m.call.Args)
}

func (s *socket) answer(p *performance, m *made, id string, a approvaltest.Answer) (again bool, err error) {
	if err := s.asked(m, id); err != nil {
		return false, err
	}
	body := map[string]any{"approved": a.Verb == approval.VerbAllow, "scope": string(a.Scope)}
	m.key = "approved"
	if a.Verb == approval.VerbDeny {
		m.key = "reject_hard"
	}
	switch a.Mode {
	case approval.RejectSoft:
		body["mode"], m.key = "reject_soft", "reject_soft"
	case approval.RejectHard:
		body["mode"] = "reject_hard"
	}
	if a.Note != "" {
		body["feedback"] = a.Note
	}
	if a.Suggestion > 0 {
		body["suggestion"] = fmt.Sprint(a.Suggestion)
	}
	if p.confirm[a.To] {
		body["confirm"] = true
	}
	if open, err := p.st.person().Approvals(s.ctx); err != nil || len(open.Approvals) != 1 {
		body["id"] = id // the specification has none, as only one is ever open
	}
	if err := s.ws.Write(s.ctx, websocket.MessageText, arguments(body)); err != nil {
		return false, err
	}
	done, err := s.next(id)
	switch {
	case err != nil:
		return false, err
	case done["type"] == "approval_confirm":
		return true, nil
	case done["type"] == "error":
		return false, fmt.Errorf("%v", done["error"])
	case done["type"] != "approval_resolved" || done["approved"] != body["approved"]:
		return false, fmt.Errorf("the answer %v is answered with %v", body, done)
	}
	return false, nil
}

// visitor is a program with a token of its own at the gateway of the stage.
func (st *stage) visitor(name string) *visitor {
	st.t.Helper()
	v := &visitor{a: st.actor, address: st.gatewayAddress()}
	r := st.sbx("web", "add", name)
	if v.token = strings.TrimSpace(r.out); r.code != 0 || v.token == "" {
		st.t.Fatal(r)
	}
	return v
}

// decide answers at the approver's socket.
func (p *performance) decide(q ipc.Approval, a approvaltest.Answer) (again bool, err error) {
	answer := ipc.Answer{ID: q.ID, Rev: q.Rev, Hash: q.Hash, Scope: string(a.Scope), Note: a.Note, Mode: string(a.Mode),
		ForMS: p.lifetime(a.For), Confirm: p.confirm[a.To]}
	if a.Suggestion > 0 {
		answer.Suggestion = fmt.Sprint(a.Suggestion)
	}
	if a.Group {
		answer.Scope = "group"
	}
	switch a.Verb {
	case approval.VerbAllow:
		answer.Allow = true
	case approval.VerbDeny:
	case approval.VerbAllowAll:
		answer.Allow, answer.Scope = true, "batch"
	case approval.VerbQuit:
		answer.Scope = "batch"
	default: // what the wire has no way to say
		answer.Allow, answer.Scope = true, string(a.Verb)
	}
	if a.Via == "" {
		a.Via = approval.ViaTerminal
	}
	ctx, cancel := within(p.t)
	defer cancel()
	d, err := p.st.persons[a.Via].approver.Decide(ctx, answer)
	return d.ConfirmAgain, err
}

// The WebSocket of the web specification besides its scenarios. R-UX-04 R-AP-13
//
//   - Row 003-40 yes: a malformed message gets an error, decides nothing, and the connection stays
//   - Row 003-41 different: a dangerous call wants a second message | a second yes is a separate act (R-AP-13)
//   - Row 001-69 yes: invalid input is no approval
func TestConformanceSocket(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		st := newStageAnswering(a, "", newSocket)
		p := &performance{t: t, st: st, open: map[[2]string]*opened{}, calls: map[string]*made{}, confirm: map[string]bool{}}
		defer p.clear()
		s := st.front.(*socket)
		call := approvaltest.Call{Name: "one", Tool: "delete", Args: map[string]any{"file": "x"}}
		if err := p.make(call); err != nil {
			t.Fatal(err)
		}
		q, err := p.question(p.calls["one"])
		if err != nil {
			t.Fatal(err)
		}
		for _, bad := range []string{"{", "[]", `{"approved": "yes"}`, `{}`, `{"approved": false, "approved": true}`} {
			if err := s.ws.Write(t.Context(), websocket.MessageText, []byte(bad)); err != nil {
				t.Fatal(err)
			}
		}
		for range 5 { // errors about no question
			if e, err := s.next(""); err != nil || e["type"] != "error" {
				t.Fatal(e, err)
			}
		}
		if _, err := p.question(p.calls["one"]); err != nil {
			t.Error(err)
		}
		yes := approvaltest.Answer{To: "one", Verb: approval.VerbAllow, WantConfirm: true}
		if err := p.answer(yes); err != nil {
			t.Error(err)
		}
		yes.WantConfirm = false
		if err := p.answer(yes); err != nil {
			t.Error(err)
		}
		if err := p.check(approvaltest.Want{Call: "one", State: approvaltest.Approved}); err != nil {
			t.Error(q.ID, ": ", err)
		}
	})
}
