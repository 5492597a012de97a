package approval_test

import (
	"testing"
	"time"

	"sandboxd/approval"
)

// TestPatience: 10 min at a terminal, 5 min where only remote approvers are there (R-AP-14). The
// deadline that was shown is never brought forward (R-UX-11, U12).
func TestPatience(t *testing.T) {
	bubble(t, approval.Options{}, func(t *testing.T, c *approval.Controller) {
		leave := c.Connect(bob)
		began := time.Now()
		result := start(t.Context(), c, asking("s"))
		if p := only(t, c); !p.Deadline.Equal(p.Asked.Add(5 * time.Minute)) {
			t.Errorf("asked %s, deadline %s", p.Asked, p.Deadline)
		}
		time.Sleep(20 * time.Second)
		leaveTerminal := c.Connect(alice)
		if p := only(t, c); !p.Deadline.Equal(p.Asked.Add(10 * time.Minute)) {
			t.Errorf("with a terminal: asked %s, deadline %s", p.Asked, p.Deadline)
		}
		leaveTerminal()
		time.Sleep(2 * time.Minute)
		if p := only(t, c); !p.Deadline.Equal(p.Asked.Add(10 * time.Minute)) {
			t.Errorf("without the terminal: asked %s, deadline %s", p.Asked, p.Deadline)
		}
		leave()
		want(t, <-result, approval.ReasonTimeout, "no approver was connected")
		if took := time.Since(began); took != 10*time.Minute {
			t.Errorf("it took %s", took)
		}
		if term, remote := c.Approvers(principal); term+remote != 0 {
			t.Errorf("%d and %d approvers are present", term, remote)
		}
	})
}

// Notices shorten nothing: a question that a person has notice of waits as without.
func TestPatienceWithNotices(t *testing.T) { // R-AP-14, R-UX-13
	bubble(t, approval.Options{}, func(t *testing.T, c *approval.Controller) {
		notices := approval.Identity{Name: "notices", Via: approval.ViaNotice, Operator: true}
		defer c.Connect(notices)()
		began := time.Now()
		result := start(t.Context(), c, asking("s"))
		if p := only(t, c); !p.Deadline.Equal(p.Asked.Add(10 * time.Minute)) {
			t.Errorf("asked %s, deadline %s", p.Asked, p.Deadline)
		}
		if term, remote := c.Approvers(principal); term+remote != 0 {
			t.Errorf("%d and %d approvers are present", term, remote)
		}
		<-result
		if took := time.Since(began); took != 10*time.Minute {
			t.Errorf("it took %s", took)
		}
	})
}

// TestAttend: the clock stops while keys come (R-UX-11): a key moves a near deadline, an early one moves nothing, and
// another user's does not.
func TestAttend(t *testing.T) {
	bubble(t, approval.Options{}, func(t *testing.T, c *approval.Controller) {
		defer c.Connect(alice)()
		began := time.Now()
		result := start(t.Context(), c, asking("s"))
		id := only(t, c).ID
		c.Attend(alice, id)
		if p := only(t, c); !p.Deadline.Equal(p.Asked.Add(10 * time.Minute)) {
			t.Errorf("an early key: asked %s, deadline %s", p.Asked, p.Deadline)
		}
		time.Sleep(9*time.Minute + 30*time.Second)
		c.Attend(approval.Identity{Principal: approval.Principal{UID: 4711}}, id)
		if p := only(t, c); !p.Deadline.Equal(p.Asked.Add(10 * time.Minute)) {
			t.Errorf("another user's key: asked %s, deadline %s", p.Asked, p.Deadline)
		}
		for range 100 {
			c.Attend(alice, id)
			time.Sleep(30 * time.Second)
		}
		if p := only(t, c); time.Until(p.Deadline) > 2*time.Minute {
			t.Errorf("the last key leaves %s", time.Until(p.Deadline))
		}
		want(t, <-result, approval.ReasonTimeout, "no person answered")
		if took := time.Since(began); took < 59*time.Minute || took > 62*time.Minute {
			t.Errorf("it took %s", took)
		}
	})
}
