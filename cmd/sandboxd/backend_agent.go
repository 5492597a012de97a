package main

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"sandboxd/approval/answerer"
	"sandboxd/ipc"
	"sandboxd/profile/document"
	"sandboxd/sandbox"
	"sandboxd/supervisor"
)

func peerOf(p ipc.Peer) supervisor.Peer {
	above := []supervisor.Process{{PID: p.PID, Start: p.Start}}
	for _, a := range p.Ancestors {
		above = append(above, supervisor.Process{PID: a.PID, Start: a.Start})
	}
	return supervisor.Peer{UID: p.UID, PID: p.PID, Start: p.Start, Exe: p.Exe, SID: p.SID, TTY: p.TTY, Inside: p.Inside(),
		Above: above}
}

func (b *backend) session(c ipc.Caller, id string) (*supervisor.Session, error) {
	if id == "" {
		return nil, &ipc.Error{Code: ipc.CodeBadRequest, Message: "session is missing",
			Hint: "open one with POST /v1/sessions"}
	}
	s, err := b.sup.Session(id, peerOf(c.Peer), string(c.Secret))
	return s, wireError(err)
}

// execOfUser finds an execution of the served user.
func (b *backend) execOfUser(id string) (*supervisor.Exec, error) {
	e, ok := b.sup.ExecOf(id, servedUser())
	if !ok {
		return nil, &ipc.Error{Code: ipc.CodeNotFound, Message: fmt.Sprintf("there is no execution %q", id)}
	}
	return e, nil
}

// exec finds an execution that the caller may use.
func (b *backend) exec(c ipc.Caller, id string) (*supervisor.Exec, error) {
	e, err := b.execOfUser(id)
	if err != nil || c.Role == ipc.RoleApprover {
		return e, err
	}
	if p := c.Peer; e.ByTicket() && e.Peer.PID == p.PID && e.Peer.Start == p.Start {
		return e, nil // the bearer of the ticket has no secret of the session
	}
	if _, err := b.session(c, e.Session.ID); err != nil {
		return nil, err
	}
	return e, nil
}

func (b *backend) OpenSession(_ context.Context, c ipc.Caller, r ipc.SessionRequest) (ipc.Session, error) {
	s, secret, err := b.sup.OpenSession(supervisor.SessionRequest{
		Kind: supervisor.Kind(r.Kind), Peer: peerOf(c.Peer), Agent: r.Agent, AgentID: agentID(r.Kind, c.Peer),
		Label: r.Label, Root: r.Root, Cwd: r.Cwd,
		Hold: r.Land == ipc.LandHold, Conversation: r.Conversation, Prompt: r.Prompt})
	if err != nil {
		return ipc.Session{}, wireError(err)
	}
	answer := ipc.Session{ID: s.ID, Secret: ipc.Secret(secret), Root: s.Root, Trusted: b.sup.Trusted(s),
		Mode: wireModeName(b.approvals.Mode(s.Ref()).Mode), Warnings: b.wireWarnings()}
	// a terminal's is found again for every command, and warned when one fails
	if !answer.Trusted && s.Kind == supervisor.KindAPI {
		answer.Warnings = append(answer.Warnings, ipc.Warning{Where: s.Root, Message: supervisor.Untrusted,
			Hint: "sbx trust " + s.Root})
	}
	if why := b.sup.NoPlace(s); why != "" && s.Kind != supervisor.KindCLI {
		answer.Warnings = append(answer.Warnings,
			ipc.Warning{Message: "each command has its own /tmp and localhost, and what it leaves running ends with it: " + why})
	}
	return answer, nil
}

func (b *backend) StartExec(ctx context.Context, c ipc.Caller, r ipc.ExecRequest) (ipc.ExecStarted, error) {
	place, err := placeOf(r.Batch)
	if err != nil {
		return ipc.ExecStarted{}, err
	}
	if r.Ticket == "" && c.Confined != nil {
		return ipc.ExecStarted{}, c.Confined
	}
	if r.Ticket != "" {
		q := execRequest(r, place)
		s, err := b.sup.Redeem(string(r.Ticket), peerOf(c.Peer), &q)
		if err != nil {
			return ipc.ExecStarted{}, wireError(err)
		}
		e, err := b.sup.Exec(s, peerOf(c.Peer), q)
		if err != nil {
			b.sup.Return(string(r.Ticket), q)
			return ipc.ExecStarted{}, wireError(err)
		}
		return ipc.ExecStarted{ID: e.ID}, nil
	}
	var started ipc.ExecStarted
	if r.Open != nil {
		opened, err := b.OpenSession(ctx, c, *r.Open)
		if err != nil {
			return ipc.ExecStarted{}, err
		}
		r.Session, started.Session = opened.ID, &opened
	}
	s, err := b.session(c, r.Session)
	if err != nil {
		return ipc.ExecStarted{}, err
	}
	e, err := b.startExec(c, s, r, place)
	if err != nil {
		return ipc.ExecStarted{}, wireError(err)
	}
	started.ID = e.ID
	return started, nil
}

func (b *backend) startExec(c ipc.Caller, s *supervisor.Session, r ipc.ExecRequest,
	place place) (*supervisor.Exec, error) {
	if r.Agent && !b.sup.Config().Sandbox.AgentSocket {
		return nil, &ipc.Error{Code: ipc.CodeForbidden,
			Message: "agents may not reach the daemon from inside their sandbox: [sandbox] agent_socket = false",
			Hint:    "run it without --agent"}
	}
	q := execRequest(r, place)
	if r.Profile != "" {
		d, err := document.Parse("profile", []byte(r.Profile))
		if err != nil {
			return nil, &ipc.Error{Code: ipc.CodeBadRequest, Message: err.Error()}
		}
		q.Profile = d
	}
	q.Server, q.Inline, q.Client, q.Agent = r.Server, b.inline(c, s, r.Inline), b.client(s, r.Client), r.Agent
	return b.sup.Exec(s, peerOf(c.Peer), q)
}

// execRequest is r in the domain's words; nobody answers at the caller's terminal.
func execRequest(r ipc.ExecRequest, place place) supervisor.ExecRequest {
	return supervisor.ExecRequest{
		CallID: r.CallID, Line: r.Command, Argv: r.Argv, Cwd: r.Cwd, Env: r.Env, Terminal: r.TTY, Cols: r.Cols, Rows: r.Rows,
		Timeout: time.Duration(r.TimeoutMS) * time.Millisecond, Stdin: supervisor.Stdin(r.Stdin), StdinData: r.StdinData,
		Keep: r.Keep, Hold: r.Hold, Direct: r.Direct, Description: r.Description, Batch: place.batch, Group: place.group,
		Next: place.next, Passed: passedOf(r.Passed)}
}

// passedOf converts passed descriptors into the supervisor's type.
func passedOf(s ipc.Stdio) supervisor.Descriptors {
	one := func(p *ipc.Passed) *supervisor.Descriptor {
		if p == nil {
			return nil
		}
		return &supervisor.Descriptor{File: p.File, Path: p.Path}
	}
	return supervisor.Descriptors{In: one(s.In), Out: one(s.Out), Err: one(s.Err)}
}

// inline reports whether the person at the caller's own terminal may answer
// (R-IP-01): only for a command-line session, only where a terminal is, and
// never where the configuration has it off.
func (b *backend) inline(c ipc.Caller, s *supervisor.Session, asked bool) bool {
	return asked && s.Kind == supervisor.KindCLI && s.Outer() == nil && c.Peer.TTY != 0 && b.sup.Config().Approval.Inline
}

// client reports whether the agent's own client may be asked: only by a program
// that is in no sandbox, and only where the configuration says so.
func (b *backend) client(s *supervisor.Session, asked bool) bool {
	return asked && s.Kind == supervisor.KindAPI && s.Outer() == nil && b.sup.Config().Approval.ClientAnswers
}

func (b *backend) Check(ctx context.Context, c ipc.Caller, r ipc.CheckRequest) (ipc.Verdict, error) {
	var s *supervisor.Session
	var err error
	if r.Session == "" && r.DryRun {
		s, err = b.sup.Unregistered(peerOf(c.Peer), r.Cwd)
		err = wireError(err)
	} else {
		s, err = b.session(c, r.Session)
	}
	if err != nil {
		return ipc.Verdict{}, err
	}
	place, err := placeOf(r.Batch)
	if err != nil {
		return ipc.Verdict{}, err
	}
	return b.check(ctx, c, s, r, place)
}

func (b *backend) check(ctx context.Context, c ipc.Caller, s *supervisor.Session, r ipc.CheckRequest,
	place place) (ipc.Verdict, error) {
	if r.Tool != "" && r.Tool != "bash" {
		return b.checkTool(ctx, c, s, r, place)
	}
	v, err := b.sup.Check(ctx, s, peerOf(c.Peer),
		supervisor.CheckRequest{DryRun: r.DryRun, Ticket: time.Duration(r.TicketMS) * time.Millisecond,
			CwdUnknown: r.CwdUnknown, Exec: supervisor.ExecRequest{
				CallID: r.CallID, Line: r.Command, Argv: r.Argv, Cwd: r.Cwd, Env: r.Env, Terminal: r.TTY,
				Inline: b.inline(c, s, r.Inline), Description: r.Description, Batch: place.batch, Group: place.group,
				Next: place.next}})
	if err != nil {
		return ipc.Verdict{}, wireError(err)
	}
	return wireVerdict(v), nil
}

func (b *backend) AfterCall(ctx context.Context, c ipc.Caller, r ipc.AfterCallRequest) (ipc.AfterCall, error) {
	s, err := b.session(c, r.Session)
	if err != nil {
		return ipc.AfterCall{}, err
	}
	ran, err := b.sup.AfterCall(ctx, s, peerOf(c.Peer),
		supervisor.AfterCallRequest{CallID: r.CallID, Line: r.Command, Cwd: r.Cwd})
	return ipc.AfterCall{Ran: string(ran)}, wireError(err)
}

func (b *backend) ExecEvents(_ context.Context, c ipc.Caller, r ipc.EventsRequest) (ipc.Stream[ipc.Event], error) {
	e, err := b.execOfUser(r.ID)
	if !r.Starts {
		e, err = b.exec(c, r.ID)
	}
	if err != nil {
		return nil, err
	}
	release := func() {}
	if !r.Watch {
		release = e.Listen()
	}
	return &eventStream{exec: e, from: e.Events(r.FromSeq), release: release, b: b}, nil
}

// eventStream translates one execution's events.
type eventStream struct {
	exec    *supervisor.Exec
	from    *supervisor.EventReader
	release func()
	b       *backend
}

func (s *eventStream) Next(ctx context.Context) (ipc.Event, error) {
	e, err := s.from.Next(ctx)
	if err != nil {
		return ipc.Event{}, err
	}
	return s.b.wireEvent(s.exec, e), nil
}

// Ready implements [ipc.Ready].
func (s *eventStream) Ready() bool { return s.from.Ready() }

func (s *eventStream) Close() error {
	s.release()
	return nil
}

func (b *backend) WriteStdin(ctx context.Context, c ipc.Caller, r ipc.StdinRequest) error {
	e, err := b.exec(c, r.ID)
	if err != nil {
		return err
	}
	return wireError(e.WriteInput(ctx, r.Data, r.EOF))
}

func (b *backend) SignalExec(_ context.Context, c ipc.Caller, r ipc.SignalRequest) error {
	e, err := b.exec(c, r.ID)
	if err != nil {
		return err
	}
	name := strings.ToUpper(r.Signal)
	if !strings.HasPrefix(name, "SIG") {
		name = "SIG" + name
	}
	sig := unix.SignalNum(name)
	if sig == 0 {
		return &ipc.Error{Code: ipc.CodeBadRequest, Message: fmt.Sprintf("signal %q is not known", r.Signal),
			Hint: "use a name such as SIGINT"}
	}
	return wireError(e.Signal(syscall.Signal(sig)))
}

func (b *backend) ResizeExec(_ context.Context, c ipc.Caller, r ipc.ResizeRequest) error {
	e, err := b.exec(c, r.ID)
	if err != nil {
		return err
	}
	return wireError(e.Resize(r.Cols, r.Rows))
}

func (b *backend) CancelExec(ctx context.Context, c ipc.Caller, r ipc.CancelRequest) error {
	e, err := b.exec(c, r.ID)
	if err != nil {
		return err
	}
	e.Cancel(sandbox.EndCancelled)
	select {
	case <-e.Done():
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (b *backend) Turn(_ context.Context, c ipc.Caller, r ipc.TurnRequest) (ipc.Turn, error) {
	s, err := b.anySession(c, r.Session)
	if err != nil {
		return ipc.Turn{}, err
	}
	if c.Role != ipc.RoleApprover && s.Kind != supervisor.KindAPI {
		// Without a secret nothing distinguishes the person from a program that runs
		// in the same terminal (R-AP-12).
		return ipc.Turn{}, &ipc.Error{Code: ipc.CodeForbidden,
			Message: "the stop of this session, which has no secret, is cleared by an approver", Hint: "sbx session resume " +
				s.ID}
	}
	cleared := ""
	if b.approvals.Stopped(s.Ref()) {
		cleared = "stopped by a person"
	}
	if c.Role == ipc.RoleApprover {
		// A requester can't lift the stop that a person has set, as it can't answer. The person at the terminal of
		// the session can, as with trust (R-IP-01).
		switch related := relatedToSession(c.Peer, s); {
		case b.ownTerminal(c.Peer, s):
		case related != answerer.Unrelated && cleared != "":
			return ipc.Turn{}, &ipc.Error{Code: ipc.CodeSelfApproval, Message: string(related) + " can't resume the session",
				Hint: "from another terminal: sbx session resume " + s.ID}
		case related != answerer.Unrelated:
			return ipc.Turn{Turn: s.Turn()}, nil
		}
	}
	var skills []supervisor.Skill
	for _, k := range r.Skills {
		skills = append(skills, supervisor.Skill{Path: k.Path, Allow: k.Allow})
	}
	if c.Role == ipc.RoleApprover && len(skills) > 0 {
		return ipc.Turn{}, &ipc.Error{Code: ipc.CodeBadRequest, Message: "skills are the agent's to name",
			Hint: "send them on agent.sock"}
	}
	n, err := b.sup.NewTurn(s, peerOf(c.Peer), skills)
	return ipc.Turn{Turn: n, Cleared: cleared}, wireError(err)
}

// anySession finds a session of the caller: by its secret or terminal for an
// agent, by its owner for an approver.
func (b *backend) anySession(c ipc.Caller, id string) (*supervisor.Session, error) {
	if c.Role != ipc.RoleApprover {
		return b.session(c, id)
	}
	for _, s := range b.sup.Sessions(servedUser()) {
		if s.ID == id {
			return s, nil
		}
	}
	return nil, wireError(&supervisor.SessionError{ID: id})
}

func (b *backend) CloseSession(_ context.Context, c ipc.Caller, r ipc.CloseRequest) (ipc.Closed, error) {
	s, err := b.anySession(c, r.Session)
	if err != nil {
		return ipc.Closed{}, err
	}
	ended, stats, err := b.sup.CloseSession(s)
	if err != nil {
		return ipc.Closed{}, wireError(err)
	}
	closed := ipc.Closed{Ended: ended}
	if b.sup.Config().Approval.ShowStats {
		closed.Stats = &ipc.Stats{Since: s.Opened, Overall: wireCounts(stats)}
	}
	return closed, nil
}
