package approval

import (
	"errors"
	"fmt"
	"time"
)

// session is the state between the calls of one agent's run.
type session struct {
	ref        SessionRef
	turn       int // from 1
	stop       *stop
	grants     grantSet // turn and session
	batch      batch
	approveAll *allowance
	stats      Stats
	closed     bool // closed; calls that are still under way see it
}

// stop is a session's stop signal.
type stop struct {
	By   Identity
	Note string
	At   time.Time
}

// batch is the state of the batch that a session is in.
type batch struct {
	id string
	// listed are the digests that "approve all" covers, and how many calls each.
	// The two digests that one call may have share their number.
	listed map[string]*int
	ran    int // calls of this batch that were approved
}

// lists reports whether "approve all" of the call's batch covers it.
func (b *batch) lists(call *Call) bool {
	return call.Batch.ID != "" && call.Batch.ID == b.id && call.Digest != "" && b.left(call.Digest) > 0
}

func (b *batch) use(call *Call) { *b.listed[call.Digest]-- }

func (b *batch) left(digest string) int {
	if n := b.listed[digest]; n != nil {
		return *n
	}
	return 0
}

func newSession(ref SessionRef) *session { return &session{ref: ref, turn: 1} }

// session finds or starts a session.
func (c *Controller) session(ref SessionRef) *session {
	s := c.sessions[ref]
	if s == nil {
		s = newSession(ref)
		c.sessions[ref] = s
	}
	return s
}

// enter resets the batch state when a call opens another batch (R-AP-10).
func (s *session) enter(call *Call) {
	if call.Batch.ID != "" && call.Batch.ID != s.batch.id {
		s.batch = batch{id: call.Batch.ID}
	}
}

// OpenSession starts a session that has made no call yet; one that is open
// stays as it is. A session also starts with its first call.
func (c *Controller) OpenSession(ref SessionRef) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.session(ref)
}

// NewTurn starts the next user turn: it clears the stop signal, turn grants
// and batch, and returns the turn's number. The caller has checked that the
// session's own secret came with it (R-AP-12).
func (c *Controller) NewTurn(ref SessionRef) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.session(ref)
	s.turn++
	c.resume(s, Identity{}, "new user turn")
	s.batch = batch{}
	s.grants.drop(func(g *Grant) bool { return g.Scope == ScopeTurn })
	return s.turn
}

// Stop sets a session's stop signal: open questions are denied, and every
// call is refused until the next turn or Resume.
func (c *Controller) Stop(by Identity, ref SessionRef, note string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.sessions[ref]
	if s == nil || !by.sees(ref.Principal) {
		return fmt.Errorf("stop session %q: %w", ref.ID, ErrSession)
	}
	c.halt(s, by, note)
	return nil
}

// Resume clears the stop signal; for approvers.
func (c *Controller) Resume(by Identity, ref SessionRef) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.sessions[ref]
	if s == nil || !by.sees(ref.Principal) {
		return fmt.Errorf("resume session %q: %w", ref.ID, ErrSession)
	}
	c.resume(s, by, "")
	return nil
}

// ErrSession: no such session, or not one the caller may see.
var ErrSession = errors.New("no such session")

func (c *Controller) halt(s *session, by Identity, note string) {
	if s.stop == nil {
		s.stop = &stop{By: by, Note: note, At: c.now()}
		c.publish(Event{Kind: EventStopped, Principal: s.ref.Principal, Session: s.ref.ID, By: by, Note: note})
	}
	c.reconsider(func(q *question) bool { return q.sess == s })
}

func (c *Controller) resume(s *session, by Identity, note string) {
	if s.stop == nil {
		return
	}
	s.stop = nil
	c.publish(Event{Kind: EventResumed, Principal: s.ref.Principal, Session: s.ref.ID, By: by, Note: note})
}

// Stopped reports whether the session's stop signal is set.
func (c *Controller) Stopped(ref SessionRef) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.sessions[ref]
	return s != nil && s.stop != nil
}

// StopReason says why every call of the session is refused, "" where it is not stopped.
func (c *Controller) StopReason(ref SessionRef) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.sessions[ref]; s != nil && s.stop != nil {
		return s.stop.text()
	}
	return ""
}

// CloseSession ends a session: open questions are denied, its grants are
// forgotten. It returns the statistics, to be shown where configured.
func (c *Controller) CloseSession(ref SessionRef) Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.sessions[ref]
	if s == nil {
		return Stats{}
	}
	for _, q := range c.questions {
		if q.sess == s {
			c.finish(q, c.denial(q, ReasonCancelled, "the session was closed"))
		}
	}
	s.closed = true
	s.grants, s.approveAll, s.batch = grantSet{}, nil, batch{}
	delete(c.sessions, ref)
	return s.stats
}
