package approval

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Grant is a remembered answer: its pattern, its author, and how often it
// was used (R-AP-08, R-AP-21).
type Grant struct {
	ID     string  `json:"id"`
	Effect Effect  `json:"effect"`
	Scope  Scope   `json:"scope"`
	Match  Pattern `json:"match"`
	// Payload is the payload of an exact grant's question; for explaining only, the
	// fingerprint in Match decides.
	Payload map[string]any `json:"payload,omitempty"`

	Principal Principal `json:"principal"`
	// Session holds turn and session grants, Turn also the turn.
	Session string `json:"session,omitempty"`
	Turn    int    `json:"turn,omitempty"`
	// Project is the directory of a project-scope grant, Agent the verified agent of an agent-scope one.
	Project string `json:"project,omitempty"`
	Agent   string `json:"agent,omitempty"`
	// Widening came with the yes and comes again with every use, where the
	// later call has the same one on offer.
	Widening string `json:"widening,omitempty"`

	Created time.Time `json:"created"`
	// Expires is the end of its life; zero is none.
	Expires time.Time `json:"expires,omitzero"`

	// By, Why and Request are the author, the author's note, and the
	// question; Description is that question's.
	By          Identity `json:"by"`
	Why         string   `json:"why,omitempty"`
	Request     string   `json:"request,omitempty"`
	Description string   `json:"description,omitempty"`
	// Source is "person" or, for turn grants, "skill NAME".
	Source string `json:"source"`

	Uses     uint64    `json:"uses"`
	LastUsed time.Time `json:"last_used,omitzero"`

	// why and rule stand in every decision by this grant.
	why, rule string
	saved     uint64 // Uses as the store has it
}

// alive reports whether the grant counts at now. The clock may have been set
// back or forth: an allow counts only when it is certainly alive, a deny
// unless it is certainly over. now carries a monotonic reading, and so does
// Created for grants of this process; both clocks must agree.
func (g *Grant) alive(now time.Time) bool {
	if g.Expires.IsZero() {
		return true
	}
	wall, created, expires := now.Round(0), g.Created.Round(0), g.Expires.Round(0)
	if g.Effect == Deny {
		return wall.Before(expires) || now.Before(g.Expires)
	}
	return !wall.Before(created) && wall.Before(expires) && now.Before(g.Expires)
}

// String explains the grant in one sentence.
func (g Grant) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s for %s", g.Effect, g.Match, g.reach())
	if !g.Expires.IsZero() {
		fmt.Fprintf(&b, " until %s", g.Expires.Format(time.RFC3339))
	}
	if g.Widening != "" {
		fmt.Fprintf(&b, ", with %s", g.Widening)
	}
	fmt.Fprintf(&b, "; given by %s on %s", g.By, g.Created.Format(time.RFC3339))
	if g.Description != "" {
		fmt.Fprintf(&b, " as %q", g.Description)
	}
	if g.Why != "" {
		fmt.Fprintf(&b, " (%s)", g.Why)
	}
	fmt.Fprintf(&b, "; used %d times", g.Uses)
	return b.String()
}

// label fills in the texts of decisions, once, off the hot path.
func (g *Grant) label() *Grant {
	g.rule = g.Match.String()
	if g.Effect == Deny {
		g.why = "it was denied for " + g.reach()
	} else {
		g.why = "it was allowed for " + g.reach()
	}
	return g
}

func (g *Grant) reach() string {
	switch g.Scope {
	case ScopeTurn:
		return "the current turn of session " + g.Session
	case ScopeSession:
		return "session " + g.Session
	case ScopeProject:
		return "project " + strconv.Quote(g.Project)
	case ScopeAgent:
		return "agent " + g.Agent
	}
	return "every agent of " + g.Principal.String()
}

// covers reports whether g is about this call at all, leaving the payload to
// the caller.
func (g *Grant) covers(call *Call, turn int, now time.Time) bool {
	switch g.Scope {
	case ScopeTurn:
		if g.Turn != turn || call.Turn != 0 && call.Turn != turn {
			return false
		}
	case ScopeProject:
		if g.Project == "" || g.Project != call.Project {
			return false
		}
	case ScopeAgent:
		if g.Agent == "" || g.Agent != call.Agent.ID {
			return false
		}
	}
	return g.alive(now)
}

// byAge sorts grants, oldest first.
func byAge(a, b Grant) int {
	return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
}
