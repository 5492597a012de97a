package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sandboxd/ipc"
	"sandboxd/ipc/ipctest"
)

// filing is the test backend with a few files, and a question that the client's user may answer.
type filing struct{ *ipctest.Backend }

func (f filing) File(ctx context.Context, c ipc.Caller, r ipc.FileRequest) (ipc.FileResult, error) {
	out, err := f.Backend.File(ctx, c, r)
	if err != nil {
		return out, err
	}
	out.UndoID, out.Hash = "undo-1", "h"
	switch {
	case strings.HasSuffix(r.Path, "/secret"):
		return out, &ipc.Error{Code: ipc.CodeDenied, Message: "secret is hidden", Hint: "ask a person"}
	case r.Op == "read":
		out.Content, out.Size, out.Truncated = "one\n", 9, r.Limit > 0
	case r.Op == "list" && !r.Recursive:
		out.Entries = []ipc.FileInfo{{Path: "a", Type: "file", Size: 3}}
	case r.Op == "grep":
		out.Matches, out.Truncated = []ipc.Match{{Path: "a", Line: 2, Text: "three"}}, r.Limit > 0
	case r.Op == "multi-edit" && r.Edits[0].Find == "absent":
		return out, &ipc.Error{Code: ipc.CodeConflict, Message: "the text is not there"}
	}
	return out, nil
}

// connect returns a client of a server whose daemon is b.
func connect(t *testing.T, b ipc.Backend, o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	house := ipctest.Start(t, b, ipc.Limits{})
	s := &Server{
		Connect:  func(context.Context) (*ipc.Client, error) { return house.Agent, nil },
		Approver: func(context.Context) (*ipc.Client, error) { return house.Approver, nil },
		Root:     t.TempDir(),
	}
	near, far := mcp.NewInMemoryTransports()
	m := s.new()
	served := make(chan struct{})
	go func() { defer close(served); m.Run(context.Background(), far) }()
	client, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, o).Connect(t.Context(), near, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		client.Close()
		<-served
		s.close()
	})
	return client
}

// call returns a tool's text, its structured answer and whether it is an error.
func call(t *testing.T, c *mcp.ClientSession, name string, args map[string]any) (string, map[string]any, bool) {
	t.Helper()
	r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		t.Fatalf("%s %v: %v", name, args, err)
	}
	var text strings.Builder
	for _, part := range r.Content {
		if part, ok := part.(*mcp.TextContent); ok {
			text.WriteString(part.Text)
		}
	}
	out, _ := r.StructuredContent.(map[string]any)
	return text.String(), out, r.IsError
}

type args = map[string]any

// Each tool passes a call to the daemon and its answer back; a refusal is an error with text.
func TestTools(t *testing.T) {
	b := ipctest.New()
	t.Cleanup(b.Close)
	c := connect(t, filing{b}, nil)
	edit := func(find string) args {
		return args{"path": "a", "edits": []any{args{"find": find, "replace": "x"}}}
	}
	for _, row := range []struct {
		tool  string
		in    args
		text  string // is part of the text
		out   string // key=value of the structured answer
		error bool
	}{
		{"exec", args{"command": "echo hi"}, "exit status 0\n--- stdout\nhi", "stdout=hi\n", false},
		{"exec", args{"argv": []string{"echo", "hi"}, "root": "/tmp"}, "hi", "sandbox=", false},
		{"exec", args{"command": "fail 3"}, "exit status 3", "exit_code=3", true},
		{"exec", args{"command": "flood 4"}, "bytes of output are not shown", "running=false", false},
		{"exec", args{"command": "echo hi", "root": "relative"}, "absolute path", "", true},
		{"read", args{"path": "a"}, "one\n", "", false},
		{"read", args{"path": "a", "limit": 4}, "a part of 9 bytes", "", false},
		{"read", args{"path": "/secret"}, "secret is hidden\nTo fix it: ask a person", "", true},
		{"read", args{"path": "a", "root": "relative"}, "absolute path", "", true},
		{"write", args{"path": "a", "content": "x"}, "", "undo_id=undo-1", false},
		{"write", args{"path": "secret", "content": "x"}, "secret is hidden", "", true},
		{"edit", edit("one"), "", "hash=h", false},
		{"edit", edit("absent"), "the text is not there", "", true},
		{"list", args{"path": ""}, "file\t3\ta\n", "", false},
		{"list", args{"path": "", "recursive": true}, "(nothing)", "", false},
		{"list", args{"path": "secret"}, "secret is hidden", "", true},
		{"grep", args{"path": "", "pattern": "x"}, "a:2:three\n", "", false},
		{"grep", args{"path": "", "pattern": "x", "limit": 1}, "(there is more)", "", false},
		{"grep", args{"path": "secret", "pattern": "x"}, "secret is hidden", "", true},
		{"undo", args{"undo_id": "last"}, "", "undo_id=undo-1", false},
		{"changes", args{}, `"id":"h-1"`, "", false},
		{"changes", args{"id": "h-7"}, `"id":"h-7"`, "", false},
		{"changes", args{"id": "h-7", "do": "land", "paths": []string{"a", "/b"}}, `/a /b"`, "", false},
		{"changes", args{"id": "h-7", "do": "eat"}, "want show, land or drop", "", true},
		{"changes", args{"do": "drop"}, "id", "", true},
		{"changes", args{"root": "relative"}, "absolute path", "", true},
		{"status", args{}, "", "mode=", false},
		{"status", args{"root": "relative"}, "absolute path", "", true},
		{"output", args{"handle": "none"}, `no command has the handle "none"`, "", true},
		{"cancel", args{"handle": "none"}, `no command has the handle "none"`, "", true},
	} {
		text, out, isError := call(t, c, row.tool, row.in)
		if !strings.Contains(text, row.text) || isError != row.error {
			t.Errorf("%s %v: got %q, error %v; want %q, error %v", row.tool, row.in, text, isError, row.text, row.error)
		}
		if key, value, ok := strings.Cut(row.out, "="); ok {
			if got, has := out[key]; !has || !strings.HasPrefix(fmt.Sprint(got), value) {
				t.Errorf("%s %v: %s: got %v, want %q", row.tool, row.in, key, got, value)
			}
		}
		if row.error && row.out == "" && out != nil {
			t.Errorf("%s %v: got the structured answer %v beside a refusal, want none", row.tool, row.in, out)
		}
	}
}

// A permission prompt has the daemon's decision as its answer, and any error is a denial.
func TestApprove(t *testing.T) {
	b := ipctest.New()
	t.Cleanup(b.Close)
	c := connect(t, filing{b}, nil)
	for _, row := range []struct {
		in            args
		want, message string
	}{
		{args{"tool_name": "Bash", "input": args{"command": "echo x"}}, "allow", ""},
		{args{"tool_name": "Bash", "input": args{"command": "rm x"}, "cwd": "/tmp"}, "deny", "rm is never allowed here"},
		{args{"tool_name": "Read", "input": args{"path": "x"}}, "allow", ""},
		{args{"tool_name": "Read", "input": args{}}, "allow", ""},
		{args{"tool_name": "", "input": args{}}, "deny", "no tool_name"},
	} {
		text, _, _ := call(t, c, "approve", row.in)
		var got behavior
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Fatalf("%v: got %q: %v", row.in, text, err)
		}
		if got.Behavior != row.want || !strings.Contains(got.Message, row.message) {
			t.Errorf("%v: got %q %q, want %q %q", row.in, got.Behavior, got.Message, row.want, row.message)
		}
		if got.Behavior == "allow" && got.UpdatedInput == nil {
			t.Errorf("%v: got no input beside the permission", row.in)
		}
	}
}

// A command that runs longer than a call waits is read on by its handle, and ended by it.
func TestHandles(t *testing.T) {
	b := ipctest.New()
	t.Cleanup(b.Close)
	c := connect(t, filing{b}, nil)
	text, out, isError := call(t, c, "exec", args{"command": "wait", "wait_ms": 1})
	handle, _ := out["handle"].(string)
	if isError || handle == "" || out["running"] != true || !strings.Contains(text, handle) {
		t.Fatalf("a long command: got %q %v, want a handle", text, out)
	}
	if _, out, _ := call(t, c, "output", args{"handle": handle, "wait_ms": 1}); out["running"] != true {
		t.Errorf("its output: got %v, want that it runs", out)
	}
	if _, out, _ := call(t, c, "cancel", args{"handle": handle}); out["running"] != false {
		t.Errorf("after cancel: got %v, want an end", out)
	}
	if _, _, isError := call(t, c, "output", args{"handle": handle}); !isError {
		t.Error("the handle of an ended command: got an answer, want an error")
	}
	// A call that its client takes back ends its command.
	ctx, cancel := context.WithCancel(t.Context())
	returned := make(chan struct{})
	go func() {
		defer close(returned)
		c.CallTool(ctx, &mcp.CallToolParams{Name: "exec", Arguments: args{"command": "wait"}})
	}()
	await(t, "a running command", func() bool { return b.OpenStreams() == 1 })
	cancel()
	<-returned
	await(t, "the end of a command whose call was cancelled", func() bool { return b.OpenStreams() == 0 })
}

func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited 20 s for %s", what)
		}
	}
}

// A question that the client's user may answer is put to them, and their answer goes to the daemon.
func TestElicitation(t *testing.T) {
	for _, row := range []struct {
		action, answer, want string
		isError              bool
	}{
		{"accept", "yes", "x", false},
		{"accept", "no", "you may not", true},
		{"decline", "", "you may not", true},
		{"cancel", "", "A person is asked", false},
	} {
		t.Run(cmp.Or(row.answer, row.action), func(t *testing.T) {
			b := ipctest.New()
			t.Cleanup(b.Close)
			shown := ""
			c := connect(t, clientAsks{filing{b}}, &mcp.ClientOptions{
				ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					shown = r.Params.Message
					return &mcp.ElicitResult{Action: row.action, Content: args{"answer": row.answer}}, nil
				},
			})
			text, _, isError := call(t, c, "exec", args{"command": "ask x", "wait_ms": 500})
			if !strings.Contains(text, row.want) || isError != row.isError {
				t.Errorf("got %q, error %v; want %q, error %v", text, isError, row.want, row.isError)
			}
			for _, want := range []string{"ask x", "in the directory /cwd", "because", "the agent says: a claim"} {
				if !strings.Contains(shown, want) {
					t.Errorf("the question is %q, want %q in it", shown, want)
				}
			}
		})
	}
}

// clientAsks reports the questions of a command in its events, as the daemon does.
type clientAsks struct{ filing }

func (a clientAsks) ExecEvents(ctx context.Context, c ipc.Caller, r ipc.EventsRequest) (ipc.Stream[ipc.Event], error) {
	stream, err := a.Backend.ExecEvents(ctx, c, r)
	return &asking{Stream: stream, backend: a.Backend, caller: c}, err
}

type asking struct {
	ipc.Stream[ipc.Event]
	backend *ipctest.Backend
	caller  ipc.Caller
	seq     uint64
	asked   bool
}

func (s *asking) Next(ctx context.Context) (ipc.Event, error) {
	if s.seq == 0 || s.asked {
		e, err := s.Stream.Next(ctx)
		s.seq = e.Seq
		return e, err
	}
	for ctx.Err() == nil {
		list, err := s.backend.Approvals(ctx, s.caller)
		if err != nil {
			return ipc.Event{}, err
		}
		if len(list.Approvals) > 0 {
			s.asked = true
			q := list.Approvals[0]
			q.Client, q.Root, q.Cwd, q.Command = true, "/root", "/cwd", "ask x"
			q.Reasons, q.Claim = []string{"because"}, "a claim"
			return ipc.Event{Seq: s.seq, Type: ipc.EventApproval, Approval: &q}, nil
		}
		time.Sleep(time.Millisecond)
	}
	return ipc.Event{}, ctx.Err()
}
