package supervisor

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"syscall"

	"sandboxd/approval"
	"sandboxd/audit"
	"sandboxd/sandbox"
)

// Record puts something on record that is not part of an execution.
func (s *Supervisor) Record(r audit.Record) error { return s.record(r) }

// Carry writes r, then does it. If it fails, a second record has the error, so that the log
// holds nothing that did not happen.
func (s *Supervisor) Carry(r audit.Record, do func() error) error {
	if err := s.record(r); err != nil {
		return err
	}
	err := do()
	if err != nil {
		r.Error = err.Error()
		return errors.Join(err, s.record(r))
	}
	return nil
}

func (s *Supervisor) record(r ...audit.Record) error {
	if err := s.Audit.Append(r...); err != nil {
		return &AuditError{err}
	}
	return nil
}

// recordStart puts a start on record, and reserves room for its end. Nothing may run before.
func (s *Supervisor) recordStart(r ...audit.Record) error {
	if err := s.Audit.AppendStart(r...); err != nil {
		return &AuditError{err}
	}
	return nil
}

// recordEnd records the end of a start before its report. The record
// is in the log then, and is on the disk a moment later. The command can't be undone:
// until its end is recorded, nothing more runs (R-AU-01).
func (s *Supervisor) recordEnd(r audit.Record) error {
	if err := s.Audit.PutAfter(r); err != nil {
		return &AuditError{err}
	}
	return nil
}

// AuditError says that something could not be recorded and was therefore
// not done (R-AU-03).
type AuditError struct{ Err error }

// Error says that the log is the reason, and no person's decision.
func (e *AuditError) Error() string {
	why := "the audit log can't be written"
	if DiskFull(e.Err) {
		why += ", as the disk is full"
	}
	return fmt.Sprintf("%s: %v. %s; nothing runs unrecorded", why, e.Err, nobody)
}

func (e *AuditError) Unwrap() error { return e.Err }

// Remedy is the next step for a person.
func (e *AuditError) Remedy() string {
	if DiskFull(e.Err) {
		return FreeSpace
	}
	return "fix the state directory (sbx status and sbx log verify say more) and try again; nothing has to be resumed"
}

// DiskFull reports whether err comes from a disk, or a quota, without room.
func DiskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// FreeSpace is the remedy for a full disk.
const FreeSpace = "free space on that disk and try again; nothing has to be resumed"

// nobody keeps a model from taking a fault for a decision.
const nobody = "Nobody stopped or denied anything"

func auditPeer(p Peer) *audit.Peer { return &audit.Peer{UID: p.UID, PID: p.PID, Exe: p.Exe} }

// recordOf has the common fields of the records of an execution.
func recordOf(e *Exec, j *judgement) audit.Record {
	r := audit.Record{
		Session: e.Session.ID, Turn: e.Session.Turn(), Agent: e.Session.Agent.String(), Claimed: e.Session.Agent.ID == "",
		Peer: auditPeer(e.Peer), Tool: "bash", CallID: e.Request.CallID, ExecID: e.ID,
		Subject: e.Request.Line, Argv: e.Request.Argv, Cwd: e.Request.shown(), Detail: e.Request.Passed.detail(),
	}
	if j == nil {
		return r
	}
	r.Risk, r.Reasons, r.Rule, r.Digest = j.verdict.Risk.String(), j.verdict.Reasons, j.verdict.Rule, j.digest
	r.Input = j.payload
	if j.plan != nil {
		r.Profile = j.plan.Profile.Digest().String()
		r.Enforcement = string(j.plan.Report.Level())
		for _, l := range j.plan.Report.Layers {
			if l.Active {
				r.Layers = append(r.Layers, l.Name)
			}
		}
		r.Gaps = j.plan.Report.Degraded()
	}
	return r
}

func withDecision(r audit.Record, d approval.Decision) audit.Record {
	r.Category, r.Operation = audit.Decision, string(d.Outcome)
	r.Decision, r.Reason, r.How, r.Scope = string(d.Outcome), string(d.Reason), string(d.How), string(d.Scope)
	r.Grant, r.Note, r.Key, r.Approval = d.Grant, d.Note, d.Key, d.Request
	if d.Rule != "" {
		r.Rule = d.Rule
	}
	for name, value := range map[string]string{"opened": d.Widening, "only": strings.Join(d.Paths, "\n")} {
		if value != "" {
			detail := map[string]string{name: value}
			maps.Copy(detail, r.Detail)
			r.Detail = detail
		}
	}
	if d.How == approval.HowPerson {
		r.By = d.By.String()
	} else {
		r.By = string(d.Layer)
	}
	return r
}

// recordExec puts the start of a command on record, behind the decision where that is not there
// yet, and reports the decision then.
func (s *Supervisor) recordExec(e *Exec, j *judgement, d approval.Decision, decided *audit.Record) error {
	r := recordOf(e, j)
	r.Category, r.Operation, r.Approval, r.Grant = audit.Execution, "start", d.Request, d.Grant
	if decided == nil {
		return s.recordStart(r)
	}
	if err := s.recordStart(*decided, r); err != nil {
		return err
	}
	e.log.addBefore(Event{Kind: EventDecided, Decision: &d})
	return nil
}

// end records how a command ended.
func (s *Supervisor) end(e *Exec, j *judgement, res Result) error {
	r := recordOf(e, j)
	r.Category, r.Operation = audit.Execution, "end"
	code := res.Code
	r.Exit, r.TimedOut, r.DurationMS = &code, res.Exit.Cause == sandbox.EndWall, res.Exit.Wall.Milliseconds()
	if res.Exit.Signal != 0 {
		r.Signal = res.Exit.Signal.String()
	}
	if c := res.Exit.Cause; c != "" {
		r.Limits = []string{string(c)}
	}
	for _, v := range res.Violations {
		r.Violations = append(r.Violations, v.String())
	}
	for _, u := range res.Network {
		r.Network = append(r.Network, audit.Reached{Target: u.Target, Addr: u.Addr, Connections: u.Connections,
			Refused: u.Refused, Sent: u.Sent, Received: u.Received})
	}
	if c := res.Changes; c != nil {
		r.Undo = c.Undo
		r.Changes = c.record()
	}
	if res.Outcome != Ran {
		r.Error = res.Message
	}
	s.Approval.End(s.ctx, s.call(e, j), res.Decision, resultError(res))
	return s.recordEnd(r)
}

// record is the changes in a record.
func (c *Changes) record() *audit.Changes {
	return &audit.Changes{Kind: string(c.Kind), Digest: c.Digest, Covered: c.Covered, Held: c.Held,
		Created: len(c.Created), Modified: len(c.Modified), Deleted: len(c.Deleted)}
}

func resultError(r Result) error {
	if r.Outcome != Ran {
		return errors.New(r.Message)
	}
	if r.Code != 0 {
		return fmt.Errorf("exit status %d", r.Code)
	}
	return nil
}

// refuse records a command that did not run for a reason that is no decision, and
// returns the result.
func (s *Supervisor) refuse(e *Exec, j *judgement, r Result) Result {
	if j != nil {
		r.Warnings = j.warnings
		if j.plan != nil {
			r.Digest, r.Report = j.plan.Profile.Digest().String(), j.plan.Report
		}
	}
	if r.Report.Layers == nil {
		r.Report = s.Host.Report()
	}
	if r.Decision.Outcome == "" && r.Outcome != Unrecorded {
		rec := recordOf(e, j)
		rec.Category, rec.Operation, rec.Error = audit.Execution, "refuse", r.Message
		if err := s.record(rec); err != nil {
			r = r.unrecorded(err)
		}
	}
	return r
}

// denied turns a negative decision into a text for the agent. what is the
// command of the shell tool; other tools have their own wording.
func (s *Supervisor) denied(tool, what string, d approval.Decision) Result {
	r := Result{Outcome: Refused, Code: 126, Decision: d, Message: d.ForAgent(tool)}
	if tool == "bash" {
		r.Message = refusal(what, d)
	}
	switch d.Reason {
	case approval.ReasonBlocked:
		r.Outcome = Blocked
	case approval.ReasonTimeout, approval.ReasonNoApprover:
		r.Outcome = NoAnswer
	case approval.ReasonStopped:
		r.Outcome = Stopped
	case approval.ReasonCancelled:
		r.Outcome = NotRun
	}
	return r
}

// refusal names the object, the reason and the alternative (R-UX-06).
func refusal(what string, d approval.Decision) string {
	switch d.Reason {
	case approval.ReasonBlocked:
		return fmt.Sprintf("Blocked: %s\nReason: %s\nThis is never allowed, and no approval lifts it. Choose another way, "+
			"or tell the user what you need and why.", what, d.Why)
	case approval.ReasonTimeout, approval.ReasonNoApprover:
		return fmt.Sprintf("Not run: %s\nReason: %s. The user did not deny it.\nContinue with something that needs no "+
			"approval, or tell the user that this waits for them.", what, d.Why)
	case approval.ReasonStopped:
		return fmt.Sprintf("Not run: %s\nReason: %s\nThe user stopped this session. Do not try further commands; say what "+
			"you were about to do and wait for the user.", what, d.Why)
	case approval.ReasonPerson, approval.ReasonQuit:
		note := ""
		if d.Note != "" {
			note = " Reason: " + d.Note
		}
		next := "Don't retry it another way; ask the user what they want instead."
		if d.Reject == approval.RejectHard {
			next = "Stop here and wait for the user."
		}
		if d.Reason == approval.ReasonQuit {
			next = "The batch was " + d.Why + ". " + next
		}
		return fmt.Sprintf("User denied execution of bash.%s\nCommand: %s\n%s", note, what, next)
	}
	return fmt.Sprintf("Denied: %s\nReason: %s\nChoose another way, or ask the user.", what, d.Why)
}
