package approval

import (
	"strconv"
	"strings"
)

// Principal is the user on whose behalf everything happens: sessions,
// questions, grants and events of one principal are invisible to another.
// It is comparable and used as a key.
type Principal struct {
	// UID is the user id that the kernel reported.
	UID int `json:"uid"`
	// Name distinguishes principals of one uid where the embedding program
	// needs that (a tenant, an enrolled token). Opaque; empty is fine.
	Name string `json:"name,omitempty"`
}

// String is for people: "uid 1000" or "uid 1000 (name)".
func (p Principal) String() string {
	s := "uid " + strconv.Itoa(p.UID)
	if p.Name != "" {
		s += " (" + p.Name + ")"
	}
	return s
}

// Agent is the program that asks.
type Agent struct {
	// ID is an identity that was verified: an enrolled token or an executable
	// ("exe:/usr/bin/x sha256:…"). Empty means unverified; such an agent gets
	// no agent-scope grants (R-AP-08).
	ID string `json:"id,omitempty"`
	// Name is the program's own name for itself. It is never used for matching.
	Name string `json:"name,omitempty"`
}

// String names the agent to a person; an unverified name is a claim.
func (a Agent) String() string {
	switch {
	case a.ID != "":
		return a.ID
	case a.Name != "":
		return "claims to be " + strconv.Quote(a.Name)
	default:
		return "unknown agent"
	}
}

// SessionRef names one session of one principal. It is comparable.
type SessionRef struct {
	Principal Principal `json:"principal"`
	ID        string    `json:"id"`
}

// Via says how an approver reaches us.
type Via string

const (
	// ViaTerminal is a person at a terminal of the queue.
	ViaTerminal Via = "terminal"
	// ViaRemote is a web page, a chat front end or a program acting for a person.
	ViaRemote Via = "remote"
	// ViaInline is the person at the terminal of the very command that asks;
	// held to once and session scope and never for high risk (R-IP-01).
	ViaInline Via = "inline"
	// ViaClient is the user of the client of the very agent that asks. The
	// agent's own program passes the answer on, so it is taken only where the
	// configuration says so, for this once, and for a low risk.
	ViaClient Via = "client"
	// ViaNotice is the sender of notices. It answers nothing, but a question that
	// a person has notice of waits for them.
	ViaNotice Via = "notice"
)

// own reports whether the answer comes from where the request was made.
func (v Via) own() bool { return v == ViaInline || v == ViaClient }

// Identity is the author of an answer, a grant or a revocation. It is comparable.
type Identity struct {
	Principal Principal `json:"principal"`
	// Name is shown in records: "pts/3", "web (token phone)".
	Name string `json:"name,omitempty"`
	Via  Via    `json:"via,omitempty"`
	// Operator may see and answer questions of other principals.
	Operator bool `json:"operator,omitempty"`
}

// String is for "already decided by …".
func (i Identity) String() string {
	parts := []string{i.Principal.String()}
	if i.Name != "" {
		parts = append(parts, i.Name)
	}
	switch i.Via {
	case "":
	case ViaClient:
		parts = append(parts, "through the agent's own client")
	default:
		parts = append(parts, string(i.Via))
	}
	if i.Operator {
		parts = append(parts, "operator")
	}
	return strings.Join(parts, ", ")
}

// sees reports whether questions and grants of p may be shown to i.
func (i Identity) sees(p Principal) bool { return i.Operator || i.Principal == p }
