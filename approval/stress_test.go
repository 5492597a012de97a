package approval_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sandboxd/approval"
)

// TestStress lets everything happen at once, in real time, on a real file:
// nothing deadlocks, every call is decided once, and what a person denied or
// nobody answered was not approved.
func TestStress(t *testing.T) {
	c, err := approval.New(approval.Options{Store: approval.NewFileStore(filepath.Join(t.TempDir(), "grants.json")), EventBuffer: 4})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var calls, others sync.WaitGroup
	var made, decided atomic.Uint64
	for i := range 24 {
		calls.Go(func() {
			for n := range 40 {
				call := asking(fmt.Sprint("s", i%3))
				call.Request.Payload = map[string]any{"n": rand.IntN(4)}
				call.Request.Delete = n%5 == 0
				made.Add(1)
				short, stop := context.WithTimeout(ctx, time.Duration(5+rand.IntN(20))*time.Millisecond)
				d, err := c.Decide(short, call)
				stop()
				if err != nil {
					t.Error(err)
				}
				if d.Approved && d.How == approval.HowAuto && d.Grant == "" {
					t.Errorf("approved by nobody: %+v", d)
				}
				decided.Add(1)
			}
		})
	}
	loop := func(f func()) {
		others.Go(func() {
			for ctx.Err() == nil {
				f()
				time.Sleep(time.Duration(rand.IntN(1000)) * time.Microsecond)
			}
		})
	}
	for i := range 4 {
		by := approval.Identity{Principal: principal, Name: fmt.Sprint("approver", i), Via: approval.ViaTerminal}
		loop(func() {
			for _, p := range c.Pending(by) {
				a := p.Deny(by, "")
				switch rand.IntN(4) {
				case 0:
					a = p.Allow(by)
					a.Scope = []approval.Scope{"once", "turn", "session", "agent", "global"}[rand.IntN(5)]
				case 1:
					a.Mode = approval.RejectHard
				}
				r, err := c.Answer(ctx, p.ID, a)
				if err == nil && !r.Decided {
					a.Confirm = true
					_, err = c.Answer(ctx, p.ID, a)
				}
				var known *approval.DecidedError
				if err != nil && !errors.As(err, &known) && !errors.Is(err, approval.ErrUnknown) && ctx.Err() == nil {
					t.Error(err)
				}
			}
		})
	}
	loop(func() { c.NewTurn(ref(fmt.Sprint("s", rand.IntN(3)))) })
	loop(func() { c.Connect(alice)() })
	loop(func() {
		for _, g := range c.Grants(alice) {
			if err := c.Revoke(alice, g.ID); err != nil {
				continue // another change of the same question took it back
			}
			if _, err := c.Grant(alice, g.ID); err == nil {
				t.Error("a revoked grant holds")
			}
		}
	})
	loop(func() { _ = c.Reload() })
	loop(func() {
		if rand.IntN(20) == 0 {
			c.CloseSession(ref("s2"))
		}
	})
	others.Go(func() {
		for sub := c.Subscribe(alice); ; {
			if _, err := sub.Next(ctx); err != nil {
				return
			}
		}
	})
	calls.Wait()
	cancel()
	others.Wait()
	if made.Load() != decided.Load() {
		t.Errorf("%d calls were made, %d decided", made.Load(), decided.Load())
	}
	s := c.Stats(alice)
	if s.Total != made.Load() || s.Total != s.Approved+s.AutoApproved+s.Denied {
		t.Errorf("%d calls were made: %+v", made.Load(), s)
	}
	if n := len(c.Pending(alice)); n != 0 {
		t.Errorf("%d questions are left", n)
	}
	if err := c.Close(context.Background()); err != nil {
		t.Error(err)
	}
}
