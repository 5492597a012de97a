package approval_test

import (
	"context"
	"testing"

	"sandboxd/approval"
)

// cached is a controller with a session grant for the call.
func cached(tb testing.TB) (*approval.Controller, approval.Call) {
	c, err := approval.New(approval.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	call := asking("s")
	call.Request.Payload = map[string]any{"argv": []any{"go", "test", "./..."}, "cwd": "/home/user/project",
		"network": false}
	c.OpenSession(ref("s"))
	p, err := approval.ExactPattern("bash", call.Request.Payload)
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := c.AddGrant(alice, approval.Grant{Effect: approval.Allow, Scope: approval.ScopeSession, Match: p,
		Principal: principal, Session: "s"}); err != nil {
		tb.Fatal(err)
	}
	return c, call
}

// ruled is a controller and a call that a configured rule allows.
func ruled(tb testing.TB) (*approval.Controller, approval.Call) {
	c, call := cached(tb)
	call.Session = "other"
	call.Class = approval.Class{Rule: approval.RuleAllow, RuleText: `[permissions] allow "Bash(go test *)"`}
	return c, call
}

// BenchmarkSessionGrant and BenchmarkRuleHit are acceptance 5: under 5 µs and
// under 10 allocations.
func BenchmarkSessionGrant(b *testing.B) { benchmark(b, cached) }
func BenchmarkRuleHit(b *testing.B)      { benchmark(b, ruled) }

func benchmark(b *testing.B, setup func(testing.TB) (*approval.Controller, approval.Call)) {
	c, call := setup(b)
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		if d, _ := c.Decide(ctx, call); !d.Approved {
			b.Fatal(d.Why)
		}
	}
}

// TestCost holds the allocations to acceptance 5; the time depends on the
// machine and is for the benchmarks.
func TestCost(t *testing.T) {
	for name, setup := range map[string]func(testing.TB) (*approval.Controller, approval.Call){"session grant": cached,
		"rule hit": ruled} {
		c, call := setup(t)
		n := testing.AllocsPerRun(1000, func() {
			if d, _ := c.Decide(t.Context(), call); !d.Approved {
				t.Fatal(d.Why)
			}
		})
		if n >= 10 {
			t.Errorf("%s: %.0f allocations", name, n)
		}
	}
}
