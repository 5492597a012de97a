package supervisor

import (
	"time"

	"sandboxd/approval"
	"sandboxd/profile"
)

// withdrawn reports a yes that no longer holds: it is asked for again. o.mu is held.
func (o *proxySession) withdrawn(q *hostQuestion) bool {
	select {
	case <-q.done:
		return q.err == nil && q.decision.Approved && !o.s.stillGranted(o.exec, q.decision)
	default:
		return false
	}
}

// stillGranted: an answer for this once holds for its command; one that was
// remembered, as long as it is.
func (s *Supervisor) stillGranted(e *Exec, d approval.Decision) bool {
	if d.Grant == "" {
		return true
	}
	_, holds := s.Approval.Holds(approval.Identity{Principal: e.Session.principal()}, d.Grant)
	return holds
}

// whileGranted rechecks the connections that a yes permitted when its grant ends by itself.
func (o *proxySession) whileGranted(d approval.Decision) {
	until, holds := o.s.Approval.Holds(approval.Identity{Principal: o.exec.Session.principal()}, d.Grant)
	if !d.Approved || d.Grant == "" || holds && until.IsZero() {
		return
	}
	o.work.Go(func() {
		over := time.NewTimer(time.Until(until))
		defer over.Stop()
		select {
		case <-over.C:
			o.recheck()
		case <-o.ctx.Done():
		}
	})
}

// recheckOutlets has running commands follow the configuration and the grants
// as they are now: connections that are no longer allowed are cut.
func (s *Supervisor) recheckOutlets() {
	s.mu.Lock()
	sessions := make([]*proxySession, 0, len(s.proxySessions))
	for o := range s.proxySessions {
		sessions = append(sessions, o)
	}
	s.mu.Unlock()
	for _, o := range sessions {
		o.recheck()
	}
}

func (o *proxySession) recheck() {
	policy, err := o.s.reachableNow(o.exec.Session, o.j.verdict.Network)
	o.mu.Lock()
	if err != nil {
		policy = reachable{} // nothing; the command learns it from its attempts
	}
	o.policy = policy
	for t, q := range o.questions {
		if o.withdrawn(q) {
			delete(o.questions, t)
		}
	}
	o.mu.Unlock()
	o.gate.Recheck()
}

// reachableNow lists the hosts that the session's commands may reach by the configuration
// that is in force.
func (s *Supervisor) reachableNow(sess *Session, word string) (reachable, error) {
	cfg, _, err := s.projectConfig(sess)
	if err != nil {
		return reachable{}, err
	}
	effective, operator, err := s.profiles(cfg, sess, s.trusted(sess, cfg), word)
	if err != nil {
		return reachable{}, err
	}
	if n := effective.Network(); n.Mode == profile.NetFull {
		return reachable{hosts: n}, nil // every host, but nothing local
	}
	r, err := s.reaching(cfg, word, effective, operator)
	if r == nil || err != nil {
		return reachable{}, err
	}
	return r.policy, nil
}

// RevokeGrant withdraws a grant and cuts the connections that it permitted.
func (s *Supervisor) RevokeGrant(by approval.Identity, id string) error {
	err := s.Approval.Revoke(by, id)
	s.recheckOutlets()
	return err
}
