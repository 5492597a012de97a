package ipc

import (
	"encoding/json"
	"time"
)

// Approval is a question that waits for a person.
type Approval struct {
	ID           string          `json:"id"`
	Rev          int             `json:"rev"`  // counts changes of the question
	Hash         string          `json:"hash"` // of everything an answer is bound to
	Session      string          `json:"session"`
	Label        string          `json:"label,omitempty"`
	Agent        string          `json:"agent,omitempty"`
	Claimed      bool            `json:"claimed"` // Agent is only the peer's own claim
	UID          int             `json:"uid"`
	PID          int             `json:"pid"`
	Exe          string          `json:"exe,omitempty"`
	CallID       string          `json:"call_id,omitempty"`
	ExecID       string          `json:"exec_id,omitempty"`
	Tool         string          `json:"tool"`
	Description  string          `json:"description"`
	Claim        string          `json:"claim,omitempty"` // the agent's own description of it
	Command      string          `json:"command,omitempty"`
	Argv         []string        `json:"argv,omitempty"`
	Input        json.RawMessage `json:"input,omitempty"` // the payload, a JSON object
	Cwd          string          `json:"cwd,omitempty"`
	Root         string          `json:"root,omitempty"`
	Risk         string          `json:"risk"` // low, medium, high
	Reasons      []string        `json:"reasons,omitempty"`
	Rule         string          `json:"rule,omitempty"` // the rule that made it ask, and its place
	Dangerous    bool            `json:"dangerous,omitempty"`
	Outside      bool            `json:"outside,omitempty"` // reaches outside the project
	Protected    bool            `json:"protected,omitempty"`
	Delete       bool            `json:"delete,omitempty"`
	Confirm      bool            `json:"confirm,omitempty"` // a yes must be given twice
	Inline       bool            `json:"inline,omitempty"`  // the person at the asking terminal may answer
	Client       bool            `json:"client,omitempty"`  // the agent's own client may answer, once
	BlockedPath  string          `json:"blocked_path,omitempty"`
	Notes        []string        `json:"notes,omitempty"`  // its time limit, a backup that is kept
	Scopes       []string        `json:"scopes,omitempty"` // that an answer may have
	Suggestions  []Suggestion    `json:"suggestions,omitempty"`
	Widenings    []Widening      `json:"widenings,omitempty"`
	OnlyWidened  bool            `json:"only_widened,omitempty"` // a yes takes a widening
	Presets      []Preset        `json:"presets,omitempty"`      // that an answer may switch on instead of a yes or no
	Trusts       []string        `json:"trusts,omitempty"`       // that an answer may have; none: it trusts nothing
	Paths        []string        `json:"paths,omitempty"`        // of the project, of which a yes may take some
	Batch        *BatchPlace     `json:"batch,omitempty"`
	GroupID      string          `json:"group_id,omitempty"`
	Count        int             `json:"count,omitempty"` // of identical questions shown as one
	Profile      string          `json:"profile_digest,omitempty"`
	Enforcement  *Enforcement    `json:"enforcement,omitempty"`
	Warnings     []Warning       `json:"warnings,omitempty"`
	Created      time.Time       `json:"created"`
	Deadline     *time.Time      `json:"deadline,omitempty"`
	Sandbox      []string        `json:"sandbox,omitempty"`      // the sandbox's access, a kind a line
	Presentation *Presentation   `json:"presentation,omitempty"` // only in GET /v1/approvals/{id}
	Past         *Past           `json:"past,omitempty"`         // only there: the same request in the log
}

// Presentation is the content of a question for a person.
type Presentation struct {
	Kind     string `json:"kind"` // text, diff, file_content, command, structured
	Content  string `json:"content"`
	Language string `json:"language,omitempty"`
	// full_content: where Content was cut; more_lines, size, old_size, marks: JSON
	Metadata map[string]string `json:"metadata,omitempty"`
}

// Suggestion is a wider grant that may be given with a yes.
type Suggestion struct {
	ID      string `json:"id"`
	Label   string `json:"label"`
	Pattern string `json:"pattern,omitempty"`
	Past    *Past  `json:"past,omitempty"` // only in GET /v1/approvals/{id}
}

// Past counts the earlier questions, from the log, that a grant would have answered.
type Past struct {
	Matched  int      `json:"matched"`            // past calls of this user that it covers
	Asked    int      `json:"asked"`              // of those, how many a person was asked about
	Of       int      `json:"of"`                 // past calls that were looked at
	Examples []string `json:"examples,omitempty"` // the newest first, each once, at most 5
}

// Widening is a path or host that may be added to the profile with a yes.
type Widening struct {
	ID     string `json:"id"`
	Kind   string `json:"kind"` // path, host
	Object string `json:"object"`
	Access string `json:"access,omitempty"`
	Label  string `json:"label,omitempty"`
}

// Preset is a set of reviewed rules that may be added to the user's configuration, and that the request needs.
type Preset struct {
	Name string `json:"name"`
	Why  string `json:"why,omitempty"`
}

// ApprovalList answers GET /v1/approvals.
type ApprovalList struct {
	Approvals []Approval `json:"approvals"`
}

// ApprovalRequest is GET /v1/approvals/{id}.
type ApprovalRequest struct {
	ID string
	// Typing reports that a person types at the question now, which postpones a near deadline (R-UX-11).
	Typing bool
}

// Answer is the body of POST /v1/approvals/{id}/decision. It is decoded
// strictly: an unknown field, a key in another case, a key twice, or the
// absence of rev, hash or allow is an error and decides nothing.
type Answer struct {
	ID    string `json:"-"` // from the path
	Rev   int    `json:"rev"`
	Hash  string `json:"hash"`
	Allow bool   `json:"allow"`
	// once (also ""), turn, session, project, agent, global, batch (all that was listed), group
	Scope      string `json:"scope,omitempty"`
	ForMS      int64  `json:"for_ms,omitempty"` // lifetime of the grant; 0: the scope's own
	Note       string `json:"note,omitempty"`
	Key        string `json:"key,omitempty"`        // or word that the person answered with, for the record
	Mode       string `json:"mode,omitempty"`       // of a no: hard (also "") or soft
	Suggestion string `json:"suggestion,omitempty"` // id
	Widening   string `json:"widening,omitempty"`   // id
	Trust      string `json:"trust,omitempty"`      // of the project: contained, each (also ""), once (not trusted)
	// of a yes: only these of the request's paths, or what it has of them below these directories; none: all
	Paths   []string `json:"paths,omitempty"`
	Confirm bool     `json:"confirm,omitempty"` // this is the second yes
	// neither yes nor no: add the request's presets to the user's configuration, and judge it again
	Presets bool `json:"presets,omitempty"`
}

// Decided is an answer that counted.
type Decided struct {
	ID      string    `json:"id"`
	Allowed bool      `json:"allowed"`
	Reason  string    `json:"reason,omitempty"` // answered, again, timeout, cancelled, quit, grant, mode, …
	Scope   string    `json:"scope,omitempty"`
	Why     string    `json:"why,omitempty"` // in a sentence
	By      string    `json:"by"`
	How     string    `json:"how"` // person or auto
	Rule    string    `json:"rule,omitempty"`
	Grant   string    `json:"grant,omitempty"` // id of the grant that decided or was made
	Note    string    `json:"note,omitempty"`
	Mode    string    `json:"mode,omitempty"`
	Time    time.Time `json:"time"`
	// ConfirmAgain: this approval was the first of two. Nothing is decided yet; the second one must
	// carry Rev.
	ConfirmAgain bool `json:"confirm_again,omitempty"`
	Rev          int  `json:"rev,omitempty"`
}

// NewsRequest is GET /v1/events.
type NewsRequest struct {
	After uint64 // Last-Event-ID, or ?after=; 0: events from now on, after the pending ones
}

// News types.
const (
	NewsRequested  = "requested"
	NewsGranted    = "granted"
	NewsDenied     = "denied"
	NewsTimedOut   = "timed_out"
	NewsApproveAll = "approve_all"
	NewsQuit       = "quit"
	NewsRevoked    = "revoked"
	NewsMode       = "mode"
	NewsSession    = "session"
	NewsChanges    = "changes" // Change: a change set exists, or its state changed
	NewsLanded     = "landed"  // Change: it landed, whole or in part
	NewsGap        = "gap"
)

// News is one event of GET /v1/events (SSE: id = Seq, event = Type, data = this). Seq is 0 for
// events from before the stream began that are still pending.
type News struct {
	Seq      uint64       `json:"seq"`
	Time     time.Time    `json:"time"`
	Type     string       `json:"type"`
	Approval *Approval    `json:"approval,omitempty"`
	Decision *Decided     `json:"decision,omitempty"`
	Grant    *Grant       `json:"grant,omitempty"`
	Session  *SessionInfo `json:"session,omitempty"`
	Mode     *Mode        `json:"mode,omitempty"`
	Change   *ChangeSet   `json:"change,omitempty"`
	Gap      *Gap         `json:"gap,omitempty"`
}
