package approval

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// question is a call that waits for a person. The controller's lock guards
// everything that changes.
type question struct {
	Pending // as asked, and with its presentation when that is built; show completes it for a viewer

	seq    uint64 // order of asking
	call   Call
	sess   *session
	ruling ruling
	print  Print
	known  bool // print is valid, so that the answer can be remembered

	started time.Time // monotonic, for the deadline
	limit   time.Duration
	again   bool          // the clock was started again for a second yes,
	extra   time.Duration // this long after it was first

	wanted bool          // somebody will see the presentation
	begun  bool          // it is being built, or was
	broken bool          // it could not be built
	ready  chan struct{} // closed when it is there or has failed

	first  map[Identity]Answer // the first yes of each approver where two are wanted
	viewed map[Principal]Ref   // the state in which it was shown
	failed map[Identity]bool
	claim  chan struct{} // not nil while an answer is being stored; closed then

	kick  chan struct{} // something the waiting call must look at
	done  chan struct{} // closed when decided
	final Decision
	made  []*Grant // by the answer that decided
}

// outcome is the rest of a decided question, so that a repeated answer
// gets the same receipt and a later one names the first approver.
type outcome struct {
	decision Decision
	answer   Answer
}

// keepDecided is how many outcomes are kept per principal.
const keepDecided = 512

func (q *question) weighed() *weighed { return &weighed{&q.call, q.print, q.known, q.ruling} }

// ask puts the question, or returns the verdict that refuses to.
func (c *Controller) ask(w *weighed, s *session) (*question, verdict) {
	call := w.call
	t := c.tenant(call.Principal)
	refuse := func(reason Reason, why string) (*question, verdict) {
		return nil, verdict{Denied, LayerSystem, reason, why, "", nil}
	}
	select {
	case <-c.closed:
		return refuse(ReasonCancelled, "the daemon is stopping")
	default:
	}
	switch {
	case t.pending >= c.maxOne:
		return refuse(ReasonFlood, fmt.Sprintf("%d questions of %s are waiting already", t.pending, call.Principal))
	case len(c.questions) >= c.maxAll:
		return refuse(ReasonFlood, fmt.Sprintf("%d questions are waiting already", len(c.questions)))
	case c.cfg.NoApprover == NoApproverDeny && !c.attended(call, nil):
		return refuse(ReasonNoApprover, "nobody is there who could approve")
	}
	c.asked++
	q := &question{
		seq: c.asked, call: *call, sess: s, ruling: w.ruling, print: w.print, known: w.known, started: time.Now(),
		ready: make(chan struct{}), kick: make(chan struct{}, 1), done: make(chan struct{}),
		first: map[Identity]Answer{}, viewed: map[Principal]Ref{}, failed: map[Identity]bool{},
	}
	if q.call.Request == nil {
		q.call.Request = SimpleRequest(call.Tool, call.Payload)
	}
	q.call.Request = q.call.Request.clone()
	q.call.Request.Suggestions = c.honest(&q.call)
	q.Pending = q.pending()
	q.ID, q.Rev, q.Asked = newID(), 1, c.now()
	if call.dangerous() || call.protected() || call.delete() && c.cfg.DoubleConfirmDeletes {
		q.Twice, q.Risk = true, RiskHigh
	}
	q.limit = c.patience(q)
	if q.call.Present == nil {
		close(q.ready)
	} else {
		q.Building = true
		q.wanted = c.attended(call, nil)
	}
	if f := call.Named; f != nil {
		f(q.ID)
	}
	c.questions[q.ID] = q
	t.pending++
	q.rehash(c)
	c.publish(Event{Time: q.Asked, Kind: EventRequested, Principal: call.Principal, Session: call.Session,
		Agent:  call.Agent,
		CallID: call.ID, Request: q.ID, Tool: call.Tool, Description: q.call.Request.Description})
	return q, verdict{}
}

// honest keeps the suggestions that are about this request: valid, of its
// tool, and covering its own payload (R-AP-07).
func (c *Controller) honest(call *Call) []Suggestion {
	return slices.DeleteFunc(call.Request.Suggestions, func(s Suggestion) bool {
		ok := s.Pattern.Validate() == nil && s.Pattern.Matches(call.Tool, call.payload())
		if !ok {
			c.notice(&call.Principal, fmt.Sprintf("tool %q suggests %q, which does not cover its own request; not offered",
				call.Tool, s.Label))
		}
		return !ok
	})
}

// await waits until q is decided.
func (c *Controller) await(ctx context.Context, q *question) Decision {
	building, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	if f := q.call.Asked; f != nil {
		c.mu.Lock()
		p := c.show(q)
		c.mu.Unlock()
		if err := guard(func() error { f(p); return nil }); err != nil {
			c.fail(q, "telling of the question failed: "+err.Error())
		}
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		c.mu.Lock()
		if q.wanted && q.Building && c.questions[q.ID] == q {
			q.wanted, q.begun = false, true
			c.work.Go(func() { c.build(building, q) })
		}
		left := q.limit - time.Since(q.started)
		claim := q.claim
		if left <= 0 && claim == nil {
			c.expire(q)
		}
		c.mu.Unlock()
		timer.Reset(max(left, 0))
		expired := timer.C
		if claim != nil {
			expired = nil // an answer is being stored; wait for its result
		}
		select {
		case <-q.done:
			return c.seal(ctx, q)
		case <-ctx.Done():
			c.abandon(ctx, q)
		case <-q.kick:
		case <-claim:
		case <-expired:
		}
	}
}

// abandon denies q because its caller has disconnected, once no answer is being
// stored.
func (c *Controller) abandon(ctx context.Context, q *question) {
	for {
		c.mu.Lock()
		claim := q.claim
		if claim == nil {
			c.finish(q, c.denial(q, ReasonCancelled, "the caller went away: "+context.Cause(ctx).Error()))
			c.mu.Unlock()
			return
		}
		c.mu.Unlock()
		<-claim
	}
}

// seal records and counts a decided question, in the call's goroutine.
func (c *Controller) seal(ctx context.Context, q *question) Decision {
	d := q.final
	if d.Approved && ctx.Err() != nil {
		c.mu.Lock()
		d = c.denial(q, ReasonCancelled, "the caller went away: "+context.Cause(ctx).Error())
		c.mu.Unlock()
	}
	if d.Reason == ReasonAgain { // nothing is decided yet
		c.mu.Lock()
		defer c.mu.Unlock()
		c.announce(&q.call, &d)
		return d
	}
	approved := d.Approved
	c.onRecord(ctx, &q.call, &d)
	defer c.tidy()
	c.mu.Lock()
	defer c.mu.Unlock()
	if approved && !d.Approved {
		c.takeBack(q)
	}
	if o := c.tenant(q.call.Principal).decided[q.ID]; o != nil {
		o.decision = d
	}
	var g *Grant
	if d.Reason == ReasonGrant {
		g = c.findGrant(q.call.ref(), d.Grant)
	}
	c.settle(&q.call, q.sess, &d, g)
	return d
}

// denial words a refusal that no person gave.
func (c *Controller) denial(q *question, r Reason, why string) Decision {
	return Decision{Outcome: Denied, Scope: ScopeOnce, Reason: r, Layer: LayerSystem, Why: why, How: HowAuto,
		Reject: RejectSoft, Digest: q.call.Digest, Request: q.ID, At: c.now(), Warnings: c.warnings(q.sess, c.now())}
}

func (c *Controller) expire(q *question) {
	why := "no person answered within " + Duration(q.limit).inWords()
	if !c.attended(&q.call, nil) {
		why += "; no approver was connected"
	}
	c.finish(q, c.denial(q, ReasonTimeout, why))
}

// fail refuses q for an internal fault.
func (c *Controller) fail(q *question, why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.finish(q, c.denial(q, ReasonFault, why))
}

// finish decides q. The first one wins; whether it was this one is returned.
func (c *Controller) finish(q *question, d Decision) bool {
	select {
	case <-q.done:
		return false
	default:
	}
	q.final = d
	close(q.done)
	delete(c.questions, q.ID)
	t := c.tenant(q.call.Principal)
	t.pending--
	t.decided[q.ID] = &outcome{decision: d}
	t.order = append(t.order, q.ID)
	if len(t.order) > keepDecided {
		delete(t.decided, t.order[0])
		t.order = slices.Delete(t.order, 0, 1)
	}
	return true
}

// reconsider runs the order again for open questions: those that a new grant, a
// stop signal or a mode decides need no answer.
func (c *Controller) reconsider(which func(*question) bool) {
	for _, q := range c.inOrder(which) {
		if q.claim != nil {
			continue
		}
		now := c.now()
		v := c.weigh(q.weighed(), q.sess, now)
		if v.outcome == WouldAsk {
			continue
		}
		d := c.decision(&q.call, q.sess, v, now)
		d.Request = q.ID
		c.finish(q, d)
	}
}

// inOrder lists open questions, oldest first.
func (c *Controller) inOrder(which func(*question) bool) []*question {
	var out []*question
	for _, q := range c.questions {
		if which(q) {
			out = append(out, q)
		}
	}
	slices.SortFunc(out, func(a, b *question) int { return cmp.Compare(a.seq, b.seq) })
	return out
}

// rehash renews the digest of everything an approver sees.
func (q *question) rehash(c *Controller) {
	p := c.shown(q)
	p.Rev, p.Hash, p.Deadline, p.Same, p.Group, p.Building = 0, "", time.Time{}, nil, nil, false
	data, err := json.Marshal(p)
	if err != nil {
		// A value without a JSON form (a function, NaN) is still shown somehow.
		p.Input, p.Presentation = nil, nil
		data, _ = json.Marshal(p)
		data = fmt.Appendf(data, "%#v %#v", q.call.Input, q.Presentation)
	}
	sum := sha256.Sum256(append(data, q.print[:]...))
	q.Hash = hex.EncodeToString(sum[:])
}

func (r *Request) clone() *Request {
	x := *r
	x.Suggestions = slices.Clone(r.Suggestions)
	x.Warnings, x.Notes = slices.Clone(r.Warnings), slices.Clone(r.Notes)
	return &x
}
