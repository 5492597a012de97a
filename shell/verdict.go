package shell

import (
	"fmt"

	"sandboxd/approval"
)

// Decision is what the shell tool says about a command. The zero value asks.
type Decision uint8

// The decisions.
const (
	Ask   Decision = iota // a person decides
	Auto                  // it runs unasked, as Verdict.Run says
	Block                 // never, in every mode
)

// String returns "ask", "auto" or "block".
func (d Decision) String() string {
	switch d {
	case Ask:
		return "ask"
	case Auto:
		return "auto"
	case Block:
		return "block"
	}
	return fmt.Sprintf("decision(%d)", uint8(d))
}

// MarshalText writes the decision's name.
func (d Decision) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// Risk is how much harm a yes could do. The zero value is normal.
type Risk int8

// The risks, in order.
const (
	RiskLow    Risk = -1
	RiskNormal Risk = 0
	RiskHigh   Risk = 1
)

// String returns "low", "normal" or "high".
func (r Risk) String() string {
	switch {
	case r < 0:
		return "low"
	case r > 0:
		return "high"
	}
	return "normal"
}

// MarshalText writes the risk's name.
func (r Risk) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// Verdict is the judgement of one command. The zero value asks.
type Verdict struct {
	Decision Decision
	// Why is one sentence; Rule names what decided ("safe list: git log",
	// "rule 3: rm", "permission deny Bash(curl *)", "dangerous: recursive delete").
	Why, Rule string
	Risk      Risk
	// Reasons lists everything that speaks against running it unasked, worst first.
	Reasons []string
	// Danger, Protected, Delete, Outside and Hidden mark what a prompt warns of;
	// Danger, Protected and Delete are confirmed twice.
	Danger, Protected, Delete, Outside, Hidden bool
	// Configured says that an explicit rule or permission says to ask, so that
	// nothing that was granted before answers for a person.
	Configured bool
	// Unseen says that what runs comes from the command's input, or from what the
	// line does not tell or cannot be hashed: nobody is shown it, and a yes counts once.
	Unseen bool
	// Sandboxed says that the command is harmless only inside the OS sandbox
	// (a preset): where that is not in force, Auto must be treated as Ask.
	Sandboxed bool
	// Network is the network that the command gets, in the words of the profile.
	Network string
	// Description says at a glance what would happen.
	Description string
	// Parts explains the line piece by piece, in the order of the text.
	Parts []Part
	// Run is what runs unasked; set for Auto only.
	Run Execution
	// Env are variables that replace those of the environment for Auto, and
	// Unset those that must not be in it.
	Env   map[string]string
	Unset []string
	// Payload identifies the request for "allow for this session": equal
	// payloads are the same request. JSON-able.
	Payload map[string]any
	// Suggestions are wider grants that fit this request, narrow to wide.
	Suggestions []Suggestion
	// NeedsFacts lists what must be known before the verdict is final.
	NeedsFacts []FactQuery
	// BlockedPath is the path that made it ask, absolute: the first that is hidden or
	// protected, else the first outside the project, else the first that a redirection
	// writes. "" where no path did.
	BlockedPath string
	// Paths are the absolute paths that the command names, as far as is known.
	Paths []string
}

// Part is the judgement of one piece of a line: a simple command, a
// redirection, or a piece that could not be understood.
type Part struct {
	Text      string   `json:"text"`
	Offset    int      `json:"offset"` // bytes from the start of the line
	Line, Col int      `json:"-"`
	Decision  Decision `json:"decision"`
	Why       string   `json:"why"`
	Rule      string   `json:"rule,omitempty"`
}

// Execution is what runs: either Argv, started without a shell, or Script,
// which bash runs as bash --noprofile --norc -c Script. Every word in a Script
// is single-quoted.
type Execution struct {
	Argv   []string
	Script string
}

// Suggestion is a grant that a person may give instead of a yes for this one
// request.
type Suggestion struct {
	Label   string // "cat under src/"
	Pattern approval.Pattern
	// Payload is the exact payload where the suggestion is that; else nil.
	Payload map[string]any
}
