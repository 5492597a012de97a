package approval

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"
)

// TestHashBinds: two questions that differ in anything that is shown have
// different hashes, even where their ids and times are equal.
func TestHashBinds(t *testing.T) {
	hash := func(t *testing.T, change func(*Call)) (hash string) {
		synctest.Test(t, func(t *testing.T) {
			c, err := New(Options{})
			if err != nil {
				t.Fatal(err)
			}
			call := Call{Session: "s", Tool: "bash", Digest: "digest",
				Request: SimpleRequest("bash", map[string]any{"command": "make"})}
			change(&call)
			go func() { _, _ = c.Decide(context.Background(), call) }()
			synctest.Wait()
			c.mu.Lock()
			for _, q := range c.questions {
				q.ID, q.Asked = "id", time.Time{}
				q.rehash(c)
				hash = q.Hash
				q.ID = newID()
				clear(c.questions)
				c.questions[q.ID] = q
			}
			c.mu.Unlock()
			if err := c.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
		return hash
	}
	nothing := hash(t, func(*Call) {})
	if again := hash(t, func(*Call) {}); again != nothing {
		t.Fatal("the hash depends on something that is not shown")
	}
	seen := map[string]string{nothing: "nothing"}
	for name, change := range map[string]func(*Call){
		"digest":        func(c *Call) { c.Digest = "other" },
		"payload":       func(c *Call) { c.Request.Payload = map[string]any{"command": "make install"} },
		"input":         func(c *Call) { c.Input = map[string]any{"command": "make", "env": "X=1"} },
		"odd input":     func(c *Call) { c.Input = map[string]any{"n": math.NaN()} },
		"other odd one": func(c *Call) { c.Input = map[string]any{"n": math.Inf(1)} },
		"description":   func(c *Call) { c.Request.Description = "other" },
		"cwd":           func(c *Call) { c.Cwd = "/tmp" },
		"agent":         func(c *Call) { c.Agent.Name = "x" },
		"why":           func(c *Call) { c.Why = "x" },
		"risk":          func(c *Call) { c.Request.Risk = RiskLow },
		"delete":        func(c *Call) { c.Request.Delete = true },
		"widenings":     func(c *Call) { c.Widenings = []Widening{{Value: "x"}} },
		"paths":         func(c *Call) { c.Paths = []string{"a", "b"} },
		"trusts":        func(c *Call) { c.Trusts = []Trust{TrustContained} },
		"warnings":      func(c *Call) { c.Request.Warnings = []string{"OUTSIDE PROJECT"} },
		"presentation":  func(c *Call) { c.Request.Presentation = &Presentation{Kind: KindText, Content: "x"} },
		"remaining": func(c *Call) {
			c.Batch = Batch{ID: "b", Index: 1, Total: 2, Remaining: []Remaining{{Tool: "x", Digest: "d"}}}
		},
		"suggestions": func(c *Call) {
			c.Request.Suggestions = []Suggestion{{Label: "any", Pattern: Pattern{Tool: "bash", Any: true}}}
		},
	} {
		h := hash(t, change)
		if other, ok := seen[h]; ok {
			t.Errorf("%s and %s have one hash", name, other)
		}
		seen[h] = name
	}
}
