package acp

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"sandboxd/ipc"
)

// maxTerminals bounds the terminals that are not released, maxOutput the output that is kept of each, in bytes.
const (
	maxTerminals = 64
	maxOutput    = 1 << 20
)

// terminal is a command that the agent started.
type terminal struct {
	session *session
	client  *ipc.Client
	id      string
	most    int           // bytes of output to keep
	ended   chan struct{} // closed at the end
	stop    context.CancelFunc

	mu        sync.Mutex
	started   bool
	changed   chan struct{} // closed at the start
	output    []byte
	truncated bool
	exit      *ipc.Exit
	err       error  // the daemon is gone
	call      string // the id of the tool call that shows the terminal; "": none does
}

type createParams struct {
	Command string   `json:"command"`
	Args    []string `json:"args"`
	Env     []struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	} `json:"env"`
	Cwd             *string `json:"cwd"`
	OutputByteLimit *uint64 `json:"outputByteLimit"`
}

type created struct {
	Terminal string `json:"terminalId"`
}

// createTerminal runs a command: a line of shell, or a program with its arguments. It answers when the command has
// started, or was refused.
func createTerminal(ctx context.Context, s *session, _ *call, in createParams) (*created, error) {
	if in.Command == "" {
		return nil, &Error{Code: invalidParams, Message: "terminal/create: command is missing"}
	}
	q := ipc.ExecRequest{Command: in.Command, Cwd: s.cwd}
	if len(in.Args) > 0 {
		q.Command, q.Argv = "", append([]string{in.Command}, in.Args...)
	}
	if in.Cwd != nil {
		q.Cwd = *in.Cwd
	}
	if err := absolute("cwd", q.Cwd); err != nil {
		return nil, err
	}
	for _, e := range in.Env {
		if q.Env == nil {
			q.Env = map[string]string{}
		}
		q.Env[e.Name] = e.Value
	}
	s.mu.Lock()
	s.env = q.Env
	s.mu.Unlock()
	t := &terminal{session: s, most: maxOutput, ended: make(chan struct{}), changed: make(chan struct{})}
	if in.OutputByteLimit != nil {
		t.most = int(min(*in.OutputByteLimit, maxOutput))
	}
	if err := t.start(ctx, q); err != nil {
		return nil, err
	}
	select {
	case <-t.changed:
	case <-t.ended:
	case <-ctx.Done():
		t.release()
		return nil, ctx.Err()
	}
	if err := t.refusal(); err != nil {
		t.release()
		return nil, err
	}
	return &created{t.id}, nil
}

// start starts the command, by the ticket of a call that was judged or else in the session.
func (t *terminal) start(ctx context.Context, q ipc.ExecRequest) (err error) {
	client, id, err := t.session.open(ctx)
	if err != nil {
		return err
	}
	follow, stop := context.WithCancel(context.WithoutCancel(ctx))
	t.client, t.stop = client, stop
	q.Session, q.Ticket = id, t.session.ticket(keyOf(q.Command, q.Argv, q.Cwd))
	var started ipc.ExecStarted
	var events ipc.Stream[ipc.Event]
	if q.Ticket != "" {
		q.Session = ""
		started, events, err = client.RunExec(follow, q)
	}
	if q.Ticket == "" || err != nil {
		q.Session, q.Ticket = id, ""
		started, events, err = client.RunExec(follow, q)
	}
	if err != nil {
		stop()
		return err
	}
	t.id = started.ID
	if err := t.session.proxy.keep(t); err != nil {
		events.Close()
		t.release()
		return err
	}
	go func() {
		defer stop()
		err := client.Follow(follow, t.id, events, t.take)
		t.mu.Lock()
		defer t.mu.Unlock()
		t.err = err
		if t.call != "" {
			_ = t.session.proxy.editor(t.update()) // the end of the editor ends the proxy
		}
		close(t.ended)
	}()
	return nil
}

// shown is the output as the content of a tool call. t.mu is held.
func (t *terminal) shown() toolContent {
	c := toolContent{Type: "content"}
	c.Content.Type, c.Content.Text = "text", "```\n"+t.text()+"\n```"
	return c
}

// text is the output as the protocol can carry it. t.mu is held.
func (t *terminal) text() string { return strings.ToValidUTF8(string(t.output), "\uFFFD") }

type toolContent struct {
	Type    string `json:"type"`
	Content struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"content"`
}

// update is the output of the command, for the editor. t.mu is held.
func (t *terminal) update() []byte {
	type changed struct {
		Kind    string        `json:"sessionUpdate"`
		Call    string        `json:"toolCallId"`
		Content []toolContent `json:"content"`
	}
	type params struct {
		Session string  `json:"sessionId"`
		Update  changed `json:"update"`
	}
	return encoded(request[params]{"2.0", nil, "session/update",
		params{t.session.id, changed{"tool_call_update", t.call, []toolContent{t.shown()}}}})
}

// take takes an event of the command.
func (t *terminal) take(e ipc.Event) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch e.Type {
	case ipc.EventStarted:
		if !t.started {
			t.started = true
			close(t.changed)
		}
	case ipc.EventStdout, ipc.EventStderr:
		t.add(e.Data)
	case ipc.EventGap:
		t.truncated = true
	case ipc.EventExit:
		t.exit = e.Exit
		t.truncated = t.truncated || e.Exit.CutBytes > 0
		if notes := e.Exit.Notes(); len(notes) > 0 {
			t.add([]byte("\n--- sandboxd\n" + strings.Join(notes, "\n") + "\n"))
		}
	}
	return nil
}

// add keeps the last part of the output, as whole characters.
func (t *terminal) add(data []byte) {
	t.output = append(t.output, data...)
	cut := len(t.output) - t.most
	if cut <= 0 {
		return
	}
	t.truncated = true
	for cut < len(t.output) && !utf8.RuneStart(t.output[cut]) {
		cut++
	}
	t.output = append(t.output[:0], t.output[cut:]...)
}

// refusal is why the command did not run; nil where it did, or does.
func (t *terminal) refusal() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.exit == nil:
		return t.err
	case t.exit.Denied != nil:
		return worded(&ipc.Error{Code: t.exit.Denied.Code, Message: t.exit.Denied.Message})
	case t.exit.Error != nil:
		return worded(t.exit.Error) // of the command: the session stays
	}
	return nil
}

// release ends the command, and forgets it.
func (t *terminal) release() {
	p := t.session.proxy
	p.mu.Lock()
	delete(p.terminals, t.id)
	p.mu.Unlock()
	t.kill()
}

// kill ends the command and everything that it started. A command that has ended stays as it is.
func (t *terminal) kill() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	// The command's own end reports it.
	_ = t.client.CancelExec(ctx, ipc.CancelRequest{ID: t.id})
}

func (p *Proxy) keep(t *terminal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.terminals) >= maxTerminals {
		return &Error{Code: invalidRequest, Message: fmt.Sprintf("%d terminals are not released: release one", maxTerminals)}
	}
	if p.terminals == nil {
		p.terminals = map[string]*terminal{}
	}
	p.terminals[t.id] = t
	return nil
}

type terminalParams struct {
	Terminal string `json:"terminalId"`
}

// terminal returns a terminal of the session.
func (s *session) terminal(id string) (*terminal, error) {
	s.proxy.mu.Lock()
	defer s.proxy.mu.Unlock()
	if t := s.proxy.terminals[id]; t != nil && t.session == s {
		return t, nil
	}
	return nil, &Error{Code: notFound, Message: fmt.Sprintf("the session has no terminal %q, or it was released", id)}
}

type exitStatus struct {
	Code   *int    `json:"exitCode"`
	Signal *string `json:"signal"`
}

// status is the end of the command; nil where it runs. t.mu is held.
func (t *terminal) status() *exitStatus {
	code := 0
	switch {
	case t.exit == nil && t.err == nil:
		return nil
	case t.exit == nil || t.exit.Error != nil || t.exit.Code < 0 && t.exit.SignalNum == 0:
		code = 125
	case t.exit.TimedOut:
		code = 124
	case t.exit.SignalNum != 0:
		return &exitStatus{Signal: &t.exit.Signal}
	default:
		code = t.exit.Code
	}
	return &exitStatus{Code: &code}
}

type outputResult struct {
	Output    string      `json:"output"`
	Truncated bool        `json:"truncated"`
	Exit      *exitStatus `json:"exitStatus,omitempty"`
}

func terminalOutput(_ context.Context, s *session, _ *call, in terminalParams) (*outputResult, error) {
	t, err := s.terminal(in.Terminal)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return &outputResult{t.text(), t.truncated, t.status()}, nil
}

func waitForExit(ctx context.Context, s *session, _ *call, in terminalParams) (*exitStatus, error) {
	t, err := s.terminal(in.Terminal)
	if err != nil {
		return nil, err
	}
	select {
	case <-t.ended:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.status(), nil
}

func killTerminal(_ context.Context, s *session, _ *call, in terminalParams) (*nothing, error) {
	t, err := s.terminal(in.Terminal)
	if err != nil {
		return nil, err
	}
	t.kill()
	return &nothing{}, nil
}

func releaseTerminal(_ context.Context, s *session, _ *call, in terminalParams) (*nothing, error) {
	t, err := s.terminal(in.Terminal)
	if err != nil {
		return nil, err
	}
	t.release()
	return &nothing{}, nil
}
