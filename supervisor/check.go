package supervisor

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/oklog/ulid/v2"

	"sandboxd/approval"
	"sandboxd/sandbox"
	"sandboxd/secret"
	"sandboxd/shell"
)

// CheckRequest asks for the decision about a command.
type CheckRequest struct {
	Exec ExecRequest
	// DryRun only reports the likely decision. Without it a person is asked
	// where one must be, and the decision is recorded: the agent runs the
	// command itself.
	DryRun bool
	// Ticket is how long a ticket for the command is good; 0: none is made.
	Ticket time.Duration
	// CwdUnknown says that it is not known in which directory the agent would run it.
	CwdUnknown bool
}

// ToolRequest asks about a call of a tool that the agent runs itself.
type ToolRequest struct {
	CallID, Tool string
	Args         map[string]any
	Cwd          string
	DryRun       bool
	Inline       bool
	Description  string
	Batch        approval.Batch
	Group        string
	Next         []NextCall
	// Contained: the tool's server runs in the sandbox, or is our own, which asks itself.
	Contained bool
}

// Verdict is the answer to both.
type Verdict struct {
	// Asks: a person is (or would be) asked. Refuses: never, or denied.
	Asks, Refuses bool
	Why, Rule     string
	Risk          approval.Risk
	Reasons       []string
	Description   string
	Parts         []shell.Part
	Suggestions   []shell.Suggestion
	Decision      approval.Decision
	Denied        *Result
	Digest        string // of the profile
	Report        sandbox.Report
	Warnings      []string
	Ticket        string // for this command, once; "": none
}

// Check judges a command without running it (R-AP-20, R-IP-03).
func (s *Supervisor) Check(ctx context.Context, sess *Session, peer Peer, r CheckRequest) (Verdict, error) {
	// A command that an agent runs inside a sandbox of ours stays inside.
	r.Exec.callerRuns = !r.DryRun && r.Ticket == 0 && sess.outer == nil
	r.Exec.cwdUnknown = r.CwdUnknown
	e, err := s.unstarted(sess, peer, r.Exec)
	if err != nil {
		return Verdict{}, err
	}
	var j *judgement
	var decision approval.Decision
	if r.DryRun {
		if j, err = s.judge(ctx, e); err == nil {
			decision, err = s.Approval.Preview(ctx, s.call(e, j))
		}
	} else {
		defer s.asking.forget(e)
		a := &commandAction{s: s, e: e}
		var p permit
		p, err = s.authorize(ctx, a)
		j, decision = a.j, p.Decision
	}
	if err != nil {
		return Verdict{}, err
	}
	v := Verdict{Why: j.verdict.Why, Rule: j.verdict.Rule, Risk: approval.Risk(j.verdict.Risk.String()),
		Reasons: j.verdict.Reasons, Decision: decision,
		Description: j.verdict.Description, Parts: j.verdict.Parts, Suggestions: j.verdict.Suggestions, Warnings: j.warnings}
	if j.plan != nil {
		v.Digest, v.Report = j.plan.Profile.Digest().String(), j.plan.Report
	}
	if r.DryRun && j.absent {
		v.Warnings = append(v.Warnings, "nobody would be asked: "+noCommand(startedAs(e.Request)))
	}
	v.settle(j.verdict.Decision == shell.Ask)
	if !v.Decision.Approved && !r.DryRun {
		denied := s.denied("bash", j.command.Text(), v.Decision)
		v.Denied = &denied
	}
	if err := s.recordUnused(s.tickets.expired(sess, false)); err != nil {
		return Verdict{}, err
	}
	if r.Ticket > 0 && !v.Refuses && (v.Decision.Approved || r.DryRun) {
		v.Ticket = s.tickets.issue(sess, e.Request, j, v.Decision, !r.DryRun, r.Ticket)
	}
	return v, nil
}

// settle derives the one word from the decision. A call that a person has
// answered was asked about, regardless of the answer.
func (v *Verdict) settle(asks bool) {
	switch {
	case v.Decision.Outcome == approval.WouldAsk, v.Decision.How == approval.HowPerson,
		v.Decision.Reason == approval.ReasonTimeout, v.Decision.Reason == approval.ReasonNoApprover:
		v.Asks = true
	case !v.Decision.Approved:
		v.Refuses = true
		if v.Decision.Why != "" {
			v.Why = v.Decision.Why
		}
	case asks && v.Decision.Why != "":
		v.Why = v.Decision.Why // a grant or a mode answered
	}
}

// unstarted is an execution that is only looked at.
func (s *Supervisor) unstarted(sess *Session, peer Peer, r ExecRequest) (*Exec, error) {
	if (r.Line == "") == (len(r.Argv) == 0) {
		return nil, &RequestError{"give either a command line or an argv"}
	}
	cwd, err := sess.resolveCwd(r.Cwd)
	if err != nil {
		return nil, err
	}
	r.Cwd = cwd
	return &Exec{ID: "c-" + ulid.Make().String(), Session: sess, Request: r, Peer: peer, log: newEventLog(0)}, checkText(r)
}

// Unregistered is a session for dry runs without one: it is in no list, has no
// grants, and its root is the repository around cwd.
func (s *Supervisor) Unregistered(peer Peer, cwd string) (*Session, error) {
	name, home, err := account(peer.UID)
	if err != nil {
		return nil, err
	}
	if !filepath.IsAbs(cwd) {
		return nil, &RequestError{fmt.Sprintf("cwd %q is not an absolute path", cwd)}
	}
	guard := s.guard(home)
	root, err := guard.check(guard.enclosingRepository(cwd))
	if err != nil {
		return nil, err
	}
	outer, ceiling, err := s.outerOf(peer)
	if err != nil {
		return nil, err
	}
	return &Session{ID: "dry-run", Kind: KindAPI, Peer: peer, Root: root, Home: home, User: name, turn: 1, outer: outer,
		ceiling: ceiling}, nil
}

// CheckTool decides about a call of a tool that is neither shell nor file tool
// (R-AP-24). The agent runs it itself; the decision is on record.
func (s *Supervisor) CheckTool(ctx context.Context, sess *Session, peer Peer, r ToolRequest) (Verdict, error) {
	call, warnings, err := s.toolCall(ctx, sess, peer, r)
	if err != nil {
		return Verdict{}, err
	}
	var decision approval.Decision
	if r.DryRun {
		decision, err = s.Approval.Preview(ctx, call)
	} else {
		a := &toolAction{s: s, r: r, e: &Exec{ID: "c-" + ulid.Make().String(), Session: sess, Peer: peer, log: newEventLog(0),
			Request: ExecRequest{CallID: r.CallID, Cwd: r.Cwd, Description: r.Description, callerRuns: sess.outer == nil}}}
		defer s.asking.forget(a.e)
		var p permit
		p, err = s.authorize(ctx, a)
		call, decision = a.call, p.Decision
	}
	if err != nil {
		return Verdict{}, err
	}
	v := Verdict{Rule: call.Class.RuleText, Warnings: warnings, Decision: decision, Why: decision.Why}
	if q := call.Request; q != nil {
		v.Description, v.Risk, v.Reasons = q.Description, q.Risk, q.Reasons
	}
	v.settle(call.Request != nil)
	if !v.Decision.Approved && !r.DryRun {
		denied := s.denied(r.Tool, "", v.Decision)
		v.Denied = &denied
	}
	return v, nil
}

// toolCall puts a call of a tool to the approval controller.
func (s *Supervisor) toolCall(
	ctx context.Context, sess *Session, peer Peer, r ToolRequest,
) (approval.Call, []string, error) {
	cfg, warnings, err := s.projectConfig(sess)
	if err != nil {
		return approval.Call{}, nil, err
	}
	class, request, blocked, err := judgeTool(cfg, approval.Context{Tool: r.Tool, Args: r.Args})
	if err != nil {
		return approval.Call{}, nil, err
	}
	call := approval.Call{ID: r.CallID, Principal: sess.principal(), Session: sess.ID, Agent: sess.Agent, Batch: r.Batch,
		Project: sess.Root,
		Tool:    r.Tool, Request: request, Blocked: blocked, Class: class, Cwd: r.Cwd, Why: r.Description, Inline: r.Inline,
		Digest: toolDigest(r.Tool, r.Args, r.Cwd)}
	if request != nil {
		request.GroupID = r.Group
		call.Payload = request.Payload
	}
	shown := call.Payload
	if err := s.judgeAct(ctx, sess, peer, cfg, r, &call); err != nil {
		return approval.Call{}, nil, err
	}
	mask(&call)
	call.Input = secret.Shown(shown) // people see the arguments, without what the judgement adds to them
	return call, warnings, nil
}

// toolAction is a call of the agent's own tool. A reload while its question is open that forbids it, or wants another
// kind of yes, changes its digest.
type toolAction struct {
	s    *Supervisor
	e    *Exec
	r    ToolRequest
	call approval.Call // as judged last
}

func (a *toolAction) exec() *Exec { return a.e }

func (a *toolAction) judge(ctx context.Context) (subject, error) {
	call, _, err := a.s.toolCall(ctx, a.e.Session, a.e.Peer, a.r)
	if err != nil {
		return subject{}, err
	}
	a.call = call
	rec := recordOf(a.e, nil)
	rec.Tool, rec.ExecID, rec.Digest = a.r.Tool, "", call.Digest
	class := call.Class
	class.RuleText = "" // names a line of the configuration
	asked, path := [3]bool{}, ""
	if q := call.Request; q != nil {
		rec.Subject, path = q.Description, q.BlockedPath
		asked = [3]bool{q.Dangerous, q.Protected, q.Delete}
	}
	return subject{digest: fmt.Sprintf("%s %+v %t %t %v %q", call.Digest, class, call.Blocked != nil,
		call.Request != nil, asked, path),
		call: call, next: a.r.Next, record: rec}, nil
}

func (a *toolAction) decided(approval.Decision) error { return nil }
