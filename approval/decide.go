package approval

import (
	"context"
	"time"
)

// weighed is a call with the facts that are gathered before a lock is acquired.
type weighed struct {
	call   *Call
	print  Print // of the payload
	known  bool  // print is valid
	ruling ruling
}

// Decide decides a call, and blocks until it is decided: at most for the
// configured time. The decision approves only where a rule, a grant or a mode
// said so beforehand or a person says so now; when ctx ends first it denies.
// The error is non-nil only for a malformed call, which is denied too.
func (c *Controller) Decide(ctx context.Context, call Call) (Decision, error) {
	if err := call.validate(); err != nil {
		return Decision{Outcome: Denied, Reason: ReasonFault, Layer: LayerSystem, How: HowAuto, Reject: RejectSoft,
			Why: err.Error()}, err
	}
	if len(c.hooks) > 0 {
		if err := c.before(ctx, &call); err != nil {
			c.mu.Lock()
			s := c.session(call.ref())
			d := c.decision(&call, s, verdict{Denied, LayerBlock, ReasonBlocked, err.Error(), "", nil}, c.now())
			c.mu.Unlock()
			return c.conclude(ctx, &call, s, d, nil), nil
		}
	}
	var r ruling
	if len(c.rules) > 0 {
		r = c.judge(ctx, &call)
	}
	w := weighed{call: &call, ruling: r}
	w.fingerprint()
	c.mu.Lock()
	now := c.now()
	s := c.session(call.ref())
	s.enter(&call)
	v := c.weigh(&w, s, now)
	if v.outcome == WouldAsk {
		q, refused := c.ask(&w, s)
		if q != nil {
			c.mu.Unlock()
			return c.await(ctx, q), nil
		}
		v = refused
	}
	d := c.decision(&call, s, v, now)
	if len(c.hooks) == 0 {
		c.settle(&call, s, &d, v.grant)
		c.mu.Unlock()
		return d, nil
	}
	c.mu.Unlock()
	return c.conclude(ctx, &call, s, d, v.grant), nil
}

func (w *weighed) fingerprint() {
	fp, err := Fingerprint(w.call.payload())
	w.print, w.known = fp, err == nil
}

// weigh runs the decision order on the present state.
func (c *Controller) weigh(w *weighed, s *session, now time.Time) verdict {
	call := w.call
	l := lookup{call: call, print: w.print, known: w.known, turn: s.turn, now: now}
	l.in(&s.grants)
	if t := c.tenants[call.Principal]; t != nil {
		l.in(&t.grants)
	}
	v := order(call, standing{
		cfg: &c.cfg, ruling: w.ruling, stop: s.stop, grant: l.best,
		listed:     s.batch.lists(call),
		approveAll: c.approveAll.holds(now) || s.approveAll.holds(now),
	})
	if v.outcome == Approved && call.Unwidened != "" {
		return verdict{Denied, LayerBlock, ReasonBlocked, call.Unwidened, call.Class.RuleText, nil}
	}
	return v
}

// decision words a verdict that needs no person.
func (c *Controller) decision(call *Call, s *session, v verdict, now time.Time) Decision {
	d := Decision{
		Outcome: v.outcome, Approved: v.outcome == Approved, Scope: ScopeOnce,
		Reason: v.reason, Layer: v.layer, Why: v.why, Rule: v.rule, How: HowAuto,
		Digest: call.Digest, At: now,
	}
	if !d.Approved {
		d.Reject = RejectSoft
		if v.reason == ReasonStopped {
			d.Reject = RejectHard
		}
	}
	if g := v.grant; g != nil {
		d.Grant, d.Scope, d.By, d.Note = g.ID, g.Scope, g.By, ""
		if g.Widening != "" && d.Approved {
			for _, w := range call.Widenings {
				if w.Value == g.Widening {
					d.Widening = g.Widening
				}
			}
		}
		if !d.Approved {
			d.Note = g.Why
		}
	}
	if v.layer == LayerBatch && s != nil {
		s.batch.use(call)
	}
	d.Warnings = c.warnings(s, now)
	return d
}

// conclude puts a decision that needs no person on record, and counts it.
func (c *Controller) conclude(ctx context.Context, call *Call, s *session, d Decision, g *Grant) Decision {
	c.onRecord(ctx, call, &d)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settle(call, s, &d, g)
	return d
}

// onRecord puts d on record, or turns it into a denial.
func (c *Controller) onRecord(ctx context.Context, call *Call, d *Decision) {
	if len(c.hooks) == 0 {
		return
	}
	if err := c.record(ctx, call, d); err != nil && d.Approved {
		d.Outcome, d.Approved, d.Reject = Denied, false, RejectSoft
		d.Reason, d.Layer, d.Widening = ReasonAudit, LayerSystem, ""
		d.Why = "it could not be recorded: " + err.Error()
	}
}

// settle counts and publishes a decision. It is called once for
// every call that was decided.
func (c *Controller) settle(call *Call, s *session, d *Decision, g *Grant) {
	t := c.tenant(call.Principal)
	c.stats.count(d)
	t.stats.count(d)
	s.stats.count(d)
	agent := t.agents[call.Agent.ID]
	if agent == nil {
		agent = new(Stats)
		t.agents[call.Agent.ID] = agent
	}
	agent.count(d)
	if g != nil && d.Reason == ReasonGrant {
		g.Uses++
		g.LastUsed = d.At
	}
	if d.Approved && call.Batch.ID != "" && call.Batch.ID == s.batch.id {
		s.batch.ran++
	}
	c.announce(call, d)
}

// announce publishes the end of a question, or of a call that nobody was asked about.
func (c *Controller) announce(call *Call, d *Decision) {
	e := Event{Time: d.At, Kind: EventGranted, Principal: call.Principal, Session: call.Session, Agent: call.Agent,
		CallID: call.ID, Request: d.Request, Tool: call.Tool, By: d.By, Decision: *d}
	if call.Request != nil {
		e.Description = call.Request.Description
	}
	switch {
	case d.Reason == ReasonTimeout:
		e.Kind = EventTimedOut
	case d.Reason == ReasonQuit:
		e.Kind = EventQuit
	case !d.Approved:
		e.Kind = EventDenied
	}
	c.publish(e)
}

// Preview returns the decision that Decide would take now, and changes nothing: no count, no
// event, no question (R-AP-20). A call that would ask has Outcome WouldAsk.
func (c *Controller) Preview(ctx context.Context, call Call) (Decision, error) {
	if err := call.validate(); err != nil {
		return Decision{Outcome: Denied, Reason: ReasonFault, Layer: LayerSystem, Why: err.Error()}, err
	}
	w := weighed{call: &call, ruling: c.judge(ctx, &call)}
	w.fingerprint()
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	s := c.sessions[call.ref()]
	if s == nil {
		s = newSession(call.ref())
	}
	v := c.weigh(&w, s, now)
	d := c.decision(&call, nil, v, now)
	d.Warnings = c.warnings(s, now)
	return d, nil
}
