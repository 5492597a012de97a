package approval_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sandboxd/approval"
	"sandboxd/approval/approvaltest"
)

var (
	principal = approval.Principal{UID: 1000}
	alice     = approval.Identity{Principal: principal, Name: "alice", Via: approval.ViaTerminal}
	main      = approval.SessionRef{Principal: principal, ID: "main"}
)

// cell is one row of testdata/decisions.txt.
type cell struct {
	line                               int
	mode, policy, check, grants, batch string
	outcome, step                      string
}

func cells(t *testing.T) (out []cell) {
	f, err := os.Open("testdata/decisions.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	in := bufio.NewScanner(f)
	for line := 1; in.Scan(); line++ {
		w := strings.Fields(in.Text())
		if len(w) == 0 || strings.HasPrefix(w[0], "#") {
			continue
		}
		if len(w) != 7 {
			t.Fatalf("decisions.txt:%d: %d columns, want 7", line, len(w))
		}
		out = append(out, cell{line, w[0], w[1], w[2], w[3], w[4], w[5], w[6]})
	}
	if err := in.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestDecisionTable is acceptance 1's table: R-AP-04, R-AP-05, R-AP-08,
// R-AP-09, R-AP-10, R-AP-12, R-AP-13, R-AP-18, R-AP-19, one row per cell, the
// outcome written out in testdata/decisions.txt. Every row goes through Decide.
func TestDecisionTable(t *testing.T) {
	rows := cells(t)
	if len(rows) < 3000 {
		t.Fatalf("only %d rows", len(rows))
	}
	synctest.Test(t, func(t *testing.T) {
		for _, r := range rows {
			if err := r.run(t); err != nil {
				t.Errorf("decisions.txt:%d: %s %s %s %s %s: %v", r.line, r.mode, r.policy, r.check, r.grants, r.batch, err)
			}
		}
	})
}

func (r cell) run(t *testing.T) error {
	c, err := approval.New(approval.Options{Store: new(approvaltest.Store)})
	if err != nil {
		return err
	}
	defer c.Close(context.Background())
	c.OpenSession(main)
	call := r.call()
	if err := r.prepareGrants(c, call); err != nil {
		return err
	}
	if err := r.prepareBatch(t, c, &call); err != nil {
		return err
	}
	if err := r.prepareMode(c); err != nil {
		return err
	}
	preview, err := c.Preview(t.Context(), call)
	if err != nil {
		return err
	}
	outcome, step := decide(t, c, call)
	if outcome != r.outcome || step != r.step {
		return fmt.Errorf("%s by %s, want %s by %s", outcome, step, r.outcome, r.step)
	}
	// R-AP-20: the dry run says the same, beforehand.
	dry := map[approval.Outcome]string{approval.Approved: "approve", approval.Denied: "deny",
		approval.WouldAsk: "ask"}[preview.Outcome]
	if dry != strings.TrimSuffix(r.outcome, "-twice") || string(preview.Layer) != r.step {
		return fmt.Errorf("the dry run says %s by %s", dry, preview.Layer)
	}
	return nil
}

// decide makes the call; a question is described and denied.
func decide(t *testing.T, c *approval.Controller, call approval.Call) (outcome, step string) {
	result := make(chan approval.Decision, 1)
	go func() {
		d, _ := c.Decide(t.Context(), call)
		result <- d
	}()
	synctest.Wait()
	select {
	case d := <-result:
		if d.Approved {
			return "approve", string(d.Layer)
		}
		return "deny", string(d.Layer)
	default:
	}
	p := c.Pending(alice)
	if len(p) != 1 {
		return fmt.Sprintf("%d questions", len(p)), ""
	}
	outcome = "ask"
	if p[0].Twice {
		outcome = "ask-twice"
	}
	if _, err := c.Answer(t.Context(), p[0].ID, p[0].Deny(alice, "")); err != nil {
		return err.Error(), ""
	}
	d := <-result
	return outcome, string(d.Layer)
}

func (r cell) call() approval.Call {
	call := approval.Call{Principal: principal, Session: "main", Agent: approval.Agent{ID: "agent"}, Tool: "tool",
		Digest:  "digest",
		Payload: map[string]any{"n": 1}}
	if r.check == "run" {
		return call
	}
	call.Request = approval.SimpleRequest("tool", call.Payload)
	switch r.check {
	case "block":
		call.Blocked = &approval.BlockedError{Reason: "never"}
	case "safe":
		call.Class.Safe = true
	case "allow":
		call.Class.Rule = approval.RuleAllow
	case "cfg-ask":
		call.Class.Rule = approval.RuleAsk
	case "cfg-deny":
		call.Class.Rule = approval.RuleDeny
	case "dangerous":
		call.Request.Dangerous = true
	case "protected":
		call.Class.Protected = true
	case "delete":
		call.Request.Delete = true
	case "dangerous-op":
		call.Class = approval.Class{Dangerous: true, Rule: approval.RuleAllow, Operator: true}
	}
	return call
}

func (r cell) prepareGrants(c *approval.Controller, call approval.Call) error {
	if r.grants == "-" {
		return nil
	}
	exact, err := approval.ExactPattern("tool", call.Payload)
	if err != nil {
		return err
	}
	for _, one := range strings.Split(r.grants, "+") {
		w := strings.Split(one, ":")
		g := approval.Grant{Scope: approval.Scope(w[0]), Effect: approval.Effect(w[1]), Match: exact, Principal: principal,
			Session: "main"}
		if g.Scope == approval.ScopeAgent {
			g.Agent = "agent"
		}
		switch w[2] {
		case "alive":
			g.Expires = time.Now().Add(time.Hour)
		case "expired":
			g.Expires = time.Now().Add(time.Minute)
		}
		if _, err := c.AddGrant(alice, g); err != nil {
			return err
		}
	}
	time.Sleep(2 * time.Minute) // fake time
	return nil
}

// prepareBatch has a person approve all of a batch that lists this call, or
// another one, or stops the session.
func (r cell) prepareBatch(t *testing.T, c *approval.Controller, call *approval.Call) error {
	if r.batch == "-" {
		return nil
	}
	if r.batch == "stopped" {
		return c.Stop(alice, main, "")
	}
	call.Batch = approval.Batch{ID: "batch", Index: 2, Total: 2}
	listed := "digest"
	if r.batch == "other" {
		listed = "another digest"
	}
	first := approval.Call{Principal: principal, Session: "main", Tool: "first",
		Request: approval.SimpleRequest("first", nil),
		Batch: approval.Batch{ID: "batch", Index: 1, Total: 2,
			Remaining: []approval.Remaining{{Tool: "tool", Digest: listed}}}}
	result := make(chan approval.Decision, 1)
	go func() {
		d, _ := c.Decide(t.Context(), first)
		result <- d
	}()
	synctest.Wait()
	p := c.Pending(alice)[0]
	a := p.Allow(alice)
	a.Verb = approval.VerbAllowAll
	if _, err := c.Answer(t.Context(), p.ID, a); err != nil {
		return err
	}
	if d := <-result; !d.Approved {
		return fmt.Errorf("approve all did not approve: %s", d.Why)
	}
	return nil
}

func (r cell) prepareMode(c *approval.Controller) error {
	cfg := approval.DefaultConfig()
	switch r.policy {
	case "safe-only":
		cfg.SafeCommandsOnly = true
	default:
		cfg.Policy = approval.Policy(r.policy)
	}
	if r.mode == "strict" {
		cfg.Mode = approval.ModeStrict
	}
	if r.mode == "approve-all" {
		if err := c.ApproveAllSession(alice, main, time.Hour); err != nil {
			return err
		}
	}
	return c.Configure(cfg)
}
