package approval

import "time"

// Pending is a question as an approver sees it: a copy, safe to keep. It
// carries the fields of R-IP-04.
type Pending struct {
	// ID is the permission id. It cannot be guessed.
	ID string `json:"permission_id"`
	// Rev counts changes of the question; Hash is a digest of it. An answer
	// that allows must carry both, so that an unseen question is never approved.
	Rev  int    `json:"rev"`
	Hash string `json:"hash"`

	Principal Principal `json:"principal"`
	Session   string    `json:"session"`
	Agent     Agent     `json:"agent"`
	// AgentShown is the agent as to be shown; an unverified name is a claim.
	AgentShown string `json:"agent_shown"`
	Turn       int    `json:"turn"`
	// CallID is Call.ID.
	CallID string `json:"call_id,omitempty"`

	Tool         string         `json:"tool"`
	Description  string         `json:"description"`
	Input        map[string]any `json:"input,omitempty"`
	Presentation *Presentation  `json:"presentation,omitempty"`
	// Building: the presentation is still being made; View waits for it.
	Building bool `json:"building,omitempty"`

	Cwd         string       `json:"cwd,omitempty"`
	Notes       []string     `json:"notes,omitempty"` // as in Request
	BlockedPath string       `json:"blocked_path,omitempty"`
	Risk        Risk         `json:"risk"`
	Why         string       `json:"why,omitempty"`
	Reasons     []string     `json:"reasons,omitempty"`
	Warnings    []string     `json:"warnings,omitempty"`
	Suggestions []Suggestion `json:"suggestions,omitempty"`
	Widenings   []Widening   `json:"widenings,omitempty"`
	// OnlyWidened: a yes takes one of Widenings.
	OnlyWidened bool     `json:"only_widened,omitempty"`
	Presets     []Preset `json:"presets,omitempty"` // as in Call
	Trusts      []Trust  `json:"trusts,omitempty"`
	Paths       []string `json:"paths,omitempty"` // as in Call
	Batch       Batch    `json:"batch,omitzero"`
	GroupID     string   `json:"group_id,omitempty"`
	Digest      string   `json:"digest,omitempty"`

	Dangerous bool `json:"dangerous,omitempty"`
	Protected bool `json:"protected,omitempty"`
	Delete    bool `json:"delete,omitempty"`
	Outside   bool `json:"outside,omitempty"`
	// Twice: a yes must be confirmed by a second, separate answer.
	Twice bool `json:"twice,omitempty"`
	// Confirm is set where this approver has said yes once: the second answer
	// must carry it.
	Confirm bool `json:"confirm,omitempty"`
	// Inline: the person at the caller's terminal may answer.
	Inline bool `json:"inline,omitempty"`
	// Client: the agent's own client may answer.
	Client bool `json:"client,omitempty"`

	// AllowScopes and DenyScopes are the scopes that an answer may carry.
	AllowScopes []Scope `json:"allow_scopes"`
	DenyScopes  []Scope `json:"deny_scopes"`
	// Same are the other questions of this session that are identical to this
	// one, Group those that share its GroupID; Answer.Also takes them.
	Same  []Ref `json:"same,omitempty"`
	Group []Ref `json:"group,omitempty"`

	Asked    time.Time `json:"asked"`
	Deadline time.Time `json:"deadline"`
}

// Ref names one question in the state in which it was seen.
type Ref struct {
	ID   string `json:"permission_id"`
	Rev  int    `json:"rev"`
	Hash string `json:"hash"`
}

// Ref is p's own.
func (p Pending) Ref() Ref { return Ref{p.ID, p.Rev, p.Hash} }

// Allow is a plain yes to p, for this once. Fields may be added.
func (p Pending) Allow(by Identity) Answer {
	return Answer{Verb: VerbAllow, By: by, Rev: p.Rev, Hash: p.Hash, Confirm: p.Confirm}
}

// Deny is a no after which the agent may continue; change Mode for more.
func (p Pending) Deny(by Identity, note string) Answer {
	return Answer{Verb: VerbDeny, By: by, Rev: p.Rev, Hash: p.Hash, Note: note, Mode: RejectSoft}
}
