package shell

import (
	"fmt"

	"sandboxd/approval"
)

// Decision is the shell tool's decision about a command. The zero value asks.
type Decision uint8

// The decisions.
const (
	Ask   Decision = iota // a person decides
	Auto                  // Verdict.Run runs unasked
	Block                 // never runs, in every mode
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

// Risk is the possible harm of an approval. The zero value is normal.
type Risk int8

// The risks, in ascending order.
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
	// Why is one sentence. Rule names the deciding rule ("safe list: git log", "rule 3: rm",
	// "permission deny Bash(curl *)", "dangerous: recursive delete").
	Why, Rule string
	Risk      Risk
	// Reasons lists all reasons to ask, worst first.
	Reasons []string
	// Danger, Protected, Delete, Outside and Hidden select the warnings of a prompt. Danger,
	// Protected and Delete need a second confirmation.
	Danger, Protected, Delete, Outside, Hidden bool
	// Configured is true if an explicit rule or permission demands a question. An earlier grant
	// does not answer it.
	Configured bool
	// Contained is true if the command asks only for effects on files of the project, as far as its
	// words show. Under the policy of that name it runs unasked where its run can be undone. InLayer is true if it
	// does besides where the run has a layer, whose landing asks about protected names and many deleted files.
	Contained, InLayer bool
	// Credentials are the files of credentials which are all that keeps a line that sends nothing from being InLayer.
	Credentials []string
	// Services is true if the words show that it may change what a service holds: a client of databases, a migration, a
	// request with a body or a method that writes. It matters where a command reaches services.
	Services bool
	// Objects is true if a rule or permission of the configuration asks about the command or denies it, or may, for
	// words or code that only running it shows. Such a command is not contained.
	Objects bool
	// Unseen is true if the command runs code from its input, from files that the line does not
	// name, or from files that cannot be hashed. The prompt cannot show that code, so an approval
	// is valid once.
	Unseen bool
	// Sandboxed is true if the command is harmless only inside the OS sandbox (a preset). Without
	// the sandbox, the caller must treat Auto as Ask.
	Sandboxed bool
	// Writes is true if a preset permits a part of the command that writes to the project. A caller whose sandbox has the
	// project read-only must treat Auto as Ask: the command could only fail.
	Writes bool
	// Network is the network of the command, in the words of the profile.
	Network string
	// Description summarises the command in one line.
	Description string
	// Parts lists the judgements of the pieces of the line, in the order of the text.
	Parts []Part
	// Run is the execution for Auto; it is set for no other decision.
	Run Execution
	// For Auto, Env replaces variables of the environment and Unset lists variables that must not
	// be in it.
	Env   map[string]string
	Unset []string
	// Payload identifies the request for "allow for this session": requests with equal payloads
	// are the same. It can be encoded as JSON.
	Payload map[string]any
	// Suggestions are wider grants that match this request, narrow to wide.
	Suggestions []Suggestion
	// NeedsFacts lists the missing facts. The verdict is final if it is empty.
	NeedsFacts []FactQuery
	// BlockedPath is the absolute path that made the command ask: the first that is hidden or
	// protected, else the first outside the project, else the first that a redirection writes. It
	// is "" if no path did.
	BlockedPath string
	// Paths are the absolute paths that the command is known to name.
	Paths []string
	// Worktrees are the absolute places of the git worktrees that the command creates.
	Worktrees []string
	// Written are the absolute paths outside the project that the command's words show to be written in place: by a
	// redirection, cp, tee or touch. WrittenIn are the directories in which it replaces, moves or removes an entry; the
	// last operand of mv is among them beside the directory around it, and one of the two is.
	// Replaced is true if it does so in some that are not known.
	Written, WrittenIn []string
	Replaced           bool
}

// Source is what decided about a piece of a line. Decisions are taken on it; the text of a rule is for people.
type Source uint8

// The sources. The zero value is everything that is not configured: defaults, paths, dangers.
const (
	ByDefault  Source = iota
	BySafeList        // the reviewed list of commands that only read
	ByPreset          // an enabled preset
	ByListed          // safe_commands of the configuration
	ByAllow           // a rule or permission that lets commands run unasked
	ByLimit           // a rule or permission that asks or denies
)

// Part is the judgement of one piece of a line: a simple command, a redirection, or a piece
// that could not be parsed.
type Part struct {
	Text      string   `json:"text"`
	Offset    int      `json:"offset"` // bytes from the start of the line
	Line, Col int      `json:"-"`
	Decision  Decision `json:"decision"`
	By        Source   `json:"-"` // what decided; Rule says it to people
	Why       string   `json:"why"`
	Rule      string   `json:"rule,omitempty"`
}

// Execution is the form of a command that runs: either Argv, started without a shell, or
// Script, run as bash --noprofile --norc -c Script. Every word in a Script is single-quoted.
type Execution struct {
	Argv   []string
	Script string
}

// Suggestion is a wider grant that a person may give instead of approving one request.
type Suggestion struct {
	Label   string // "cat under src/"
	Pattern approval.Pattern
	// Payload is the exact payload if the suggestion is the exact request; else nil.
	Payload map[string]any
}
