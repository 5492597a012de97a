package approval_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sandboxd/approval"
	"sandboxd/approval/approvaltest"
)

var (
	bob     = approval.Identity{Principal: principal, Name: "bob", Via: approval.ViaRemote}
	mallory = approval.Identity{Principal: approval.Principal{UID: 1001}, Name: "mallory", Via: approval.ViaTerminal}
)

// TestDoubleConfirmSwitch: the switch is for deletes; dangerous and protected calls ask twice in any case (R-AP-13).
func TestDoubleConfirmSwitch(t *testing.T) {
	// - Row 001-78 yes: double_confirm_deletes=false
	cfg := approval.DefaultConfig()
	cfg.DoubleConfirmDeletes = false
	bubble(t, approval.Options{Config: cfg}, func(t *testing.T, c *approval.Controller) {
		for name, want := range map[string]bool{"delete": false, "dangerous": true, "protected": true} {
			row := cell{check: name}
			call := row.call()
			result := start(t.Context(), c, call)
			if p := only(t, c); p.Twice != want {
				t.Errorf("%s: twice is %t", name, p.Twice)
			}
			<-result
		}
	})
}

// TestDoubleConfirmTime: who has said yes once gets the same time again, once.
func TestDoubleConfirmTime(t *testing.T) {
	bubble(t, approval.Options{}, func(t *testing.T, c *approval.Controller) {
		call := asking("s")
		call.Request.Dangerous = true
		began := time.Now()
		result := start(t.Context(), c, call)
		p := only(t, c)
		time.Sleep(599 * time.Second)
		if _, err := c.Answer(t.Context(), p.ID, p.Allow(alice)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(599 * time.Second)
		if _, err := c.Answer(t.Context(), p.ID, p.Allow(alice)); err != nil {
			t.Fatal(err)
		}
		want(t, <-result, approval.ReasonTimeout, "")
		if took := time.Since(began); took != 1199*time.Second {
			t.Errorf("it took %s", took)
		}
	})
}

// TestForeignQuestions: what belongs to another principal is not even
// confirmed to exist, asked or decided (R-OP-05).
func TestForeignQuestions(t *testing.T) {
	bubble(t, approval.Options{}, func(t *testing.T, c *approval.Controller) {
		result := start(t.Context(), c, asking("s"))
		p := only(t, c)
		never := func(when string) {
			t.Helper()
			a := p.Allow(mallory)
			_, errTheirs := c.Answer(t.Context(), p.ID, a)
			_, errNone := c.Answer(t.Context(), "01ARZ3NDEKTSV4RRFFQ69G5FAV", a)
			if !errors.Is(errTheirs, approval.ErrUnknown) || strings.ReplaceAll(errTheirs.Error(), p.ID, "X") != strings.ReplaceAll(errNone.Error(), "01ARZ3NDEKTSV4RRFFQ69G5FAV", "X") {
				t.Errorf("%s: %v; for one that never was: %v", when, errTheirs, errNone)
			}
			if _, err := c.View(t.Context(), mallory, p.ID); !errors.Is(err, approval.ErrUnknown) {
				t.Errorf("%s: view: %v", when, err)
			}
			if err := c.GiveUp(mallory, p.ID, errors.New("x")); !errors.Is(err, approval.ErrUnknown) {
				t.Errorf("%s: give up: %v", when, err)
			}
			if n := len(c.Pending(mallory)); n != 0 {
				t.Errorf("%s: %d questions are listed", when, n)
			}
		}
		never("open")
		operator := mallory
		operator.Operator = true
		if n := len(c.Pending(operator)); n != 1 {
			t.Errorf("an operator sees %d questions", n)
		}
		if _, err := c.Answer(t.Context(), p.ID, p.Deny(operator, "")); err != nil {
			t.Errorf("an operator's answer: %v", err)
		}
		never("decided")
		<-result
		for name, err := range map[string]error{
			"stop":        c.Stop(mallory, ref("s"), ""),
			"resume":      c.Resume(mallory, ref("s")),
			"approve all": c.ApproveAllSession(mallory, ref("s"), time.Minute),
		} {
			if !errors.Is(err, approval.ErrSession) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// TestInline: the person at the command's own terminal may say yes once or
// for the session, and never to a high risk (R-IP-01).
func TestInline(t *testing.T) {
	inline := approval.Identity{Principal: principal, Name: "pts/1", Via: approval.ViaInline}
	try := func(t *testing.T, cfg approval.Config, change func(*approval.Call), spoil func(*approval.Answer)) error {
		var err error
		bubble(t, approval.Options{Config: cfg, Store: new(approvaltest.Store)}, func(t *testing.T, c *approval.Controller) {
			call := asking("s")
			call.Inline = true
			change(&call)
			start(t.Context(), c, call)
			a := only(t, c).Allow(inline)
			spoil(&a)
			_, err = c.Answer(t.Context(), only(t, c).ID, a)
		})
		return err
	}
	on, off := approval.DefaultConfig(), approval.DefaultConfig()
	off.Inline = false
	same, nothing := func(*approval.Call) {}, func(*approval.Answer) {}
	for _, c := range []struct {
		name   string
		cfg    approval.Config
		change func(*approval.Call)
		spoil  func(*approval.Answer)
		ok     bool
	}{
		{"once", on, same, nothing, true},
		{"session", on, same, func(a *approval.Answer) { a.Scope = "session" }, true},
		{"turn", on, same, func(a *approval.Answer) { a.Scope = "turn" }, false},
		{"global", on, same, func(a *approval.Answer) { a.Scope = "global" }, false},
		{"high risk", on, func(c *approval.Call) { c.Request.Risk = approval.RiskHigh }, nothing, false},
		{"dangerous", on, func(c *approval.Call) { c.Class.Dangerous = true }, nothing, false},
		{"dangerous, denied", on, func(c *approval.Call) { c.Class.Dangerous = true }, func(a *approval.Answer) { a.Verb = "deny" }, true},
		{"a call of a session over the API", on, func(c *approval.Call) { c.Inline = false }, nothing, false},
		{"switched off", off, same, nothing, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := try(t, c.cfg, c.change, c.spoil); (err == nil) != c.ok {
				t.Errorf("error is %v, want taken = %t", err, c.ok)
			}
		})
	}
}

// TestClient: the agent's own client may answer, only where that is configured,
// only for a low risk, and for this once; the record says through whom.
func TestClient(t *testing.T) {
	client := approval.Identity{Principal: principal, Name: "pid 7", Via: approval.ViaClient}
	on, off := approval.DefaultConfig(), approval.DefaultConfig()
	on.ClientAnswers = true
	same, nothing := func(*approval.Call) {}, func(*approval.Answer) {}
	for _, c := range []struct {
		name           string
		cfg            approval.Config
		change         func(*approval.Call)
		spoil          func(*approval.Answer)
		offered, taken bool
	}{
		{"yes", on, same, nothing, true, true},
		{"no", on, same, func(a *approval.Answer) { a.Verb, a.Mode = approval.VerbDeny, approval.RejectSoft }, true, true},
		{"by default", off, same, nothing, false, false},
		{"a call that does not offer it", on, func(c *approval.Call) { c.Client = false }, nothing, false, false},
		{"no words about the risk", on, func(c *approval.Call) { c.Request.Risk = "" }, nothing, false, false},
		{"medium risk", on, func(c *approval.Call) { c.Request.Risk = approval.RiskNormal }, nothing, false, false},
		{"medium risk, denied", on, func(c *approval.Call) { c.Request.Risk = approval.RiskNormal }, func(a *approval.Answer) { a.Verb = approval.VerbDeny }, false, false},
		{"high risk", on, func(c *approval.Call) { c.Request.Risk = approval.RiskHigh }, nothing, false, false},
		{"dangerous", on, func(c *approval.Call) { c.Class.Dangerous = true }, nothing, false, false},
		{"protected", on, func(c *approval.Call) { c.Request.Protected = true }, nothing, false, false},
		{"delete", on, func(c *approval.Call) { c.Class.Delete = true }, nothing, false, false},
		{"outside the project", on, func(c *approval.Call) { c.Request.Outside = true }, nothing, false, false},
		{"turn", on, same, func(a *approval.Answer) { a.Scope = approval.ScopeTurn }, true, false},
		{"session", on, same, func(a *approval.Answer) { a.Scope = approval.ScopeSession }, true, false},
		{"global", on, same, func(a *approval.Answer) { a.Scope = approval.ScopeGlobal }, true, false},
		{"no, for the session", on, same, func(a *approval.Answer) { a.Verb, a.Scope = approval.VerbDeny, approval.ScopeSession }, true, false},
		{"a widening", on, func(c *approval.Call) { c.Widenings = []approval.Widening{{Value: "x"}} }, func(a *approval.Answer) { a.Widening = 1 }, true, false},
		{"the whole batch", on, func(c *approval.Call) { c.Batch = approval.Batch{ID: "b", Index: 1, Total: 2} }, func(a *approval.Answer) { a.Verb = approval.VerbAllowAll }, true, false},
		{"unseen", on, same, func(a *approval.Answer) { a.Hash = "x" }, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, approval.Options{Config: c.cfg, Store: new(approvaltest.Store)}, func(t *testing.T, ctl *approval.Controller) {
				call := asking("s")
				call.Client, call.Request.Risk = true, approval.RiskLow
				c.change(&call)
				result := start(t.Context(), ctl, call)
				p := only(t, ctl)
				a := p.Allow(client)
				c.spoil(&a)
				_, err := ctl.Answer(t.Context(), p.ID, a)
				if p.Client != c.offered || (err == nil) != c.taken {
					t.Fatalf("offered %t, want %t; taken %v, want %t", p.Client, c.offered, err, c.taken)
				}
				if !c.taken {
					return
				}
				if d := <-result; d.Scope != approval.ScopeOnce || d.How != approval.HowPerson || d.By.String() != "uid 1000, pid 7, through the agent's own client" {
					t.Errorf("%+v by %s", d, d.By)
				}
			})
		})
	}
	// Nothing else is its to say.
	bubble(t, approval.Options{Config: on}, func(t *testing.T, c *approval.Controller) {
		c.OpenSession(ref("s"))
		if err := c.ApproveAllSession(client, ref("s"), time.Minute); err == nil {
			t.Error("it switched approve-all on")
		}
		if _, err := c.AddGrant(client, approval.Grant{Effect: approval.Allow, Scope: approval.ScopeSession, Principal: principal, Session: "s", Match: approval.Pattern{Tool: "bash", Any: true}}); err == nil {
			t.Error("it made a grant")
		}
	})
}

// TestInlinePresence: the caller's own terminal counts as somebody present,
// and as a terminal.
func TestInlinePresence(t *testing.T) {
	cfg := approval.DefaultConfig()
	cfg.NoApprover = approval.NoApproverDeny
	bubble(t, approval.Options{Config: cfg}, func(t *testing.T, c *approval.Controller) {
		defer c.Connect(bob)() // a remote one, who alone would mean five minutes
		call := asking("s")
		call.Inline = true
		began := time.Now()
		want(t, <-start(t.Context(), c, call), approval.ReasonTimeout, "within 10 min")
		if took := time.Since(began); took != 10*time.Minute {
			t.Errorf("it took %s", took)
		}
	})
	bubble(t, approval.Options{Config: cfg}, func(t *testing.T, c *approval.Controller) {
		call := asking("s")
		call.Inline = true
		result := start(t.Context(), c, call)
		inline := approval.Identity{Principal: principal, Via: approval.ViaInline}
		if err := c.GiveUp(inline, only(t, c).ID, errors.New("the terminal was closed")); err != nil {
			t.Fatal(err)
		}
		want(t, <-result, approval.ReasonFault, "the terminal was closed")
	})
}

// TestTogether: identical questions and those of a group are decided together,
// all or none, and it is said (R-AP-11).
func TestTogether(t *testing.T) {
	group := func(n int) approval.Call {
		call := asking("s")
		call.Request.GroupID = "save"
		call.Request.Payload = map[string]any{"n": n}
		return call
	}
	t.Run("identical", func(t *testing.T) {
		bubble(t, approval.Options{}, func(t *testing.T, c *approval.Controller) {
			var results []<-chan approval.Decision
			for range 3 {
				results = append(results, start(t.Context(), c, asking("s")))
			}
			start(t.Context(), c, asking("other session"))
			p := c.Pending(alice)[0]
			if len(p.Same) != 2 || len(p.Group) != 0 {
				t.Fatalf("×%d, group of %d", 1+len(p.Same), 1+len(p.Group))
			}
			a := p.Allow(alice)
			a.Also = p.Same
			if _, err := c.Answer(t.Context(), p.ID, a); err != nil {
				t.Fatal(err)
			}
			for _, r := range results {
				if d := <-r; !d.Approved || d.Together != 3 {
					t.Errorf("%+v", d)
				}
			}
			only(t, c)
		})
	})
	t.Run("group", func(t *testing.T) {
		bubble(t, approval.Options{}, func(t *testing.T, c *approval.Controller) {
			var results []<-chan approval.Decision
			for i := range 3 {
				results = append(results, start(t.Context(), c, group(i)))
			}
			p := c.Pending(alice)[1]
			a := p.Allow(alice)
			a.Also, a.Scope = p.Group, approval.ScopeSession
			if _, err := c.Answer(t.Context(), p.ID, a); err != nil {
				t.Fatal(err)
			}
			for i, r := range results {
				if d := <-r; !d.Approved || d.Together != 3 {
					t.Errorf("%+v", d)
				}
				if d := <-start(t.Context(), c, group(i)); d.Reason != approval.ReasonGrant {
					t.Errorf("member %d was not remembered: %s", i, d.Reason)
				}
			}
		})
	})
	t.Run("identical and of the group", func(t *testing.T) {
		bubble(t, approval.Options{}, func(t *testing.T, c *approval.Controller) {
			results := []<-chan approval.Decision{start(t.Context(), c, group(1)), start(t.Context(), c, group(1))}
			p := c.Pending(alice)[0]
			a := p.Allow(alice)
			a.Also = slices.Concat(p.Same, p.Group)
			if _, err := c.Answer(t.Context(), p.ID, a); err != nil || len(a.Also) != 2 {
				t.Fatal(err)
			}
			for _, r := range results {
				if d := <-r; !d.Approved || d.Together != 2 {
					t.Errorf("%+v", d)
				}
			}
		})
	})
	t.Run("none", func(t *testing.T) {
		bubble(t, approval.Options{}, func(t *testing.T, c *approval.Controller) {
			start(t.Context(), c, group(1))
			call := group(2)
			call.Request.Delete = true
			start(t.Context(), c, call)
			start(t.Context(), c, asking("s"))
			start(t.Context(), c, func() approval.Call { x := group(3); x.Session = "other"; return x }())
			all := c.Pending(alice)
			for name, also := range map[string][]approval.Ref{
				"a delete wants its own":     {all[1].Ref()},
				"neither group nor the same": {all[2].Ref()},
				"of another session":         {all[3].Ref()},
				"itself":                     {all[0].Ref()},
				"one that is not open":       {{ID: "x"}},
				"one that has changed":       {{ID: all[1].ID, Rev: all[1].Rev + 1, Hash: all[1].Hash}},
			} {
				a := all[0].Allow(alice)
				a.Also = also
				var refused *approval.AnswerError
				if _, err := c.Answer(t.Context(), all[0].ID, a); !errors.As(err, &refused) || refused.Code != "together" {
					t.Errorf("%s: %v", name, err)
				}
			}
			if n := len(c.Pending(alice)); n != 4 {
				t.Errorf("%d questions are open, want 4", n)
			}
		})
	})
	t.Run("what cannot be viewed yet", func(t *testing.T) {
		bubble(t, approval.Options{}, func(t *testing.T, c *approval.Controller) {
			slow := group(2)
			slow.Present = func(ctx context.Context) (*approval.Presentation, error) {
				<-ctx.Done()
				return nil, context.Cause(ctx)
			}
			start(t.Context(), c, group(1))
			start(t.Context(), c, slow)
			p := c.Pending(alice)[0]
			a := p.Allow(alice)
			a.Also = p.Group
			if _, err := c.Answer(t.Context(), p.ID, a); !errors.Is(err, approval.ErrStale) {
				t.Errorf("error is %v", err)
			}
		})
	})
}

// TestWidening: a yes may bring along what was on offer, and nothing else; a
// grant brings it again only where it is on offer again.
func TestWidening(t *testing.T) {
	bubble(t, approval.Options{}, func(t *testing.T, c *approval.Controller) {
		call := asking("s")
		call.Widenings = []approval.Widening{{Value: "read /data", Description: "may read /data"}, {Value: "net example.org", Description: "may reach example.org"}}
		result := start(t.Context(), c, call)
		p := only(t, c)
		a := p.Allow(alice)
		a.Widening, a.Scope = 2, approval.ScopeSession
		if _, err := c.Answer(t.Context(), p.ID, a); err != nil {
			t.Fatal(err)
		}
		if d := <-result; d.Widening != "net example.org" {
			t.Errorf("widening %q", d.Widening)
		}
		if d := <-start(t.Context(), c, call); !d.Approved || d.Widening != "net example.org" {
			t.Errorf("by the grant: %q", d.Widening)
		}
		call.Widenings = call.Widenings[:1]
		if d := <-start(t.Context(), c, call); !d.Approved || d.Widening != "" {
			t.Errorf("not on offer: %q", d.Widening)
		}
	})
}

// TestSuggestions: only patterns that cover the request itself are offered,
// from any source (R-AP-07).
func TestSuggestions(t *testing.T) {
	bubble(t, approval.Options{}, func(t *testing.T, c *approval.Controller) {
		call := asking("s")
		call.Request.Payload = map[string]any{"argv": []any{"git", "diff", "--stat"}, "cwd": "/project"}
		call.Request.Suggestions = []approval.Suggestion{
			{Label: "git diff *", Pattern: approval.Pattern{Tool: "bash", Where: []approval.Condition{approval.Prefix("argv", "git", "diff"), approval.Equal("cwd", "/project")}}},
			{Label: "of another tool", Pattern: approval.Pattern{Tool: "write", Any: true}},
			{Label: "something else", Pattern: approval.Pattern{Tool: "bash", Where: []approval.Condition{approval.Prefix("argv", "rm")}}},
			{Label: "malformed", Pattern: approval.Pattern{Tool: "bash"}},
		}
		result := start(t.Context(), c, call)
		p := only(t, c)
		if len(p.Suggestions) != 1 || p.Suggestions[0].Label != "git diff *" {
			t.Fatalf("suggestions: %+v", p.Suggestions)
		}
		if len(call.Request.Suggestions) != 4 || call.Request.Suggestions[1].Label != "of another tool" {
			t.Error("the caller's request was changed")
		}
		a := p.Allow(alice)
		a.Scope, a.Suggestion = approval.ScopeSession, 1
		if _, err := c.Answer(t.Context(), p.ID, a); err != nil {
			t.Fatal(err)
		}
		<-result
		for line, runs := range map[string]bool{"git diff HEAD": true, "git diff": true, "git push": false, "git": false} {
			words := []any{}
			for _, w := range strings.Fields(line) {
				words = append(words, w)
			}
			call.Request.Payload = map[string]any{"argv": words, "cwd": "/project"}
			d, err := c.Preview(t.Context(), call)
			if err != nil || d.Approved != runs {
				t.Errorf("%s: approved %t, %v", line, d.Approved, err)
			}
		}
		call.Request.Payload = map[string]any{"argv": []any{"git", "diff"}, "cwd": "/project", "env": map[string]any{"GIT_EXTERNAL_DIFF": "x"}}
		if d, _ := c.Preview(t.Context(), call); d.Approved {
			t.Error("a field that the pattern does not know was granted with it")
		}
	})
}

// TestAuthorize: the embedding program keeps the asker from answering (R-IP-01).
func TestAuthorize(t *testing.T) {
	o := approval.Options{Authorize: func(by approval.Identity, p approval.Pending) error {
		if by.Name == "alice" {
			return errors.New("it asked itself")
		}
		return nil
	}}
	bubble(t, o, func(t *testing.T, c *approval.Controller) {
		result := start(t.Context(), c, asking("s"))
		p := only(t, c)
		var refused *approval.AnswerError
		if _, err := c.Answer(t.Context(), p.ID, p.Allow(alice)); !errors.As(err, &refused) || refused.Code != "refused" {
			t.Errorf("error is %v", err)
		}
		if _, err := c.Answer(t.Context(), p.ID, p.Allow(bob)); err != nil {
			t.Error(err)
		}
		if d := <-result; !d.Approved || d.By != bob {
			t.Errorf("%+v", d)
		}
	})
}

// TestFields: the question carries the fields of R-IP-04.
func TestFields(t *testing.T) {
	bubble(t, approval.Options{}, func(t *testing.T, c *approval.Controller) {
		call := asking("s")
		call.Agent = approval.Agent{Name: "cursor"}
		call.Cwd, call.Why = "/project", "to build it"
		call.Request.BlockedPath, call.Request.Reasons = "/etc/passwd", []string{"outside the project"}
		call.Request.Risk = approval.RiskLow
		call.Batch = approval.Batch{ID: "b", Index: 2, Total: 3, Remaining: []approval.Remaining{{Tool: "write", Digest: "d"}}}
		call.Request.Suggestions = []approval.Suggestion{{Label: "any", Pattern: approval.Pattern{Tool: "bash", Any: true}}}
		asked := make(chan approval.Pending, 1)
		call.Asked = func(p approval.Pending) { asked <- p }
		start(t.Context(), c, call)
		data, err := json.Marshal(<-asked)
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]any
		if err := json.Unmarshal(data, &got); err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"permission_id", "tool", "input", "suggestions", "blocked_path", "batch", "session", "agent", "cwd", "risk", "why", "reasons", "rev", "hash", "deadline"} {
			if got[key] == nil {
				t.Errorf("%s is missing in %s", key, data)
			}
		}
		if got["agent_shown"] != `claims to be "cursor"` {
			t.Errorf("the agent is shown as %v", got["agent_shown"])
		}
	})
}

// TestAskedPanics: a caller's callback that panics refuses its own call only.
func TestAskedPanics(t *testing.T) {
	bubble(t, approval.Options{}, func(t *testing.T, c *approval.Controller) {
		call := asking("s")
		call.Asked = func(approval.Pending) { panic("oops") }
		want(t, <-start(t.Context(), c, call), approval.ReasonFault, "oops")
		synctest.Wait()
	})
}

// TestMalformed: a call that makes no sense is denied, and is an error.
func TestMalformed(t *testing.T) {
	bubble(t, approval.Options{}, func(t *testing.T, c *approval.Controller) {
		for name, call := range map[string]approval.Call{
			"no tool":      {Session: "s"},
			"no session":   {Tool: "t"},
			"another tool": {Session: "s", Tool: "t", Request: &approval.Request{Tool: "u"}},
			"bad place":    {Session: "s", Tool: "t", Batch: approval.Batch{ID: "b", Index: 3, Total: 2}},
			"unknown rule": {Session: "s", Tool: "t", Class: approval.Class{Rule: "maybe"}},
			"no place":     {Session: "s", Tool: "t", Batch: approval.Batch{ID: "b"}},
		} {
			d, err := c.Decide(t.Context(), call)
			if err == nil || d.Approved {
				t.Errorf("%s: %+v, %v", name, d, err)
			}
		}
	})
}

// TestEitherDigest: a listed call that may come in two forms is covered in
// either, once. R-AP-10
func TestEitherDigest(t *testing.T) {
	for _, forms := range [][2]string{{"digest", "own"}, {"own", "digest"}, {"digest", "digest"}, {"own", "own"}} {
		bubble(t, approval.Options{}, func(t *testing.T, c *approval.Controller) {
			first := asking("s")
			first.Batch = approval.Batch{ID: "b", Index: 1, Total: 4, Remaining: []approval.Remaining{{Tool: "write", Digest: "digest", Own: "own"}}}
			result := start(t.Context(), c, first)
			synctest.Wait()
			p := c.Pending(alice)[0]
			a := p.Allow(alice)
			a.Verb = approval.VerbAllowAll
			if _, err := c.Answer(t.Context(), p.ID, a); err != nil {
				t.Fatal(err)
			}
			<-result
			for i, digest := range forms {
				later := asking("s")
				later.Digest, later.Batch = digest, approval.Batch{ID: "b", Index: i + 2, Total: 4}
				d, err := c.Preview(t.Context(), later)
				if err != nil || (i == 0) != (d.Outcome != approval.WouldAsk) {
					t.Fatalf("%v: call %d, %s: %+v, %v", forms, i+2, digest, d, err)
				}
				if i == 0 {
					if d := <-start(t.Context(), c, later); d.Reason != approval.ReasonBatch {
						t.Errorf("%v: %+v", forms, d)
					}
				}
			}
		})
	}
}
