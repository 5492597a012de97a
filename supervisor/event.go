package supervisor

import (
	"time"

	"sandboxd/approval"
	"sandboxd/egress"
	"sandboxd/sandbox"
	"sandboxd/supervisor/aftermath"
)

// EventKind is the kind of an Event.
type EventKind string

// The kinds, in the order in which an execution may produce them.
const (
	EventQueued   EventKind = "queued"
	EventAsked    EventKind = "asked"   // Pending
	EventDecided  EventKind = "decided" // Decision
	EventStarted  EventKind = "started" // Started
	EventStdout   EventKind = "stdout"  // Data
	EventStderr   EventKind = "stderr"  // Data
	EventTerminal EventKind = "pty"     // Data
	EventCut      EventKind = "cut"     // Cut
	EventChanges  EventKind = "changes" // Change: a change set exists, or its state changed
	EventLanded   EventKind = "landed"  // Change: it landed
	EventEnded    EventKind = "ended"   // Result; the last one
)

// Event is one step of an execution.
type Event struct {
	Seq      uint64 // from 1, without holes
	Time     time.Time
	Kind     EventKind
	Data     []byte
	Cut      int64 // bytes of output that were dropped here
	Pending  *approval.Pending
	Decision *approval.Decision
	Started  *Started
	Change   *approval.ChangeSet
	Result   *Result
}

// Started describes a command that runs.
type Started struct {
	Decision approval.Decision
	Digest   string // of the profile
	Report   sandbox.Report
	Warnings []string
	Warm     bool // its sandbox was a waiting one
}

// Outcome is the end of an execution, in one word.
type Outcome string

// The outcomes.
const (
	Ran        Outcome = "ran"
	Refused    Outcome = "denied"     // a person, a rule or a mode said no
	Blocked    Outcome = "blocked"    // never allowed
	NoAnswer   Outcome = "timeout"    // nobody answered
	Stopped    Outcome = "stopped"    // the session is stopped until the next turn
	Unenforced Outcome = "unenforced" // a required protection can't be had
	Unrecorded Outcome = "unrecorded" // the audit log could not be written
	NotFound   Outcome = "not_found"  // no such command inside the sandbox
	NotRun     Outcome = "not_run"    // cancelled or faulty before it began
)

// Result is how an execution ended.
type Result struct {
	Outcome Outcome
	// Code is the exit status: the command's own, 128+n for signal n, 124 for
	// a timeout, 125 for a failure of ours, 126 denied, 127 not found.
	Code int
	// Message is the reason why it did not run, or the cause of its end, ready for a model.
	Message  string
	Exit     sandbox.Exit // where it ran
	Decision approval.Decision
	Digest   string // of the profile
	Report   sandbox.Report
	Cut      int64
	// Uncapped lists the outputs that went to the caller's own descriptors.
	Uncapped []string
	Warnings []string
	// Violations are the sandbox's refusals, Network the connections that passed.
	Violations []Violation
	Network    []egress.Use
	// Quarantined are the entries found under protected names after the run.
	Quarantined []aftermath.Item
	// Job is the job that the command left; "": none. JobRefused is why its processes were ended instead.
	Job, JobRefused string
	// Changes are the changes of a direct run; nil for a reader.
	Changes *Changes

	// unmounted: it did not start as an overlay could not be mounted.
	unmounted bool
}
