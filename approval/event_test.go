package approval_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sandboxd/approval"
	"sandboxd/approval/approvaltest"
)

// kinds reads n events and returns their kinds.
func kinds(t *testing.T, s *approval.Subscription, n int) (out []approval.EventKind) {
	t.Helper()
	for range n {
		e, err := s.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, e.Kind)
	}
	return out
}

// TestEvents: what R-AP-16 lists is streamed, with who, when, how and by what.
func TestEvents(t *testing.T) {
	bubble(t, approval.Options{Store: new(approvaltest.Store)}, func(t *testing.T, c *approval.Controller) {
		sub, theirs, all := c.Subscribe(alice), c.Subscribe(mallory), c.Subscribe(approval.Identity{Operator: true})
		call := asking("s")
		call.Batch = approval.Batch{ID: "b", Index: 1, Total: 2,
			Remaining: []approval.Remaining{{Tool: "bash", Digest: "d2"}}}
		result := start(t.Context(), c, call)
		a := only(t, c).Allow(alice)
		a.Verb = approval.VerbAllowAll
		if _, err := c.Answer(t.Context(), only(t, c).ID, a); err != nil {
			t.Fatal(err)
		}
		<-result
		synctest.Wait()
		call.Digest, call.Batch.Index, call.Batch.Remaining = "d2", 2, nil
		<-start(t.Context(), c, call)
		call.Batch = approval.Batch{ID: "c", Index: 1, Total: 1}
		<-start(t.Context(), c, call) // times out
		result = start(t.Context(), c, call)
		q := only(t, c).Allow(alice)
		q.Verb = approval.VerbQuit
		if _, err := c.Answer(t.Context(), only(t, c).ID, q); err != nil {
			t.Fatal(err)
		}
		<-result
		c.NewTurn(ref("s"))
		g := remember(t, c, approval.Deny, call.Request.Payload)
		<-start(t.Context(), c, call)
		if err := c.Revoke(bob, g.ID); err != nil {
			t.Fatal(err)
		}
		if err := c.ApproveAllSession(bob, ref("s"), time.Minute); err != nil {
			t.Fatal(err)
		}
		want := []approval.EventKind{"requested", "approve_all", "granted", "granted", "requested", "timed_out",
			"requested", "stopped", "quit", "resumed", "remembered", "denied", "revoked", "mode"}
		got := kinds(t, sub, len(want))
		if !slices.Equal(got, want) {
			t.Errorf("events are\n%v, want\n%v", got, want)
		}
		if got := kinds(t, all, len(want)); !slices.Equal(got, want) {
			t.Errorf("an operator sees %v", got)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if e, err := theirs.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("another principal sees %+v, %v", e, err)
		}
	})
}

// TestEventFields: a decision's event has the answerer, the way, and the rule or grant.
func TestEventFields(t *testing.T) {
	bubble(t, approval.Options{}, func(t *testing.T, c *approval.Controller) {
		sub := c.Subscribe(alice)
		result := start(t.Context(), c, asking("s"))
		a := only(t, c).Allow(alice)
		a.Scope = approval.ScopeSession
		if _, err := c.Answer(t.Context(), only(t, c).ID, a); err != nil {
			t.Fatal(err)
		}
		first := <-result
		second := <-start(t.Context(), c, asking("s"))
		var granted []approval.Event
		for range 4 {
			e, err := sub.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if e.Kind == approval.EventGranted {
				granted = append(granted, e)
			}
		}
		if e := granted[0]; e.By != alice || e.Decision.How != approval.HowPerson || e.Request != first.Request ||
			e.Time.IsZero() || e.CallID != "c" {
			t.Errorf("%+v", e)
		}
		if e := granted[1]; e.Decision.How != approval.HowAuto || e.Decision.Grant != second.Grant ||
			e.Decision.Grant == "" || e.Decision.Rule == "" {
			t.Errorf("%+v", e)
		}
	})
}

// TestEventGap: a slow reader receives the number of missed events, and
// holds up nobody; one that comes back continues where it was.
func TestEventGap(t *testing.T) {
	bubble(t, approval.Options{EventBuffer: 8}, func(t *testing.T, c *approval.Controller) {
		safe := asking("s")
		safe.Class.Safe = true
		slow := c.Subscribe(alice)
		for range 20 {
			if d, _ := c.Decide(t.Context(), safe); !d.Approved {
				t.Fatal(d.Why)
			}
		}
		e, err := slow.Next(t.Context())
		if err != nil || e.Kind != approval.EventGap || e.Lost != 12 || e.Seq != 12 {
			t.Fatalf("%+v, %v", e, err)
		}
		for i := range 8 {
			if e, err = slow.Next(t.Context()); err != nil || e.Kind != approval.EventGranted || e.Seq != uint64(13+i) {
				t.Fatalf("%+v, %v", e, err)
			}
		}
		back := c.SubscribeAfter(alice, 18)
		if e, err := back.Next(t.Context()); err != nil || e.Seq != 19 {
			t.Errorf("%+v, %v", e, err)
		}
		long := c.SubscribeAfter(alice, 2)
		if e, err := long.Next(t.Context()); err != nil || e.Kind != approval.EventGap || e.Lost != 10 {
			t.Errorf("%+v, %v", e, err)
		}
		future := c.SubscribeAfter(alice, 1<<60)
		if d, _ := c.Decide(t.Context(), safe); !d.Approved {
			t.Fatal(d.Why)
		}
		if e, err := future.Next(t.Context()); err != nil || e.Seq != 21 {
			t.Errorf("%+v, %v", e, err)
		}
		ended := make(chan error, 1)
		go func() {
			_, err := future.Next(context.Background())
			ended <- err
		}()
		synctest.Wait()
		if err := c.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; !errors.Is(err, approval.ErrClosed) {
			t.Error(err)
		}
	})
}

// TestExcluded: an excluded key is in no description, question, event, grant
// or hook (R-AP-03).
func TestExcluded(t *testing.T) {
	const secret = "hunter2"
	var mu sync.Mutex
	var seen []byte
	look := func(v any) {
		data, err := json.Marshal(v)
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, data...)
	}
	hooks := approval.Hooks{AfterDecision: func(_ context.Context, call approval.Call, d approval.Decision) error {
		look(call.Request)
		look(d)
		return nil
	}}
	bubble(t, approval.Options{Hooks: []approval.Hooks{hooks}, Store: new(approvaltest.Store)},
		func(t *testing.T, c *approval.Controller) {
			all := c.Subscribe(approval.Identity{Operator: true})
			check := approval.RequireApproval("login", approval.Exclude("password"))
			args := map[string]any{"user": "me", "password": secret,
				"nested": map[string]any{"password": secret, "list": []any{map[string]any{"password": secret}}}}
			req, err := check.CheckApproval(approval.Context{Tool: "login", Args: args})
			if err != nil {
				t.Fatal(err)
			}
			call := approval.Call{Principal: principal, Session: "s", Tool: "login", Request: req}
			result := start(t.Context(), c, call)
			p := only(t, c)
			look(p)
			a := p.Allow(alice)
			a.Scope = approval.ScopeGlobal
			r, err := c.Answer(t.Context(), p.ID, a)
			if err != nil {
				t.Fatal(err)
			}
			look(r)
			look(<-result)
			look(c.Grants(alice))
			for range 3 {
				e, err := all.Next(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				look(e)
			}
		})
	if strings.Contains(string(seen), secret) || strings.Contains(string(seen), "password") {
		t.Errorf("an excluded key is in %s", seen)
	}
	if !strings.Contains(string(seen), `"user":"me"`) {
		t.Errorf("what is not excluded is missing in %s", seen)
	}
}

// TestExcludedPayload: exclusion never leaves a payload that equals the payload of
// another call, and the digest in its place reveals nothing of the value (R-AP-03, R-AP-05).
func TestExcludedPayload(t *testing.T) {
	type args = map[string]any
	whole := approval.PayloadFunc(func(a map[string]any) map[string]any { return a })
	body := approval.PayloadFunc(func(a map[string]any) map[string]any { return args{"body": a["body"]} })
	nested := approval.PayloadFunc(func(a map[string]any) map[string]any { return args{"mail": args{"body": a["body"]}} })
	listed := approval.PayloadFunc(func(a map[string]any) map[string]any {
		return args{"mails": []any{args{"body": a["body"]}}}
	})
	for name, opts := range map[string][]approval.Option{
		"all excluded": {approval.Exclude("body")},
		"whole":        {approval.Exclude("body"), whole},
		"one":          {approval.Exclude("body"), body},
		"nested":       {approval.Exclude("body"), nested},
		"listed":       {approval.Exclude("body"), listed},
		"before":       {listed, approval.Exclude("body", "mails")},
	} {
		payload := func(text any) map[string]any {
			return approval.SimpleRequest("send", args{"body": text}, opts...).Payload
		}
		one, same, other := payload("hunter2"), payload("hunter2"), payload("hunter3")
		if !approval.EqualPayload(one, same) || approval.EqualPayload(one, other) || approval.EqualPayload(one, args{}) {
			t.Errorf("%s: payloads %v, %v, %v", name, one, same, other)
		}
		if text := fmt.Sprint(one); strings.Contains(text, "hunter2") || strings.Contains(text, "body") {
			t.Errorf("%s: the payload reveals %s", name, text)
		}
		if approval.EqualPayload(payload(t), payload(t)) {
			t.Errorf("%s: a value without a fingerprint equals itself", name)
		}
	}
	// Where a value is left, or there was none, the author's granularity holds.
	for _, a := range []args{{"to": "a", "body": "x"}, {"to": "a", "body": "y"}} {
		p := approval.SimpleRequest("send", a, approval.Exclude("body")).Payload
		if !approval.EqualPayload(p, args{"to": "a"}) {
			t.Errorf("the payload of %v is %v", a, p)
		}
	}
	if p := approval.SimpleRequest("send", args{}, approval.Exclude("body")).Payload; len(p) != 0 {
		t.Errorf("the payload of no arguments is %v", p)
	}
}

// TestForgetEvents: where nothing has happened for long, who comes back finds a gap,
// and what happens next comes in its order.
func TestForgetEvents(t *testing.T) {
	bubble(t, approval.Options{EventBuffer: 8}, func(t *testing.T, c *approval.Controller) {
		safe := asking("s")
		safe.Class.Safe = true
		decide := func(n int) {
			for range n {
				if d, _ := c.Decide(t.Context(), safe); !d.Approved {
					t.Fatal(d.Why)
				}
			}
		}
		next := func(s *approval.Subscription, kind approval.EventKind, seq, lost uint64) {
			t.Helper()
			if e, err := s.Next(t.Context()); err != nil || e.Kind != kind || e.Seq != seq || e.Lost != lost || e.Time.IsZero() {
				t.Fatalf("%+v, %v", e, err)
			}
		}
		decide(11)
		c.ForgetEvents(time.Now()) // the newest is not older
		next(c.SubscribeAfter(alice, 9), approval.EventGranted, 10, 0)
		time.Sleep(time.Minute)
		c.ForgetEvents(time.Now())
		slow := c.SubscribeAfter(alice, 9)
		next(slow, approval.EventGap, 11, 2)
		decide(3)
		for seq := range uint64(3) {
			next(slow, approval.EventGranted, 12+seq, 0)
		}
		next(c.SubscribeAfter(alice, 9), approval.EventGap, 11, 2)
		decide(9) // once around
		next(c.SubscribeAfter(alice, 14), approval.EventGap, 15, 1)
		for seq := range uint64(8) {
			next(c.SubscribeAfter(alice, 15+seq), approval.EventGranted, 16+seq, 0)
		}
	})
}
