package supervisor

import (
	"errors"
	"slices"

	"sandboxd/profile"
)

// SandboxOf is the running command in whose sandbox p is: one of its processes
// descends from the sandbox's first process, in any namespace that it has made since.
// It is nil for everything else.
func (s *Supervisor) SandboxOf(p Peer) *Exec {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.live {
		if first := e.firstProcess(); first > 0 && slices.ContainsFunc(p.Above,
			func(a Process) bool { return a.PID == first }) {
			return e
		}
	}
	return nil
}

// firstProcess is the one above all others of the command's sandbox, 0 while
// none runs.
func (e *Exec) firstProcess() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.proc == nil {
		return 0
	}
	return e.proc.First()
}

// ErrNested is returned for a request that is not offered inside a sandbox.
var ErrNested = errors.New("this is not offered to a process inside a sandbox")

// narrowed returns the profiles of a session that was opened inside a sandbox: those
// of the configuration, within that sandbox's own profile (R-IP-08). The
// outer profile is part of the operator's layer, so that the kernel intersects it
// once more.
func (sess *Session) narrowed(effective profile.Profile,
	operator *profile.Profile) (profile.Profile, *profile.Profile) {
	if sess.outer == nil {
		return effective, operator
	}
	ceiling := sess.ceiling
	if operator != nil {
		ceiling = ceiling.Intersect(*operator)
	}
	return effective.Intersect(ceiling), &ceiling
}

// outerOf returns the sandbox of a new session.
func (s *Supervisor) outerOf(p Peer) (*Exec, profile.Profile, error) {
	e := s.SandboxOf(p)
	if e == nil {
		if p.Inside {
			return nil, profile.Profile{}, ErrNested // in somebody else's
		}
		return nil, profile.Profile{}, nil
	}
	return e, e.inForce(), nil
}

// inForce is the profile under which the command runs.
func (e *Exec) inForce() profile.Profile {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.profile
}

// mayUse refuses a session to a process of another sandbox than the session's
// own: a secret that found its way inside opens nothing there.
func (s *Supervisor) mayUse(sess *Session, p Peer) bool {
	return s.SandboxOf(p) == sess.outer && (sess.outer != nil || !p.Inside)
}

// closeInner ends the sessions that were opened inside a command's sandbox.
func (s *Supervisor) closeInner(e *Exec) {
	for _, sess := range s.sessions.inside(e) {
		s.CloseSession(sess)
	}
}

// inside lists the sessions that were opened inside e's sandbox, which has ended: no
// more are.
func (s *sessions) inside(e *Exec) []*Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	e.shut = true
	var list []*Session
	for _, n := range s.byID {
		if n.outer == e {
			list = append(list, n)
		}
	}
	return list
}

// Outer is the command in whose sandbox the session was opened; nil: in none.
func (sess *Session) Outer() *Exec { return sess.outer }
