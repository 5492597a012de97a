package approval_test

import (
	"errors"
	"testing"

	"sandboxd/approval"
)

// TestDoubleConfirm: the second yes is a separate act, of the same approver,
// to the same thing (R-AP-13).
func TestDoubleConfirm(t *testing.T) {
	bubble(t, approval.Options{}, func(t *testing.T, c *approval.Controller) {
		call := asking("s")
		call.Request.Delete = true
		result := start(t.Context(), c, call)
		p := only(t, c)
		if !p.Twice || p.Risk != approval.RiskHigh {
			t.Errorf("twice %t, risk %s", p.Twice, p.Risk)
		}
		yes := p.Allow(alice)
		first, err := c.Answer(t.Context(), p.ID, yes)
		if err != nil || first.Decided {
			t.Fatalf("first yes: %+v, %v", first, err)
		}
		again, err := c.Answer(t.Context(), p.ID, yes)
		if err != nil || again.Decided {
			t.Errorf("the first yes once more: got %+v, %v, want another first yes", again, err)
		}
		for name, spoil := range map[string]func(a *approval.Answer){
			"somebody else":                func(a *approval.Answer) { a.By = bob },
			"another terminal of the same": func(a *approval.Answer) { a.By.Name += "2" },
			"another scope":                func(a *approval.Answer) { a.Scope = "session" },
			"another note":                 func(a *approval.Answer) { a.Note = "x" },
		} {
			fresh, err := c.Answer(t.Context(), p.ID, yes)
			if err != nil || fresh.Decided {
				t.Fatalf("%+v, %v", fresh, err)
			}
			a := yes
			a.Confirm = true
			spoil(&a)
			if r, err := c.Answer(t.Context(), p.ID, a); !errors.Is(err, approval.ErrConfirm) {
				t.Errorf("%s: %+v, %v", name, r, err)
			}
		}
		only(t, c)
		spoiled := yes
		spoiled.Confirm, spoiled.Note = true, "x"
		if _, err := c.Answer(t.Context(), p.ID, spoiled); !errors.Is(err, approval.ErrConfirm) {
			t.Errorf("a second yes to another first: %v", err)
		}
		confirm := yes
		confirm.Confirm = true
		if _, err := c.Answer(t.Context(), p.ID, confirm); !errors.Is(err, approval.ErrConfirm) {
			t.Errorf("a second yes after the first was spent: %v", err)
		}
		if _, err = c.Answer(t.Context(), p.ID, yes); err != nil {
			t.Fatal(err)
		}
		yes.Confirm = true
		r, err := c.Answer(t.Context(), p.ID, yes)
		if err != nil || !r.Decided {
			t.Fatalf("second yes: %+v, %v", r, err)
		}
		if d := <-result; !d.Approved || !d.Confirmed {
			t.Errorf("decision: %+v", d)
		}
		if s := c.Stats(alice); s.DoubleConfirmed != 1 {
			t.Errorf("statistics: %+v", s)
		}
	})
}
