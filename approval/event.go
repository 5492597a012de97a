package approval

import (
	"context"
	"time"
)

// EventKind is the kind of an event (R-AP-16).
type EventKind string

const (
	EventRequested  EventKind = "requested"   // a question was put
	EventUpdated    EventKind = "updated"     // the content or the deadline of a question has changed
	EventGranted    EventKind = "granted"     // a call was approved
	EventDenied     EventKind = "denied"      // a call was refused
	EventTimedOut   EventKind = "timed_out"   // a call was refused because no person answered
	EventApproveAll EventKind = "approve_all" // the rest of a batch was approved
	EventQuit       EventKind = "quit"        // a batch was quit
	EventRemembered EventKind = "remembered"  // a grant was made
	EventRevoked    EventKind = "revoked"     // a grant was withdrawn
	EventStopped    EventKind = "stopped"     // a session's stop signal was set
	EventResumed    EventKind = "resumed"     // it was cleared
	EventMode       EventKind = "mode"        // approve-all was switched on or off
	EventChanges    EventKind = "changes"     // a change set exists, or its state changed; in Change
	EventLanded     EventKind = "landed"      // a change set landed, whole or in part; in Change
	EventNotice     EventKind = "notice"      // something an operator should know, in Note
	EventGap        EventKind = "gap"         // Lost events were overwritten before they were read
)

// Event is one record of the stream. Excluded keys are in none of its fields.
type Event struct {
	// Seq counts the events of one stream from 1; a gap's is that of the last lost.
	Seq  uint64    `json:"seq"`
	Time time.Time `json:"time"`
	Kind EventKind `json:"kind"`

	Principal Principal `json:"principal"`
	Session   string    `json:"session,omitempty"`
	Agent     Agent     `json:"agent,omitzero"`
	CallID    string    `json:"call_id,omitempty"`
	// Request is the permission id where a question was put.
	Request     string `json:"permission_id,omitempty"`
	Tool        string `json:"tool,omitempty"`
	Description string `json:"description,omitempty"`
	// By caused the event; Decision is set where a call was decided.
	By       Identity `json:"by,omitzero"`
	Decision Decision `json:"decision,omitzero"`
	// Grant is the grant's id for remembered and revoked.
	Grant string `json:"grant,omitempty"`
	// Effect and Scope are the grant's.
	Effect Effect `json:"effect,omitempty"`
	Scope  Scope  `json:"scope,omitempty"`
	Note   string `json:"note,omitempty"`
	// Change is the change set of an EventChanges or EventLanded.
	Change *ChangeSet `json:"change,omitempty"`
	// Lost counts overwritten events in a gap.
	Lost uint64 `json:"lost,omitempty"`
}

// ChangeSet is the change set of a command, in an event. The counts are those of its paths; of a landing, of the paths
// that landed with it.
type ChangeSet struct {
	ID      string      `json:"id"`      // that lands, drops or undoes it
	Exec    string      `json:"exec_id"` // the command's
	Project string      `json:"project"`
	Digest  string      `json:"digest,omitempty"` // empty of a direct run, and where it could not be read
	State   ChangeState `json:"state"`
	Why     string      `json:"why,omitempty"`  // it did not land
	Undo    string      `json:"undo,omitempty"` // the id that takes it back

	Created  int `json:"created,omitempty"`
	Modified int `json:"modified,omitempty"`
	Deleted  int `json:"deleted,omitempty"`
	Left     int `json:"left,omitempty"` // of a landing: paths that stay held
}

// ChangeState is the state of a change set.
type ChangeState string

// The states.
const (
	ChangeAsked   ChangeState = "asked"   // a question about its landing is open
	ChangeHeld    ChangeState = "held"    // it did not land
	ChangeStale   ChangeState = "stale"   // it never lands, as one that its command saw was dropped
	ChangeDropped ChangeState = "dropped" // it was deleted
	ChangeLanded  ChangeState = "landed"
	ChangeDirect  ChangeState = "direct" // a direct run made it in the project
	ChangeUndone  ChangeState = "undone" // it was taken back, or a part of it
)

// ring keeps the latest events of one stream. Publishing never waits: a
// reader that is too slow finds a gap. The controller's lock guards it.
type ring struct {
	events []Event
	oldest int // the index of the oldest of events; 0 until they are as many as size
	size   int
	last   uint64        // Seq of the newest that was published
	at     time.Time     // when that was
	wake   chan struct{} // closed at the next event; nil when nobody waits
}

func (r *ring) publish(e *Event) {
	r.last++
	r.at = e.Time
	to := r.oldest
	if len(r.events) < r.size {
		to = len(r.events)
		r.events = append(r.events, *e)
	} else {
		r.events[to] = *e
		r.oldest = (r.oldest + 1) % r.size
	}
	r.events[to].Seq = r.last
	if r.wake != nil {
		close(r.wake)
		r.wake = nil
	}
}

// after returns the event that follows seq, a gap, or nothing yet.
func (r *ring) after(seq uint64) (Event, bool) {
	if seq >= r.last {
		return Event{}, false
	}
	before := r.last - uint64(len(r.events)) // the newest that is not kept
	if seq < before {
		at := r.at
		if len(r.events) > 0 {
			at = r.events[r.oldest].Time
		}
		return Event{Seq: before, Time: at, Kind: EventGap, Lost: before - seq}, true
	}
	return r.events[(r.oldest+int(seq-before))%len(r.events)], true
}

// forget drops all events if the newest is older than that.
func (r *ring) forget(before time.Time) {
	if r.at.Before(before) {
		r.events, r.oldest = nil, 0
	}
}

// ForgetEvents gives the memory of streams back in which nothing has happened since
// before. A later reader of them finds a gap.
func (c *Controller) ForgetEvents(before time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.everything.forget(before)
	for _, t := range c.tenants {
		t.events.forget(before)
	}
}

// Subscription reads one stream. It needs no closing. Not for concurrent use.
type Subscription struct {
	c   *Controller
	r   *ring
	seq uint64
}

// Subscribe reads the events of viewer's principal, or of all principals
// where viewer is an operator, from now on.
func (c *Controller) Subscribe(viewer Identity) *Subscription {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.stream(viewer)
	return &Subscription{c: c, r: r, seq: r.last}
}

// SubscribeAfter continues after the event with that Seq of the same stream
// (Last-Event-ID); dropped events are reported as a gap. A seq that was
// never given out starts from now.
func (c *Controller) SubscribeAfter(viewer Identity, seq uint64) *Subscription {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.stream(viewer)
	return &Subscription{c: c, r: r, seq: min(seq, r.last)}
}

func (c *Controller) stream(viewer Identity) *ring {
	if viewer.Operator {
		return &c.everything
	}
	return &c.tenant(viewer.Principal).events
}

// Seq is that of the event after which the next one comes.
func (s *Subscription) Seq() uint64 { return s.seq }

// Next waits for the next event. The error is ctx's, or ErrClosed.
func (s *Subscription) Next(ctx context.Context) (Event, error) {
	for {
		s.c.mu.Lock()
		e, ok := s.r.after(s.seq)
		if ok {
			s.seq = e.Seq
			s.c.mu.Unlock()
			return e, nil
		}
		if s.r.wake == nil {
			s.r.wake = make(chan struct{})
		}
		wake := s.r.wake
		s.c.mu.Unlock()
		select {
		case <-wake:
		case <-ctx.Done():
			return Event{}, context.Cause(ctx)
		case <-s.c.closed:
			return Event{}, ErrClosed
		}
	}
}

// publish sends e to its principal's stream and to the operators'.
func (c *Controller) publish(e Event) {
	if e.Time.IsZero() {
		e.Time = c.now()
	}
	c.tenant(e.Principal).events.publish(&e)
	c.everything.publish(&e)
}

// PublishChange publishes the state of a change set of a session's command.
func (c *Controller) PublishChange(ref SessionRef, agent Agent, set ChangeSet) {
	kind := EventChanges
	if set.State == ChangeLanded {
		kind = EventLanded
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.publish(Event{Kind: kind, Principal: ref.Principal, Session: ref.ID, Agent: agent, Change: &set})
}

// notice informs operators and, where there is one, the principal.
func (c *Controller) notice(p *Principal, note string) {
	e := Event{Time: c.now(), Kind: EventNotice, Note: note}
	if p != nil {
		e.Principal = *p
		c.tenant(*p).events.publish(&e)
	}
	c.everything.publish(&e)
}
