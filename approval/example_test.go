package approval_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"sandboxd/approval"
	"sandboxd/approval/approvaltest"
)

var terminal = approval.Identity{Name: "terminal", Via: approval.ViaTerminal}

// A bare function needs no approval; it just runs, in every mode.
func Example() {
	ctx := context.Background()
	c, err := approval.New(approval.Options{})
	if err != nil {
		panic(err)
	}
	defer c.Close(ctx)
	d, err := c.Run(ctx, approval.Work{
		Call:    approval.Call{Session: "main"},
		Context: approval.Context{Tool: "add", Args: map[string]any{"a": 1, "b": 2}},
		Do:      func(context.Context) error { fmt.Println(1 + 2); return nil },
	})
	fmt.Println(d.Reason, err)
	// Output:
	// 3
	// no_check <nil>
}

// SimpleRequest is enough for most tools that decide for themselves when to ask.
func ExampleSimpleRequest() {
	r := approval.SimpleRequest("deploy", map[string]any{"to": "production", "token": "s3cr3t"}, approval.Exclude("token"))
	fmt.Println(r.Description)
	fmt.Println(r.Payload)
	// Output:
	// deploy(to="production")
	// map[to:production]
}

// RequireApproval puts any function behind a question. What is excluded is in
// no description, event or record; what is not in the payload may change
// without asking again.
func ExampleRequireApproval() {
	ctx := context.Background()
	c, err := approval.New(approval.Options{})
	if err != nil {
		panic(err)
	}
	defer c.Close(ctx)
	// The person says yes, for the session, whenever asked.
	defer c.Attach(terminal, approvaltest.Person(func(_ context.Context, p approval.Pending) (approval.Answer, error) {
		fmt.Println("asked:", p.Description)
		a := p.Allow(terminal)
		a.Scope = approval.ScopeSession
		return a, nil
	}))()

	check := approval.RequireApproval("send_email",
		approval.DescribeFunc(func(args map[string]any) string {
			return fmt.Sprintf("Send email to %v: %v", args["to"], args["subject"])
		}),
		approval.Exclude("body"),
		approval.PayloadFunc(func(args map[string]any) map[string]any { return map[string]any{"to": args["to"]} }),
	)
	for _, subject := range []string{"Hello", "Hello again"} {
		d, err := c.Run(ctx, approval.Work{
			Call: approval.Call{Session: "main"},
			Context: approval.Context{Tool: "send_email",
				Args: map[string]any{"to": "a@example.org", "subject": subject, "body": "…"}},
			Check: check,
			Do:    func(context.Context) error { fmt.Println("sent:", subject); return nil },
		})
		fmt.Println(d.Reason, err)
	}
	// Output:
	// asked: Send email to a@example.org: Hello
	// sent: Hello
	// person <nil>
	// sent: Hello again
	// grant <nil>
}

// notes is a tool with its own mind about what needs approval.
type notes struct{ root string }

func (n notes) CheckApproval(c approval.Context) (*approval.Request, error) {
	path, _ := c.Args["path"].(string)
	switch {
	case !strings.HasPrefix(path, n.root+"/") || strings.Contains(path, ".."):
		return nil, &approval.BlockedError{Reason: "path not in any sandbox: " + path}
	case c.Tool == "read_note":
		return nil, nil
	}
	r := approval.SimpleRequest(c.Tool, c.Args, approval.Describe("Write to "+path), approval.Exclude("content"))
	r.Suggestions = []approval.Suggestion{{Label: "all writes under " + n.root + "/", Pattern: approval.Pattern{
		Tool: c.Tool, Where: []approval.Condition{approval.Under("path", n.root)}}}}
	return r, nil
}

// A tool with its own CheckApproval runs, asks or blocks, call by call.
func ExampleChecker() {
	ctx := context.Background()
	c, err := approval.New(approval.Options{})
	if err != nil {
		panic(err)
	}
	defer c.Close(ctx)
	defer c.Attach(terminal, approvaltest.No("not now", approval.RejectSoft))()
	for _, call := range []approval.Context{
		{Tool: "read_note", Args: map[string]any{"path": "/notes/a"}},
		{Tool: "write_note", Args: map[string]any{"path": "/notes/a", "content": "x"}},
		{Tool: "write_note", Args: map[string]any{"path": "/etc/passwd", "content": "x"}},
	} {
		d, err := c.Run(ctx, approval.Work{Call: approval.Call{Session: "main"}, Context: call, Check: notes{"/notes"},
			Do: func(context.Context) error { return nil }})
		fmt.Printf("%s %s: %s by %s\n", call.Tool, call.Args["path"], d.Outcome, d.Layer)
		var denied *approval.DeniedError
		if errors.As(err, &denied) {
			text, _, _ := strings.Cut(denied.Error(), "\n")
			fmt.Println(" ", text)
		}
	}
	// Output:
	// read_note /notes/a: approved by check
	// write_note /notes/a: denied by person
	//   User rejected tool 'write_note'. Feedback: not now
	// write_note /etc/passwd: denied by block
	//   Tool 'write_note' was not run: it is forbidden: path not in any sandbox: /etc/passwd. Nobody can approve it; find another way or tell the user.
}

// workingHours is a rule of the embedding program.
type workingHours struct{ open bool }

func (o workingHours) Judge(_ context.Context, call approval.Call) (approval.Ruling, error) {
	if call.Tool == "deploy" && !o.open {
		return approval.Ruling{Effect: approval.RuleDeny, Rule: "office hours", Reason: "no deploys at night"}, nil
	}
	return approval.Ruling{}, nil
}

// A Rule adds to what tools and configuration say; it can only be stricter
// than a block, a deny grant or the question about something dangerous allow.
func ExampleRule() {
	c, err := approval.New(approval.Options{Rules: []approval.Rule{workingHours{open: false}}})
	if err != nil {
		panic(err)
	}
	defer c.Close(context.Background())
	d, err := c.Decide(context.Background(), approval.Call{Session: "main", Tool: "deploy"})
	fmt.Println(d.Outcome, d.Rule, d.Why, err)
	// Output: denied office hours no deploys at night <nil>
}

// Hooks see every decision and execution; a record that cannot be written
// refuses the call.
func ExampleHooks() {
	ctx := context.Background()
	record := func(_ context.Context, call approval.Call, d approval.Decision) error {
		fmt.Println("record:", call.Tool, d.Outcome, d.How)
		return nil
	}
	c, err := approval.New(approval.Options{Hooks: []approval.Hooks{{
		AfterDecision: record,
		AfterExecution: func(_ context.Context, call approval.Call, _ approval.Decision, err error) {
			fmt.Println("done:", call.Tool, err)
		},
	}}})
	if err != nil {
		panic(err)
	}
	defer c.Close(ctx)
	_, err = c.Run(ctx, approval.Work{Call: approval.Call{Session: "main"}, Context: approval.Context{Tool: "add"},
		Do: func(context.Context) error { return errors.New("overflow") }})
	fmt.Println(err)
	// Output:
	// record: add approved auto
	// done: add overflow
	// overflow
}

// Without an Approver in this process, a front end lists what is open and
// answers it.
func ExampleController_Answer() {
	ctx := context.Background()
	c, err := approval.New(approval.Options{})
	if err != nil {
		panic(err)
	}
	defer c.Close(ctx)
	asked := make(chan approval.Pending, 1)
	result := make(chan approval.Decision, 1)
	go func() {
		d, _ := c.Decide(ctx, approval.Call{
			Session: "main", Tool: "rm", Digest: "sha256:…",
			Request: approval.SimpleRequest("rm", map[string]any{"path": "old.txt"},
				approval.Shape(func(r *approval.Request) { r.Delete = true })),
			Asked: func(p approval.Pending) { asked <- p },
		})
		result <- d
	}()
	p := <-asked
	answer := p.Allow(terminal)
	first, err := c.Answer(ctx, p.ID, answer)
	fmt.Println("decided:", first.Decided, err)
	answer.Confirm = true // a second, separate yes
	second, err := c.Answer(ctx, p.ID, answer)
	fmt.Println("decided:", second.Decided, err)
	d := <-result
	fmt.Println(d.Outcome, d.Holds("sha256:…"))
	// Output:
	// decided: false <nil>
	// decided: true <nil>
	// approved <nil>
}

// A ToolTable judges tools that an agent runs itself.
func ExampleToolTable() {
	cfg := approval.DefaultTools()
	cfg.Rules = []approval.ToolRule{{Tool: "write", When: map[string]string{"file_path": "*.md"},
		Decision: approval.RuleAllow}}
	table, err := approval.NewToolTable(cfg)
	if err != nil {
		panic(err)
	}
	for _, c := range []approval.Context{
		{Tool: "list_files"},
		{Tool: "write", Args: map[string]any{"file_path": "notes.md"}},
		{Tool: "write", Args: map[string]any{"file_path": "main.go"}},
		{Tool: "mcp__web__search", Args: map[string]any{"q": "go"}},
	} {
		req, err := table.CheckApproval(c)
		fmt.Println(c.Tool, req != nil, err)
	}
	// Output:
	// list_files false <nil>
	// write false <nil>
	// write true <nil>
	// mcp__web__search true <nil>
}
