package approval_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sandboxd/approval"
	"sandboxd/approval/approvaltest"
)

// presenter counts how often a presentation was built.
type presenter struct {
	built atomic.Int32
	err   error
	slow  time.Duration
}

func (p *presenter) present(ctx context.Context) (*approval.Presentation, error) {
	p.built.Add(1)
	select {
	case <-time.After(p.slow):
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if p.err != nil {
		return nil, p.err
	}
	return &approval.Presentation{Kind: approval.KindDiff, Content: "+x"}, nil
}

// TestLazy is acceptance 4: no presentation is built for a call that a block,
// a grant, a list or a mode answers, nor for one that nobody looks at (R-AP-06).
//
//   - Row 000-24 yes: cache before presentation (lazy)
func TestLazy(t *testing.T) {
	grant := func(effect approval.Effect, scope approval.Scope) func(*approval.Controller, *approval.Call) error {
		return func(c *approval.Controller, call *approval.Call) error {
			p, err := approval.ExactPattern("bash", call.Request.Payload)
			if err != nil {
				return err
			}
			_, err = c.AddGrant(alice, approval.Grant{Effect: effect, Scope: scope, Match: p, Principal: principal, Session: "s",
				Project: "/p", Agent: "agent"})
			return err
		}
	}
	configure := func(f func(*approval.Config)) func(*approval.Controller, *approval.Call) error {
		return func(c *approval.Controller, _ *approval.Call) error {
			cfg := approval.DefaultConfig()
			f(&cfg)
			return c.Configure(cfg)
		}
	}
	class := func(f func(*approval.Call)) func(*approval.Controller, *approval.Call) error {
		return func(_ *approval.Controller, call *approval.Call) error { f(call); return nil }
	}
	for name, prepare := range map[string]func(*approval.Controller, *approval.Call) error{
		"run":           class(func(c *approval.Call) { c.Request = nil }),
		"block":         class(func(c *approval.Call) { c.Blocked = &approval.BlockedError{} }),
		"rule deny":     class(func(c *approval.Call) { c.Class.Rule = approval.RuleDeny }),
		"safe":          class(func(c *approval.Call) { c.Class.Safe = true }),
		"rule allow":    class(func(c *approval.Call) { c.Class.Rule = approval.RuleAllow }),
		"turn allow":    grant(approval.Allow, approval.ScopeTurn),
		"turn deny":     grant(approval.Deny, approval.ScopeTurn),
		"session allow": grant(approval.Allow, approval.ScopeSession),
		"session deny":  grant(approval.Deny, approval.ScopeSession),
		"project allow": grant(approval.Allow, approval.ScopeProject),
		"project deny":  grant(approval.Deny, approval.ScopeProject),
		"agent allow":   grant(approval.Allow, approval.ScopeAgent),
		"agent deny":    grant(approval.Deny, approval.ScopeAgent),
		"global allow":  grant(approval.Allow, approval.ScopeGlobal),
		"global deny":   grant(approval.Deny, approval.ScopeGlobal),
		"strict":        configure(func(c *approval.Config) { c.Mode = approval.ModeStrict }),
		"whitelist":     configure(func(c *approval.Config) { c.Policy = approval.PolicyWhitelist }),
		"blacklist":     configure(func(c *approval.Config) { c.Policy = approval.PolicyBlacklist }),
		"safe only":     configure(func(c *approval.Config) { c.SafeCommandsOnly = true }),
		"nobody there":  func(*approval.Controller, *approval.Call) error { return nil },
		"stopped":       func(c *approval.Controller, _ *approval.Call) error { return c.Stop(alice, ref("s"), "") },
		"approve all":   func(c *approval.Controller, _ *approval.Call) error { return c.ApproveAll(alice, time.Hour) },
		"approve all, s": func(c *approval.Controller, _ *approval.Call) error {
			return c.ApproveAllSession(alice, ref("s"), time.Hour)
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, approval.Options{Store: new(approvaltest.Store)}, func(t *testing.T, c *approval.Controller) {
				c.OpenSession(ref("s"))
				if name != "nobody there" {
					defer c.Connect(alice)()
				}
				var p presenter
				call := asking("s")
				call.Present = p.present
				if err := prepare(c, &call); err != nil {
					t.Fatal(err)
				}
				if _, err := c.Preview(t.Context(), call); err != nil {
					t.Fatal(err)
				}
				d := <-start(t.Context(), c, call)
				if d.How != approval.HowAuto {
					t.Fatalf("%s: %s", d.How, d.Why)
				}
				if n := p.built.Load(); n != 0 {
					t.Errorf("the presentation was built %d times", n)
				}
			})
		})
	}
}

// TestPresentation: it is built once, for the first reader, and what was
// seen before it was there cannot be approved.
func TestPresentation(t *testing.T) {
	t.Run("somebody is there", func(t *testing.T) {
		bubble(t, approval.Options{}, func(t *testing.T, c *approval.Controller) {
			defer c.Connect(alice)()
			defer c.Connect(bob)()
			p := presenter{slow: time.Second}
			call := asking("s")
			call.Present = p.present
			result := start(t.Context(), c, call)
			early := only(t, c)
			if !early.Building || early.Presentation != nil {
				t.Errorf("%+v", early)
			}
			if _, err := c.Answer(t.Context(), early.ID, early.Allow(alice)); !errors.Is(err, approval.ErrStale) {
				t.Errorf("approved unseen: %v", err)
			}
			q, err := c.View(t.Context(), alice, early.ID)
			if err != nil || q.Building || q.Presentation == nil || q.Presentation.Content != "+x" {
				t.Fatalf("%+v, %v", q, err)
			}
			if _, err := c.View(t.Context(), bob, early.ID); err != nil {
				t.Error(err)
			}
			if _, err := c.Answer(t.Context(), early.ID, early.Allow(alice)); !errors.Is(err, approval.ErrStale) {
				t.Errorf("approved what was seen before: %v", err)
			}
			if _, err := c.Answer(t.Context(), q.ID, q.Allow(alice)); err != nil {
				t.Error(err)
			}
			if d := <-result; !d.Approved || p.built.Load() != 1 {
				t.Errorf("approved %t, built %d times", d.Approved, p.built.Load())
			}
		})
	})
	t.Run("somebody comes", func(t *testing.T) {
		bubble(t, approval.Options{}, func(t *testing.T, c *approval.Controller) {
			var p presenter
			call := asking("s")
			call.Present = p.present
			start(t.Context(), c, call)
			if n := p.built.Load(); n != 0 {
				t.Errorf("built %d times for nobody", n)
			}
			defer c.Connect(alice)()
			synctest.Wait()
			if n := p.built.Load(); n != 1 {
				t.Errorf("built %d times", n)
			}
		})
	})
	t.Run("it fails", func(t *testing.T) {
		for name, p := range map[string]*presenter{"error": {err: errors.New("no such file")}, "panic": nil} {
			bubble(t, approval.Options{}, func(t *testing.T, c *approval.Controller) {
				call := asking("s")
				call.Present = p.present // a nil presenter panics
				result := start(t.Context(), c, call)
				q, err := c.View(t.Context(), alice, only(t, c).ID)
				if err != nil || len(q.Warnings) != 1 || q.Risk != approval.RiskHigh {
					t.Fatalf("%s: %+v, %v", name, q, err)
				}
				a := q.Allow(alice)
				a.Scope = approval.ScopeSession
				var scope *approval.ScopeError
				if _, err := c.Answer(t.Context(), q.ID, a); !errors.As(err, &scope) {
					t.Errorf("%s: remembered unseen: %v", name, err)
				}
				if _, err := c.Answer(t.Context(), q.ID, q.Allow(alice)); err != nil {
					t.Error(err)
				}
				if d := <-result; !d.Approved {
					t.Error(d.Why)
				}
			})
		}
	})
	t.Run("it hangs", func(t *testing.T) {
		bubble(t, approval.Options{}, func(t *testing.T, c *approval.Controller) {
			defer c.Connect(alice)()
			p := presenter{slow: time.Hour}
			call := asking("s")
			call.Present = p.present
			began := time.Now()
			want(t, <-start(t.Context(), c, call), approval.ReasonTimeout, "")
			if took := time.Since(began); took != 10*time.Minute {
				t.Errorf("it took %s", took)
			}
		})
	})
	t.Run("denied unseen", func(t *testing.T) {
		bubble(t, approval.Options{}, func(t *testing.T, c *approval.Controller) {
			p := presenter{slow: time.Hour}
			call := asking("s")
			call.Present = p.present
			result := start(t.Context(), c, call)
			if _, err := c.Answer(t.Context(), only(t, c).ID, approval.Answer{Verb: approval.VerbDeny, By: alice}); err != nil {
				t.Fatal(err)
			}
			want(t, <-result, approval.ReasonPerson, "")
		})
	})
}
