package mcp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sandboxd/ipc"
)

// maxOutput bounds the output that one answer carries of each stream.
const maxOutput = 64 << 10

// maxCommands bounds the commands that a client has at once; ended ones are
// forgotten for new ones.
const maxCommands = 64

type execInput struct {
	Command     string            `json:"command,omitempty" jsonschema:"a line of shell; give this or argv"`
	Argv        []string          `json:"argv,omitempty" jsonschema:"a command without a shell"`
	Root        string            `json:"root,omitempty" jsonschema:"the project's directory, absolute; default: where the server was started"`
	Cwd         string            `json:"cwd,omitempty" jsonschema:"directory to run in, absolute or within the project; default: the project"`
	Env         map[string]string `json:"env,omitempty"`
	Stdin       string            `json:"stdin,omitempty" jsonschema:"the whole standard input"`
	TimeoutMS   int64             `json:"timeout_ms,omitempty" jsonschema:"end the command after so many milliseconds"`
	WaitMS      int64             `json:"wait_ms,omitempty" jsonschema:"how long to wait before answering with a handle; default and most: 40000"`
	Hold        bool              `json:"hold,omitempty" jsonschema:"keep out of the project what it writes"`
	Direct      bool              `json:"direct,omitempty" jsonschema:"write to the project itself, without a layer"`
	Description string            `json:"description,omitempty" jsonschema:"what it is for, in a few words; a person who is asked sees it"`
}

type handleInput struct {
	Handle string `json:"handle" jsonschema:"from exec"`
	WaitMS int64  `json:"wait_ms,omitempty" jsonschema:"how long to wait for the end; default and most: 40000"`
}

// ran is a command's state and output so far.
type ran struct {
	Handle   string `json:"handle,omitempty" jsonschema:"read on with it; only while the command runs"`
	Running  bool   `json:"running"`
	Waiting  bool   `json:"waiting,omitempty" jsonschema:"a person is asked"`
	ExitCode int    `json:"exit_code" jsonschema:"128+n: signal n; 124: it took too long; 126: it did not land"`
	Landed   *bool  `json:"landed,omitempty" jsonschema:"false: what it wrote is held, not in the project; see changes"`
	HeldID   string `json:"held_id,omitempty" jsonschema:"of what is held, for changes"`
	Stdout   string `json:"stdout" jsonschema:"what came since the last answer"`
	Stderr   string `json:"stderr"`
	Cut      int64  `json:"cut_bytes,omitempty" jsonschema:"output that is not there, because it was too much"`
	Sandbox  string `json:"sandbox,omitempty" jsonschema:"enforced or partial: how far this host holds the sandbox"`
	Notes    string `json:"notes,omitempty"`
}

// command is one that a client started.
type command struct {
	session *session
	id      string
	changed chan struct{} // closed and replaced at every event

	mu          sync.Mutex
	out, err    strings.Builder
	cut         int64
	question    *ipc.Approval // a person is asked; nil: nobody
	shown       *ipc.Approval // the last question sent to the client's user; only this one is answered
	exit        *ipc.Exit
	lost        error
	stopWatcher context.CancelFunc
	release     func() bool // the call continues; nil: it did not wait for its client's user
}

func (s *Server) addExec(m *mcp.Server) {
	mcp.AddTool(m, &mcp.Tool{Name: "exec", Description: "Run a command in the project's sandbox. A person may be asked " +
		"first.",
		Annotations: &mcp.ToolAnnotations{Title: "Run a command", DestructiveHint: yes(true), OpenWorldHint: yes(true)}},
		s.exec)
	mcp.AddTool(m, &mcp.Tool{Name: "output", Description: "Wait for a command that exec answered with a handle, and " +
		"read its further output.",
		Annotations: reads("Read on")}, s.output)
	mcp.AddTool(m, &mcp.Tool{Name: "cancel", Description: "End a command and everything that it started.",
		Annotations: changes("End a command")}, s.cancel)
	mcp.AddTool(m, &mcp.Tool{Name: "status",
		Description: "What sandboxd enforces here, whether the project is trusted, and which commands run.",
		Annotations: reads("Status")}, s.status)
}

func (s *Server) exec(ctx context.Context, req *mcp.CallToolRequest, in execInput) (*mcp.CallToolResult, *ran, error) {
	if req.Params.RequestState != "" {
		return s.answered(ctx, req, in)
	}
	n, err := s.in(ctx, in.Root)
	if err != nil {
		return nil, nil, refused(err)
	}
	q := ipc.ExecRequest{Session: n.id, Command: in.Command, Argv: in.Argv, Cwd: n.place(in.Cwd), Env: in.Env,
		TimeoutMS: in.TimeoutMS, Keep: true, Hold: in.Hold, Direct: in.Direct, Description: in.Description,
		Client: s.Approver != nil && elicits(req.Session)}
	if in.Stdin != "" {
		q.Stdin, q.StdinData = ipc.StdinInline, []byte(in.Stdin)
	}
	follow, stop := context.WithCancel(context.WithoutCancel(ctx))
	started, events, err := n.client.RunExec(follow, q)
	if err != nil {
		stop()
		s.forget(n, err)
		return nil, nil, refused(err)
	}
	c := &command{session: n, id: started.ID, changed: make(chan struct{}), stopWatcher: stop}
	if err := s.keep(c); err != nil {
		n.client.CancelExec(context.WithoutCancel(ctx), ipc.CancelRequest{ID: c.id})
		events.Close()
		stop()
		return nil, nil, refused(err)
	}
	go c.follow(follow, events)
	if !c.wait(ctx, in.WaitMS, true) { // the client took the call back
		s.end(c)
		return nil, nil, refused(context.Cause(ctx))
	}
	if q := c.open(); q != nil && q.Client {
		return s.elicit(ctx, req, c, q), nil, nil
	}
	return s.tell(c)
}

func (s *Server) output(ctx context.Context, _ *mcp.CallToolRequest, in handleInput) (*mcp.CallToolResult,
	*ran, error) {
	c := s.find(in.Handle)
	if c == nil {
		return nil, nil, refused(fmt.Errorf("no command has the handle %q; it has ended, and its output was read",
			in.Handle))
	}
	if !c.wait(ctx, in.WaitMS, false) {
		return nil, nil, refused(context.Cause(ctx)) // only the reading was taken back
	}
	return s.tell(c)
}

func (s *Server) cancel(ctx context.Context, _ *mcp.CallToolRequest, in handleInput) (*mcp.CallToolResult,
	*ran, error) {
	c := s.find(in.Handle)
	if c == nil {
		return nil, nil, refused(fmt.Errorf("no command has the handle %q", in.Handle))
	}
	if err := c.session.client.CancelExec(ctx, ipc.CancelRequest{ID: c.id}); err != nil {
		return nil, nil, refused(err)
	}
	c.wait(ctx, 0, false)
	return s.tell(c)
}

// keep remembers a command, and forgets one that has ended where there are
// too many.
func (s *Server) keep(c *command) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.commands) >= maxCommands {
		for id, x := range s.commands {
			if x.ended() {
				delete(s.commands, id)
			}
		}
	}
	if len(s.commands) >= maxCommands {
		return fmt.Errorf("%d commands run already; end one of them first", maxCommands)
	}
	s.commands[c.id] = c
	return nil
}

func (s *Server) find(handle string) *command {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.commands[handle]
}

// end kills a command whose caller is gone.
func (s *Server) end(c *command) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	c.session.client.CancelExec(ctx, ipc.CancelRequest{ID: c.id})
	s.drop(c)
}

func (s *Server) drop(c *command) {
	c.stopWatcher()
	s.mu.Lock()
	delete(s.commands, c.id)
	s.mu.Unlock()
}

// follow collects the command's events until its end.
func (c *command) follow(ctx context.Context, stream ipc.Stream[ipc.Event]) {
	err := c.session.client.Follow(ctx, c.id, stream, func(e ipc.Event) error {
		c.take(e)
		return nil
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil && c.exit == nil {
		c.lost = err
		c.news()
	}
}

func (c *command) take(e ipc.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch e.Type {
	case ipc.EventStdout, ipc.EventPTY:
		c.add(&c.out, e.Data)
	case ipc.EventStderr:
		c.add(&c.err, e.Data)
	case ipc.EventGap:
		c.cut += e.Gap.Bytes
	case ipc.EventApproval:
		c.question = e.Approval // nil where it is the answer
	case ipc.EventExit:
		c.exit = e.Exit
	}
	c.news()
}

// add keeps the first part of the output that nobody has read yet.
func (c *command) add(to *strings.Builder, data []byte) {
	room := max(0, maxOutput-to.Len())
	to.Write(data[:min(room, len(data))])
	c.cut += int64(len(data) - min(room, len(data)))
}

func (c *command) news() {
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *command) ended() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.exit != nil || c.lost != nil
}

// open is the question that a person is asked now; nil: none.
func (c *command) open() *ipc.Approval {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.question
}

// wait waits for the end, and not longer than ms or our patience; where elicits is set, also for a
// question that the client's own user may answer. It is false after the caller's disconnect.
func (c *command) wait(ctx context.Context, ms int64, elicits bool) bool {
	limit := patience
	if ms > 0 {
		limit = min(limit, time.Duration(ms)*time.Millisecond)
	}
	enough := time.NewTimer(limit)
	defer enough.Stop()
	for {
		c.mu.Lock()
		done, changed := c.exit != nil || c.lost != nil || elicits && c.question != nil && c.question.Client, c.changed
		c.mu.Unlock()
		if done {
			return true
		}
		select {
		case <-changed:
		case <-enough.C:
			return true
		case <-ctx.Done():
			return false
		}
	}
}

// tell answers with the events since the preceding answer, and forgets a command that has ended.
func (s *Server) tell(c *command) (*mcp.CallToolResult, *ran, error) {
	c.mu.Lock()
	r := &ran{Handle: c.id, Running: true, Waiting: c.question != nil, Stdout: valid(c.out.String()),
		Stderr: valid(c.err.String()), Cut: c.cut}
	c.out.Reset()
	c.err.Reset()
	c.cut = 0
	exit, lost := c.exit, c.lost
	c.mu.Unlock()
	if exit == nil && lost == nil {
		text := "The command is still running."
		if r.Waiting {
			text = "A person is asked whether the command may run (sbx approve)."
		}
		text = fmt.Sprintf("%s Read on with the tool \"output\" and the handle %s.", text, c.id)
		return said(withOutput(text, r)), r, nil
	}
	s.drop(c)
	if lost != nil {
		return nil, nil, refused(lost)
	}
	r.Handle, r.Running = "", false
	r.Cut += exit.CutBytes
	switch {
	case exit.Denied != nil:
		return nil, nil, errors.New(exit.Denied.Message)
	case exit.Error != nil:
		return nil, nil, refused(exit.Error)
	}
	return end(r, exit), r, nil
}

// end is the answer to a command that ran, and has ended.
func end(r *ran, exit *ipc.Exit) *mcp.CallToolResult {
	r.ExitCode, r.Sandbox = exit.Code, string(exit.Enforcement.Level)
	switch {
	case exit.TimedOut:
		r.ExitCode = 124
	case exit.SignalNum > 0:
		r.ExitCode = 128 + exit.SignalNum
	}
	if c := exit.Changes; c != nil {
		r.Landed, r.HeldID = c.Landed, c.HeldID
	}
	r.Notes = strings.Join(exit.Notes(), "\n")
	text := fmt.Sprintf("exit status %d", r.ExitCode)
	if exit.TimedOut {
		text += " (it took too long)"
	}
	result := said(withOutput(text, r))
	result.IsError = r.ExitCode != 0
	return result
}

func withOutput(text string, r *ran) string {
	for _, part := range []struct{ name, text string }{{"stdout", r.Stdout}, {"stderr", r.Stderr}, {"notes", r.Notes}} {
		if part.text != "" {
			text += fmt.Sprintf("\n--- %s\n%s", part.name, part.text)
		}
	}
	if r.Cut > 0 {
		text += fmt.Sprintf("\n--- %d bytes of output are not shown", r.Cut)
	}
	return text
}

// valid is output as the protocol can carry it.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

type statusInput struct {
	Root string `json:"root,omitempty" jsonschema:"the project's directory; default: where the server was started"`
}

type statusOutput struct {
	Root     string   `json:"root"`
	Trusted  bool     `json:"trusted" jsonschema:"false: commands can only read the project"`
	Mode     string   `json:"mode"`
	Sandbox  string   `json:"sandbox"`
	Degraded []string `json:"degraded,omitempty" jsonschema:"what this host does not hold"`
	Commands []string `json:"commands,omitempty" jsonschema:"handles of commands that run"`
}

func (s *Server) status(ctx context.Context, _ *mcp.CallToolRequest, in statusInput) (*mcp.CallToolResult,
	*statusOutput, error) {
	n, err := s.in(ctx, in.Root)
	if err != nil {
		return nil, nil, refused(err)
	}
	st, err := n.client.Status(ctx)
	if err != nil {
		s.forget(n, err)
		return nil, nil, refused(err)
	}
	list, err := n.client.Sessions(ctx)
	if err != nil {
		return nil, nil, refused(err)
	}
	out := &statusOutput{Root: n.root, Trusted: n.opened.Trusted, Mode: n.opened.Mode,
		Sandbox: string(st.Enforcement.Level), Degraded: st.Degraded}
	for _, info := range list.Sessions {
		if info.ID == n.id {
			out.Trusted, out.Mode, out.Commands = info.Trusted, info.Mode, info.Running
		}
	}
	return nil, out, nil
}
