package ipc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sandboxd/ipc"
	"sandboxd/ipc/ipctest"
)

// house is a server with a double behind it, and an API session on it.
func house(t testing.TB, limits ipc.Limits) (*ipctest.House, *ipctest.Backend, ipc.Session) {
	t.Helper()
	b := ipctest.New()
	h := ipctest.Start(t, b, limits)
	t.Cleanup(b.Close) // before the server goes: cleanups run last in, first out
	s, err := h.Agent.OpenSession(t.Context(), ipc.SessionRequest{Agent: "tester", Root: "/proj"})
	if err != nil {
		t.Fatal(err)
	}
	h.Agent.Secret = s.Secret
	return h, b, s
}

// begin starts a command and follows its events.
func begin(t testing.TB, c *ipc.Client, req ipc.ExecRequest) (id string, events ipc.Stream[ipc.Event]) {
	t.Helper()
	started, err := c.StartExec(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	events, err = c.ExecEvents(t.Context(), ipc.EventsRequest{ID: started.ID})
	if err != nil {
		t.Fatal(err)
	}
	return started.ID, events
}

// run starts a command and reads its events to the end.
func run(t testing.TB, c *ipc.Client, req ipc.ExecRequest) []ipc.Event {
	t.Helper()
	_, events := begin(t, c, req)
	return drain(t, events)
}

func drain(t testing.TB, s ipc.Stream[ipc.Event]) []ipc.Event {
	t.Helper()
	defer s.Close()
	var events []ipc.Event
	for {
		e, err := s.Next(t.Context())
		if err == io.EOF {
			return events
		}
		if err != nil {
			t.Fatalf("after %d events: got %v, want the next event or %v", len(events), err, io.EOF)
		}
		events = append(events, e)
	}
}

// shape is the types of events and the output among them.
func shape(events []ipc.Event) (types, output string) {
	var words []string
	var all strings.Builder
	for _, e := range events {
		words = append(words, string(e.Type))
		all.Write(e.Data)
	}
	return strings.Join(words, " "), all.String()
}

// same compares an answer with the wanted one.
func same[T any](t testing.TB, name string, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: got (+), want (-):\n%s", name, diff)
	}
}

// failed compares the code of an error with the wanted one; "" wants no error.
func failed(t testing.TB, name string, err error, want ipc.Code) {
	t.Helper()
	if ipc.CodeOf(err) != want || (err == nil) != (want == "") {
		t.Errorf("%s: got error %v of code %q, want code %q", name, err, ipc.CodeOf(err), want)
	}
}

// operation is a request, and its answer or the code of its error.
type operation struct {
	name string
	call func() (any, error)
	want any
	code ipc.Code
}

// perform makes the requests in their order.
func perform(t testing.TB, operations []operation) {
	t.Helper()
	for _, o := range operations {
		got, err := o.call()
		failed(t, o.name, err, o.code)
		if o.code == "" {
			same(t, o.name, got, o.want)
		}
	}
}

// TestHeldOperations walks the operations on held change sets.
func TestHeldOperations(t *testing.T) {
	h, _, s := house(t, ipc.Limits{})
	a, ctx := h.Agent, t.Context()
	land := ipc.LandRequest{Session: s.ID, ID: "h-1", Paths: []string{"/a", "/b"}, Drop: true}
	perform(t, []operation{
		{name: "held changes", call: func() (any, error) { return a.HeldChanges(ctx, ipc.HeldRequest{Session: s.ID}) },
			want: ipc.HeldChanges{Changes: []ipc.HeldChange{{ID: "h-1", Session: s.ID}}}},
		{name: "held change",
			call: func() (any, error) { return a.HeldChange(ctx, ipc.HeldRequest{Session: s.ID, ID: "h/ü"}) },
			want: ipc.HeldChange{ID: "h/ü", Session: s.ID}},
		{name: "land", call: func() (any, error) { return a.Land(ctx, land) },
			want: ipc.FileResult{ID: "h-1", Path: "/a /b"}},
	})
}

// TestOperations walks every operation through both ends of the wire.
func TestOperations(t *testing.T) {
	h, _, s := house(t, ipc.Limits{})
	a, p, ctx := h.Agent, h.Approver, t.Context()
	version := ipc.Version{Product: ipc.Product, Version: "test", Protocol: ipc.Protocol,
		PID: os.Getpid(), UID: os.Geteuid(), Features: []string{}}
	absent := ipc.Enforcement{Level: ipc.Absent, Protections: []ipc.Protection{
		{Name: "filesystem", Level: ipc.Absent, Why: "this is a test double"}}}
	profile := ipc.ProfileRequest{Session: s.ID, Path: "/a b&c=ü", Against: "x"}
	write := ipc.FileRequest{Op: "write", Session: s.ID, Path: "x", Content: "ü\n"}
	calls := []ipc.BatchCall{
		{CallID: "1", Exec: &ipc.ExecRequest{Command: "echo hi"}},
		{CallID: "2", File: &ipc.FileCall{Op: "read", FileRequest: ipc.FileRequest{Path: "y"}}},
		{CallID: "3", Check: &ipc.CheckRequest{Command: "ls"}},
	}
	proj, trust := ipc.TrustRequest{Dir: "/proj"}, ipc.Trust{Dir: "/proj", UID: os.Geteuid()}
	audit := ipc.AuditRequest{
		Session: "s", Agent: "a", Tool: "t", Category: "c", Decision: "d", AfterSeq: 7, Limit: 3, Last: true,
		Since: time.Unix(1, 5).UTC(), Until: time.Unix(2, 0).UTC(),
	}
	record, err := json.Marshal(audit) // the double answers with the request
	if err != nil {
		t.Fatal(err)
	}
	perform(t, []operation{
		{"version", func() (any, error) { return a.Version(ctx) }, version, ""},
		{"status", func() (any, error) { return p.Status(ctx) }, ipc.Status{Version: version,
			Started: time.Unix(0, 0), Mode: "interactive", Scope: "user", Enforcement: absent,
			Degraded: []string{"this is a test double"}, Sessions: 1, Config: []ipc.ConfigFile{}}, ""},
		{"doctor", func() (any, error) { return a.Doctor(ctx, ipc.DoctorRequest{Prove: true}) }, ipc.Doctor{
			Enforcement: absent, Findings: []ipc.Finding{{Name: "double", OK: true, Proved: true}}}, ""},
		{"profile", func() (any, error) { return a.Profile(ctx, profile) }, ipc.Profile{
			Digest: "none", Text: s.ID, Explain: []string{"/a b&c=ü"}, Diff: []string{"x"}}, ""},
		{"session", func() (any, error) { return s, nil }, ipc.Session{ID: "session-1",
			Secret: "secret of session-1", Root: "/proj", Mode: "interactive", Warnings: []ipc.Warning{}}, ""},
		{"sessions", func() (any, error) { return p.Sessions(ctx) }, ipc.SessionList{Sessions: []ipc.SessionInfo{
			{ID: s.ID, Agent: "tester", Claimed: true, Root: "/proj", Mode: "interactive",
				UID: version.UID, PID: version.PID}}}, ""},
		{"turn", func() (any, error) { return a.Turn(ctx, ipc.TurnRequest{Session: s.ID}) }, ipc.Turn{Turn: 1}, ""},
		{"check", func() (any, error) { return a.Check(ctx, ipc.CheckRequest{Session: s.ID, Command: "rm -rf /"}) },
			ipc.Verdict{Decision: ipc.DecisionDeny, Why: "it removes",
				Denied: &ipc.Denial{Code: ipc.CodeBlocked, Message: "rm is never allowed here"}}, ""},
		{"file", func() (any, error) { return a.File(ctx, write) }, ipc.FileResult{ID: "file-2",
			Decision: ipc.DecisionAuto, Why: "write", Path: "x", Content: "ü\n", Size: 3}, ""},
		{"batch", func() (any, error) { return a.Batch(ctx, ipc.BatchRequest{Session: s.ID, ID: "b", Calls: calls}) },
			ipc.BatchResult{ID: "b", Ran: 3, Results: []ipc.CallResult{
				{CallID: "1", Exec: &ipc.ExecOutput{ID: "exec-3", Stdout: []byte("hi\n"), Exit: ipc.Exit{Enforcement: absent}}},
				{CallID: "2", File: &ipc.FileResult{ID: "file-4", Decision: ipc.DecisionAuto, Why: "read", Path: "y"}},
				{CallID: "3", Verdict: &ipc.Verdict{Decision: ipc.DecisionAuto, Allowed: true, Why: "it is harmless"}},
			}}, ""},
		{"set mode", func() (any, error) { return p.SetMode(ctx, ipc.Mode{Mode: "strict"}) },
			ipc.Mode{Mode: "strict", Was: "interactive"}, ""},
		{"mode", func() (any, error) { return p.Mode(ctx, ipc.ModeRequest{Session: s.ID}) },
			ipc.Mode{Mode: "strict", Session: s.ID}, ""},
		{"trust", func() (any, error) { return p.Trust(ctx, proj) }, trust, ""},
		{"trusted", func() (any, error) { return p.Trusted(ctx) }, ipc.TrustList{Trusted: []ipc.Trust{trust}}, ""},
		{"distrust", func() (any, error) { return nil, p.Distrust(ctx, proj) }, nil, ""},
		{"distrust again", func() (any, error) { return nil, p.Distrust(ctx, proj) }, nil, ipc.CodeNotFound},
		{"setting", func() (any, error) { return p.Setting(ctx, ipc.SettingRequest{Key: "network.mode", Dir: "/p"}) },
			ipc.EffectiveValue{Key: "network.mode", Value: "/p"}, ""},
		{"change settings", func() (any, error) { return p.Change(ctx, ipc.SettingsChange{Dir: "/p"}) },
			ipc.SettingsChanged{Kept: "/p", Values: []ipc.EffectiveValue{}}, ""},
		{"audit", func() (any, error) { return p.Audit(ctx, audit) },
			ipc.AuditPage{Records: []json.RawMessage{record}}, ""},
		{"verify audit",
			func() (any, error) { return p.VerifyAudit(ctx, ipc.AuditVerifyRequest{AnchorSeq: 9, AnchorHash: "h"}) },
			ipc.AuditVerdict{OK: true, Seq: 9, Hash: "h"}, ""},
		{"stats", func() (any, error) { return p.Stats(ctx) }, ipc.Stats{Overall: ipc.Counts{Total: 1}}, ""},
		{"advice", func() (any, error) { return p.Advice(ctx) }, ipc.Advice{Decisions: 7, Asked: 3,
			Proposals: []ipc.Proposal{{List: "presets.use", Value: "go", Questions: 3}}}, ""},
		{"reload", func() (any, error) { return p.Reload(ctx) }, ipc.Reloaded{Config: []ipc.ConfigFile{}}, ""},
		{"reset stats", func() (any, error) { return nil, p.ResetStats(ctx) }, nil, ""},
		{"shutdown", func() (any, error) { return nil, p.Shutdown(ctx, ipc.ShutdownRequest{DrainMS: 5}) }, nil, ""},
		{"close", func() (any, error) { return a.CloseSession(ctx, ipc.CloseRequest{Session: s.ID}) }, ipc.Closed{}, ""},
	})
}

// R-IP-02: output in order, input, status, signals, resize, cancel.
func TestExec(t *testing.T) {
	h, _, s := house(t, ipc.Limits{})
	c, ctx := h.Agent, t.Context()

	types, output := shape(run(t, c, ipc.ExecRequest{Session: s.ID, Argv: []string{"echo", "a b"}}))
	same(t, "echo", []string{types, output}, []string{"queued started stdout exit", "a b\n"})
	events := run(t, c, ipc.ExecRequest{Session: s.ID, Command: "fail 3"})
	for i, e := range events {
		same(t, "number of an event", e.Seq, uint64(i+1))
	}
	same(t, "fail", events[len(events)-1].Exit.Code, 3)

	id, stream := begin(t, c, ipc.ExecRequest{Session: s.ID, Command: "cat", Stdin: ipc.StdinStream})
	big := strings.Repeat("0123456789abcdef", 20000) // more than one piece
	failed(t, "stream of input", c.StreamStdin(ctx, id, strings.NewReader(big), false), "")
	failed(t, "last input", c.WriteStdin(ctx, ipc.StdinRequest{ID: id, Data: []byte("end"), EOF: true}), "")
	if _, output := shape(drain(t, stream)); output != big+"end" {
		t.Errorf("cat: got %d bytes, want the %d of its input", len(output), len(big)+3)
	}
	failed(t, "input after the end", c.WriteStdin(ctx, ipc.StdinRequest{ID: id, EOF: true}), ipc.CodeConflict)

	id, stream = begin(t, c, ipc.ExecRequest{Session: s.ID, Command: "wait"})
	failed(t, "resize", c.ResizeExec(ctx, ipc.ResizeRequest{ID: id, Cols: 100, Rows: 30}), "")
	failed(t, "signal", c.SignalExec(ctx, ipc.SignalRequest{ID: id, Signal: "INT"}), "")
	events = drain(t, stream)
	_, output = shape(events)
	same(t, "resize and signal", []string{output, events[len(events)-1].Exit.Signal}, []string{"100x30", "INT"})
}

// R-IP-02: what was read before a break is not read again, and nothing is missed.
func TestResume(t *testing.T) {
	h, b, s := house(t, ipc.Limits{})
	c := h.Agent
	started, err := c.StartExec(t.Context(), ipc.ExecRequest{Session: s.ID, Command: "flood 40", Keep: true})
	if err != nil {
		t.Fatal(err)
	}
	next, bytes := uint64(1), 0
	for ended := false; !ended; {
		stream, err := c.ExecEvents(t.Context(), ipc.EventsRequest{ID: started.ID, FromSeq: next})
		if err != nil {
			t.Fatal(err)
		}
		for range 7 {
			e, err := stream.Next(t.Context())
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if e.Seq != next {
				t.Fatalf("got event %d, want %d", e.Seq, next)
			}
			next++
			bytes += len(e.Data)
			ended = e.Type == ipc.EventExit
		}
		stream.Close()
	}
	same(t, "bytes", bytes, 40*32<<10)
	eventually(t, "the streams are closed", func() bool { return b.OpenStreams() == 0 })
}

// R-IP-02: a retried request starts nothing twice, even while the first is on
// its way; another request with the same key, and another session's, do.
func TestIdempotencyKey(t *testing.T) {
	h, b, s := house(t, ipc.Limits{})
	req := ipc.ExecRequest{Session: s.ID, Command: "echo once", IdempotencyKey: "k1"}
	before := b.Changes()
	ids := make([]string, 10)
	var all sync.WaitGroup
	for i := range ids {
		all.Go(func() {
			started, err := h.Agent.StartExec(t.Context(), req)
			if err != nil {
				t.Error(err)
			}
			ids[i] = started.ID
		})
	}
	all.Wait()
	slices.Sort(ids)
	if ids = slices.Compact(ids); len(ids) != 1 || b.Changes() != before+1 {
		t.Errorf("got the commands %v and %d changes, want 1 of each", ids, b.Changes()-before)
	}
	other := req
	other.Command = "echo twice"
	_, err := h.Agent.StartExec(t.Context(), other)
	failed(t, "another command", err, ipc.CodeConflict)
	stranger := &ipc.Client{Socket: h.Agent.Socket, Secret: "guessed"}
	defer stranger.Close()
	got, err := stranger.StartExec(t.Context(), req)
	failed(t, "without the secret", err, ipc.CodeSecret)
	same(t, "without the secret", got.ID, "")
	// A change of a file, too; what only looks is done again.
	for op, want := range map[string]bool{"append": true, "read": false} {
		change := ipc.FileRequest{Op: op, Session: s.ID, Path: "x", Content: "y", IdempotencyKey: "k3 " + op}
		one, err1 := h.Agent.File(t.Context(), change)
		two, err2 := h.Agent.File(t.Context(), change)
		failed(t, op+" twice", errors.Join(err1, err2), "")
		same(t, op+" twice has the same result", one.ID == two.ID, want)
		change.Path = "z"
		if _, err := h.Agent.File(t.Context(), change); want {
			failed(t, op+" of another file", err, ipc.CodeConflict)
		}
	}
	// A failure may be tried again.
	missing := ipc.ExecRequest{Session: "none", Command: "x", IdempotencyKey: "k2"}
	for range 2 {
		_, err := h.Agent.StartExec(t.Context(), missing)
		failed(t, "no session", err, ipc.CodeNotFound)
	}
	keyed := request("POST", "/v1/exec", `{"session":"`+s.ID+`","command":"echo","idempotency_key":"a"}`)
	keyed = strings.Replace(keyed, "Host", "Idempotency-Key: b\r\nHost", 1)
	resp, body, c := send(t, h.Agent.Socket, keyed)
	if c == nil {
		t.Fatalf("two keys: got no answer (%s), want status 400", body)
	}
	c.Close()
	same(t, "two keys: "+body, resp.StatusCode, 400)
}

// A question travels from the agent's socket to the approver's and back.
func TestQuestion(t *testing.T) {
	h, _, s := house(t, ipc.Limits{Heartbeat: 20 * time.Millisecond})
	p, ctx := h.Approver, t.Context()
	news, err := p.News(ctx, ipc.NewsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	defer news.Close()

	started, err := h.Agent.StartExec(ctx, ipc.ExecRequest{Session: s.ID, Command: "ask may I?"})
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(60 * time.Millisecond) // some heartbeats, which the client skips
	n, err := news.Next(ctx)
	if err != nil || n.Type != ipc.NewsRequested || n.Approval.Description != "may I?" {
		t.Fatalf("news: got %+v, %v, want %s of may I?", n, err, ipc.NewsRequested)
	}
	q, err := p.Approval(ctx, ipc.ApprovalRequest{ID: n.Approval.ID})
	if err != nil || q.Presentation == nil {
		t.Fatalf("approval: got %+v, %v, want a presentation", q, err)
	}
	_, err = p.Decide(ctx, ipc.Answer{ID: q.ID, Rev: q.Rev, Hash: "stale", Allow: true})
	failed(t, "a stale answer", err, ipc.CodeStale)
	d, err := p.Decide(ctx, ipc.Answer{ID: q.ID, Rev: q.Rev, Hash: q.Hash, Allow: true, Scope: "session"})
	if err != nil || !d.Allowed || d.Grant == "" {
		t.Errorf("decide: got %+v, %v, want a yes with its grant", d, err)
	}
	_, err = p.Decide(ctx, ipc.Answer{ID: q.ID, Rev: q.Rev, Hash: q.Hash})
	failed(t, "a second answer", err, ipc.CodeAlreadyDecided)
	if n, err = news.Next(ctx); err != nil || n.Type != ipc.NewsGranted {
		t.Errorf("news: got %+v, %v, want %s", n, err, ipc.NewsGranted)
	}
	stream, err := h.Agent.ExecEvents(ctx, ipc.EventsRequest{ID: started.ID})
	if err != nil {
		t.Fatal(err)
	}
	types, output := shape(drain(t, stream))
	same(t, "events", []string{types, output}, []string{"queued started stdout exit", "may I?\n"})
	// Another watcher picks up after what the first has seen.
	again, err := p.News(ctx, ipc.NewsRequest{After: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if n, err := again.Next(ctx); err != nil || n.Seq != 2 {
		t.Errorf("news after 1: got %+v, %v, want number 2", n, err)
	}
	grant := ipc.Grant{ID: d.Grant, Allow: true, Scope: "session", Tool: q.Tool, What: "may I?", By: d.By}
	explained := grant
	explained.Explain = []string{"somebody said so"}
	q.Presentation = nil // of one question only
	perform(t, []operation{
		{"grants", func() (any, error) { return p.Grants(ctx) }, ipc.GrantList{Grants: []ipc.Grant{grant}}, ""},
		{"grant", func() (any, error) { return p.Grant(ctx, ipc.GrantRequest{ID: d.Grant}) }, explained, ""},
		{"revoke", func() (any, error) { return nil, p.Revoke(ctx, ipc.GrantRequest{ID: d.Grant}) }, nil, ""},
		{"approvals", func() (any, error) { return p.Approvals(ctx) },
			ipc.ApprovalList{Approvals: []ipc.Approval{q}}, ""},
	})
}

// R-IP-01: the socket decides what may be done, nothing that is sent does.
func TestRoles(t *testing.T) {
	h, b, _ := house(t, ipc.Limits{})
	before := b.Changes()
	for _, r := range ipc.Routes() {
		for role, c := range map[ipc.Role]*ipc.Client{ipc.RoleAgent: h.Agent, ipc.RoleApprover: h.Approver} {
			if slices.Contains(r.Roles, role) {
				continue
			}
			path := strings.NewReplacer("{id}", "x", "{op}", "read").Replace(r.Path)
			status, body := raw(t, c.Socket, r.Method, path, "{}")
			if status != 404 && status != 405 || !strings.Contains(body, `"code"`) {
				t.Errorf("%s %s on the %s socket: got %d %s, want 404 or 405 with a code", r.Method, path, role, status, body)
			}
		}
	}
	same(t, "changes", b.Changes(), before)
}

// eventually waits for something that another goroutine brings about.
func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !is(); {
		if time.Now().After(deadline) {
			t.Fatalf("got 10 s without it, want that %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// The client refuses what JSON would alter silently.
func TestClientRefusesWhatIsNotUTF8(t *testing.T) {
	c := &ipc.Client{Socket: "/nowhere"}
	for _, req := range []ipc.ExecRequest{
		{Session: "s", Command: "echo \xff"},
		{Session: "s", Argv: []string{"ls", "a\xffb"}},
		{Session: "s", Command: "ls", Env: map[string]string{"A": "\xff"}},
		{Session: "s", Command: "ls", Batch: &ipc.BatchPlace{ID: "\xff", Total: 1}},
	} {
		_, err := c.StartExec(context.Background(), req)
		failed(t, fmt.Sprintf("%+v", req), err, ipc.CodeBadRequest)
	}
	_, err := c.StartExec(context.Background(), ipc.ExecRequest{Session: "s", Command: "ls"})
	if !errors.Is(err, ipc.ErrNoDaemon) {
		t.Errorf("without a daemon: got %v, want %v", err, ipc.ErrNoDaemon)
	}
}
