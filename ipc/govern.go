package ipc

import (
	"encoding/json"
	"time"
)

// Grant is something that was allowed or refused beyond one call.
type Grant struct {
	ID      string     `json:"id"`
	Allow   bool       `json:"allow"`
	Scope   string     `json:"scope"`
	Tool    string     `json:"tool"`
	What    string     `json:"what"` // the payload or pattern, for people
	Session string     `json:"session,omitempty"`
	Project string     `json:"project,omitempty"`
	Agent   string     `json:"agent,omitempty"`
	UID     int        `json:"uid"`
	By      string     `json:"by"`
	Note    string     `json:"note,omitempty"`
	Created time.Time  `json:"created"`
	Expires *time.Time `json:"expires,omitempty"`
	Uses    int        `json:"uses"`
	LastUse *time.Time `json:"last_use,omitempty"`
	Explain []string   `json:"explain,omitempty"` // only in GET /v1/grants/{id}
}

// GrantList answers GET /v1/grants.
type GrantList struct {
	Grants []Grant `json:"grants"`
}

// GrantRequest is GET or DELETE /v1/grants/{id}.
type GrantRequest struct {
	ID string
}

// Counts are the statistics of approvals.
type Counts struct {
	Total           int64 `json:"total"`
	Approved        int64 `json:"approved"`
	Denied          int64 `json:"denied"`
	AutoApproved    int64 `json:"auto_approved"`
	AutoDenied      int64 `json:"auto_denied"`
	DoubleConfirmed int64 `json:"double_confirmed"`
	TimedOut        int64 `json:"timed_out"`
	Quit            int64 `json:"quit"`
}

// Stats answers GET /v1/stats.
type Stats struct {
	Since    time.Time         `json:"since"`
	Overall  Counts            `json:"overall"`
	Sessions map[string]Counts `json:"sessions,omitempty"`
	Agents   map[string]Counts `json:"agents,omitempty"`
}

// Advice answers GET /v1/advice: what the configuration could say so that people are asked less, by the
// newest records of the log. Each proposal was replayed against them.
type Advice struct {
	Decisions int        `json:"decisions"` // that were looked at
	Asked     int        `json:"asked"`     // of these, how often a person was asked
	Refused   int        `json:"refused"`   // connections to hosts that are on no list
	Proposals []Proposal `json:"proposals"`
}

// Proposal is one value for a list of the configuration.
type Proposal struct {
	// List is presets.use, permissions.allow or network.allow; trust.contained: the value is a directory to trust so.
	List  string `json:"list"`
	Value string `json:"value"`
	// Questions and Refusals are how many there would have been less, beyond what the proposals before it save.
	Questions int    `json:"questions"`
	Refusals  int    `json:"refusals"`
	Permits   string `json:"permits"` // besides, in words
}

// AuditRequest is GET /v1/audit. Every field that is set narrows.
type AuditRequest struct {
	Session  string    // ?session=
	Agent    string    // ?agent=
	Tool     string    // ?tool=
	Category string    // ?category=
	Decision string    // ?decision=
	ExecID   string    // ?exec_id=
	Grep     string    // ?grep= (RE2), matched against the record's text
	Since    time.Time // ?since= (RFC 3339)
	Until    time.Time // ?until=
	AfterSeq uint64    // ?after_seq=
	Limit    int       // ?limit=; 0: 1000; with Last, the newest
	Last     bool      // ?last=1
}

// AuditPage answers GET /v1/audit: records as they are in the log.
type AuditPage struct {
	Records []json.RawMessage `json:"records"`
	More    bool              `json:"more"` // ask again with after_seq of the last one
	// Bad are the skipped damaged records: the place of each, and its fault.
	Bad []string `json:"bad,omitempty"`
}

// AuditVerifyRequest is GET /v1/audit/verify.
type AuditVerifyRequest struct {
	AnchorSeq  uint64 // ?anchor_seq=
	AnchorHash string // ?anchor_hash=
}

// AuditVerdict answers GET /v1/audit/verify.
type AuditVerdict struct {
	OK      bool   `json:"ok"`
	Records uint64 `json:"records"`
	Seq     uint64 `json:"seq"`  // of the last good record
	Hash    string `json:"hash"` // of the last good record: with Seq the anchor to keep elsewhere
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	BadSeq  uint64 `json:"bad_seq,omitempty"`
	Problem string `json:"problem,omitempty"`
}

// Mode is GET and POST /v1/mode. In a request an empty Session means the daemon.
type Mode struct {
	Session string     `json:"session,omitempty"`
	Mode    string     `json:"mode"`              // interactive, strict, approve_all
	ForMS   int64      `json:"for_ms,omitempty"`  // request
	Ends    *time.Time `json:"ends,omitempty"`    // answer
	By      string     `json:"by,omitempty"`      // answer
	Was     string     `json:"was,omitempty"`     // answer
	Warning string     `json:"warning,omitempty"` // answer
}

// ModeRequest is GET /v1/mode.
type ModeRequest struct {
	Session string // ?session=
}

// TrustRequest is POST /v1/trust (body) and DELETE /v1/trust?dir=.
type TrustRequest struct {
	Dir string `json:"dir"`
	// Contained also lets commands there run unasked whose effects stay there and can be undone.
	Contained bool `json:"contained,omitempty"`
}

// Trust is a directory that a person trusts.
type Trust struct {
	Dir   string    `json:"dir"` // real path
	UID   int       `json:"uid"`
	Dev   uint64    `json:"dev"`
	Inode uint64    `json:"inode"`
	Since time.Time `json:"since"`
	By    string    `json:"by,omitempty"`
	Stale string    `json:"stale,omitempty"` // why it does not count now (moved, replaced)
	// Contained: what stays there and can be undone runs unasked.
	Contained bool `json:"contained,omitempty"`
	// Caches are the toolchains whose caches the directory's commands keep without a preset.
	Caches []string `json:"caches,omitempty"`
}

// TrustList answers GET /v1/trust.
type TrustList struct {
	Trusted []Trust `json:"trusted"`
}

// SettingsChange is POST /v1/settings: changes of the configuration on a person's word, all or none.
type SettingsChange struct {
	// Dir is the project that they are for; empty with User and Session.
	Dir string `json:"dir,omitempty"`
	// Session is the only session that they are for: its id, or "here", the one of the caller's terminal.
	Session string `json:"session,omitempty"`
	// User: they are for all projects of the user, in the user's file.
	User  bool          `json:"user,omitempty"`
	Edits []SettingEdit `json:"edits"`
}

// SettingEdit is one change.
type SettingEdit struct {
	Key    string   `json:"key"`
	Do     string   `json:"do"` // set, unset, add or remove (values of a list)
	Values []string `json:"values,omitempty"`
}

// SettingsChanged answers POST /v1/settings.
type SettingsChanged struct {
	Kept   string           `json:"kept"` // the file, project or session that has them
	Values []EffectiveValue `json:"values"`
}

// SettingRequest is GET /v1/settings/{id}, with the key as id.
type SettingRequest struct {
	Key string `json:"key"`
	Dir string // ?dir=; empty: as for a directory without settings of its own
}

// EffectiveValue is a setting as it is in force.
type EffectiveValue struct {
	Key   string `json:"key"`
	Value string `json:"value"`          // as in a configuration file
	From  string `json:"from,omitempty"` // file and line
	// PerProject: it can be set for one project or session.
	PerProject bool `json:"per_project,omitempty"`
}

// Reloaded answers POST /v1/reload. A configuration that has an error is not
// applied at all: that is an [Error], and the old one stays.
type Reloaded struct {
	Config   []ConfigFile `json:"config"`
	Warnings []Warning    `json:"warnings,omitempty"`
	Changed  []string     `json:"changed,omitempty"`
}

// ShutdownRequest is POST /v1/shutdown.
type ShutdownRequest struct {
	DrainMS int64 `json:"drain_ms,omitempty"` // time for running commands to end; 0: the configured time
	Now     bool  `json:"now,omitempty"`
}
