package supervisor

import (
	"context"
	"errors"
	"slices"
	"time"

	"sandboxd/approval"
	"sandboxd/audit"
)

// action is something that a requester wants: a command, a check, a call of the agent's own tool, a file
// operation, a host or a skill's list.
type action interface {
	// exec represents the requester in questions.
	exec() *Exec
	// judge determines the action as it is now. It changes nothing and asks nobody. An error ends the walk.
	judge(ctx context.Context) (subject, error)
	// decided is called once the decision is on record. An error ends the walk before a yes takes effect.
	decided(d approval.Decision) error
}

// subject is an action as judged at one moment.
type subject struct {
	// digest is everything that an answer is bound to. A subject with another digest has changed.
	digest string
	call   approval.Call
	next   []NextCall   // of the same batch
	record audit.Record // without the decision
	// trusts: a yes trusts the session's root.
	trusts bool
	// above are the held change sets that it sees.
	above []string
	// carried is the decision of a ticket, which replaces a new one; nil: there is none.
	carried *approval.Decision
	// withStart: the caller records a decision that nobody was asked for together with the start.
	withStart bool
}

// permit is a decision that holds for the action as it was judged last.
type permit struct {
	approval.Decision
	// unrecorded is the decision's record where it is still to be written, with the start; nil: it is on disk.
	unrecorded *audit.Record
}

// ErrKeptChanging is returned when the request changed again each time it was approved.
var ErrKeptChanging = errors.New("the request kept changing while its question was open; " +
	"ask again when nothing else changes what it is about")

const (
	// maxAskAgain bounds how often a question is put again because its subject changed.
	maxAskAgain = 3
	// maxUnasked is the age up to which a judgement holds that no person was asked about.
	maxUnasked = 100 * time.Millisecond
)

// authorize is the one way from a request to a decision: judge, decide, record, trust, and judge again while the
// digest differs from the approved one (promise 5), or where presets were switched on instead of an answer. The caller
// acts on the action as it was judged last. A refusal is a permit that is not Approved; an error says that nothing was
// decided, or that it could not be recorded (R-AU-03).
func (s *Supervisor) authorize(ctx context.Context, a action) (permit, error) {
	now, err := a.judge(ctx)
	if err != nil {
		return permit{}, err
	}
	for range maxAskAgain {
		judged := time.Now()
		d, asked, err := s.decide(ctx, a.exec(), now)
		if err != nil {
			return permit{}, err
		}
		if d.Reason == approval.ReasonAgain {
			if now, err = a.judge(ctx); err != nil {
				return permit{}, err
			}
			continue
		}
		r := withDecision(now.record, d)
		if d.How == approval.HowPerson {
			r.DurationMS = a.exec().waited().Milliseconds()
		}
		// Nobody was asked, nothing was shown, nothing is opened and hardly a moment went by.
		fresh := !asked && !now.trusts && d.Widening == "" && time.Since(judged) < maxUnasked
		if d.Approved && fresh && now.withStart {
			return permit{d, &r}, nil
		}
		if err := s.record(r); err != nil {
			return permit{}, err
		}
		if err := a.decided(d); err != nil || !d.Approved || fresh {
			return permit{Decision: d}, err
		}
		if now.trusts || d.Trust == approval.TrustContained {
			if err := s.trustByAnswer(a.exec(), d); err != nil {
				return permit{}, err
			}
		}
		approved := now
		if now, err = a.judge(ctx); err != nil {
			return permit{}, err
		}
		if now.digest == approved.digest {
			return permit{Decision: d}, nil
		}
		now.askedAgain(approved)
	}
	return permit{}, ErrKeptChanging
}

// askedAgain has the question and the record say why the yes to approved was not enough.
func (now *subject) askedAgain(approved subject) {
	why := "it is asked again: what the yes was for has changed meanwhile"
	if !slices.Equal(now.above, approved.above) {
		why = "it is asked again: change sets that it sees were held, landed or dropped meanwhile"
	}
	if r := now.call.Request; r != nil {
		r.Reasons = slices.Insert(slices.Clone(r.Reasons), 0, why)
	}
	now.record.Reasons = slices.Insert(slices.Clone(now.record.Reasons), 0, why)
}

// decide takes the decision that a ticket carries, or asks the controller. asked reports that a question was put.
// Where the audit log has no room for a start and its end, nobody is asked (R-AU-03).
func (s *Supervisor) decide(ctx context.Context, e *Exec, now subject) (d approval.Decision, asked bool, err error) {
	if now.carried != nil {
		return *now.carried, false, nil
	}
	if err := s.Audit.Ready(); err != nil {
		return d, false, &AuditError{err}
	}
	now.call.Named = func(id string) {
		asked = true
		s.asking.add(e, id)
	}
	s.announce(ctx, e, &now.call, now.next)
	d, err = s.Approval.Decide(ctx, now.call)
	return d, asked, err
}
