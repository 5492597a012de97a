package approval

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"
)

// AddGrant makes a grant without a question: for approvers, and for the list of a
// trusted skill file (turn scope, Source "skill NAME"; R-SH-05). ID,
// Created and By are set here; Expires is taken as it is. Nothing that comes
// from an agent may lead here (R-AP-07).
func (c *Controller) AddGrant(by Identity, g Grant) (Grant, error) {
	g.ID, g.Created, g.By, g.Uses = newID(), c.now(), by, 0
	if g.Source == "" {
		g.Source = "person"
	}
	if g.Scope != ScopeAgent {
		g.Agent = ""
	}
	if g.Scope != ScopeProject {
		g.Project = ""
	}
	if g.Turn = 0; g.Scope.persistent() {
		g.Session = ""
	}
	if err := c.grantable(by, &g); err != nil {
		return Grant{}, fmt.Errorf("grant %s: %w", g.Match, err)
	}
	made := new(Grant)
	*made = g
	made.label()
	commit := func() {
		c.keep(made)
		g = *made
		c.reconsider(func(q *question) bool { return q.call.Principal == g.Principal })
	}
	if g.Scope.persistent() {
		if err := c.persist(commit, []*Grant{made}, nil); err != nil {
			return Grant{}, fmt.Errorf("grant %s: %w", g.Match, err)
		}
		return g, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.sessions[SessionRef{g.Principal, g.Session}]
	if s == nil {
		return Grant{}, fmt.Errorf("grant %s: session %q: %w", g.Match, g.Session, ErrSession)
	}
	if g.Scope == ScopeTurn {
		made.Turn = s.turn
	}
	commit()
	return g, nil
}

func (c *Controller) grantable(by Identity, g *Grant) error {
	switch {
	case g.Effect != Allow && g.Effect != Deny:
		return fmt.Errorf("unknown effect %q", g.Effect)
	case g.Scope.rank() == 0:
		return fmt.Errorf("scope %q is not remembered", g.Scope)
	case !by.sees(g.Principal):
		return errors.New("it belongs to another principal")
	case by.Via.own():
		return errors.New("not from the command that asks")
	case g.Scope == ScopeAgent && g.Agent == "":
		return errors.New("scope agent wants a verified agent")
	case g.Scope == ScopeProject && !filepath.IsAbs(g.Project):
		return errors.New("scope project wants a directory")
	case g.Scope.persistent() && !g.Match.writable():
		return errors.New("its text cannot be kept in a file")
	case !g.Expires.IsZero() && !g.Expires.After(g.Created):
		return errors.New("it would be over already")
	}
	return g.Match.Validate()
}

// Grants lists the grants that viewer may see: the persistent ones of its principal
// and those of its open sessions, oldest first. Expired ones are left out.
func (c *Controller) Grants(viewer Identity) []Grant {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	var out []Grant
	add := func(p Principal, set *grantSet) {
		if !viewer.sees(p) {
			return
		}
		for _, g := range set.all() {
			if g.alive(now) {
				out = append(out, *g)
			}
		}
	}
	for p, t := range c.tenants {
		add(p, &t.grants)
	}
	for ref, s := range c.sessions {
		add(ref.Principal, &s.grants)
	}
	slices.SortFunc(out, byAge)
	return out
}

// Grant returns one grant; Grant.String explains it. ErrGrant for one that
// is not there or not viewer's.
func (c *Controller) Grant(viewer Identity, id string) (Grant, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if g := c.lookupGrant(viewer, id); g != nil {
		return *g, nil
	}
	return Grant{}, fmt.Errorf("grant %q: %w", id, ErrGrant)
}

// Holds reports whether a grant is there, and not over, and until when it holds if
// nobody withdraws it; zero is no end.
func (c *Controller) Holds(viewer Identity, id string) (until time.Time, holds bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if g := c.lookupGrant(viewer, id); g != nil && g.alive(c.now()) {
		return g.Expires, true
	}
	return time.Time{}, false
}

func (c *Controller) lookupGrant(viewer Identity, id string) *Grant {
	is := func(g *Grant) bool { return g.ID == id && viewer.sees(g.Principal) }
	for _, t := range c.tenants {
		if all := t.grants.all(); slices.ContainsFunc(all, is) {
			return all[slices.IndexFunc(all, is)]
		}
	}
	for _, s := range c.sessions {
		if all := s.grants.all(); slices.ContainsFunc(all, is) {
			return all[slices.IndexFunc(all, is)]
		}
	}
	return nil
}

// Revoke withdraws a grant at once (R-AP-21). When a persistent one cannot be
// removed from the store, it no longer holds here, but the error says that it
// would come back with a restart.
func (c *Controller) Revoke(by Identity, id string) error {
	c.mu.Lock()
	g := c.lookupGrant(by, id)
	if g == nil {
		c.mu.Unlock()
		return fmt.Errorf("revoke grant %q: %w", id, ErrGrant)
	}
	same := func(o *Grant) bool { return o == g }
	if g.Scope.persistent() {
		c.tenant(g.Principal).grants.drop(same)
		c.withdrawn[g.ID] = true
	} else {
		c.sessions[SessionRef{g.Principal, g.Session}].grants.drop(same)
	}
	c.publish(Event{Kind: EventRevoked, Principal: g.Principal, Session: g.Session, Tool: g.Match.Tool, By: by, Grant: id,
		Effect: g.Effect, Scope: g.Scope, Description: g.Description, Note: g.String()})
	c.reconsider(func(q *question) bool { return q.call.Principal == g.Principal })
	c.mu.Unlock()
	if !g.Scope.persistent() {
		return nil
	}
	if err := c.Flush(); err != nil {
		return fmt.Errorf("revoke grant %q: it no longer holds, but would come back with a restart: %w", id, err)
	}
	return nil
}

// findGrant returns a grant that decided in this session, if it is still there.
func (c *Controller) findGrant(ref SessionRef, id string) *Grant {
	return c.lookupGrant(Identity{Principal: ref.Principal}, id)
}
