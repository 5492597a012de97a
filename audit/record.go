package audit

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// Categories of records.
const (
	Decision  = "decision"  // a decision about one call
	Execution = "execution" // start and end of a command
	File      = "file"      // start and end of a file operation
	Session   = "session"   // opened, closed, stopped, turn
	Grant     = "grant"     // made, revoked, expired
	Mode      = "mode"      // changed
	Config    = "config"    // loaded, reloaded, refused
	Chain     = "chain"     // about the log itself; only this package writes it
)

// Categories lists them.
var Categories = []string{Decision, Execution, File, Session, Grant, Mode, Config, Chain}

// Record is one event. Zero fields are left out.
type Record struct {
	Time      time.Time `json:"time"` // zero: now
	Category  string    `json:"category"`
	Operation string    `json:"operation,omitempty"` // "start", "end", "approve", "edit", …

	Session string `json:"session,omitempty"`
	Turn    int    `json:"turn,omitempty"`
	Agent   string `json:"agent,omitempty"`
	Claimed bool   `json:"claimed,omitempty"` // Agent is only the peer's own claim
	Peer    *Peer  `json:"peer,omitempty"`

	Tool   string `json:"tool,omitempty"`
	CallID string `json:"call_id,omitempty"`
	ExecID string `json:"exec_id,omitempty"`
	// Subject is the object for people: the command line, the path.
	Subject string   `json:"subject,omitempty"`
	Argv    []string `json:"argv,omitempty"`
	Cwd     string   `json:"cwd,omitempty"`
	// Input is the call's payload, a JSON object, from which Log.Append takes
	// every key that Exclude or Options.Exclude names, at any depth.
	Input   json.RawMessage `json:"input,omitempty"`
	Exclude []string        `json:"-"`

	Decision string   `json:"decision,omitempty"` // approved, denied, blocked, …
	Reason   string   `json:"reason,omitempty"`
	By       string   `json:"by,omitempty"`  // the person, or the part of us, that decided
	How      string   `json:"how,omitempty"` // person, auto
	Scope    string   `json:"scope,omitempty"`
	Grant    string   `json:"grant,omitempty"` // id
	Rule     string   `json:"rule,omitempty"`
	Note     string   `json:"note,omitempty"`
	Key      string   `json:"key,omitempty"` // the key or word that the person answered with
	Risk     string   `json:"risk,omitempty"`
	Reasons  []string `json:"reasons,omitempty"`
	Approval string   `json:"approval,omitempty"` // id of the question
	Digest   string   `json:"digest,omitempty"`   // of everything the answer is bound to
	Mode     string   `json:"mode,omitempty"`     // of approval

	Profile     string   `json:"profile,omitempty"`     // digest
	Enforcement string   `json:"enforcement,omitempty"` // enforced, partial, absent
	Layers      []string `json:"layers,omitempty"`      // in the order in which they were applied
	Gaps        []string `json:"gaps,omitempty"`        // the gaps of the enforcement

	// Exit is the exit status; nil: it did not run, or has not ended.
	Exit       *int     `json:"exit,omitempty"`
	Signal     string   `json:"signal,omitempty"`
	TimedOut   bool     `json:"timed_out,omitempty"`
	DurationMS int64    `json:"duration_ms,omitempty"` // of the run; of a decision: until a person answered
	Limits     []string `json:"limits,omitempty"`      // that were hit
	CutBytes   int64    `json:"cut_bytes,omitempty"`   // of output
	Violations []string `json:"violations,omitempty"`  // the refusals of the sandbox
	Undo       string   `json:"undo,omitempty"`        // id that brings the old state back
	Error      string   `json:"error,omitempty"`

	// Changes is what a run changed in the project, or what landed; nil: it was judged to read only.
	Changes *Changes `json:"changes,omitempty"`
	// Network lists the targets that a command reached, or tried to.
	Network []Reached `json:"network,omitempty"`
	// Detail has the values without a field of their own.
	Detail map[string]string `json:"detail,omitempty"`
	// Cut marks a shortened record: the names of the shortened fields, with the SHA-256 of their
	// whole content. Append sets it.
	Cut map[string]string `json:"cut,omitempty"`
}

// text returns the record's words, a line for each: subject, arguments, directory, reason, actor,
// and error.
func (r Record) text() string {
	lines := append([]string{r.Subject, strings.Join(r.Argv, " "), r.Cwd, r.Operation, r.Reason, r.By, r.Rule, r.Note,
		r.Error}, r.Violations...)
	return strings.Join(slices.DeleteFunc(lines, func(s string) bool { return s == "" }), "\n")
}

// Changes counts the paths that a run changed, or those that landed of a held change set.
type Changes struct {
	Kind     string `json:"kind"`             // layered or direct
	Digest   string `json:"digest,omitempty"` // of the whole change set of a layered run
	Covered  bool   `json:"covered"`
	Held     string `json:"held,omitempty"` // why a layered run's change set did not land
	Created  int    `json:"created,omitempty"`
	Modified int    `json:"modified,omitempty"`
	Deleted  int    `json:"deleted,omitempty"`
}

// Reached is one host of a command.
type Reached struct {
	Target      string `json:"target"`         // host:port, or, quoted, the target as the client wrote it
	Addr        string `json:"addr,omitempty"` // the last one that was connected to
	Connections int    `json:"connections"`
	Refused     int    `json:"refused,omitempty"` // how often
	Sent        int64  `json:"sent"`              // bytes
	Received    int64  `json:"received"`
}

// Peer is the process that asked.
type Peer struct {
	UID int    `json:"uid"`
	PID int    `json:"pid"`
	Exe string `json:"exe,omitempty"`
}

// Entry is a record with its place in the log.
type Entry struct {
	Anchor
	Prev string
	File string // base name
	Line int    // from 1
	Raw  []byte // the line, without its end
	Record
}
