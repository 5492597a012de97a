package approval

// Context is the call that a tool judges when it is asked whether the call needs
// approval (R-AP-01, R-AP-02).
type Context struct {
	// Tool is the name the model sees: "write_file", "bash".
	Tool string
	// Args are the call's arguments. Read only.
	Args map[string]any
	// Metadata comes from the embedding framework (run id, caller, …).
	Metadata map[string]any
	// Facts is the snapshot of the world that the check may rely on; nil when
	// none was gathered. The checking tool knows its concrete type.
	Facts Facts
}

// Facts is a snapshot of the world (does the file exist, its real path and
// hash, the repository's effective configuration) that was gathered before
// the check, so that the check itself stays pure.
type Facts interface {
	// Digest changes when any fact changes. It is part of the digest that a
	// decision is bound to, and is read again before the effect.
	Digest() string
}

// Risk is how much attention a question deserves. The zero value is normal.
type Risk string

const (
	RiskLow    Risk = "low"
	RiskNormal Risk = "normal"
	RiskHigh   Risk = "high"
)

// Kind says how a presentation is to be rendered.
type Kind string

const (
	KindText        Kind = "text"         // plain text
	KindDiff        Kind = "diff"         // unified diff
	KindFileContent Kind = "file_content" // a new file's content, highlighted as Language
	KindCommand     Kind = "command"      // a command with its working directory
	KindStructured  Kind = "structured"   // JSON, for anything else
)

// Presentation is shown to a person beyond description and payload. It is
// optional, and costly ones are built late: see Call.Present.
type Presentation struct {
	Kind    Kind   `json:"kind"`
	Content string `json:"content"`
	// Language is for highlighting; empty means none.
	Language string `json:"language,omitempty"`
	// Metadata carries extras such as "full_content" for the pager.
	Metadata map[string]any `json:"metadata,omitempty"`
}

// Request is returned by a tool when a person should decide.
type Request struct {
	// Tool is the stable name that people see and that is logged.
	Tool string `json:"tool"`
	// Description is one line a person understands at a glance.
	Description string `json:"description"`
	// Payload is the structured fingerprint of the operation: the value that "approve
	// for session" remembers. Its author decides the granularity and leaves
	// out secrets and volatile values. JSON-like values only, see Fingerprint.
	Payload map[string]any `json:"payload"`
	// Presentation is set by tools that have it for free; nil otherwise.
	Presentation *Presentation `json:"presentation,omitempty"`
	// GroupID marks requests of one session that may be decided together.
	GroupID string `json:"group_id,omitempty"`

	// Risk and Reasons tell the person why this asks.
	Risk    Risk     `json:"risk,omitempty"`
	Reasons []string `json:"reasons,omitempty"`
	// Warnings are shown in red: "OUTSIDE PROJECT".
	Warnings []string `json:"warnings,omitempty"`
	// Notes are further facts about the call that people see: its time limit, a backup.
	Notes []string `json:"notes,omitempty"`
	// BlockedPath is the path that made the tool ask, if one did.
	BlockedPath string `json:"blocked_path,omitempty"`

	// Dangerous, Protected: asks in spite of earlier grants, and twice.
	// Delete: asks twice, and is not covered by "approve all".
	Dangerous bool `json:"dangerous,omitempty"`
	Protected bool `json:"protected,omitempty"`
	Delete    bool `json:"delete,omitempty"`
	// Outside: touches paths outside the project.
	Outside bool `json:"outside,omitempty"`

	// Suggestions are the patterns, narrow to wide, that an answer may widen
	// a grant to (R-AP-07). Each must match this request's own payload.
	Suggestions []Suggestion `json:"suggestions,omitempty"`
}

// Suggestion is one pattern that may be granted instead of the exact payload.
type Suggestion struct {
	// Label is shown to the person: "git diff *", "cat under src/".
	Label   string  `json:"label"`
	Pattern Pattern `json:"pattern"`
}

// Trust is the part of a yes that concerns the project of the call, where the call is the first
// of a project that nobody trusts. This package only carries it.
type Trust string

// Values of Trust. The empty one is TrustEach where that is on offer.
const (
	TrustContained Trust = "contained" // trusted; calls that stay inside and can be undone run unasked
	TrustEach      Trust = "each"      // trusted; calls ask as usual
	TrustOnce      Trust = "once"      // not trusted: the yes covers this call alone
)

// Preset is a set of rules of the configuration that an approver may switch on, and that would change the judgement of
// the call.
type Preset struct {
	Name string `json:"name"`
	Why  string `json:"why,omitempty"` // the call needs it
}

// Widening is one enlargement of the sandbox that a yes may bring along: one
// path, one host. Value is opaque to this package.
type Widening struct {
	Value       string `json:"value"`
	Description string `json:"description"`
}
