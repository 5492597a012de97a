package ipc

import "time"

// Kinds of session.
const (
	KindCLI = "cli" // one person's terminal: same user, kernel session, terminal, project and agent find it again
	KindAPI = "api" // a program: bound to its peer, each later request carries the secret
	// KindHook is one conversation of an agent that calls a hook for each tool call: the same user, agent, conversation
	// and project find the same session again, outside of sandboxes only.
	KindHook = "hook"
)

// SessionRequest is the body of POST /v1/sessions.
type SessionRequest struct {
	Agent string `json:"agent,omitempty"` // the agent's own name: shown as a claim
	Label string `json:"label,omitempty"` // shown to people
	Root  string `json:"root,omitempty"`  // the project; empty: the repository around Cwd, or Cwd
	Cwd   string `json:"cwd,omitempty"`
	Kind  string `json:"kind"`          // KindCLI, KindAPI or KindHook; empty: KindAPI
	TTY   bool   `json:"tty,omitempty"` // the client's standard input is a terminal
	// Land is LandHold to hold what its commands write; KindAPI only. Empty: as the configuration says.
	Land string `json:"land,omitempty"`
	// Conversation is the agent's own id of the conversation; KindHook only.
	Conversation string `json:"conversation,omitempty"`
	// Prompt is the agent's id of what its user said last; KindHook only. Another one than before begins a turn,
	// which does not clear a stop.
	Prompt string `json:"prompt,omitempty"`
}

// LandHold is SessionRequest.Land of a session whose commands' change sets are held.
const LandHold = "hold"

// Session answers POST /v1/sessions.
type Session struct {
	ID       string    `json:"id"`
	Secret   Secret    `json:"secret,omitempty"` // KindAPI only; never shown again
	Root     string    `json:"root"`             // real path, empty: none
	Trusted  bool      `json:"trusted"`          // false: Root is read-only
	Mode     string    `json:"mode"`
	Warnings []Warning `json:"warnings"`
}

// SessionInfo is one line of GET /v1/sessions.
type SessionInfo struct {
	ID      string `json:"id"`
	Kind    string `json:"kind"`
	Agent   string `json:"agent,omitempty"`
	Claimed bool   `json:"claimed"` // Agent is only the peer's own claim
	Label   string `json:"label,omitempty"`
	Root    string `json:"root,omitempty"`
	Trusted bool   `json:"trusted"`
	// Contained: what stays in Root and can be undone runs unasked.
	Contained bool       `json:"contained,omitempty"`
	Mode      string     `json:"mode"`
	ModeEnds  *time.Time `json:"mode_ends,omitempty"`
	UID       int        `json:"uid"`
	PID       int        `json:"pid"`
	Opened    time.Time  `json:"opened"`
	LastUsed  time.Time  `json:"last_used"`
	Turn      int        `json:"turn"`
	Stopped   string     `json:"stopped,omitempty"` // why every call is refused until the next turn
	Running   []string   `json:"running,omitempty"` // ids of commands
	// Commands are those that run or wait for an answer.
	Commands []SessionCommand `json:"commands,omitempty"`
	Overlaps []string         `json:"overlaps,omitempty"`
	Profile  string           `json:"profile_digest,omitempty"`
}

// SessionCommand is a command of a session that has not ended.
type SessionCommand struct {
	ID      string `json:"id"`
	Command string `json:"command"`
	Waiting bool   `json:"waiting"` // for a person's answer
}

// SessionList answers GET /v1/sessions.
type SessionList struct {
	Sessions []SessionInfo `json:"sessions"`
}

// Job is what a command left running in its session.
type Job struct {
	ID      string     `json:"id"`
	Session string     `json:"session"`
	Command string     `json:"command"`
	Started time.Time  `json:"started"`
	Ended   *time.Time `json:"ended,omitempty"`
	Why     string     `json:"why,omitempty"` // it ended
	// Log is the newest output, of one job only, and CutBytes how much was dropped before it.
	Log      []byte `json:"log,omitempty"`
	CutBytes int64  `json:"cut_bytes,omitempty"`
}

// JobList answers GET /v1/jobs.
type JobList struct {
	Jobs []Job `json:"jobs"`
}

// JobRequest is GET /v1/jobs/{id} and POST /v1/jobs/{id}/stop.
type JobRequest struct {
	ID string `json:"-"`
}

// TurnRequest is POST /v1/sessions/{id}/turn: the user spoke. It clears the stop signal and the
// grants for the turn.
type TurnRequest struct {
	Session string  `json:"-"` // from the path
	Skills  []Skill `json:"skills,omitempty"`
}

// Skill is a file whose permissions the agent wants for this turn.
type Skill struct {
	Path  string   `json:"path"`
	Allow []string `json:"allow,omitempty"`
}

// Turn answers a TurnRequest.
type Turn struct {
	Turn    int    `json:"turn"`
	Cleared string `json:"cleared,omitempty"` // the stop that was in force
}

// CloseRequest is DELETE /v1/sessions/{id}.
type CloseRequest struct {
	Session string
}

// Closed answers a CloseRequest.
type Closed struct {
	Ended int    `json:"ended"` // commands that were still running
	Stats *Stats `json:"stats,omitempty"`
}
