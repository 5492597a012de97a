package supervisor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"sandboxd/internal/modes"
	"sandboxd/profile"
	"sandboxd/sandbox"
)

// sessionPlace has the places that the runs of a session share (DESIGN §14): one for each base profile that the session
// has had, as a run with more permissions than another may not trust the files of that one.
type sessionPlace struct {
	mu      sync.Mutex
	current *sandbox.Place
	base    profile.Digest
	made    []madePlace
	closed  bool
}

// leaderEvery is the interval between looks at a terminal's shell: how long its place outlives it.
const leaderEvery = time.Second

type madePlace struct {
	place *sandbox.Place
	dir   string
}

// withinKey is two profiles of which the first may be within the second.
type withinKey [2]profile.Digest

// NoPlace returns why the session's commands share neither /tmp nor localhost; "": they do.
func (s *Supervisor) NoPlace(sess *Session) string {
	switch {
	case sess.Kind == KindCLI && (sess.Peer.TTY == 0 || sess.leader == 0 || sess.Peer.SID == sess.Peer.PID):
		return "no shell at a terminal started sbx (sbx session open gives several commands one place)"
	case sess.outer != nil:
		return "the session was opened inside a sandbox"
	case s.places == "":
		return "the daemon has no directory for it"
	}
	return s.Host.NoPlaces()
}

// placed returns the plan of a run in its session's place. A run with more than the session's base grants gets its
// own /tmp, home and localhost (R-LY-09): so does one whose proxy a person may let reach further hosts meanwhile.
func (s *Supervisor) placed(ctx context.Context, e *Exec, j *judgement) (*sandbox.Plan, error) {
	sess := e.Session
	if s.NoPlace(sess) != "" || e.Request.Agent || j.reach != nil && j.reach.proxied {
		return j.plan, nil
	}
	base, err := s.ProfileOf(sess)
	if err != nil {
		return nil, err
	}
	if !s.isWithin(j.plan.Profile, base) {
		return j.plan, nil
	}
	at, err := sess.place.of(s, sess, base.Digest())
	if err != nil {
		return nil, err
	}
	return j.plan.Join(ctx, at, j.plan.Profile.Network().Mode == profile.NetLoopback, "/tmp", "/var/tmp", sess.Home)
}

// isWithin is [profile.Profile.Within], decided once for two profiles.
func (s *Supervisor) isWithin(p, q profile.Profile) bool {
	key := withinKey{p.Digest(), q.Digest()}
	if key[0] == key[1] {
		return true
	}
	within, known := s.within.get(key)
	if !known {
		within = p.Within(q)
		s.within.put(key, within)
	}
	return within
}

// of returns the place for a base profile, and makes it where the session has another or none.
func (p *sessionPlace) of(s *Supervisor, sess *Session, base profile.Digest) (*sandbox.Place, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed:
		return nil, &RequestError{"the session is closed"}
	case p.current != nil && p.base == base:
		return p.current, nil
	}
	if err := os.MkdirAll(s.places, 0o700); err != nil {
		return nil, fmt.Errorf("make the session's /tmp: %w", err)
	}
	places, err := filepath.EvalSymlinks(s.places)
	if err != nil {
		return nil, fmt.Errorf("find the session's /tmp: %w", err)
	}
	dir := filepath.Join(places, fmt.Sprintf("%s-%d", sess.ID, len(p.made)))
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the session's /tmp: %w", err)
	}
	if len(p.made) == 0 && sess.Kind == KindCLI {
		s.keeping.Go(func() { s.closeWithTerminal(sess) })
	}
	p.current, p.base = s.Host.NewPlace(dir), base
	p.made = append(p.made, madePlace{p.current, dir})
	return p.current, nil
}

// closeWithTerminal ends the jobs of a command-line session when the leader of its kernel session, the terminal's
// shell, has ended, and closes the session after its last command, which may outlive the shell.
func (s *Supervisor) closeWithTerminal(sess *Session) {
	tick := time.NewTicker(leaderEvery)
	defer tick.Stop()
	for leaderStart(sess.Peer.SID) == sess.leader || len(sess.Unfinished()) > 0 {
		if leaderStart(sess.Peer.SID) != sess.leader {
			sess.endJobs("its terminal's shell ended")
		}
		select {
		case <-s.ctx.Done():
			return
		case <-tick.C:
		}
	}
	// It fails where the session is closed, or the log can't be written, which the log's next record reports.
	_, _, _ = s.CloseSession(sess)
}

// close removes the places of a session whose commands have ended.
func (p *sessionPlace) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, m := range p.made {
		m.place.Close()
		_ = modes.RemoveAll(m.dir) // the next daemon removes the rest
	}
	p.made, p.current = nil, nil
}

// empty removes the commands' files from the places, after one of them has exceeded its limit.
func (p *sessionPlace) empty() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range p.made {
		m.place.Empty()
	}
}

// leftPlaces returns a function that removes the places of an earlier daemon's sessions.
func (s *Supervisor) leftPlaces() (remove func()) {
	entries, _ := os.ReadDir(s.places)
	return func() {
		for _, entry := range entries {
			_ = modes.RemoveAll(filepath.Join(s.places, entry.Name()))
		}
	}
}
