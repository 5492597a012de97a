package approval_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"sandboxd/approval"
)

// snapshot is a tool's facts: which files exist.
type snapshot map[string]bool

func (s snapshot) Digest() string {
	p, _ := approval.Fingerprint(map[string]any{"files": map[string]bool(s)})
	return p.String()
}

// overwrite asks only where the file exists, which is a parameter: it does no I/O.
func overwrite(c approval.Context) (*approval.Request, error) {
	path, _ := c.Args["path"].(string)
	exists := c.Facts.(snapshot)[path]
	switch {
	case path == "":
		return nil, errors.New("no path")
	case path == "/etc/passwd":
		return nil, &approval.BlockedError{Reason: "not that one", Rule: "files.hidden"}
	case !exists:
		return nil, nil
	}
	return approval.SimpleRequest(c.Tool, c.Args), nil
}

// TestChecker: nil runs, a request asks, a block never runs, anything else is
// a fault and does not run either (R-AP-01, R-AP-02).
func TestChecker(t *testing.T) {
	bubble(t, approval.Options{}, func(t *testing.T, c *approval.Controller) {
		facts := snapshot{"old": true}
		if facts.Digest() == (snapshot{"old": false}).Digest() {
			t.Error("facts that differ have one digest")
		}
		for path, want := range map[string]struct {
			ran    bool
			reason approval.Reason
			text   string
		}{
			"new":         {true, approval.ReasonNoCheck, ""},
			"old":         {false, approval.ReasonTimeout, "no person answered"},
			"/etc/passwd": {false, approval.ReasonBlocked, "not that one [files.hidden]"},
			"":            {false, approval.ReasonFault, "no path"},
			"panic":       {false, approval.ReasonFault, "panic"},
		} {
			work := approval.Work{Call: approval.Call{Session: "s"}, Check: approval.CheckFunc(overwrite),
				Context: approval.Context{Tool: "write", Args: map[string]any{"path": path}, Facts: facts}}
			if path == "panic" {
				work.Context.Facts = nil
			}
			ran := false
			work.Do = func(context.Context) error { ran = true; return nil }
			d, err := c.Run(t.Context(), work)
			if ran != want.ran || d.Reason != want.reason || (err == nil) != want.ran {
				t.Errorf("%q: ran %t, %s, %v", path, ran, d.Reason, err)
			}
			if err != nil && !strings.Contains(err.Error(), want.text) {
				t.Errorf("%q: %v, want %q in it", path, err, want.text)
			}
		}
	})
}
