package supervisor

import (
	"fmt"
	"slices"

	"sandboxd/approval"
	"sandboxd/audit"
	"sandboxd/config"
)

// trustsFor returns the kinds of trust that the first question of a session's project offers. once
// adds the yes that trusts nothing. Where the policy "contained" holds for every trusted project,
// there is no trust without it.
func (s *Supervisor) trustsFor(cfg *config.Config, once bool) (list []approval.Trust) {
	a := cfg.Approval
	if permitsContained(a) && s.uncontainable(cfg.Network.Mode) == "" {
		list = append(list, approval.TrustContained)
	}
	if a.Policy != approval.PolicyContained || len(list) == 0 {
		list = append(list, approval.TrustEach)
	}
	if once {
		list = append(list, approval.TrustOnce)
	}
	return list
}

// trustReasons explains the kinds of trust that the first question of a session's project offers.
func (s *Supervisor) trustReasons(sess *Session, offered []approval.Trust) []string {
	list := []string{trustReason(sess, true)}
	if slices.Contains(offered, approval.TrustContained) && reachesServices(s.Config(), "") {
		list = append(list, "run unasked, programs also reach the services that [network] opens (host_ports, allow), "+
			"where no undo takes anything back")
	}
	return list
}

// trustReason explains the trust of a session's root, for its first question.
func trustReason(sess *Session, once bool) string {
	but := ""
	if once {
		but = ", unless you allow it once"
	}
	return fmt.Sprintf("allowing this also lets later approved commands write in %s%s (undo: sbx trust --remove)",
		sess.Root, but)
}

// trustByAnswer trusts the session's root as a yes to the first question says, unless another answer has trusted
// it meanwhile. The policy "contained" holds for the session alone where the answer came from its own terminal.
func (s *Supervisor) trustByAnswer(e *Exec, d approval.Decision) error {
	if d.Trust == approval.TrustOnce {
		return nil
	}
	sess, contained := e.Session, d.Trust == approval.TrustContained
	inline := contained && d.By.Via == approval.ViaInline
	by := d.By.String() + " answering " + d.Request
	contained = contained && !inline
	if !s.Trusted(sess) || contained && !s.ContainedPolicy(sess) {
		t := Trust{UID: sess.Peer.UID, Dir: sess.Root, By: by, Contained: contained, Session: inline}
		if _, err := s.trustAs(t); err != nil {
			return err
		}
	}
	e.trustAnswered = true
	if !inline {
		return nil
	}
	rec := audit.Record{Category: audit.Grant, Operation: "trust contained", Session: sess.ID, Subject: sess.Root, By: by,
		Peer: &audit.Peer{UID: sess.Peer.UID}}
	return s.Carry(rec, func() error {
		sess.contained.Store(true)
		return nil
	})
}

// offersAgain returns the policy "contained" for a question where it was chosen in another session of this trusted
// project, does not hold in this one, and covers a command like this.
func (s *Supervisor) offersAgain(e *Exec, j *judgement) []approval.Trust {
	sess := e.Session
	again := !j.trusts && j.verdict.InLayer && !j.verdict.Configured && !e.Request.Agent && !e.Request.Server &&
		slices.Contains(j.trustsOffered, approval.TrustContained) && sess.Root != "" &&
		s.Trust.inSession(sess.Peer.UID, sess.Root) && !s.ContainedPolicy(sess)
	if !again {
		return nil
	}
	return []approval.Trust{approval.TrustContained, approval.TrustOnce}
}

// forgetContained ends the policy "contained" of the sessions of a directory: their project's trust was renewed or
// withdrawn.
func (s *Supervisor) forgetContained(uid int, root string) {
	for _, sess := range s.Sessions(uid) {
		if sess.Root == root {
			sess.contained.Store(false)
		}
	}
}
