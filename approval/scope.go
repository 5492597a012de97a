package approval

import (
	"fmt"
	"strings"
)

// Scope is how far an answer reaches. Narrower scopes win over wider ones.
type Scope string

const (
	ScopeOnce    Scope = "once"    // this call only; the meaning of ""
	ScopeTurn    Scope = "turn"    // until the next user message
	ScopeSession Scope = "session" // until the session ends
	ScopeProject Scope = "project" // kept on disk, for every agent of the principal, in one project
	ScopeAgent   Scope = "agent"   // kept on disk, for one verified agent
	ScopeGlobal  Scope = "global"  // kept on disk, for every agent of the principal
)

// rank orders stored scopes from narrow (1) to wide (5); 0 is not stored.
func (s Scope) rank() int {
	switch s {
	case ScopeTurn:
		return 1
	case ScopeSession:
		return 2
	case ScopeProject:
		return 3
	case ScopeAgent:
		return 4
	case ScopeGlobal:
		return 5
	}
	return 0
}

// persistent scopes live in the store.
func (s Scope) persistent() bool { return s.rank() >= 3 }

func (s Scope) valid() bool { return s == "" || s == ScopeOnce || s.rank() > 0 }

// Effect is the effect of a grant.
type Effect string

const (
	Allow Effect = "allow"
	Deny  Effect = "deny"
)

// RejectMode is the meaning of a rejection for the rest of the batch (R-AP-12).
type RejectMode string

const (
	// RejectSoft skips this call; the agent gets the note and continues.
	RejectSoft RejectMode = "soft"
	// RejectHard skips everything left and stops the session until the next
	// user turn. It is the meaning of "" in an answer.
	RejectHard RejectMode = "hard"
)

// ScopeError says that an answer asked for a scope that is not on offer for
// this request. The request stays pending.
type ScopeError struct {
	Scope   Scope
	Why     string
	Offered []Scope
}

func (e *ScopeError) Error() string {
	offered := make([]string, len(e.Offered))
	for i, s := range e.Offered {
		offered[i] = string(s)
	}
	return fmt.Sprintf("answer with scope %q: %s; on offer: %s", e.Scope, e.Why, strings.Join(offered, ", "))
}
