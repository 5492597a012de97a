package approval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
)

// build makes the presentation, in a goroutine of its own, so that a slow one
// holds up neither the deadline nor an answer that denies.
func (c *Controller) build(ctx context.Context, q *question) {
	var p *Presentation
	err := guard(func() (err error) {
		p, err = q.call.Present(ctx)
		if err == nil && p == nil && q.call.Request.Presentation == nil {
			err = errors.New("there is none")
		}
		return err
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	q.Building = false
	switch {
	case err != nil:
		q.broken, q.Risk = true, RiskHigh
		q.Warnings = append(q.Warnings, "could not show what would happen: "+err.Error())
	case p != nil:
		q.Presentation = p
	}
	q.Rev++
	q.rehash(c)
	close(q.ready)
	if c.questions[q.ID] == q {
		c.publish(q.updated())
	}
}

// updated is the event that another state of q is to be shown.
func (q *question) updated() Event {
	return Event{Kind: EventUpdated, Principal: q.call.Principal, Session: q.call.Session, Agent: q.call.Agent,
		CallID: q.call.ID, Request: q.ID, Tool: q.call.Tool, Description: q.call.Request.Description}
}

// want says that somebody will see q.
func (q *question) want() {
	if q.Building && !q.wanted && !q.begun {
		q.wanted = true
		q.poke()
	}
}

func (q *question) poke() {
	select {
	case q.kick <- struct{}{}:
	default:
	}
}

// Pending lists the open questions that viewer may see, oldest first, and
// starts building their presentations. Those that are not ready say so; View waits.
func (c *Controller) Pending(viewer Identity) []Pending {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []Pending
	for _, q := range c.inOrder(func(q *question) bool { return viewer.sees(q.call.Principal) }) {
		q.want()
		out = append(out, c.show(q))
	}
	return out
}

// MarkViewed records that a question was shown in the state of ref.
func (c *Controller) MarkViewed(viewer Identity, ref Ref) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if q, err := c.find(viewer, ref.ID); err == nil && q.Ref() == ref {
		q.viewed[viewer.Principal] = ref
	}
}

// Viewed returns those of refs that were shown to the viewer as they are now (R-AP-11).
func (c *Controller) Viewed(viewer Identity, refs []Ref) []Ref {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(refs), func(r Ref) bool {
		q, err := c.find(viewer, r.ID)
		return err != nil || q.viewed[viewer.Principal] != r || q.Ref() != r
	})
}

// View returns one question with its presentation, waiting until that is
// built. It fails with ErrUnknown, a *DecidedError, or ctx's error.
func (c *Controller) View(ctx context.Context, viewer Identity, id string) (Pending, error) {
	c.mu.Lock()
	q, err := c.find(viewer, id)
	if err != nil {
		c.mu.Unlock()
		return Pending{}, err
	}
	q.want()
	c.mu.Unlock()
	select {
	case <-q.ready:
	case <-q.done:
	case <-ctx.Done():
		return Pending{}, context.Cause(ctx)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if q, err = c.find(viewer, id); err != nil {
		return Pending{}, err
	}
	return c.show(q), nil
}

// find looks an open question up. A question of another principal does not
// exist, decided or not.
func (c *Controller) find(viewer Identity, id string) (*question, error) {
	if q := c.questions[id]; q != nil && viewer.sees(q.call.Principal) {
		return q, nil
	}
	if o := c.outcome(viewer, id); o != nil {
		return nil, &DecidedError{Decision: o.decision}
	}
	return nil, fmt.Errorf("request %q: %w", id, ErrUnknown)
}

func (c *Controller) outcome(viewer Identity, id string) *outcome {
	for p, t := range c.tenants {
		if o := t.decided[id]; o != nil && viewer.sees(p) {
			return o
		}
	}
	return nil
}

// show returns q as an approver sees it now.
func (c *Controller) show(q *question) Pending {
	p := c.shown(q)
	p.Deadline = q.Asked.Add(q.extra + q.limit)
	others := c.inOrder(func(o *question) bool { return o != q && o.sess == q.sess })
	for _, o := range others {
		if q.identical(o) {
			p.Same = append(p.Same, o.Ref())
		}
		if q.call.Request.GroupID != "" && o.call.Request.GroupID == q.call.Request.GroupID {
			p.Group = append(p.Group, o.Ref())
		}
	}
	return p
}

// identical questions ask the same of the same session.
func (q *question) identical(o *question) bool {
	return q.known && o.known && q.call.Tool == o.call.Tool && q.print == o.print &&
		q.call.Digest == o.call.Digest && q.call.Cwd == o.call.Cwd &&
		slices.Equal(q.call.Widenings, o.call.Widenings) && slices.Equal(q.call.Trusts, o.call.Trusts)
}

// pending returns what the call and its ruling say; it is the same for all who see it.
func (q *question) pending() Pending {
	call, r := &q.call, q.call.Request
	p := Pending{
		Principal: call.Principal, Session: call.Session, Agent: call.Agent, AgentShown: call.Agent.String(),
		CallID: call.ID, Tool: call.Tool, Description: r.Description, Input: call.shown(), Presentation: r.Presentation,
		Cwd: call.Cwd, Notes: r.Notes, BlockedPath: r.BlockedPath, Risk: cmp.Or(r.Risk, RiskNormal), Why: call.Why,
		Reasons: slices.Clone(r.Reasons), Warnings: r.Warnings, Suggestions: r.Suggestions, Widenings: call.Widenings,
		OnlyWidened: call.Unwidened != "", Presets: call.Presets, Trusts: call.Trusts,
		Paths: call.Paths,
		Batch: call.Batch, GroupID: r.GroupID, Digest: call.Digest,
		Dangerous: call.dangerous(), Protected: call.protected(), Delete: call.delete(), Outside: r.Outside,
		Inline: call.Inline,
	}
	if q.ruling.effect == RuleAsk && q.ruling.reason != "" {
		p.Reasons = append(p.Reasons, q.ruling.reason)
	}
	if call.Class.Rule == RuleAsk && call.Class.RuleText != "" {
		p.Reasons = append(p.Reasons, "rule: "+call.Class.RuleText)
	}
	return p
}

// shown returns a copy of the question with what can change while it is open.
func (c *Controller) shown(q *question) Pending {
	p := q.Pending
	p.Notes, p.Reasons, p.Warnings = slices.Clone(p.Notes), slices.Clone(p.Reasons), slices.Clone(p.Warnings)
	p.Suggestions, p.Widenings = slices.Clone(p.Suggestions), slices.Clone(p.Widenings)
	p.Presets, p.Trusts, p.Paths = slices.Clone(p.Presets), slices.Clone(p.Trusts), slices.Clone(p.Paths)
	p.Batch.Remaining = slices.Clone(p.Batch.Remaining)
	p.Turn = q.sess.turn
	p.Client = c.here(&q.call) == ViaClient && p.Risk == RiskLow
	p.AllowScopes, p.DenyScopes = c.scopes(q)
	return p
}
