package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"sandboxd/approval"
	"sandboxd/approval/answerer"
	"sandboxd/audit"
	"sandboxd/config"
	"sandboxd/gateway"
	"sandboxd/ipc"
	"sandboxd/notify"
	"sandboxd/sandbox"
	"sandboxd/supervisor"
)

// backend is where wire types meet domain types: one method per operation of
// the protocol, each a translation and a call.
type backend struct {
	sup       *supervisor.Supervisor
	approvals *approval.Controller
	notices   *notify.Notifier
	audit     *audit.Log
	journal   *audit.Journal // nil: records are not mirrored
	noJournal error          // why not, where the configuration wants it
	dirs      dirs
	started   time.Time
	idle      time.Duration    // after which it leaves; 0: never
	gateway   *gateway.Gateway // nil: off
	shutdown  context.CancelFunc
	patient   context.Context // ends when a stop no longer waits for commands
	endNow    context.CancelFunc

	watchers atomic.Int64 // streams of news that are open

	mu       sync.Mutex
	warnings []config.Warning
	flags    flags          // of the command line
	began    *config.Config // in force as the daemon started
	refused  error          // the last reload's; nil: the files are in force as they are
	reported uint64         // the last record that the broker received
	untold   error          // the last attempt to tell the broker the head of the log
	brokered bool           // the system's broker hands connections over
	unsaved  error          // the last attempt to save how often grants were used
	drain    time.Duration
}

var _ ipc.Backend = (*backend)(nil)

// Admit decides whether a process may connect to a socket at all (R-IP-01). A process inside a sandbox,
// ours or another, reaches neither.
func (b *backend) Admit(p ipc.Peer, role ipc.Role) error {
	peer := answerer.Peer{UID: p.UID, Inside: p.Inside() || startedHere(p)}
	own := answerer.OwnAccepted
	if role == ipc.RoleApprover {
		peer.ForOthers = p.UID != os.Geteuid() && b.isBrokered() && answersForOthers(p.UID)
		if !b.sup.Config().Daemon.OwnApprover {
			own = answerer.OwnRefused
		}
	}
	err := answerer.Admit(peer, os.Geteuid(), own)
	refused := &ipc.Error{Code: ipc.CodeForbidden}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, answerer.ErrOtherUser):
		refused.Message = fmt.Sprintf("this daemon serves user %d only", os.Geteuid())
	case errors.Is(err, answerer.ErrOwnUser):
		refused.Message, refused.Hint = err.Error(), "ask a member of the group sandboxd-approvers"
	case role == ipc.RoleAgent && b.agentInside(p):
		return nil // its requests run within its sandbox's profile
	default:
		refused.Message = err.Error()
		refused.Hint = "inside a sandbox of ours run the command directly; a container has a daemon of its own, " +
			"in a directory of its own (--socket-dir)"
	}
	if role == ipc.RoleAgent && p.PID > 0 && !startedHere(p) && b.sup.SandboxOf(peerOf(p)) == nil {
		return &ipc.Confined{Refusal: refused} // an agent's own sandbox: a ticket proves its right to run
	}
	return refused
}

// agentInside reports whether p runs in a sandbox of ours that was started as an agent's.
func (b *backend) agentInside(p ipc.Peer) bool {
	if !b.sup.Config().Sandbox.AgentSocket {
		return false
	}
	e := b.sup.SandboxOf(peerOf(p))
	return e != nil && e.Request.Agent
}

// startedHere reports whether p descends from this daemon: all that does runs in
// a sandbox, also where that has no pid namespace.
func startedHere(p ipc.Peer) bool {
	return slices.ContainsFunc(p.Ancestors, func(a ipc.Process) bool { return a.PID == os.Getpid() })
}

func (b *backend) isBrokered() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.brokered
}

func (b *backend) drainTime() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.drain
}

// drainCommands takes no new work and waits for running commands as long as
// configured, then ends them.
func (b *backend) drainCommands() error {
	ctx, done := context.WithTimeout(b.patient, b.drainTime())
	defer done()
	return b.sup.Shutdown(ctx)
}

// reload reads the configuration again, whole or not at all.
func (b *backend) reload() error {
	warnings, err := b.sup.Reload()
	b.mu.Lock()
	b.refused = err
	b.mu.Unlock()
	if err != nil {
		return err
	}
	b.mu.Lock()
	b.warnings = append(warnings, overruled(b.flags, b.sup.Config())...)
	b.drain = time.Duration(b.sup.Config().Daemon.DrainTimeout)
	b.mu.Unlock()
	b.notices.Reload()
	return nil
}

// leaves says when the daemon will exit by itself, or names the obstacle.
func (b *backend) leaves() string {
	since, idle := b.sup.IdleSince()
	left := b.idle - time.Since(since).Round(time.Second)
	switch why := b.keptAlive(); {
	case b.idle <= 0:
		return "off"
	case why != "":
		return "off: " + why
	case !idle && b.sup.Running() > 0:
		return "off while a command runs"
	case !idle:
		return "off while a program's session is open or a job runs"
	case left <= 0:
		return "now"
	}
	return "in " + left.String()
}

// leaveWhenIdle ends the daemon when nothing was asked of it for b.idle, no command
// runs, no program's session lives, no question is open and no grant or mode
// would be lost (R-IP-09).
func (b *backend) leaveWhenIdle(ctx context.Context, leave context.CancelFunc) {
	d := b.idle
	if d <= 0 {
		return
	}
	every(ctx, min(d/2+time.Millisecond, 10*time.Second), func() {
		if since, idle := b.sup.IdleSince(); idle && time.Since(since) > d && b.keptAlive() == "" {
			leave() // which ends ctx
		}
	})
}

// leaveWhenLost leaves when the daemon's sockets have lost their names: it
// would hold its state against every daemon that comes after it.
func leaveWhenLost(ctx context.Context, sockets *ipc.Sockets, leave context.CancelFunc, log *slog.Logger) {
	if sockets == nil { // the service manager's
		return
	}
	every(ctx, 2*time.Second, func() {
		if path := sockets.Lost(); path != "" {
			log.Error("leaving: the socket is gone, so nobody can reach this daemon", "socket", path)
			leave() // which ends ctx
		}
	})
}

// keptAlive names the work that would be lost if the daemon exited now.
func (b *backend) keptAlive() string {
	me := b.operator()
	switch {
	case len(b.approvals.Pending(me)) > 0:
		return "a question is open"
	case b.approvals.Mode(approval.SessionRef{}).Mode == approval.ModeApproveAll:
		return "approve-all is on"
	case b.watchers.Load() > 0:
		return "an approver is watching"
	}
	for _, g := range b.approvals.Grants(me) {
		if g.Session != "" {
			return "a session has grants"
		}
	}
	return ""
}

func (b *backend) operator() approval.Identity {
	return approval.Identity{Principal: approval.Principal{UID: os.Geteuid()}, Operator: true}
}

// wireError gives a domain error its stable code.
func wireError(err error) error {
	if err == nil {
		return nil
	}
	code, hint := ipc.CodeInternal, ""
	var (
		root       *supervisor.RootError
		session    *supervisor.SessionError
		ticket     *supervisor.TicketError
		request    *supervisor.RequestError
		limit      *supervisor.LimitError
		auditErr   *supervisor.AuditError
		descriptor *supervisor.DescriptorError
		unenforced *sandbox.UnenforcedError
		decided    *approval.DecidedError
		scope      *approval.ScopeError
		answer     *approval.AnswerError
		conf       *config.Error
		wire       *ipc.Error
	)
	switch {
	case errors.As(err, &wire):
		return wire
	case errors.As(err, &root):
		code, hint = ipc.CodeBadRoot, "run it in a project's own directory"
	case errors.As(err, &session) && session.Secret:
		code, hint = ipc.CodeSecret, "give the secret that the session was opened with; sbx takes it from $SBX_SESSION_SECRET"
	case errors.As(err, &session):
		code, hint = ipc.CodeNotFound, "sbx session ls lists those that are open; sbx session open opens one"
	case errors.As(err, &ticket):
		code, hint = ipc.CodeDenied, "have the command judged again, and use the new ticket once"
	case errors.As(err, &request):
		code = ipc.CodeBadRequest
	case errors.As(err, &descriptor):
		code, hint = ipc.CodeForbidden, "have it relayed: leave it out, and use stdin \"stream\" and the events"
	case errors.Is(err, supervisor.ErrKeptChanging):
		code = ipc.CodeConflict
	case errors.Is(err, supervisor.ErrNested):
		code = ipc.CodeForbidden
	case errors.As(err, &limit):
		code = ipc.CodeLimit
	case errors.As(err, &auditErr):
		code, hint = ipc.CodeAudit, auditErr.Remedy()
	case errors.As(err, &unenforced):
		code, hint = ipc.CodeUnenforced, "sbx doctor says what is missing"
	case errors.As(err, &decided):
		code = ipc.CodeAlreadyDecided
	case errors.As(err, &scope):
		code = ipc.CodeBadRequest
	case errors.Is(err, approval.ErrUnknown), errors.Is(err, approval.ErrGrant), errors.Is(err, approval.ErrSession):
		code = ipc.CodeNotFound
	case errors.Is(err, approval.ErrStale):
		code, hint = ipc.CodeStale, "look at the request again"
	case errors.As(err, &answer) && answer.Code == "store":
		code, hint = ipc.CodeInternal, "fix the state directory, or answer with scope session"
	case errors.As(err, &answer) && answer.Code == "presets" && answer.Err != nil:
		code, hint = ipc.CodeConflict, "the request still waits"
	case errors.As(err, &answer):
		code = ipc.CodeBadRequest
	case errors.Is(err, approval.ErrConfirm):
		code, hint = ipc.CodeConfirm, "answer again, then confirm"
	case errors.Is(err, approval.ErrClosed), errors.Is(err, supervisor.ErrClosing):
		code = ipc.CodeShuttingDown
	case errors.Is(err, supervisor.ErrInputClosed):
		code = ipc.CodeConflict
	case errors.As(err, &conf):
		code, hint = ipc.CodeConflict, "fix the file; sandboxd config check shows the same"
	case supervisor.DiskFull(err):
		err = fmt.Errorf("the disk is full: %w. Nobody stopped or denied anything", err)
		hint = supervisor.FreeSpace
	}
	return &ipc.Error{Code: code, Message: strings.TrimSpace(err.Error()), Hint: hint}
}
