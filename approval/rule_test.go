package approval_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"sandboxd/approval"
)

type ruleFunc func(context.Context, approval.Call) (approval.Ruling, error)

func (f ruleFunc) Judge(ctx context.Context, c approval.Call) (approval.Ruling, error) {
	return f(ctx, c)
}

func says(effect approval.RuleEffect) approval.Rule {
	return ruleFunc(func(context.Context, approval.Call) (approval.Ruling, error) {
		return approval.Ruling{Effect: effect, Rule: "our rule", Reason: "because"}, nil
	})
}

// TestRules: an added rule says run, ask or block; of several, and together
// with the tool's word, the strictest counts; one that fails asks (R-AP-22).
func TestRules(t *testing.T) {
	fails := ruleFunc(func(context.Context, approval.Call) (approval.Ruling, error) {
		return approval.Ruling{Effect: approval.RuleAllow}, errors.New("oops")
	})
	panics := ruleFunc(func(context.Context, approval.Call) (approval.Ruling, error) { panic("oops") })
	for _, c := range []struct {
		name, check string
		rules       []approval.Rule
		want, step  string
	}{
		{"no opinion", "ask", []approval.Rule{says("")}, "ask", "person"},
		{"run", "ask", []approval.Rule{says("allow")}, "approve", "configured"},
		{"run, dangerous", "dangerous", []approval.Rule{says("allow")}, "ask-twice", "person"},
		{"run, blocked", "block", []approval.Rule{says("allow")}, "deny", "block"},
		{"run, configured ask", "cfg-ask", []approval.Rule{says("allow")}, "ask", "person"},
		{"ask, safe", "safe", []approval.Rule{says("ask")}, "ask", "person"},
		{"ask, nil check", "run", []approval.Rule{says("ask")}, "ask", "person"},
		{"ask, operator's allow", "dangerous-op", []approval.Rule{says("ask")}, "ask-twice", "person"},
		{"block, safe", "safe", []approval.Rule{says("deny")}, "deny", "block"},
		{"block, nil check", "run", []approval.Rule{says("deny")}, "deny", "block"},
		{"the strictest of several", "safe", []approval.Rule{says("allow"), says("deny"), says("ask")}, "deny", "block"},
		{"an error asks", "safe", []approval.Rule{fails}, "ask", "person"},
		{"a panic asks", "safe", []approval.Rule{panics}, "ask", "person"},
		{"an unknown word asks", "safe", []approval.Rule{says("perhaps")}, "ask", "person"},
		{"a block beats a failure", "safe", []approval.Rule{fails, says("deny")}, "deny", "block"},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, approval.Options{Rules: c.rules}, func(t *testing.T, ctl *approval.Controller) {
				row := cell{check: c.check}
				if got, step := decide(t, ctl, row.call()); got != c.want || step != c.step {
					t.Errorf("%s by %s, want %s by %s", got, step, c.want, c.step)
				}
			})
		})
	}
}

// TestHooks: before and after a decision and an execution (R-AP-22).
func TestHooks(t *testing.T) {
	var log []string
	hooks := approval.Hooks{
		BeforeDecision: func(_ context.Context, call approval.Call) error {
			log = append(log, "before decision")
			if call.Cwd == "/forbidden" {
				return errors.New("not there")
			}
			return nil
		},
		AfterDecision: func(_ context.Context, _ approval.Call, d approval.Decision) error {
			log = append(log, "after decision: "+string(d.Outcome))
			return nil
		},
		BeforeExecution: func(_ context.Context, call approval.Call, _ approval.Decision) error {
			log = append(log, "before execution")
			if call.Why == "no" {
				return errors.New("not now")
			}
			return nil
		},
		AfterExecution: func(_ context.Context, _ approval.Call, _ approval.Decision, err error) {
			log = append(log, fmt.Sprint("after execution: ", err))
		},
	}
	bubble(t, approval.Options{Hooks: []approval.Hooks{hooks}}, func(t *testing.T, c *approval.Controller) {
		run := func(call approval.Call) error {
			log = nil
			call.Principal, call.Session = principal, "s"
			_, err := c.Run(t.Context(), approval.Work{Call: call, Context: approval.Context{Tool: "x"},
				Do: func(context.Context) error {
					log = append(log, "run")
					return errors.New("exit 1")
				}})
			return err
		}
		if err := run(approval.Call{}); err == nil || err.Error() != "exit 1" {
			t.Error(err)
		}
		want := []string{"before decision", "after decision: approved", "before execution", "run", "after execution: exit 1"}
		if !slices.Equal(log, want) {
			t.Errorf("%v, want %v", log, want)
		}
		var denied *approval.DeniedError
		if err := run(approval.Call{Cwd: "/forbidden"}); !errors.As(err, &denied) ||
			!strings.Contains(err.Error(), "not there") {
			t.Error(err)
		}
		if want := []string{"before decision", "after decision: denied"}; !slices.Equal(log, want) {
			t.Errorf("%v, want %v", log, want)
		}
		if err := run(approval.Call{Why: "no"}); err == nil || !strings.Contains(err.Error(), "not now") {
			t.Error(err)
		}
		if want := []string{"before decision", "after decision: approved", "before execution"}; !slices.Equal(log, want) {
			t.Errorf("%v, want %v", log, want)
		}
	})
}

// TestHolds: a decision covers what was shown, and nothing else.
func TestHolds(t *testing.T) {
	d := approval.Decision{Outcome: approval.Approved, Approved: true, Digest: "a"}
	if err := d.Holds("a"); err != nil {
		t.Error(err)
	}
	if err := d.Holds("b"); err == nil {
		t.Error("it covers something else")
	}
	if err := (approval.Decision{}).Holds(""); err == nil {
		t.Error("the zero decision approves")
	}
	c, err := approval.New(approval.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(t.Context())
	if err := c.Begin(t.Context(), approval.Call{Tool: "x"}, d, "b"); err == nil {
		t.Error("an execution began with another digest")
	}
}

// TestSkill: what a trusted skill lists holds until the turn ends (R-SH-05).
func TestSkill(t *testing.T) {
	bubble(t, approval.Options{}, func(t *testing.T, c *approval.Controller) {
		c.OpenSession(ref("s"))
		g, err := c.AddGrant(alice, approval.Grant{Effect: approval.Allow, Scope: approval.ScopeTurn, Principal: principal,
			Session: "s", Source: "skill commit",
			Match: approval.Pattern{Tool: "bash", Where: []approval.Condition{approval.Prefix("argv", "git", "commit")}}})
		if err != nil {
			t.Fatal(err)
		}
		call := asking("s")
		call.Request.Payload = map[string]any{"argv": []any{"git", "commit", "-m", "x"}}
		d := <-start(t.Context(), c, call)
		if !d.Approved || d.Grant != g.ID || d.Layer != approval.LayerTurn {
			t.Errorf("%+v", d)
		}
		call.Turn = 7
		if d, _ := c.Preview(t.Context(), call); d.Approved {
			t.Error("it reaches a call of another turn")
		}
		call.Turn = 0
		c.NewTurn(ref("s"))
		if d, _ := c.Preview(t.Context(), call); d.Approved {
			t.Error("it outlives the turn")
		}
		if n := len(c.Grants(alice)); n != 0 {
			t.Errorf("%d grants are left", n)
		}
	})
}

// TestText: the denials read as the specifications have them (R-UX-06, R-AP-12).
func TestText(t *testing.T) {
	person := approval.Decision{Outcome: approval.Denied, How: approval.HowPerson, Reason: approval.ReasonPerson,
		Note: "Don't write that file", Reject: approval.RejectSoft}
	if got, want := person.ForAgent("write"), "User rejected tool 'write'. Feedback: Don't write that file\n\n[System "+
		"reminder: Ask the user"; !strings.HasPrefix(got, want) {
		t.Errorf("%q", got)
	}
	person.Reject = approval.RejectHard
	if got := person.ForAgent("write"); !strings.Contains(got, "wait for the user's next message") {
		t.Errorf("%q", got)
	}
	for _, r := range []approval.Reason{approval.ReasonStopped, approval.ReasonBlocked, approval.ReasonGrant,
		approval.ReasonWhitelist,
		approval.ReasonSafeOnly, approval.ReasonStrict, approval.ReasonTimeout, approval.ReasonNoApprover,
		approval.ReasonCancelled,
		approval.ReasonFlood, approval.ReasonFault, approval.ReasonAudit} {
		text := approval.Decision{Outcome: approval.Denied, How: approval.HowAuto, Reason: r}.ForAgent("bash")
		if !strings.HasPrefix(text, "Tool 'bash' was not run: ") || strings.Count(text, ".") < 1 ||
			strings.Contains(text, "  ") {
			t.Errorf("%s: %q", r, text)
		}
	}
	timeout := approval.Decision{Outcome: approval.Denied, How: approval.HowAuto,
		Reason: approval.ReasonTimeout}.ForAgent("bash")
	if !strings.Contains(timeout, "no person answered") || strings.Contains(timeout, "User rejected") {
		t.Errorf("%q", timeout)
	}
	if text := (approval.Decision{Approved: true}).ForAgent("bash"); text != "" {
		t.Errorf("an approval says %q", text)
	}
}

// TestStats: live, per session, agent and overall, resettable (R-AP-17).
func TestStats(t *testing.T) {
	bubble(t, approval.Options{}, func(t *testing.T, c *approval.Controller) {
		safe := asking("s1")
		safe.Class.Safe = true
		blocked := asking("s2")
		blocked.Blocked = &approval.BlockedError{Reason: "never"}
		blocked.Agent.ID = "other"
		foreign := safe
		foreign.Principal = mallory.Principal
		for _, call := range []approval.Call{safe, safe, blocked, foreign} {
			<-start(t.Context(), c, call)
		}
		operator := approval.Identity{Operator: true}
		for name, c := range map[string]struct{ got, want approval.Stats }{
			"principal": {c.Stats(alice), approval.Stats{Total: 3, AutoApproved: 2, Denied: 1}},
			"another":   {c.Stats(mallory), approval.Stats{Total: 1, AutoApproved: 1}},
			"all":       {c.Stats(operator), approval.Stats{Total: 4, AutoApproved: 3, Denied: 1}},
			"session":   {c.SessionStats(ref("s1")), approval.Stats{Total: 2, AutoApproved: 2}},
			"agent":     {c.AgentStats(principal, "other"), approval.Stats{Total: 1, Denied: 1}},
			"no agent":  {c.AgentStats(principal, "x"), approval.Stats{}},
		} {
			if c.got != c.want {
				t.Errorf("%s: %+v, want %+v", name, c.got, c.want)
			}
		}
		c.ResetStats(alice)
		if got := c.Stats(alice); got != (approval.Stats{}) {
			t.Errorf("after a reset: %+v", got)
		}
		if got := c.SessionStats(ref("s1")); got != (approval.Stats{}) {
			t.Errorf("after a reset, the session's: %+v", got)
		}
		if got := c.Stats(mallory); got.Total != 1 {
			t.Errorf("another's reset changed %+v", got)
		}
		if got := c.Stats(operator); got.Total != 4 {
			t.Errorf("a user's reset changed the operator's figures: %+v", got)
		}
	})
}
