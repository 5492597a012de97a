package approval

import (
	"errors"
	"fmt"
	"time"
)

// Longest times that approve-all can be switched on for (R-AP-18).
const (
	MaxApproveAll        = 8 * time.Hour
	MaxApproveAllSession = time.Hour
)

// allowance is approve-all mode with its end.
type allowance struct {
	By    Identity
	Since time.Time
	Until time.Time
}

// holds needs both clocks to agree that the end has not come; a wall clock
// that was set back does not prolong it.
func (a *allowance) holds(now time.Time) bool {
	return a != nil && now.Before(a.Until) &&
		now.Round(0).Before(a.Until.Round(0)) && !now.Round(0).Before(a.Since.Round(0))
}

// ApproveAll approves every call that would ask, in every session, for d, at most
// MaxApproveAll; d = 0 switches it off. Blocks, deny grants and lists stay in
// force. It is for the person's start of the daemon with --mode approve-all,
// and for operators; nothing that comes from a file or an agent may lead here.
func (c *Controller) ApproveAll(by Identity, d time.Duration) error {
	if d < 0 || d > MaxApproveAll {
		return fmt.Errorf("approve all: %s is out of range: at most %s", d, MaxApproveAll)
	}
	if by == (Identity{}) {
		return errors.New("approve all: who switches it is not known")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.approveAll = c.allow(by, d)
	e := Event{Time: c.now(), Kind: EventMode, By: by, Note: modeNote("every session", d)}
	for _, t := range c.tenants {
		t.events.publish(&e)
	}
	c.everything.publish(&e)
	c.reconsider(func(*question) bool { return true })
	return nil
}

// ApproveAllSession does it for one session, at most MaxApproveAllSession.
func (c *Controller) ApproveAllSession(by Identity, ref SessionRef, d time.Duration) error {
	if d < 0 || d > MaxApproveAllSession {
		return fmt.Errorf("approve all in session %q: %s is out of range: at most %s", ref.ID, d, MaxApproveAllSession)
	}
	if by.Via.own() {
		return fmt.Errorf("approve all in session %q: not from the command that asks; use `sbx mode approve-all`", ref.ID)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.sessions[ref]
	if s == nil || !by.sees(ref.Principal) {
		return fmt.Errorf("approve all in session %q: %w", ref.ID, ErrSession)
	}
	s.approveAll = c.allow(by, d)
	c.publish(Event{Kind: EventMode, Principal: ref.Principal, Session: ref.ID, By: by, Note: modeNote("this session", d)})
	c.reconsider(func(q *question) bool { return q.sess == s })
	return nil
}

func (c *Controller) allow(by Identity, d time.Duration) *allowance {
	if d == 0 {
		return nil
	}
	now := c.now()
	return &allowance{By: by, Since: now, Until: now.Add(d)}
}

func modeNote(where string, d time.Duration) string {
	if d == 0 {
		return "approve-all switched off for " + where
	}
	return fmt.Sprintf("approve-all switched on for %s, for %s", where, d)
}

// ModeStatus is the mode that holds for a session.
type ModeStatus struct {
	Mode Mode `json:"mode"`
	// Until is the end of approve-all; By switched it on.
	Until time.Time `json:"until,omitzero"`
	By    Identity  `json:"by,omitzero"`
}

// Mode returns the mode in force for a session, or in general where the
// session is not open.
func (c *Controller) Mode(ref SessionRef) ModeStatus {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a := c.allowanceOf(c.sessions[ref], c.now()); a != nil {
		return ModeStatus{ModeApproveAll, a.Until, a.By}
	}
	return ModeStatus{Mode: c.cfg.Mode}
}

func (c *Controller) allowanceOf(s *session, now time.Time) *allowance {
	if c.approveAll.holds(now) {
		return c.approveAll
	}
	if s != nil && s.approveAll.holds(now) {
		return s.approveAll
	}
	return nil
}

// warnings go with every answer while approve-all is on.
func (c *Controller) warnings(s *session, now time.Time) []string {
	a := c.allowanceOf(s, now)
	if a == nil {
		return nil
	}
	return []string{fmt.Sprintf("approve-all is on until %s: nobody is asked; switched on by %s",
		a.Until.Format(time.RFC3339), a.By)}
}
