package approval

import (
	"errors"
	"fmt"
	"time"
)

// Verb is the meaning of an answer. There is no default: an answer without a verb
// is unreadable and changes nothing.
type Verb string

const (
	VerbAllow Verb = "allow"
	VerbDeny  Verb = "deny"
	// VerbAllowAll allows this call and the listed rest of its batch (R-AP-10).
	VerbAllowAll Verb = "allow_all"
	// VerbQuit denies this call, cancels the rest of the batch and stops the session.
	VerbQuit Verb = "quit"
	// VerbPresets is neither yes nor no: see Controller.SwitchOn.
	VerbPresets Verb = "presets"
)

// maxKey is the length of Answer.Key, in bytes.
const maxKey = 64

// Answer is an approver's answer to one question.
type Answer struct {
	Verb Verb
	// By is the approver, as the transport has verified it.
	By Identity
	// Rev and Hash are those of the Pending that was seen. Required to allow;
	// a denial may leave both out.
	Rev  int
	Hash string
	// Scope is how far the answer reaches; empty is once.
	Scope Scope
	// For limits the life of the grant of a wider scope; 0 is no limit.
	For time.Duration
	// Note is the person's text; the agent gets it with a denial.
	Note string
	// Key is the key or word that the approver's front end took for the answer, for
	// the record; empty is unknown. It decides nothing.
	Key string
	// Mode is for denials; empty is hard (R-AP-12).
	Mode RejectMode
	// Suggestion picks Pending.Suggestions[Suggestion-1] as the pattern that a wider scope
	// grants or denies; 0 is the exact payload.
	Suggestion int
	// Widening picks Pending.Widenings[Widening-1]; 0 is none.
	Widening int
	// Trust is one of Pending.Trusts, or empty.
	Trust Trust
	// Paths are some of Pending.Paths, or directories that have some, for a yes to these alone; nil: to all.
	Paths []string
	// Confirm makes this the second yes of the same approver; in everything
	// else it must be the first one again.
	Confirm bool
	// Also are further questions, from Pending.Same or Pending.Group, that
	// this answer decides with it: all of them or none.
	Also []Ref
	// Together says that Also are all that the approver could decide with it, so
	// that a repetition of the answer need not name them again.
	Together bool
}

// Receipt acknowledges an answer.
type Receipt struct {
	// Decided is false where a second yes is wanted: the same answer with Confirm.
	Decided bool `json:"decided"`
	// Decision is set where Decided.
	Decision Decision `json:"decision,omitzero"`
	// Warning names the part of an accepted answer that failed:
	// a denial that could not be remembered.
	Warning string `json:"warning,omitempty"`
}

// Errors of Answer, View and GiveUp. None of them changes the question.
var (
	// ErrUnknown: no such question, or not one this approver may see.
	ErrUnknown = errors.New("no such request")
	// ErrStale: the question has changed since it was shown; look again.
	ErrStale = errors.New("what was seen is no longer what is asked; look at the request again")
	// ErrConfirm: the approver has not given the first yes, or it was another one.
	ErrConfirm = errors.New("there is no equal first yes to confirm; answer without confirm first")
	// ErrClosed: the controller has been closed.
	ErrClosed = errors.New("approvals are closed")
)

// DecidedError says that somebody, or the clock, was first.
type DecidedError struct {
	Decision Decision
}

func (e *DecidedError) Error() string {
	d := e.Decision
	if d.How == HowPerson {
		return fmt.Sprintf("already decided by %s: %s", d.By, d.Outcome)
	}
	return fmt.Sprintf("already decided by the daemon: %s (%s)", d.Outcome, d.Reason)
}

// AnswerError is an answer that cannot be taken as it is; the question stays.
type AnswerError struct {
	// Code is stable: "unreadable", "suggestion", "widening", "trust", "paths", "together",
	// "inline", "lifetime", "batch", "store", "refused", "presets".
	Code string
	Why  string
	Err  error
}

func (e *AnswerError) Error() string {
	if e.Err != nil {
		return "answer: " + e.Why + ": " + e.Err.Error()
	}
	return "answer: " + e.Why
}

func (e *AnswerError) Unwrap() error { return e.Err }
