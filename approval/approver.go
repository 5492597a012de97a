package approval

import (
	"context"
	"errors"
	"time"
)

// Approver is a person, or a program acting for one, that lives in this
// process: a terminal, a web page's session, a test double.
type Approver interface {
	// Ask shows p and returns the answer; By is filled in by the controller.
	// It is called for one question at a time. ctx ends when the question is
	// decided elsewhere. A question whose first yes must be confirmed comes a
	// second time, with Confirm set. An error, a panic or an answer that
	// cannot be taken leaves the question to the other approvers; when there
	// is none, it is denied.
	Ask(ctx context.Context, p Pending) (Answer, error)
}

// approver is one connection.
type approver struct{ by Identity }

// Connect counts an approver as present until the returned function is
// called, which may be done more than once. Questions wait as long as the
// approvers that are present warrant.
func (c *Controller) Connect(by Identity) (disconnect func()) {
	a := &approver{by}
	c.mu.Lock()
	defer c.mu.Unlock()
	if by.Operator {
		c.operators[a] = true
	} else {
		c.tenant(by.Principal).approvers[a] = true
	}
	for _, q := range c.questions {
		if by.sees(q.call.Principal) {
			q.want()
			c.retime(q)
		}
	}
	return func() { c.disconnect(a) }
}

func (c *Controller) disconnect(a *approver) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.operators, a)
	delete(c.tenant(a.by.Principal).approvers, a)
	for _, q := range c.inOrder(func(q *question) bool { return a.by.sees(q.call.Principal) }) {
		if c.cfg.NoApprover == NoApproverDeny && q.claim == nil && !c.attended(&q.call, nil) {
			c.finish(q, c.denial(q, ReasonNoApprover, "the approver went away"))
			continue
		}
		c.retime(q)
	}
}

// Approvers counts the connected approvers of a principal, operators included.
func (c *Controller) Approvers(p Principal) (terminal, remote int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.present(p, func(by Identity) {
		switch by.Via {
		case ViaTerminal:
			terminal++
		case ViaNotice:
		default:
			remote++
		}
	})
	return terminal, remote
}

func (c *Controller) present(p Principal, f func(Identity)) {
	for a := range c.operators {
		f(a.by)
	}
	if t := c.tenants[p]; t != nil {
		for a := range t.approvers {
			f(a.by)
		}
	}
}

// attended reports whether anybody present, except those in without, could
// answer a question about call.
func (c *Controller) attended(call *Call, without map[Identity]bool) bool {
	found := c.here(call) != "" && !ownIn(without)
	c.present(call.Principal, func(by Identity) { found = found || !without[by] })
	return found
}

// here is how the call may be answered from where it was made; "": not at all.
func (c *Controller) here(call *Call) Via {
	switch {
	case call.Inline && c.cfg.Inline:
		return ViaInline
	case call.Client && c.cfg.ClientAnswers && call.low():
		return ViaClient
	}
	return ""
}

func ownIn(set map[Identity]bool) bool {
	for by := range set {
		if by.Via.own() {
			return true
		}
	}
	return false
}

// patience is how long a question waits, as things stand (R-AP-14).
func (c *Controller) patience(q *question) time.Duration {
	terminal := c.here(&q.call) != ""
	remote := false
	c.present(q.call.Principal, func(by Identity) {
		switch by.Via {
		case ViaTerminal:
			terminal = true
		case ViaNotice: // as if nobody were there
		default:
			remote = true
		}
	})
	if remote && !terminal {
		return time.Duration(c.cfg.TimeoutRemote)
	}
	return time.Duration(c.cfg.Timeout)
}

// retime lengthens the wait of a question where the approvers that are present now warrant more. It never shortens
// it: a question has one deadline for all approvers (R-UX-11).
func (c *Controller) retime(q *question) {
	if limit := c.patience(q); limit > q.limit {
		q.limit = limit
		c.moved(q)
	}
}

// keepOpen is how long a question waits at least after a key at an answering form.
const keepOpen = 2 * time.Minute

// Attend postpones the deadline of a question whose time is nearly over, because the viewer types: the clock stops
// while keys come (R-UX-11). An unknown question is none.
func (c *Controller) Attend(viewer Identity, id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	q, err := c.find(viewer, id)
	if err != nil || q.claim != nil {
		return
	}
	keep := min(q.limit, keepOpen)
	if missing := keep - (q.limit - time.Since(q.started)); missing > keep/2 {
		q.extra += missing
		q.started = q.started.Add(missing)
		c.moved(q)
	}
}

// moved reports a new deadline to the waiting call and to every approver.
func (c *Controller) moved(q *question) {
	q.poke()
	c.publish(q.updated())
}

// GiveUp reports that an approver cannot answer: it died, or its answer
// is unreadable. The question stays for the others; when nobody else is
// present it is denied with ReasonFault.
func (c *Controller) GiveUp(by Identity, id string, cause error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	q, err := c.find(by, id)
	if err != nil {
		return err
	}
	q.failed[by] = true
	if q.claim == nil && !c.attended(&q.call, q.failed) {
		c.finish(q, c.denial(q, ReasonFault, "the approver failed: "+cause.Error()))
	}
	return nil
}

// Attach asks a about every question that by may see, one after the other,
// until the returned function is called; that waits for a's last Ask.
func (c *Controller) Attach(by Identity, a Approver) (detach func()) {
	ctx, cancel := context.WithCancel(context.Background())
	disconnect := c.Connect(by)
	ended := make(chan struct{})
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.closed:
		cancel()
		return disconnect
	default:
	}
	c.work.Go(func() {
		defer close(ended)
		defer disconnect()
		c.serve(ctx, by, a)
	})
	return func() { cancel(); <-ended }
}

func (c *Controller) serve(ctx context.Context, by Identity, a Approver) {
	sub := c.Subscribe(by)
	tried := map[string]bool{}
	for {
		p, ok := c.next(by, tried)
		if ok {
			tried[p.ID] = true
			if err := c.put(ctx, by, a, p.ID); err != nil && ctx.Err() == nil {
				_ = c.GiveUp(by, p.ID, err) // it may be decided by now
			}
			if ctx.Err() != nil {
				return
			}
			continue
		}
		c.forget(tried)
		if _, err := sub.Next(ctx); err != nil {
			return
		}
	}
}

// forget drops the ids of questions that are no longer open.
func (c *Controller) forget(ids map[string]bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id := range ids {
		if c.questions[id] == nil {
			delete(ids, id)
		}
	}
}

func (c *Controller) next(by Identity, tried map[string]bool) (Pending, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, q := range c.inOrder(func(q *question) bool { return by.sees(q.call.Principal) && !tried[q.ID] }) {
		return c.show(q), true
	}
	return Pending{}, false
}

// put asks a one question, twice where that is called for.
func (c *Controller) put(ctx context.Context, by Identity, a Approver, id string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c.mu.Lock()
	q := c.questions[id]
	c.mu.Unlock()
	if q == nil {
		return nil
	}
	stop := make(chan struct{})
	defer close(stop)
	c.work.Go(func() {
		select {
		case <-q.done:
			cancel()
		case <-stop:
		}
	})
	confirm := false
	for range 2 {
		p, err := c.View(ctx, by, id)
		if err != nil {
			return decided(err)
		}
		p.Confirm = confirm
		var answer Answer
		err = guard(func() (err error) {
			answer, err = a.Ask(ctx, p)
			return err
		})
		if err != nil {
			return err
		}
		answer.By = by
		receipt, err := c.Answer(ctx, id, answer)
		if err != nil {
			return decided(err)
		}
		if receipt.Decided {
			return nil
		}
		confirm = true
	}
	return errors.New("the second yes was not the same as the first")
}

// decided forgives an error that only says that somebody else was first.
func decided(err error) error {
	var d *DecidedError
	if errors.As(err, &d) {
		return nil
	}
	return err
}
