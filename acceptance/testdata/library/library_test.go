// Package library is a program of somebody else that embeds the approval and profile
// packages: TestLibrary compiles it in a module outside of this tree.
package library

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sandboxd/approval"
	"sandboxd/profile"
)

var ann = approval.Identity{Name: "ann", Via: approval.ViaTerminal}

// person answers at the embedding program's own prompt, and remembers each question.
type person struct {
	asked  []approval.Pending
	answer func(p approval.Pending) (approval.Answer, error)
}

func (p *person) Ask(_ context.Context, q approval.Pending) (approval.Answer, error) {
	p.asked = append(p.asked, q)
	return p.answer(q)
}

func says(verb approval.Verb, scope approval.Scope, note string) *person {
	return &person{answer: func(p approval.Pending) (approval.Answer, error) {
		a := approval.Answer{Verb: verb, Scope: scope, Note: note, Rev: p.Rev, Hash: p.Hash}
		if verb == approval.VerbDeny {
			a.Mode = approval.RejectSoft
		}
		return a, nil
	}}
}

func controller(t *testing.T, mode approval.Mode, p *person) *approval.Controller {
	t.Helper()
	cfg := approval.DefaultConfig()
	cfg.Mode = mode
	c, err := approval.New(approval.Options{Config: cfg})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(context.Background()) })
	if p != nil {
		t.Cleanup(c.Attach(ann, p))
	}
	return c
}

// use calls a tool in a session; ran reports whether its effect happened.
func use(c *approval.Controller, session string, check approval.Checker, tool string, args map[string]any) (ran bool, d approval.Decision, err error) {
	d, err = c.Run(context.Background(), approval.Work{
		Call: approval.Call{Session: session}, Context: approval.Context{Tool: tool, Args: args}, Check: check,
		Do: func(context.Context) error { ran = true; return nil }})
	return ran, d, err
}

// notes is a tool that runs, asks or blocks, by its argument.
type notes struct{ seen []approval.Context }

func (n *notes) CheckApproval(c approval.Context) (*approval.Request, error) {
	n.seen = append(n.seen, c)
	switch path := fmt.Sprint(c.Args["path"]); {
	case strings.HasPrefix(path, "/etc/"):
		return nil, &approval.BlockedError{Reason: "path not in any sandbox: " + path}
	case strings.HasPrefix(path, "cache/"):
		return nil, nil
	}
	return approval.SimpleRequest(c.Tool, c.Args), nil
}

func TestContext(t *testing.T) {
	c, n := controller(t, approval.ModeInteractive, nil), new(notes)
	meta := map[string]any{"run_id": "7", "session_id": "main", "caller": "planner"}
	args := map[string]any{"path": "cache/x"}
	want := approval.Context{Tool: "write_file", Args: args, Metadata: meta}
	for range 2 { // the same answer to the same context
		if _, err := c.Run(context.Background(), approval.Work{Call: approval.Call{Session: "main"}, Context: want, Check: n,
			Do: func(context.Context) error { return nil }}); err != nil {
			t.Fatal(err)
		}
	}
	if len(n.seen) != 2 || !reflect.DeepEqual(n.seen[0], want) || !reflect.DeepEqual(n.seen[1], want) {
		t.Errorf("the tool was given %+v, want %+v", n.seen, want)
	}
}

func TestOptional(t *testing.T) {
	for _, mode := range []approval.Mode{approval.ModeInteractive, approval.ModeStrict} {
		ran, d, err := use(controller(t, mode, nil), "main", nil, "add", map[string]any{"a": 1})
		if !ran || err != nil || d.Reason != approval.ReasonNoCheck {
			t.Errorf("%s: a tool without a check: ran %t, %s, %v", mode, ran, d.Reason, err)
		}
	}
}

func TestModes(t *testing.T) {
	if c, err := approval.New(approval.Options{Config: approval.Config{Mode: approval.ModeApproveAll}}); err == nil {
		c.Close(context.Background())
		t.Error("a controller was constructed in approve-all mode")
	}
	for name, want := range map[string]struct {
		mode  approval.Mode
		asked int
		ran   bool
	}{
		"interactive": {approval.ModeInteractive, 1, true}, "strict": {approval.ModeStrict, 0, false}, "approve-all": {approval.ModeInteractive, 0, true},
	} {
		p := says(approval.VerbAllow, approval.ScopeOnce, "")
		c := controller(t, want.mode, p)
		if name == "approve-all" {
			if err := c.ApproveAll(ann, time.Hour); err != nil {
				t.Fatal(err)
			}
		}
		if ran, _, err := use(c, "main", new(notes), "write_file", map[string]any{"path": "cache/x"}); !ran || err != nil || len(p.asked) != 0 {
			t.Errorf("%s: nothing to ask: ran %t, asked %d, %v", name, ran, len(p.asked), err)
		}
		var denied *approval.DeniedError
		if ran, d, err := use(c, "main", new(notes), "write_file", map[string]any{"path": "/etc/passwd"}); ran || !errors.As(err, &denied) || d.Reason != approval.ReasonBlocked || len(p.asked) != 0 {
			t.Errorf("%s: blocked: ran %t, %s, asked %d, %v", name, ran, d.Reason, len(p.asked), err)
		}
		if ran, _, err := use(c, "main", new(notes), "write_file", map[string]any{"path": "x"}); ran != want.ran || (err == nil) != want.ran || len(p.asked) != want.asked {
			t.Errorf("%s: a request: ran %t, asked %d, %v", name, ran, len(p.asked), err)
		}
	}
}

func TestRequest(t *testing.T) {
	args := map[string]any{"path": "a.txt", "n": 3, "content": "Meeting"}
	r := approval.SimpleRequest("write_file", args)
	if r.Tool != "write_file" || r.Description != `write_file(content="Meeting", n=3, path="a.txt")` || !reflect.DeepEqual(r.Payload, args) || r.Presentation != nil || r.GroupID != "" {
		t.Errorf("%+v", r)
	}
	r = approval.SimpleRequest("write_file", args, approval.Exclude("content"))
	if strings.Contains(r.Description, "Meeting") || r.Payload["content"] != nil || r.Payload["path"] != "a.txt" {
		t.Errorf("excluded: %+v", r)
	}
}

func TestDecorator(t *testing.T) {
	describe := approval.DescribeFunc(func(a map[string]any) string { return fmt.Sprint("Send to ", a["to"]) })
	payload := approval.PayloadFunc(func(a map[string]any) map[string]any { return map[string]any{"body": a["body"]} })
	for _, c := range []struct {
		check approval.Checker
		want  string
	}{
		{approval.RequireApproval("send"), `send(body="x", to="bob")`},
		{approval.RequireApproval("send", describe), "Send to bob"},
	} {
		p := says(approval.VerbAllow, approval.ScopeOnce, "")
		if ran, _, err := use(controller(t, approval.ModeInteractive, p), "main", c.check, "send", map[string]any{"to": "bob", "body": "x"}); !ran || err != nil || len(p.asked) != 1 || p.asked[0].Description != c.want {
			t.Errorf("ran %t, asked %+v, %v, want %q", ran, p.asked, err, c.want)
		}
	}
	// The payload's author sees what is excluded; nobody else does, and another body is another call.
	p := says(approval.VerbAllow, approval.ScopeSession, "")
	c := controller(t, approval.ModeInteractive, p)
	for _, body := range []string{"x", "x", "y"} {
		if ran, _, err := use(c, "main", approval.RequireApproval("send", payload, approval.Exclude("body")), "send", map[string]any{"body": body}); !ran || err != nil {
			t.Error(ran, err)
		}
	}
	if len(p.asked) != 2 || strings.Contains(fmt.Sprint(p.asked[0].Input), "body") {
		t.Errorf("asked %d times: %+v", len(p.asked), p.asked)
	}
}

func TestPresentation(t *testing.T) {
	for kind, name := range map[approval.Kind]string{approval.KindText: "text", approval.KindDiff: "diff", approval.KindFileContent: "file_content",
		approval.KindCommand: "command", approval.KindStructured: "structured"} {
		if string(kind) != name {
			t.Errorf("%q is %q", name, kind)
		}
		p := says(approval.VerbAllow, approval.ScopeOnce, "")
		show := &approval.Presentation{Kind: kind, Content: "x = 1", Language: "python", Metadata: map[string]any{"full_content": "x = 1\ny = 2"}}
		check := approval.RequireApproval("write", approval.Shape(func(r *approval.Request) { r.Presentation = show }))
		if ran, _, err := use(controller(t, approval.ModeInteractive, p), "main", check, "write", nil); !ran || err != nil || len(p.asked) != 1 || !reflect.DeepEqual(p.asked[0].Presentation, show) {
			t.Errorf("%s: ran %t, asked %+v, %v", kind, ran, p.asked, err)
		}
	}
}

func TestLazy(t *testing.T) {
	p := says(approval.VerbAllow, approval.ScopeSession, "")
	c := controller(t, approval.ModeInteractive, p)
	var built atomic.Int32
	for range 2 {
		call := approval.Call{Session: "main", Tool: "write", Request: approval.SimpleRequest("write", map[string]any{"path": "x"}),
			Present: func(context.Context) (*approval.Presentation, error) {
				built.Add(1)
				return &approval.Presentation{Kind: approval.KindDiff, Content: "+x"}, nil
			}}
		if d, err := c.Decide(context.Background(), call); err != nil || !d.Approved {
			t.Fatal(d.Why, err)
		}
	}
	if built.Load() != 1 || len(p.asked) != 1 || p.asked[0].Presentation.Content != "+x" {
		t.Errorf("built %d times, asked %+v", built.Load(), p.asked)
	}
}

func TestSession(t *testing.T) {
	p := says(approval.VerbAllow, approval.ScopeSession, "")
	c := controller(t, approval.ModeInteractive, p)
	nested := func(x any) map[string]any {
		return map[string]any{"path": "p", "query": map[string]any{"a": x, "b": []any{1, map[string]any{"c": nil}}}}
	}
	for i, step := range []struct {
		session, tool string
		args          map[string]any
		asks          bool
	}{
		{"main", "write", nested(1), true}, {"main", "write", nested(1.0), false}, {"main", "write", nested(2), true},
		{"main", "append", nested(1), true}, {"other", "write", nested(1), true}, {"other", "write", nested(1), false},
	} {
		before := len(p.asked)
		if ran, _, err := use(c, step.session, approval.RequireApproval(step.tool), step.tool, step.args); !ran || err != nil || (len(p.asked) > before) != step.asks {
			t.Errorf("step %d: ran %t, %v, asked %t, want %t", i, ran, err, len(p.asked) > before, step.asks)
		}
	}
	c.CloseSession(approval.SessionRef{ID: "main"})
	before := len(p.asked)
	if ran, _, err := use(c, "main", approval.RequireApproval("write"), "write", nested(1)); !ran || err != nil || len(p.asked) != before+1 {
		t.Errorf("a closed session's approval: ran %t, %v, asked %d more", ran, err, len(p.asked)-before)
	}
}

func TestGroup(t *testing.T) {
	c := controller(t, approval.ModeInteractive, nil)
	type result struct {
		d   approval.Decision
		err error
	}
	results := make(chan result)
	for _, path := range []string{"a", "b", "c"} {
		request := approval.SimpleRequest("write", map[string]any{"path": path}, approval.Shape(func(r *approval.Request) { r.GroupID = "save" }))
		go func() {
			d, err := c.Decide(context.Background(), approval.Call{Session: "main", Tool: "write", Request: request})
			results <- result{d, err}
		}()
	}
	var open []approval.Pending
	for deadline := time.Now().Add(20 * time.Second); len(open) < 3; time.Sleep(time.Millisecond) {
		if open = c.Pending(ann); time.Now().After(deadline) {
			t.Fatalf("%d questions are open", len(open))
		}
	}
	a := open[1].Allow(ann)
	if a.Also = open[1].Group; len(a.Also) != 2 {
		t.Fatalf("the group has %+v besides", a.Also)
	}
	if _, err := c.Answer(context.Background(), open[1].ID, a); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if r := <-results; r.err != nil || !r.d.Approved {
			t.Errorf("%+v", r)
		}
	}
}

func TestDeny(t *testing.T) {
	p := says(approval.VerbDeny, "", "too dangerous")
	ran, _, err := use(controller(t, approval.ModeInteractive, p), "main", approval.RequireApproval("wipe"), "wipe", nil)
	var denied *approval.DeniedError
	if ran || !errors.As(err, &denied) || denied.Decision.Note != "too dangerous" || !strings.Contains(err.Error(), "Feedback: too dangerous") {
		t.Errorf("ran %t, %v", ran, err)
	}
}

func TestCrash(t *testing.T) {
	p := &person{answer: func(approval.Pending) (approval.Answer, error) { panic("the prompt crashed") }}
	if ran, d, err := use(controller(t, approval.ModeInteractive, p), "main", approval.RequireApproval("wipe"), "wipe", nil); ran || err == nil || d.Reason != approval.ReasonFault {
		t.Errorf("ran %t, %s, %v", ran, d.Reason, err)
	}
}

func TestPromptError(t *testing.T) {
	p := &person{answer: func(approval.Pending) (approval.Answer, error) { return approval.Answer{}, errors.New("no terminal") }}
	if ran, d, err := use(controller(t, approval.ModeInteractive, p), "main", approval.RequireApproval("wipe"), "wipe", nil); ran || err == nil || d.Reason != approval.ReasonFault {
		t.Errorf("ran %t, %s, %v", ran, d.Reason, err)
	}
}

func TestProfile(t *testing.T) {
	rw := func(paths ...string) profile.Profile {
		spec := profile.Spec{Limits: profile.DefaultLimits()}
		for _, p := range paths {
			spec.Rules = append(spec.Rules, profile.Rule{Kind: profile.Allow, Access: profile.Read | profile.Write, Path: p})
		}
		made, err := profile.New(spec)
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	derived, explicit := rw("/p", "/data"), rw("/p/src", "/etc")
	both := derived.Intersect(explicit)
	for path, want := range map[string]bool{"/p/src/x": true, "/p/x": false, "/data/x": false, "/etc/x": false} {
		if got := both.Allows(profile.OpWrite, path).Allowed; got != want {
			t.Errorf("%s may be written: %t, want %t", path, got, want)
		}
	}
	if !both.Within(derived) || !both.Within(explicit) || !both.Equal(explicit.Intersect(derived)) || !both.Intersect(derived).Equal(both) {
		t.Error("the intersection is not within both, commutative and idempotent")
	}
}
