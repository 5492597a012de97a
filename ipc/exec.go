package ipc

import "time"

// How a command gets its standard input.
const (
	StdinNone   = "none"   // /dev/null; the same as ""
	StdinStream = "stream" // POST /v1/exec/{id}/stdin
	StdinInline = "inline" // ExecRequest.StdinData, then end of file
)

// ExecRequest is the body of POST /v1/exec and POST /v1/exec/events. Exactly one of
// Session, Ticket and Open, and one of Command and Argv, is set.
type ExecRequest struct {
	Session string `json:"session,omitempty"`
	Ticket  Secret `json:"ticket,omitempty"` // in place of a session: see CheckRequest.TicketMS
	// in place of a session: the terminal's own, found or opened; kind "cli"
	Open        *SessionRequest   `json:"open,omitempty"`
	CallID      string            `json:"call_id,omitempty"`
	Command     string            `json:"command,omitempty"` // a line of shell
	Argv        []string          `json:"argv,omitempty"`    // a command without a shell
	Cwd         string            `json:"cwd,omitempty"`     // empty: the session's root
	Env         map[string]string `json:"env,omitempty"`
	TTY         bool              `json:"tty,omitempty"`  // give it a terminal of its own
	Cols        uint16            `json:"cols,omitempty"` // of that terminal; 0: 80
	Rows        uint16            `json:"rows,omitempty"` // 0: 24
	TimeoutMS   int64             `json:"timeout_ms,omitempty"`
	Stdin       string            `json:"stdin,omitempty"`
	StdinData   []byte            `json:"stdin_data,omitempty"` // base64 on the wire
	Inline      bool              `json:"inline,omitempty"`     // a person at this terminal may answer
	Client      bool              `json:"client,omitempty"`     // the agent's own client can put a question to its user
	Agent       bool              `json:"agent,omitempty"`      // the command is an agent: it reaches agent.sock
	Server      bool              `json:"server,omitempty"`     // the command serves the agent: it has an agent's time
	Profile     string            `json:"profile,omitempty"`    // a document that narrows the command's own profile
	Hold        bool              `json:"hold,omitempty"`       // hold what it writes, until POST /v1/changes/{id}
	Direct      bool              `json:"direct,omitempty"`     // write to the project itself, without a layer
	Keep        bool              `json:"keep,omitempty"`       // continue after the last stream has closed
	Description string            `json:"description,omitempty"`
	// or the header Idempotency-Key; the server applies it
	IdempotencyKey string      `json:"idempotency_key,omitempty"`
	Batch          *BatchPlace `json:"batch,omitempty"`
	// Stdio names the descriptors that come with the request, over stdio.sock, in this order: "stdin", "stdout", "stderr".
	Stdio []string `json:"stdio,omitempty"`
	// Passed are those descriptors. A Client sends them, and writes Stdio; they stay its
	// caller's. A Backend's are its to close once it has started the command, the server's where it has not.
	Passed Stdio `json:"-"`
}

// ExecStarted answers POST /v1/exec. The command is queued; its events report its progress.
type ExecStarted struct {
	ID      string   `json:"id"`
	Session *Session `json:"session,omitempty"` // the session that ExecRequest.Open found or opened
}

// EventsRequest is GET /v1/exec/{id}/events.
type EventsRequest struct {
	ID      string
	FromSeq uint64 // ?from_seq=; the first event wanted; 0 and 1: from the beginning
	Watch   bool   // ?watch=1; look on: never slows the command, never keeps it alive, may get gaps
	Starts  bool   // set by the server: the same request has started the command, and needs no other proof
}

// EventType is the kind of an Event.
type EventType string

const (
	EventQueued    EventType = "queued"
	EventApproval  EventType = "approval" // Approval: a question was put, changed, or (Decision set) answered
	EventStarted   EventType = "started"
	EventStdout    EventType = "stdout" // Data
	EventStderr    EventType = "stderr" // Data
	EventPTY       EventType = "pty"    // Data
	EventViolation EventType = "violation"
	EventChanges   EventType = "changes" // Change: the command's change set exists, or its state changed
	EventLanded    EventType = "landed"  // Change: it landed
	EventGap       EventType = "gap"     // Gap: events that were dropped
	EventExit      EventType = "exit"    // the last one
)

// Event is one line of a command's events. Seq counts from 1 without holes,
// except where an EventGap says so.
type Event struct {
	Seq  uint64    `json:"seq"`
	Time time.Time `json:"time"`
	Type EventType `json:"type"`
	Data []byte    `json:"data,omitempty"` // base64 on the wire
	// Queued is in the first event of exec.run.
	Queued    *ExecStarted `json:"queued,omitempty"`
	Approval  *Approval    `json:"approval,omitempty"`
	Decision  *Decided     `json:"decision,omitempty"`
	Started   *Started     `json:"started,omitempty"`
	Violation *Violation   `json:"violation,omitempty"`
	Change    *ChangeSet   `json:"change,omitempty"`
	Gap       *Gap         `json:"gap,omitempty"`
	Exit      *Exit        `json:"exit,omitempty"`
}

// Started has the facts known when the command runs.
type Started struct {
	Decision      string      `json:"decision"` // auto or ask
	Rule          string      `json:"rule,omitempty"`
	Why           string      `json:"why,omitempty"`
	ProfileDigest string      `json:"profile_digest"`
	Enforcement   Enforcement `json:"enforcement"`
	Warm          bool        `json:"warm,omitempty"`
	Warnings      []Warning   `json:"warnings,omitempty"`
}

// Violation is something that the sandbox refused.
type Violation struct {
	// path, network, syscall, signal, unkept (created, and gone with the sandbox), not_landed, altered and no_undo (of a
	// layer), …
	Kind   string `json:"kind"`
	Object string `json:"object"` // the path, host or call
	Access string `json:"access,omitempty"`
	By     string `json:"by,omitempty"`   // the mechanism
	Rule   string `json:"rule,omitempty"` // the profile's rule that decided
	Hint   string `json:"hint,omitempty"` // how to permit it
	Count  int    `json:"count,omitempty"`
	Minor  bool   `json:"minor,omitempty"` // it changes nothing for the command: telemetry, its own badness for the kernel
}

// Gap names the missing events: From up to and including To.
type Gap struct {
	From  uint64 `json:"from"`
	To    uint64 `json:"to"`
	Bytes int64  `json:"bytes,omitempty"` // of output among them
}

// Exit is how it ended.
type Exit struct {
	// Code is the command's own status; -1: it did not run or was killed by a signal; 126 where Changes.Landed is false
	// though its change set was to land.
	Code      int      `json:"code"`
	Signal    string   `json:"signal,omitempty"` // "SIGKILL", …
	SignalNum int      `json:"signal_num,omitempty"`
	TimedOut  bool     `json:"timed_out,omitempty"`
	Cancelled bool     `json:"cancelled,omitempty"`
	Denied    *Denial  `json:"denied,omitempty"` // it did not run
	Error     *Error   `json:"error,omitempty"`  // it did not run because something of ours failed
	LimitsHit []string `json:"limits_hit,omitempty"`
	CutBytes  int64    `json:"cut_bytes,omitempty"` // of output, not delivered because of a limit
	// Uncapped lists "stdout" and "stderr" where the command wrote to a
	// descriptor of the caller's own: it is in no event, and no limit of
	// output applies to it.
	Uncapped    []string      `json:"uncapped,omitempty"`
	DurationMS  int64         `json:"duration_ms,omitempty"`
	Enforcement Enforcement   `json:"enforcement"`
	Violations  []Violation   `json:"violations,omitempty"`
	Quarantined []Quarantined `json:"quarantined,omitempty"`
	// Job is the id of what the command left running; JobRefused is why that was ended instead.
	Job        string `json:"job,omitempty"`
	JobRefused string `json:"job_refused,omitempty"`
	// Changes says how the command wrote to the project; absent where it did not run.
	Changes  *RunChanges `json:"changes,omitempty"`
	Warnings []Warning   `json:"warnings,omitempty"`
}

// RunChanges is what a run changed in the project: the change set of its layer, or what differs from the snapshot from
// before it.
type RunChanges struct {
	Kind   string `json:"kind"`             // none (a reader, for which the project is read-only), layered or direct
	Direct string `json:"direct,omitempty"` // why the run had no layer
	// Landed is set of a layered run; false: what it wrote is not in the project. Exit is the command's own status then,
	// in place of the 126 in Exit.Code; absent where the run was to be held.
	Landed   *bool    `json:"landed,omitempty"`
	Exit     *int     `json:"exit,omitempty"`
	Held     string   `json:"held,omitempty"`     // why it, or what git ignores of it, did not land; see ExecRequest.Hold
	HeldID   string   `json:"held_id,omitempty"`  // the id that lands or drops a held change set
	Digest   string   `json:"digest,omitempty"`   // of a layered run's change set
	Covered  bool     `json:"covered"`            // the run can be undone as a whole
	Why      string   `json:"why,omitempty"`      // it is not covered
	LeftOut  []string `json:"left_out,omitempty"` // of the snapshot, and why
	Skipped  []string `json:"skipped,omitempty"`  // dependencies' and build trees
	Created  int      `json:"created,omitempty"`  // paths
	Modified int      `json:"modified,omitempty"` // paths
	Deleted  int      `json:"deleted,omitempty"`  // paths
	Paths    []string `json:"paths,omitempty"`    // the first 100
	Build    []string `json:"build,omitempty"`    // created or modified files that run when a person builds, the first 100
	Undo     string   `json:"undo,omitempty"`     // the id that takes them back
}

// Quarantined is a file that was moved to the trash after the run, or (Kept)
// one that could not be attributed and was left where it is.
type Quarantined struct {
	Path string `json:"path"`
	Why  string `json:"why"`
	Undo string `json:"undo,omitempty"` // the id that brings it back
	Kept bool   `json:"kept,omitempty"`
}

// StdinRequest is POST /v1/exec/{id}/stdin: the raw body, in pieces. The
// server calls the backend once per piece and answers when all were taken.
type StdinRequest struct {
	ID   string
	Data []byte // at most 64 KiB, the backend's to keep; may be empty with EOF
	EOF  bool   // ?eof=1; no more will come after this
}

// SignalRequest is POST /v1/exec/{id}/signal.
type SignalRequest struct {
	ID     string `json:"-"`
	Signal string `json:"signal"` // "SIGINT", "INT", "TERM", …
}

// ResizeRequest is POST /v1/exec/{id}/resize.
type ResizeRequest struct {
	ID   string `json:"-"`
	Cols uint16 `json:"cols"`
	Rows uint16 `json:"rows"`
}

// CancelRequest is DELETE /v1/exec/{id}: the whole tree dies.
type CancelRequest struct {
	ID string
}

// Done answers requests that have nothing to say but that they were carried out.
type Done struct {
	OK bool `json:"ok"`
}
