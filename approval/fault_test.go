package approval_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sandboxd/approval"
	"sandboxd/approval/approvaltest"
)

// asking is a call that asks.
func asking(session string) approval.Call {
	args := map[string]any{"command": "make"}
	return approval.Call{ID: "c", Principal: principal, Session: session, Project: "/p",
		Agent: approval.Agent{ID: "agent"}, Tool: "bash", Request: approval.SimpleRequest("bash", args), Digest: "digest"}
}

// start makes a call in the background.
func start(ctx context.Context, c *approval.Controller, call approval.Call) <-chan approval.Decision {
	result := make(chan approval.Decision, 1)
	go func() {
		d, _ := c.Decide(ctx, call)
		result <- d
	}()
	synctest.Wait()
	return result
}

func only(t *testing.T, c *approval.Controller) approval.Pending {
	t.Helper()
	p := c.Pending(alice)
	if len(p) != 1 {
		t.Fatalf("%d questions are open, want 1", len(p))
	}
	return p[0]
}

func want(t *testing.T, d approval.Decision, reason approval.Reason, text string) {
	t.Helper()
	if d.Approved || d.Outcome != approval.Denied {
		t.Fatalf("approved: %+v", d)
	}
	if d.Reason != reason || !strings.Contains(d.Why, text) {
		t.Fatalf("denied for %s (%s), want %s (…%s…)", d.Reason, d.Why, reason, text)
	}
}

// bubble runs a test with a controller under fake time, and ends it.
func bubble(t *testing.T, o approval.Options, f func(t *testing.T, c *approval.Controller)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c, err := approval.New(o)
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := c.Close(context.Background()); err != nil && o.Store == nil {
				t.Error(err)
			}
		}()
		f(t, c)
	})
}

// Acceptance 2: for every fault the outcome is a denial, or the question
// stays as it was, with the stated reason (R-AP-14, R-AP-15).

func TestFaultApproverDies(t *testing.T) {
	t.Run("the only one", func(t *testing.T) {
		bubble(t, approval.Options{}, func(t *testing.T, c *approval.Controller) {
			defer c.Attach(alice, approvaltest.Dying())()
			want(t, <-start(t.Context(), c, asking("s")), approval.ReasonFault, "the terminal was closed")
		})
	})
	t.Run("it panics", func(t *testing.T) {
		bubble(t, approval.Options{}, func(t *testing.T, c *approval.Controller) {
			defer c.Attach(alice, approvaltest.Person(func(context.Context, approval.Pending) (approval.Answer, error) { panic("oops") }))()
			want(t, <-start(t.Context(), c, asking("s")), approval.ReasonFault, "panic: oops")
		})
	})
	t.Run("another is there", func(t *testing.T) {
		bubble(t, approval.Options{}, func(t *testing.T, c *approval.Controller) {
			defer c.Attach(alice, approvaltest.Dying())()
			defer c.Attach(approval.Identity{Principal: principal, Name: "bob", Via: approval.ViaRemote}, approvaltest.Silent())()
			result := start(t.Context(), c, asking("s"))
			only(t, c) // still open
			want(t, <-result, approval.ReasonTimeout, "no person answered")
		})
	})
	t.Run("it disconnects", func(t *testing.T) {
		bubble(t, approval.Options{}, func(t *testing.T, c *approval.Controller) {
			leave := c.Connect(alice)
			result := start(t.Context(), c, asking("s"))
			leave()
			leave() // twice does no harm
			only(t, c)
			want(t, <-result, approval.ReasonTimeout, "no approver was connected")
		})
	})
	t.Run("it disconnects and nobody is waited for", func(t *testing.T) {
		cfg := approval.DefaultConfig()
		cfg.NoApprover = approval.NoApproverDeny
		bubble(t, approval.Options{Config: cfg}, func(t *testing.T, c *approval.Controller) {
			leave := c.Connect(alice)
			result := start(t.Context(), c, asking("s"))
			leave()
			want(t, <-result, approval.ReasonNoApprover, "went away")
			want(t, <-start(t.Context(), c, asking("s")), approval.ReasonNoApprover, "nobody is there")
		})
	})
}

func TestFaultGarbage(t *testing.T) {
	t.Run("from a person", func(t *testing.T) {
		bubble(t, approval.Options{}, func(t *testing.T, c *approval.Controller) {
			defer c.Attach(alice, approvaltest.Garbage())()
			want(t, <-start(t.Context(), c, asking("s")), approval.ReasonFault, "unknown verb")
		})
	})
	t.Run("over a wire", func(t *testing.T) {
		bubble(t, approval.Options{Store: new(approvaltest.Store)}, func(t *testing.T, c *approval.Controller) {
			result := start(t.Context(), c, asking("s"))
			p := only(t, c)
			for name, spoil := range map[string]func(*approval.Answer){
				"no verb":             func(a *approval.Answer) { a.Verb = "" },
				"yes is no verb":      func(a *approval.Answer) { a.Verb = "yes" },
				"unknown scope":       func(a *approval.Answer) { a.Scope = "forever" },
				"lifetime of once":    func(a *approval.Answer) { a.For = time.Hour },
				"negative lifetime":   func(a *approval.Answer) { a.Scope, a.For = "session", -1 },
				"no such suggestion":  func(a *approval.Answer) { a.Scope, a.Suggestion = "session", 1 },
				"negative suggestion": func(a *approval.Answer) { a.Scope, a.Suggestion = "session", -1 },
				"suggestion of once":  func(a *approval.Answer) { a.Suggestion = 1 },
				"no such widening":    func(a *approval.Answer) { a.Widening = 1 },
				"negative widening":   func(a *approval.Answer) { a.Widening = -1 },
				"mode of a yes":       func(a *approval.Answer) { a.Mode = "soft" },
				"unknown mode":        func(a *approval.Answer) { a.Verb, a.Mode = "deny", "gentle" },
				"all of no batch":     func(a *approval.Answer) { a.Verb = "allow_all" },
				"no hash":             func(a *approval.Answer) { a.Hash = "" },
				"no rev":              func(a *approval.Answer) { a.Rev = 0 },
				"neither":             func(a *approval.Answer) { a.Rev, a.Hash = 0, "" },
				"another hash":        func(a *approval.Answer) { a.Hash = strings.Repeat("0", 64) },
				"a code unasked for":  func(a *approval.Answer) { a.Also = []approval.Ref{{ID: "x"}} },
				"denied for the session, unseen": func(a *approval.Answer) {
					a.Verb, a.Scope, a.Rev, a.Hash = "deny", "session", 0, ""
				},
			} {
				a := p.Allow(alice)
				spoil(&a)
				if r, err := c.Answer(t.Context(), p.ID, a); err == nil || r.Decided {
					t.Errorf("%s: taken: %+v", name, r)
				}
			}
			if q := only(t, c); q.Hash != p.Hash || q.Rev != p.Rev {
				t.Error("the question has changed")
			}
			if g := c.Grants(alice); len(g) != 0 {
				t.Errorf("grants were made: %v", g)
			}
			want(t, <-result, approval.ReasonTimeout, "no person answered")
		})
	})
}

func TestFaultAnswersTwice(t *testing.T) {
	bubble(t, approval.Options{}, func(t *testing.T, c *approval.Controller) {
		result := start(t.Context(), c, asking("s"))
		p := only(t, c)
		first, err := c.Answer(t.Context(), p.ID, p.Deny(alice, "no"))
		if err != nil {
			t.Fatal(err)
		}
		want(t, <-result, approval.ReasonPerson, "rejected")
		again, err := c.Answer(t.Context(), p.ID, p.Deny(alice, "no"))
		if err != nil || again.Decision.Outcome != first.Decision.Outcome {
			t.Errorf("the same answer again: %+v, %v", again, err)
		}
		var decided *approval.DecidedError
		if _, err := c.Answer(t.Context(), p.ID, p.Allow(alice)); !errors.As(err, &decided) {
			t.Errorf("another answer: %v, want already decided", err)
		} else if !strings.Contains(err.Error(), "already decided by uid 1000, alice, terminal: denied") {
			t.Errorf("the message is %q", err)
		}
	})
}

func TestFaultAnswersLate(t *testing.T) {
	bubble(t, approval.Options{}, func(t *testing.T, c *approval.Controller) {
		result := start(t.Context(), c, asking("s"))
		p := only(t, c)
		want(t, <-result, approval.ReasonTimeout, "within 10 min")
		var decided *approval.DecidedError
		if _, err := c.Answer(t.Context(), p.ID, p.Allow(alice)); !errors.As(err, &decided) || decided.Decision.Reason != approval.ReasonTimeout {
			t.Errorf("a late yes: %v", err)
		}
	})
}

// TestFaultOppositeAnswers: two approvers answer at once, opposite ways; one
// wins, the other is notified, and the call gets the winner's.
func TestFaultOppositeAnswers(t *testing.T) {
	bob := approval.Identity{Principal: principal, Name: "bob", Via: approval.ViaRemote}
	wins := map[string]int{}
	for i := range 200 {
		bubble(t, approval.Options{Store: new(approvaltest.Store)}, func(t *testing.T, c *approval.Controller) {
			result := start(t.Context(), c, asking("s"))
			p := only(t, c)
			var mu sync.Mutex
			var won, lost []string
			var wg sync.WaitGroup
			say := func(who string, a approval.Answer) {
				wg.Go(func() {
					_, err := c.Answer(t.Context(), p.ID, a)
					mu.Lock()
					defer mu.Unlock()
					var decided *approval.DecidedError
					switch {
					case err == nil:
						won = append(won, who)
					case errors.As(err, &decided):
						lost = append(lost, who)
					default:
						t.Error(err)
					}
				})
			}
			yes := p.Allow(alice)
			if i%2 == 0 {
				yes.Scope = approval.ScopeGlobal // one that is stored meanwhile
			}
			say("yes", yes)
			say("no", p.Deny(bob, ""))
			wg.Wait()
			d := <-result
			if len(won) != 1 || len(lost) != 1 || d.Approved != (won[0] == "yes") {
				t.Fatalf("won %v, lost %v, approved %t", won, lost, d.Approved)
			}
			if n := len(c.Grants(alice)); won[0] == "no" && n != 0 {
				t.Fatalf("the answer that lost left %d grants", n)
			}
			wins[won[0]]++
		})
	}
	t.Logf("wins: %v", wins)
}

// TestFaultClockJumps: the deadline does not follow the wall clock, and a
// lifetime counts only while both clocks agree that it lasts (R-AP-08, R-AP-18).
func TestFaultClockJumps(t *testing.T) {
	for name, jump := range map[string]time.Duration{"forth": 24 * time.Hour, "back": -24 * time.Hour} {
		t.Run("deadline/"+name, func(t *testing.T) {
			clock := new(approvaltest.Clock)
			bubble(t, approval.Options{Now: clock.Now}, func(t *testing.T, c *approval.Controller) {
				began := time.Now()
				result := start(t.Context(), c, asking("s"))
				clock.Jump(jump)
				synctest.Wait()
				only(t, c)
				want(t, <-result, approval.ReasonTimeout, "within 10 min")
				if took := time.Since(began); took != 10*time.Minute {
					t.Errorf("it took %s", took)
				}
			})
		})
		t.Run("lifetime/"+name, func(t *testing.T) {
			clock := new(approvaltest.Clock)
			bubble(t, approval.Options{Now: clock.Now}, func(t *testing.T, c *approval.Controller) {
				result := start(t.Context(), c, asking("s"))
				p := only(t, c)
				a := p.Allow(alice)
				a.Scope, a.For = approval.ScopeSession, time.Minute
				if _, err := c.Answer(t.Context(), p.ID, a); err != nil {
					t.Fatal(err)
				}
				<-result
				if err := c.ApproveAllSession(alice, ref("other"), time.Minute); err == nil {
					t.Error("approve-all for a session that is not open")
				}
				clock.Jump(jump)
				want(t, <-start(t.Context(), c, asking("s")), approval.ReasonTimeout, "")
			})
		})
		t.Run("deny/"+name, func(t *testing.T) {
			clock := new(approvaltest.Clock)
			bubble(t, approval.Options{Now: clock.Now}, func(t *testing.T, c *approval.Controller) {
				result := start(t.Context(), c, asking("s"))
				p := only(t, c)
				a := p.Deny(alice, "")
				a.Scope, a.For = approval.ScopeSession, 48*time.Hour
				if _, err := c.Answer(t.Context(), p.ID, a); err != nil {
					t.Fatal(err)
				}
				<-result
				clock.Jump(jump)
				want(t, <-start(t.Context(), c, asking("s")), approval.ReasonGrant, "denied")
			})
		})
		t.Run("approve-all/"+name, func(t *testing.T) {
			clock := new(approvaltest.Clock)
			bubble(t, approval.Options{Now: clock.Now}, func(t *testing.T, c *approval.Controller) {
				c.OpenSession(ref("s"))
				if err := c.ApproveAllSession(alice, ref("s"), time.Hour); err != nil {
					t.Fatal(err)
				}
				if d := <-start(t.Context(), c, asking("s")); !d.Approved || len(d.Warnings) != 1 {
					t.Errorf("approve-all: %+v", d)
				}
				clock.Jump(jump)
				want(t, <-start(t.Context(), c, asking("s")), approval.ReasonTimeout, "")
			})
		})
	}
}

// TestFaultStoreFails: a yes that cannot be remembered is not taken; a no is.
func TestFaultStoreFails(t *testing.T) {
	store := new(approvaltest.Store)
	bubble(t, approval.Options{Store: store}, func(t *testing.T, c *approval.Controller) {
		store.Fail(errors.New("disk full"))
		result := start(t.Context(), c, asking("s"))
		p := only(t, c)
		a := p.Allow(alice)
		a.Scope = approval.ScopeGlobal
		var refused *approval.AnswerError
		if _, err := c.Answer(t.Context(), p.ID, a); !errors.As(err, &refused) || refused.Code != "store" || !strings.Contains(err.Error(), "disk full") {
			t.Fatalf("error is %v", err)
		}
		only(t, c) // unchanged
		n := p.Deny(alice, "no")
		n.Scope = approval.ScopeGlobal
		r, err := c.Answer(t.Context(), p.ID, n)
		if err != nil || !strings.Contains(r.Warning, "disk full") {
			t.Fatalf("denial: %+v, %v", r, err)
		}
		want(t, <-result, approval.ReasonPerson, "rejected")
		if g := c.Grants(alice); len(g) != 0 {
			t.Errorf("grants: %v", g)
		}
		store.Fail(nil)
	})
}

// TestFaultFileUnwritable is the same with a real file: a folder has the name of
// the file, so that it holds for root too.
func TestFaultFileUnwritable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "grants.json")
	c, err := approval.New(approval.Options{Store: approval.NewFileStore(path)})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(path, "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	result := make(chan approval.Decision, 1)
	go func() {
		d, _ := c.Decide(t.Context(), asking("s"))
		result <- d
	}()
	for len(c.Pending(alice)) == 0 {
		time.Sleep(time.Millisecond)
	}
	p := only(t, c)
	a := p.Allow(alice)
	a.Scope = approval.ScopeAgent
	if _, err := c.Answer(t.Context(), p.ID, a); err == nil {
		t.Fatal("taken")
	}
	only(t, c)
	if _, err := c.Answer(t.Context(), p.ID, p.Deny(alice, "")); err != nil {
		t.Fatal(err)
	}
	want(t, <-result, approval.ReasonPerson, "")
	_ = c.Close(context.Background())
}

// TestFaultWhileStoring: what happens while a grant is being written.
func TestFaultWhileStoring(t *testing.T) {
	for name, c := range map[string]struct {
		meanwhile func(c *approval.Controller, cancel func())
		reason    approval.Reason
		err       string
		kept      int
	}{
		"the deadline passes":  {func(*approval.Controller, func()) { time.Sleep(time.Minute) }, approval.ReasonPerson, "", 1},
		"the caller goes away": {func(_ *approval.Controller, cancel func()) { cancel() }, approval.ReasonCancelled, "", 1},
		"the session stops":    {func(c *approval.Controller, _ func()) { _ = c.Stop(alice, ref("s"), "") }, approval.ReasonStopped, "", 1},
		"the session closes":   {func(c *approval.Controller, _ func()) { c.CloseSession(ref("s")) }, approval.ReasonCancelled, "already decided", 0},
	} {
		t.Run(name, func(t *testing.T) {
			store := new(approvaltest.Store)
			bubble(t, approval.Options{Store: store}, func(t *testing.T, ctl *approval.Controller) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				result := start(ctx, ctl, asking("s"))
				p := only(t, ctl)
				a := p.Allow(alice)
				a.Scope = approval.ScopeGlobal
				release := store.Hold()
				answered := make(chan error, 1)
				go func() {
					_, err := ctl.Answer(context.Background(), p.ID, a)
					answered <- err
				}()
				synctest.Wait()
				c.meanwhile(ctl, cancel)
				synctest.Wait()
				release()
				err := <-answered
				if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
					t.Errorf("the answer's error is %v", err)
				}
				d := <-result
				if d.Reason != c.reason || d.Approved != (c.reason == approval.ReasonPerson) {
					t.Errorf("decided %s, approved %t", d.Reason, d.Approved)
				}
				synctest.Wait()
				if n, m := len(ctl.Grants(alice)), len(store.Grants()); n != c.kept || m != c.kept {
					t.Errorf("%d grants hold and %d are stored, want %d", n, m, c.kept)
				}
			})
		})
	}
}

// TestFaultAuditRefuses: a call without a record is denied, and what the
// same answer granted is taken back (R-AU-03).
func TestFaultAuditRefuses(t *testing.T) {
	for name, hook := range map[string]func(context.Context, approval.Call, approval.Decision) error{
		"error": func(context.Context, approval.Call, approval.Decision) error { return errors.New("disk full") },
		"panic": func(context.Context, approval.Call, approval.Decision) error { panic("disk full") },
	} {
		t.Run(name, func(t *testing.T) {
			store := new(approvaltest.Store)
			hooks := []approval.Hooks{{AfterDecision: hook}}
			bubble(t, approval.Options{Store: store, Hooks: hooks}, func(t *testing.T, c *approval.Controller) {
				for _, scope := range []approval.Scope{"once", "session", "global"} {
					result := start(t.Context(), c, asking("s"))
					p := only(t, c)
					a := p.Allow(alice)
					a.Scope = scope
					if _, err := c.Answer(t.Context(), p.ID, a); err != nil {
						t.Fatal(err)
					}
					want(t, <-result, approval.ReasonAudit, "disk full")
					if len(c.Grants(alice)) != 0 || len(store.Grants()) != 0 {
						t.Errorf("%s: the grant was kept", scope)
					}
				}
				safe := asking("s")
				safe.Class.Safe = true
				want(t, <-start(t.Context(), c, safe), approval.ReasonAudit, "disk full")
				if s := c.Stats(alice); s.Approved+s.AutoApproved != 0 || s.Denied != 4 {
					t.Errorf("statistics: %+v", s)
				}
			})
		})
	}
}

func TestFaultContextCancelled(t *testing.T) {
	t.Run("while it asks", func(t *testing.T) {
		bubble(t, approval.Options{}, func(t *testing.T, c *approval.Controller) {
			ctx, cancel := context.WithCancel(t.Context())
			result := start(ctx, c, asking("s"))
			p := only(t, c)
			cancel()
			want(t, <-result, approval.ReasonCancelled, "the caller went away")
			if _, err := c.Answer(context.Background(), p.ID, p.Allow(alice)); err == nil {
				t.Error("a yes was taken")
			}
		})
	})
	t.Run("before", func(t *testing.T) {
		bubble(t, approval.Options{}, func(t *testing.T, c *approval.Controller) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			want(t, <-start(ctx, c, asking("s")), approval.ReasonCancelled, "")
		})
	})
	t.Run("the daemon stops", func(t *testing.T) {
		bubble(t, approval.Options{}, func(t *testing.T, c *approval.Controller) {
			result := start(t.Context(), c, asking("s"))
			if err := c.Close(context.Background()); err != nil {
				t.Fatal(err)
			}
			want(t, <-result, approval.ReasonCancelled, "stopping")
			want(t, <-start(t.Context(), c, asking("s")), approval.ReasonCancelled, "stopping")
		})
	})
	t.Run("the session closes", func(t *testing.T) {
		bubble(t, approval.Options{}, func(t *testing.T, c *approval.Controller) {
			result := start(t.Context(), c, asking("s"))
			c.CloseSession(ref("s"))
			want(t, <-result, approval.ReasonCancelled, "closed")
		})
	})
}

// TestFaultFlood: 1,000 questions of one principal. The cap is per principal
// and in all; the others are not starved (R-IP-05).
func TestFaultFlood(t *testing.T) {
	bubble(t, approval.Options{MaxPending: 300}, func(t *testing.T, c *approval.Controller) {
		var results []<-chan approval.Decision
		for i := range 1000 {
			call := asking(fmt.Sprint("s", i)) // sessions are cheap
			result := make(chan approval.Decision, 1)
			go func() {
				d, _ := c.Decide(t.Context(), call)
				result <- d
			}()
			results = append(results, result)
		}
		synctest.Wait()
		if n := len(c.Pending(alice)); n != 128 {
			t.Errorf("%d questions are open, want 128", n)
		}
		other := asking("s")
		other.Principal.UID = 1001
		theirs := start(t.Context(), c, other)
		them := approval.Identity{Principal: other.Principal, Via: approval.ViaTerminal}
		p := c.Pending(them)
		if len(p) != 1 {
			t.Fatalf("the other principal has %d questions, want 1", len(p))
		}
		if _, err := c.Answer(t.Context(), p[0].ID, p[0].Allow(them)); err != nil {
			t.Error(err)
		}
		if d := <-theirs; !d.Approved {
			t.Errorf("the other principal: %s", d.Why)
		}
		flooded, timedOut := 0, 0
		for _, r := range results {
			switch d := <-r; d.Reason {
			case approval.ReasonFlood:
				flooded++
			case approval.ReasonTimeout:
				timedOut++
			default:
				t.Errorf("%s: %s", d.Reason, d.Why)
			}
		}
		if flooded != 872 || timedOut != 128 {
			t.Errorf("%d were refused and %d timed out", flooded, timedOut)
		}
		// In all, too.
		for uid := range 4 {
			for range 100 {
				call := asking("s")
				call.Principal.UID = 2000 + uid
				go func() { _, _ = c.Decide(t.Context(), call) }()
			}
		}
		synctest.Wait()
		if n := len(c.Pending(approval.Identity{Operator: true})); n != 300 {
			t.Errorf("%d questions are open in all, want 300", n)
		}
	})
}

// TestFaultSlowApprover: one that hangs holds up neither another approver nor
// the deadline.
func TestFaultSlowApprover(t *testing.T) {
	bubble(t, approval.Options{}, func(t *testing.T, c *approval.Controller) {
		defer c.Attach(alice, approvaltest.Silent())()
		defer c.Attach(approval.Identity{Principal: principal, Name: "bob", Via: approval.ViaRemote}, approvaltest.Yes(approval.ScopeOnce))()
		for range 3 {
			if d := <-start(t.Context(), c, asking("s")); !d.Approved {
				t.Error(d.Why)
			}
		}
	})
}
