package approval

import (
	"errors"
	"slices"
)

// ErrGrant: no such grant, or not one the caller may see.
var ErrGrant = errors.New("no such grant")

// pattern is the pattern of an answer with a wider scope.
func (c *Controller) pattern(q *question, a *Answer) Pattern {
	if a.Suggestion > 0 {
		return q.call.Request.Suggestions[a.Suggestion-1].Pattern
	}
	return Pattern{Tool: q.call.Tool, Exact: q.print.String()}
}

// remember makes the grants of an answer: in memory at once, in the store
// before anything is decided. The lock is held on entry and on return. When
// the store fails, a yes is not taken; a no is, and a warning says that it
// will not be remembered.
func (c *Controller) remember(members []*question, a *Answer) (made []*Grant, warning string, err error) {
	if a.Scope.rank() == 0 {
		return nil, "", nil
	}
	for _, q := range members {
		g := c.grantFor(q, a)
		if !slices.ContainsFunc(made, func(o *Grant) bool { return o.Match.equal(g.Match) }) {
			made = append(made, g)
		}
	}
	if !a.Scope.persistent() {
		for _, g := range made {
			c.keep(g)
		}
		return made, "", nil
	}
	claim := make(chan struct{})
	for _, q := range members {
		q.claim = claim
	}
	c.mu.Unlock()
	err = c.persist(func() {
		for _, g := range made {
			c.keep(g)
		}
	}, made, nil)
	c.mu.Lock()
	for _, q := range members {
		q.claim = nil
	}
	close(claim)
	switch {
	case err == nil:
		return made, "", nil
	case a.allows():
		return nil, "", &AnswerError{Code: "store", Why: "it could not be remembered, so it was not decided", Err: err}
	}
	return nil, "denied for this once; it could not be remembered: " + err.Error(), nil
}

// grantFor words the grant that an answer makes.
func (c *Controller) grantFor(q *question, a *Answer) *Grant {
	now := c.now()
	g := &Grant{
		ID: newID(), Effect: Deny, Scope: a.Scope, Match: c.pattern(q, a), Principal: q.call.Principal,
		Created: now, By: a.By, Why: a.Note, Request: q.ID, Description: q.call.Request.Description, Source: "person",
	}
	if a.allows() {
		g.Effect = Allow
		if a.Widening > 0 {
			g.Widening = q.call.Widenings[a.Widening-1].Value
		}
	}
	if a.Suggestion > 0 { // lists of grants show the pattern, not the question
		g.Description = q.call.Request.Suggestions[a.Suggestion-1].Label
	}
	if g.Match.Exact != "" {
		g.Payload = without(q.call.shown(), nil)
	}
	if a.For > 0 {
		g.Expires = now.Add(a.For)
	}
	switch a.Scope {
	case ScopeTurn:
		g.Session, g.Turn = q.call.Session, q.sess.turn
	case ScopeSession:
		g.Session = q.call.Session
	case ScopeProject:
		g.Project = q.call.Project
	case ScopeAgent:
		g.Agent = q.call.Agent.ID
	}
	return g.label()
}

// keep stores a grant and publishes it.
func (c *Controller) keep(g *Grant) {
	if g.Scope.persistent() {
		c.tenant(g.Principal).grants.add(g)
	} else if s := c.sessions[SessionRef{g.Principal, g.Session}]; s != nil {
		s.grants.add(g)
	}
	c.publish(Event{Time: g.Created, Kind: EventRemembered, Principal: g.Principal, Session: g.Session, Tool: g.Match.Tool,
		Request: g.Request, Description: g.Description, By: g.By, Grant: g.ID, Effect: g.Effect, Scope: g.Scope,
		Note: g.String()})
}

// takeBack withdraws the grants of q's answer, because the decision could not
// be recorded.
func (c *Controller) takeBack(q *question) {
	c.withdraw(q.made)
	q.made = nil
}

// withdraw forgets grants at once; tidy takes persistent ones out of the store.
func (c *Controller) withdraw(made []*Grant) {
	for _, g := range made {
		same := func(o *Grant) bool { return o == g }
		if g.Scope.persistent() {
			c.tenant(g.Principal).grants.drop(same)
			c.withdrawn[g.ID] = true
		} else if s := c.sessions[SessionRef{g.Principal, g.Session}]; s != nil {
			s.grants.drop(same)
		}
		c.publish(Event{Kind: EventRevoked, Principal: g.Principal, Session: g.Session, Tool: g.Match.Tool, By: g.By,
			Grant:  g.ID,
			Effect: g.Effect, Scope: g.Scope, Note: "taken back: the answer did not take effect"})
	}
}
