package files_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"sandboxd/approval"
	"sandboxd/approval/approvaltest"
	"sandboxd/files"
)

// Acceptance 5, R-AP-10, R-AP-13: in a batch of file operations of which the
// first is answered with "approve all", the deletes, the move and the protected
// path still ask, and ask twice; the other edits do not. A real controller
// decides, by what Judge says.
func TestBatchApproveAllStillAsksForDeletes(t *testing.T) {
	rules, err := files.NewRules(files.Defaults(), files.Place{Project: "/p", Roots: map[string]string{"project": "/p"}})
	if err != nil {
		t.Fatal(err)
	}
	file := func(p string) files.Fact { return files.Fact{Asked: p, Real: p, Kind: files.File} }
	absent := files.Fact{Asked: "/p/z.go", Real: "/p/z.go", Kind: files.Absent}
	batch := []struct {
		req   files.Request
		facts files.Facts
		asks  int // how often a person is asked
	}{
		{files.Request{Op: files.Edit}, files.Facts{Path: file("/p/a.go")}, 1},
		{files.Request{Op: files.Edit}, files.Facts{Path: file("/p/b.go")}, 0},
		{files.Request{Op: files.Delete}, files.Facts{Path: file("/p/c.go")}, 2},
		{files.Request{Op: files.Write}, files.Facts{Path: file("/p/d.go")}, 0},
		{files.Request{Op: files.Rmdir, Recursive: true},
			files.Facts{Path: files.Fact{Asked: "/p/d", Real: "/p/d", Kind: files.Dir}}, 2},
		{files.Request{Op: files.Move}, files.Facts{Path: file("/p/e.go"), To: &absent}, 2},
		{files.Request{Op: files.Edit}, files.Facts{Path: file("/p/Makefile")}, 2},
		{files.Request{Op: files.Edit}, files.Facts{Path: file("/p/notes.md")}, 0},
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	c, err := approval.New(approval.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(ctx)
	who := approval.Principal{UID: 1000}
	asked := map[string]int{}
	c.Attach(approval.Identity{Principal: who, Name: "ann"},
		approvaltest.Person(func(_ context.Context, p approval.Pending) (approval.Answer, error) {
			asked[p.CallID]++
			verb := approval.VerbAllow
			if p.Batch.Index == 1 {
				verb = approval.VerbAllowAll
			}
			return approval.Answer{Verb: verb, Rev: p.Rev, Hash: p.Hash, Confirm: p.Confirm}, nil
		}))
	c.OpenSession(approval.SessionRef{Principal: who, ID: "s"})
	digest := func(i int) string { return fmt.Sprint("digest ", i) }
	for i, b := range batch {
		v := rules.Judge(b.req, b.facts)
		req, err := v.Request()
		if err != nil {
			t.Fatal(err)
		}
		call := approval.Call{
			ID: fmt.Sprint(i), Principal: who, Session: "s", Tool: v.Tool, Payload: v.Payload, Request: req, Class: v.Class(),
			Digest: digest(i),
			Batch:  approval.Batch{ID: "batch", Index: i + 1, Total: len(batch)},
		}
		for j := i + 1; j < len(batch); j++ {
			w := rules.Judge(batch[j].req, batch[j].facts)
			call.Batch.Remaining = append(call.Batch.Remaining, approval.Remaining{
				Tool: w.Tool, Description: w.Description, Digest: digest(j), Delete: w.Delete, Protected: w.Protected,
			})
		}
		d, err := c.Decide(ctx, call)
		if err != nil || !d.Approved {
			t.Errorf("%s: %+v, %v", v.Description, d, err)
		}
		if got := asked[call.ID]; got != b.asks {
			t.Errorf("%s: asked %d times, want %d", strings.TrimSpace(v.Description), got, b.asks)
		}
	}
}
