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
	q.building = false
	q.present = p
	if err != nil {
		q.present, q.broken = nil, err.Error()
	}
	q.rev++
	q.rehash(c)
	close(q.ready)
	if c.questions[q.id] == q {
		c.publish(Event{Kind: EventUpdated, Principal: q.call.Principal, Session: q.call.Session, Agent: q.call.Agent,
			CallID: q.call.ID, Request: q.id, Tool: q.call.Tool, Description: q.call.Request.Description})
	}
}

// want says that somebody will see q.
func (q *question) want() {
	if q.building && !q.wanted && !q.begun {
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
	if q, err := c.find(viewer, ref.ID); err == nil && q.ref() == ref {
		q.viewed[viewer.Principal] = ref
	}
}

// Viewed returns those of refs that were shown to the viewer as they are now (R-AP-11).
func (c *Controller) Viewed(viewer Identity, refs []Ref) []Ref {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(refs), func(r Ref) bool {
		q, err := c.find(viewer, r.ID)
		return err != nil || q.viewed[viewer.Principal] != r || q.ref() != r
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
	p.Deadline = q.asked.Add(q.extra + q.limit)
	others := c.inOrder(func(o *question) bool { return o != q && o.sess == q.sess })
	for _, o := range others {
		if q.identical(o) {
			p.Same = append(p.Same, o.ref())
		}
		if q.call.Request.GroupID != "" && o.call.Request.GroupID == q.call.Request.GroupID {
			p.Group = append(p.Group, o.ref())
		}
	}
	return p
}

func (q *question) ref() Ref { return Ref{q.id, q.rev, q.hash} }

// identical questions ask the same of the same session.
func (q *question) identical(o *question) bool {
	return q.known && o.known && q.call.Tool == o.call.Tool && q.print == o.print &&
		q.call.Digest == o.call.Digest && q.call.Cwd == o.call.Cwd &&
		slices.Equal(q.call.Widenings, o.call.Widenings)
}

func (c *Controller) shown(q *question) Pending {
	call, r := &q.call, q.call.Request
	p := Pending{
		ID: q.id, Rev: q.rev, Hash: q.hash,
		Principal: call.Principal, Session: call.Session, Agent: call.Agent, AgentShown: call.Agent.String(),
		Turn: q.sess.turn, CallID: call.ID,
		Tool: call.Tool, Description: r.Description, Input: call.shown(), Presentation: r.Presentation, Building: q.building,
		Cwd: call.Cwd, BlockedPath: r.BlockedPath, Risk: cmp.Or(r.Risk, RiskNormal), Why: call.Why,
		Reasons: slices.Clone(r.Reasons), Warnings: slices.Clone(r.Warnings),
		Suggestions: slices.Clone(r.Suggestions), Widenings: slices.Clone(call.Widenings),
		Batch: call.Batch, GroupID: r.GroupID, Digest: call.Digest,
		Dangerous: call.dangerous(), Protected: call.protected(), Delete: call.delete(), Outside: r.Outside,
		Twice: q.twice, Inline: call.Inline, Asked: q.asked,
	}
	p.Batch.Remaining = slices.Clone(call.Batch.Remaining)
	if q.ruling.effect == RuleAsk && q.ruling.reason != "" {
		p.Reasons = append(p.Reasons, q.ruling.reason)
	}
	if call.Class.Rule == RuleAsk && call.Class.RuleText != "" {
		p.Reasons = append(p.Reasons, "asked for by "+call.Class.RuleText)
	}
	if q.present != nil {
		p.Presentation = q.present
	}
	if q.broken != "" {
		p.Risk = RiskHigh
		p.Warnings = append(p.Warnings, "could not show what would happen: "+q.broken)
	}
	if q.twice && p.Risk != RiskHigh {
		p.Risk = RiskHigh
	}
	p.Client = c.here(call) == ViaClient && p.Risk == RiskLow
	p.AllowScopes, p.DenyScopes = c.scopes(q)
	return p
}
