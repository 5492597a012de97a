package ipc

import "encoding/json"

// CheckRequest is the body of POST /v1/check: decide, for a call that the agent runs itself; or,
// with DryRun, only return the decision.
type CheckRequest struct {
	Session string          `json:"session,omitempty"` // empty: only with DryRun
	CallID  string          `json:"call_id,omitempty"` // the agent's id of the call, for the record
	Tool    string          `json:"tool,omitempty"`    // empty: "bash"
	Command string          `json:"command,omitempty"` // a line of shell,
	Argv    []string        `json:"argv,omitempty"`    // or a command without a shell,
	Args    json.RawMessage `json:"args,omitempty"`    // or a JSON object: another tool's arguments
	Cwd     string          `json:"cwd,omitempty"`
	// CwdUnknown: the directory of the command is not known. Decisions that depend on it ask.
	CwdUnknown  bool              `json:"cwd_unknown,omitempty"`
	Env         map[string]string `json:"env,omitempty"`
	TTY         bool              `json:"tty,omitempty"`
	DryRun      bool              `json:"dry_run,omitempty"`
	Inline      bool              `json:"inline,omitempty"` // a person at this terminal may answer
	Description string            `json:"description,omitempty"`
	// Sandboxed: the tool's server runs in the sandbox. A tool that no rule names is run unasked.
	Sandboxed bool        `json:"sandboxed,omitempty"`
	Batch     *BatchPlace `json:"batch,omitempty"`
	// TicketMS asks for a ticket that lets exactly this command run once in this session, for any
	// process of the same user, within so many milliseconds.
	TicketMS int64 `json:"ticket_ms,omitempty"`
}

// Decisions of a Verdict.
const (
	DecisionAuto = "auto" // runs unasked
	DecisionAsk  = "ask"  // a person is asked
	DecisionDeny = "deny" // refused unasked
)

// Verdict answers POST /v1/check.
type Verdict struct {
	ID            string       `json:"id,omitempty"` // of the record
	Decision      string       `json:"decision"`
	Allowed       bool         `json:"allowed"` // the agent may run it now; false in every dry run that would ask
	Why           string       `json:"why"`
	Rule          string       `json:"rule,omitempty"`
	Risk          string       `json:"risk,omitempty"` // low, medium, high
	Reasons       []string     `json:"reasons,omitempty"`
	Description   string       `json:"description,omitempty"`
	Explain       []string     `json:"explain,omitempty"`
	Suggestions   []Suggestion `json:"suggestions,omitempty"`
	Denied        *Denial      `json:"denied,omitempty"` // set where Allowed is false and it was not a dry run
	ProfileDigest string       `json:"profile_digest,omitempty"`
	Enforcement   *Enforcement `json:"enforcement,omitempty"`
	Warnings      []Warning    `json:"warnings,omitempty"`
	Ticket        Secret       `json:"ticket,omitempty"` // as asked for, where the command is not refused
}

// AfterCallRequest is the body of POST /v1/check/after: a call that got a ticket has ended.
type AfterCallRequest struct {
	Session string `json:"session"`
	CallID  string `json:"call_id"`           // as in the CheckRequest
	Command string `json:"command,omitempty"` // as the agent reports it, for the record
	Cwd     string `json:"cwd,omitempty"`
}

// Where the command of a call ran.
const (
	RanInside  = "inside"  // in its sandbox: its ticket was redeemed
	RanOutside = "outside" // its ticket was not redeemed, and is void now; it is on record
	RanUnknown = "unknown" // no command of that call was judged in this session; it is on record
)

// AfterCall answers POST /v1/check/after.
type AfterCall struct {
	Ran string `json:"ran"` // RanInside, RanOutside or RanUnknown
}

// Denial says why something did not run, in words that are ready for a model.
type Denial struct {
	Code    Code   `json:"code"`           // denied, blocked, timeout, stopped, unenforced, …
	Message string `json:"message"`        // object, reason, and remedy
	Note    string `json:"note,omitempty"` // the person's note
	By      string `json:"by,omitempty"`   // the person, rule or grant that decided
	Mode    string `json:"mode,omitempty"` // soft: continue with something else; hard: stop until the user speaks
}

// BatchPlace is a call's place among the tool calls of one model response.
type BatchPlace struct {
	ID        string     `json:"id"`
	Index     int        `json:"index"` // from 0
	Total     int        `json:"total"`
	GroupID   string     `json:"group_id,omitempty"`
	Remaining []NextCall `json:"remaining,omitempty"` // the calls after this one
}

// NextCall is a call that is still to come.
type NextCall struct {
	CallID  string          `json:"call_id,omitempty"`
	Tool    string          `json:"tool"`
	Command string          `json:"command,omitempty"`
	Argv    []string        `json:"argv,omitempty"`
	Args    json.RawMessage `json:"args,omitempty"`
	Cwd     string          `json:"cwd,omitempty"`
	// Asks is why a yes to the whole batch does not cover this call, in a
	// question: it will be asked about by itself. Empty: covered.
	Asks string `json:"asks,omitempty"`
}
