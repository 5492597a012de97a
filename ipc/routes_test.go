package ipc_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
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

// run starts a command and reads its events to the end.
func run(t testing.TB, c *ipc.Client, req ipc.ExecRequest) []ipc.Event {
	t.Helper()
	started, err := c.StartExec(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.ExecEvents(t.Context(), ipc.EventsRequest{ID: started.ID})
	if err != nil {
		t.Fatal(err)
	}
	return drain(t, s)
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
			t.Fatalf("after %d events: %v", len(events), err)
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

// TestHeldOperations walks the operations on held change sets.
func TestHeldOperations(t *testing.T) {
	h, _, s := house(t, ipc.Limits{})
	a, ctx := h.Agent, t.Context()
	held, err := a.HeldChanges(ctx, ipc.HeldRequest{Session: s.ID})
	if err != nil || len(held.Changes) != 1 || held.Changes[0].Session != s.ID {
		t.Errorf("held changes: %+v, %v", held, err)
	}
	if h, err := a.HeldChange(ctx, ipc.HeldRequest{Session: s.ID, ID: "h/ü"}); err != nil || h.ID != "h/ü" {
		t.Errorf("held change: %+v, %v", h, err)
	}
	landed, err := a.Land(ctx, ipc.LandRequest{Session: s.ID, ID: "h-1", Paths: []string{"/a", "/b"}, Drop: true})
	if err != nil || landed.ID != "h-1" || landed.Path != "/a /b" || landed.Changed {
		t.Errorf("land: %+v, %v", landed, err)
	}
}

// TestOperations walks every operation through both ends of the wire.
func TestOperations(t *testing.T) {
	h, _, s := house(t, ipc.Limits{})
	a, p, ctx := h.Agent, h.Approver, t.Context()

	v, err := a.Version(ctx)
	if err != nil || v.Product != ipc.Product || v.Protocol != ipc.Protocol || v.UID == 0 && v.PID == 0 {
		t.Errorf("version: %+v, %v", v, err)
	}
	if st, err := p.Status(ctx); err != nil || st.Sessions != 1 || st.Enforcement.Level != ipc.Absent {
		t.Errorf("status: %+v, %v", st, err)
	}
	if d, err := a.Doctor(ctx, ipc.DoctorRequest{Prove: true}); err != nil || !d.Findings[0].Proved {
		t.Errorf("doctor: %+v, %v", d, err)
	}
	prof, err := a.Profile(ctx, ipc.ProfileRequest{Session: s.ID, Path: "/a b&c=ü", Against: "x"})
	if want := (ipc.Profile{Digest: "none", Text: s.ID, Explain: []string{"/a b&c=ü"}, Diff: []string{"x"}}); err != nil || !cmp.Equal(prof, want) {
		t.Errorf("profile: %+v, %v", prof, err)
	}
	if s.Secret == "" || s.Trusted || s.Root != "/proj" {
		t.Errorf("session: %+v", s)
	}
	if l, err := p.Sessions(ctx); err != nil || len(l.Sessions) != 1 || l.Sessions[0].Agent != "tester" {
		t.Errorf("sessions: %+v, %v", l, err)
	}
	if turn, err := a.Turn(ctx, ipc.TurnRequest{Session: s.ID}); err != nil || turn.Turn != 1 {
		t.Errorf("turn: %+v, %v", turn, err)
	}
	if verdict, err := a.Check(ctx, ipc.CheckRequest{Session: s.ID, Command: "rm -rf /"}); err != nil || verdict.Decision != ipc.DecisionDeny || verdict.Denied.Code != ipc.CodeBlocked {
		t.Errorf("check: %+v, %v", verdict, err)
	}
	f, err := a.File(ctx, ipc.FileRequest{Op: "write", Session: s.ID, Path: "x", Content: "ü\n"})
	if err != nil || f.Why != "write" || f.Content != "ü\n" {
		t.Errorf("file: %+v, %v", f, err)
	}
	batch, err := a.Batch(ctx, ipc.BatchRequest{Session: s.ID, ID: "b", Calls: []ipc.BatchCall{
		{CallID: "1", Exec: &ipc.ExecRequest{Command: "echo hi"}},
		{CallID: "2", File: &ipc.FileCall{Op: "read", FileRequest: ipc.FileRequest{Path: "y"}}},
		{CallID: "3", Check: &ipc.CheckRequest{Command: "ls"}},
	}})
	if err != nil || batch.Ran != 3 || string(batch.Results[0].Exec.Stdout) != "hi\n" || batch.Results[1].File.Path != "y" || !batch.Results[2].Verdict.Allowed {
		t.Errorf("batch: %+v, %v", batch, err)
	}
	if m, err := p.SetMode(ctx, ipc.Mode{Mode: "strict"}); err != nil || m.Was != "interactive" {
		t.Errorf("set mode: %+v, %v", m, err)
	}
	if m, err := p.Mode(ctx, ipc.ModeRequest{Session: s.ID}); err != nil || m.Mode != "strict" || m.Session != s.ID {
		t.Errorf("mode: %+v, %v", m, err)
	}
	if tr, err := p.Trust(ctx, ipc.TrustRequest{Dir: "/proj"}); err != nil || tr.Dir != "/proj" {
		t.Errorf("trust: %+v, %v", tr, err)
	}
	if l, err := p.Trusted(ctx); err != nil || len(l.Trusted) != 1 {
		t.Errorf("trusted: %+v, %v", l, err)
	}
	if err := p.Distrust(ctx, ipc.TrustRequest{Dir: "/proj"}); err != nil {
		t.Errorf("distrust: %v", err)
	}
	if err := p.Distrust(ctx, ipc.TrustRequest{Dir: "/proj"}); ipc.CodeOf(err) != ipc.CodeNotFound {
		t.Errorf("distrust again: %v", err)
	}
	want := ipc.AuditRequest{
		Session: "s", Agent: "a", Tool: "t", Category: "c", Decision: "d", AfterSeq: 7, Limit: 3, Last: true,
		Since: time.Unix(1, 5).UTC(), Until: time.Unix(2, 0).UTC(),
	}
	page, err := p.Audit(ctx, want)
	var got ipc.AuditRequest
	if err != nil || json.Unmarshal(page.Records[0], &got) != nil || !cmp.Equal(got, want) {
		t.Errorf("audit: %s, %v", page.Records, err)
	}
	if v, err := p.VerifyAudit(ctx, ipc.AuditVerifyRequest{AnchorSeq: 9, AnchorHash: "h"}); err != nil || !v.OK || v.Seq != 9 || v.Hash != "h" {
		t.Errorf("verify audit: %+v, %v", v, err)
	}
	st, err := p.Stats(ctx)
	if a, failed := p.Advice(ctx); errors.Join(err, failed) != nil || st.Overall.Total != 1 || a.Asked != 3 {
		t.Errorf("stats: %+v, advice %+v; %v, %v", st, a, err, failed)
	}
	_, err = p.Reload(ctx)
	if err := errors.Join(err, p.ResetStats(ctx), p.Shutdown(ctx, ipc.ShutdownRequest{DrainMS: 5})); err != nil {
		t.Error(err)
	}
	if closed, err := a.CloseSession(ctx, ipc.CloseRequest{Session: s.ID}); err != nil || closed.Ended != 0 {
		t.Errorf("close: %+v, %v", closed, err)
	}
}

// R-IP-02: output in order, input, status, signals, resize, cancel.
func TestExec(t *testing.T) {
	h, _, s := house(t, ipc.Limits{})
	c := h.Agent

	types, output := shape(run(t, c, ipc.ExecRequest{Session: s.ID, Argv: []string{"echo", "a b"}}))
	if types != "queued started stdout exit" || output != "a b\n" {
		t.Errorf("echo: %q %q", types, output)
	}
	events := run(t, c, ipc.ExecRequest{Session: s.ID, Command: "fail 3"})
	for i, e := range events {
		if e.Seq != uint64(i+1) {
			t.Errorf("event %d has number %d", i+1, e.Seq)
		}
	}
	if code := events[len(events)-1].Exit.Code; code != 3 {
		t.Errorf("fail: exit %d", code)
	}

	started, err := c.StartExec(t.Context(), ipc.ExecRequest{Session: s.ID, Command: "cat", Stdin: ipc.StdinStream})
	if err != nil {
		t.Fatal(err)
	}
	stream, err := c.ExecEvents(t.Context(), ipc.EventsRequest{ID: started.ID})
	if err != nil {
		t.Fatal(err)
	}
	big := strings.Repeat("0123456789abcdef", 20000) // more than one piece
	if err := c.StreamStdin(t.Context(), started.ID, strings.NewReader(big), false); err != nil {
		t.Errorf("stdin: %v", err)
	}
	if err := c.WriteStdin(t.Context(), ipc.StdinRequest{ID: started.ID, Data: []byte("end"), EOF: true}); err != nil {
		t.Errorf("stdin: %v", err)
	}
	if _, output := shape(drain(t, stream)); output != big+"end" {
		t.Errorf("cat: %d bytes came back of %d", len(output), len(big)+3)
	}
	err = c.WriteStdin(t.Context(), ipc.StdinRequest{ID: started.ID, EOF: true})
	if ipc.CodeOf(err) != ipc.CodeConflict {
		t.Errorf("stdin after the end: %v", err)
	}

	started, err = c.StartExec(t.Context(), ipc.ExecRequest{Session: s.ID, Command: "wait"})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.ResizeExec(t.Context(), ipc.ResizeRequest{ID: started.ID, Cols: 100, Rows: 30}); err != nil {
		t.Errorf("resize: %v", err)
	}
	if err := c.SignalExec(t.Context(), ipc.SignalRequest{ID: started.ID, Signal: "INT"}); err != nil {
		t.Errorf("signal: %v", err)
	}
	stream, _ = c.ExecEvents(t.Context(), ipc.EventsRequest{ID: started.ID})
	events = drain(t, stream)
	if _, output := shape(events); output != "100x30" || events[len(events)-1].Exit.Signal != "INT" {
		t.Errorf("resize and signal: %q, %+v", output, events[len(events)-1].Exit)
	}
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
				t.Fatalf("event %d came for %d", e.Seq, next)
			}
			next++
			bytes += len(e.Data)
			ended = e.Type == ipc.EventExit
		}
		stream.Close()
	}
	if bytes != 40*32<<10 {
		t.Errorf("%d bytes", bytes)
	}
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
		t.Errorf("%v were started", ids)
	}
	other := req
	other.Command = "echo twice"
	if _, err := h.Agent.StartExec(t.Context(), other); ipc.CodeOf(err) != ipc.CodeConflict {
		t.Errorf("another command: %v", err)
	}
	stranger := &ipc.Client{Socket: h.Agent.Socket, Secret: "guessed"}
	defer stranger.Close()
	if got, err := stranger.StartExec(t.Context(), req); ipc.CodeOf(err) != ipc.CodeSecret || got.ID != "" {
		t.Errorf("without the secret: %+v, %v", got, err)
	}
	// A change of a file, too; what only looks is done again.
	for op, want := range map[string]bool{"append": true, "read": false} {
		change := ipc.FileRequest{Op: op, Session: s.ID, Path: "x", Content: "y", IdempotencyKey: "k3 " + op}
		one, err1 := h.Agent.File(t.Context(), change)
		two, err2 := h.Agent.File(t.Context(), change)
		if err1 != nil || err2 != nil || (one.ID == two.ID) != want {
			t.Errorf("%s twice: %q and %q, %v, %v", op, one.ID, two.ID, err1, err2)
		}
		change.Path = "z"
		if _, err := h.Agent.File(t.Context(), change); want && ipc.CodeOf(err) != ipc.CodeConflict {
			t.Errorf("%s of another file: %v", op, err)
		}
	}
	// A failure may be tried again.
	missing := ipc.ExecRequest{Session: "none", Command: "x", IdempotencyKey: "k2"}
	for range 2 {
		if _, err := h.Agent.StartExec(t.Context(), missing); ipc.CodeOf(err) != ipc.CodeNotFound {
			t.Errorf("no session: %v", err)
		}
	}
	header := strings.Replace(request("POST", "/v1/exec", `{"session":"`+s.ID+`","command":"echo","idempotency_key":"a"}`), "Host", "Idempotency-Key: b\r\nHost", 1)
	if resp, body, c := send(t, h.Agent.Socket, header); c == nil || resp.StatusCode != 400 {
		t.Errorf("two keys: %s", body)
	} else {
		c.Close()
	}
}

// A question travels from the agent's socket to the approver's and back.
func TestQuestion(t *testing.T) {
	h, _, s := house(t, ipc.Limits{Heartbeat: 20 * time.Millisecond})
	p := h.Approver
	news, err := p.News(t.Context(), ipc.NewsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	defer news.Close()

	started, err := h.Agent.StartExec(t.Context(), ipc.ExecRequest{Session: s.ID, Command: "ask may I?"})
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(60 * time.Millisecond) // some heartbeats, which the client skips
	n, err := news.Next(t.Context())
	if err != nil || n.Type != ipc.NewsRequested || n.Approval.Description != "may I?" {
		t.Fatalf("news: %+v, %v", n, err)
	}
	q, err := p.Approval(t.Context(), ipc.ApprovalRequest{ID: n.Approval.ID})
	if err != nil || q.Presentation == nil {
		t.Fatalf("approval: %+v, %v", q, err)
	}
	if _, err := p.Decide(t.Context(), ipc.Answer{ID: q.ID, Rev: q.Rev, Hash: "stale", Allow: true}); ipc.CodeOf(err) != ipc.CodeStale {
		t.Errorf("a stale answer: %v", err)
	}
	d, err := p.Decide(t.Context(), ipc.Answer{ID: q.ID, Rev: q.Rev, Hash: q.Hash, Allow: true, Scope: "session"})
	if err != nil || !d.Allowed || d.Grant == "" {
		t.Errorf("decide: %+v, %v", d, err)
	}
	if _, err := p.Decide(t.Context(), ipc.Answer{ID: q.ID, Rev: q.Rev, Hash: q.Hash}); ipc.CodeOf(err) != ipc.CodeAlreadyDecided {
		t.Errorf("a second answer: %v", err)
	}
	if n, err = news.Next(t.Context()); err != nil || n.Type != ipc.NewsGranted {
		t.Errorf("news: %+v, %v", n, err)
	}
	stream, err := h.Agent.ExecEvents(t.Context(), ipc.EventsRequest{ID: started.ID})
	if err != nil {
		t.Fatal(err)
	}
	if types, output := shape(drain(t, stream)); types != "queued started stdout exit" || output != "may I?\n" {
		t.Errorf("%q %q", types, output)
	}
	// Another watcher picks up after what the first has seen.
	again, err := p.News(t.Context(), ipc.NewsRequest{After: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if n, err := again.Next(t.Context()); err != nil || n.Seq != 2 {
		t.Errorf("news after 1: %+v, %v", n, err)
	}
	grants, err := p.Grants(t.Context())
	if err != nil || len(grants.Grants) != 1 {
		t.Fatalf("grants: %+v, %v", grants, err)
	}
	if g, err := p.Grant(t.Context(), ipc.GrantRequest{ID: d.Grant}); err != nil || len(g.Explain) == 0 {
		t.Errorf("grant: %+v, %v", g, err)
	}
	if err := p.Revoke(t.Context(), ipc.GrantRequest{ID: d.Grant}); err != nil {
		t.Errorf("revoke: %v", err)
	}
	if l, _ := p.Approvals(t.Context()); len(l.Approvals) != 1 {
		t.Errorf("approvals: %+v", l)
	}
}

// R-IP-01: the socket decides what may be done, nothing that is sent does.
func TestRoles(t *testing.T) {
	h, b, _ := house(t, ipc.Limits{})
	before := b.Changes()
	for _, r := range ipc.Routes() {
		for role, c := range map[ipc.Role]*ipc.Client{ipc.RoleAgent: h.Agent, ipc.RoleApprover: h.Approver} {
			offered := false
			for _, have := range r.Roles {
				offered = offered || have == role
			}
			if offered {
				continue
			}
			path := strings.NewReplacer("{id}", "x", "{op}", "read").Replace(r.Path)
			status, body := raw(t, c.Socket, r.Method, path, "{}")
			if status != 404 && status != 405 || !strings.Contains(body, `"code"`) {
				t.Errorf("%s %s on the %s socket: %d %s", r.Method, path, role, status, body)
			}
		}
	}
	if b.Changes() != before {
		t.Error("something was changed")
	}
}

// eventually waits for something that another goroutine brings about.
func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !is(); {
		if time.Now().After(deadline) {
			t.Fatalf("it never came true that %s", what)
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
		if _, err := c.StartExec(context.Background(), req); ipc.CodeOf(err) != ipc.CodeBadRequest {
			t.Errorf("%+v: %v", req, err)
		}
	}
	_, err := c.StartExec(context.Background(), ipc.ExecRequest{Session: "s", Command: "ls"})
	if !errors.Is(err, ipc.ErrNoDaemon) {
		t.Errorf("nobody there: %v", err)
	}
}
