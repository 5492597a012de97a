package supervisor

import (
	"crypto/rand"
	"encoding/hex"
	"maps"
	"slices"
	"sync"
	"time"

	"sandboxd/approval"
)

// maxTicketLife bounds how long a ticket waits to be used.
const maxTicketLife = 10 * time.Minute

// maxTickets bounds how many tickets of one session wait at once; the oldest
// makes room.
const maxTickets = 256

// ticket lets any requester of the same user run one command in a session, once: a
// hook of an agent judges the command, and the agent's own shell
// brings the ticket along with exactly that command. It carries the requester; it
// carries an approval only if one was given for exactly this.
type ticket struct {
	session *Session
	callID  string // of the agent's call; "": none
	line    string
	argv    []string
	cwd     string
	profile string // digest
	until   time.Time
	// decision is that of a check that was not a dry run; nil: none.
	decision *approval.Decision
	seen     bool // the profile was found unchanged since the ticket was made
	// redeemed is closed when the command has come; [Supervisor.AfterCall] waits for that.
	redeemed chan struct{}
}

// waits reports whether the ticket was not redeemed.
func (x *ticket) waits() bool {
	select {
	case <-x.redeemed:
		return false
	default:
		return true
	}
}

// tickets are those that wait to be used, by their text.
type tickets struct {
	mu     sync.Mutex
	byText map[string]*ticket
	order  []string // oldest first
	// calls are the tickets of agents' calls that have not ended, as far as is known; oldest first.
	calls map[*Session][]*ticket
}

// TicketError says why a ticket was not accepted. Only the user that it was made for
// learns whether it ever was one.
type TicketError struct{ Why string }

func (e *TicketError) Error() string { return "ticket: " + e.Why }

// issue makes a ticket for a judgement, and returns its text: 128 random bits.
func (t *tickets) issue(sess *Session, r ExecRequest, j *judgement, d approval.Decision, real bool,
	life time.Duration) string {
	var b [16]byte
	rand.Read(b[:])
	text := hex.EncodeToString(b[:])
	made := &ticket{session: sess, callID: r.CallID, line: r.Line, argv: r.Argv, cwd: r.Cwd, profile: j.profileDigest(),
		until: time.Now().Add(min(life, maxTicketLife)), redeemed: make(chan struct{})}
	if real {
		made.decision = &d
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byText == nil {
		t.byText, t.calls = map[string]*ticket{}, map[*Session][]*ticket{}
	}
	t.byText[text] = made
	if made.callID != "" {
		c := append(t.calls[sess], made)
		t.calls[sess] = c[max(0, len(c)-maxTickets):]
	}
	t.order = append(t.order, text)
	var kept []string
	own := 0
	for _, name := range slices.Backward(t.order) {
		x := t.byText[name]
		if x != nil && x.session == sess {
			own++
		}
		if x == nil || time.Now().After(x.until) || x.session == sess && own > maxTickets {
			delete(t.byText, name)
			continue
		}
		kept = append(kept, name)
	}
	slices.Reverse(kept)
	t.order = kept
	return text
}

// take uses a ticket up. One of another user is not confirmed to exist, and is
// left to its owner; one that is brought with something else is used up, too.
func (t *tickets) take(text string, uid int, r ExecRequest) (*ticket, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	x := t.byText[text]
	if x == nil || x.session.Peer.UID != uid {
		return nil, &TicketError{"it is not known: it was used, it is too old, or it is not yours"}
	}
	delete(t.byText, text)
	switch {
	case time.Now().After(x.until):
		return nil, &TicketError{"it is not known: it was used, it is too old, or it is not yours"}
	case x.line != r.Line || !slices.Equal(x.argv, r.Argv):
		return nil, &TicketError{"it was made for another command, and is used up"}
	case x.cwd != r.Cwd:
		return nil, &TicketError{"it was made for another working directory, and is used up"}
	}
	close(x.redeemed)
	return x, nil
}

// of returns the ticket of an agent's call, the latest of that id; nil: there is none.
func (t *tickets) of(sess *Session, call string) *ticket {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, x := range slices.Backward(t.calls[sess]) {
		if x.callID == call {
			return x
		}
	}
	return nil
}

// end forgets a call's ticket, which can't be redeemed afterwards. It reports whether it was.
func (t *tickets) end(x *ticket) (redeemed bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	maps.DeleteFunc(t.byText, func(_ string, y *ticket) bool { return y == x })
	t.calls[x.session] = slices.DeleteFunc(t.calls[x.session], func(y *ticket) bool { return y == x })
	return !x.waits()
}

// expired forgets the calls of a session whose tickets are too old to be redeemed, or all where the session is over. It
// returns those that were not.
func (t *tickets) expired(sess *Session, over bool) (unused []*ticket) {
	t.mu.Lock()
	defer t.mu.Unlock()
	rest := slices.DeleteFunc(t.calls[sess], func(x *ticket) bool {
		// A redeemed one is kept until its call ends, however long that takes; issue bounds how many.
		if !over && (!x.waits() || time.Now().Before(x.until)) {
			return false
		}
		if x.waits() {
			unused = append(unused, x)
		}
		return true
	})
	if len(rest) > 0 {
		t.calls[sess] = rest
	} else {
		delete(t.calls, sess)
	}
	return unused
}

// Redeem takes the ticket that comes with r, and returns the session that it
// was made in. r is then given to Exec as it is.
func (s *Supervisor) Redeem(text string, peer Peer, r *ExecRequest) (*Session, error) {
	given := *r
	if real, err := (&Session{}).resolveCwd(r.Cwd); err == nil && r.Cwd != "" {
		given.Cwd = real
	}
	x, err := s.tickets.take(text, peer.UID, given)
	if err != nil {
		return nil, err
	}
	x.session.mu.Lock()
	closed := x.session.closed
	x.session.mu.Unlock()
	if closed {
		return nil, &TicketError{"its session has ended"}
	}
	r.ticket = x
	return x.session, nil
}

// Return gives back a ticket whose command was not taken up at all, as where
// the caller's own descriptors were refused: it can be brought once more.
func (s *Supervisor) Return(text string, r ExecRequest) {
	s.tickets.mu.Lock()
	defer s.tickets.mu.Unlock()
	if r.ticket != nil {
		r.ticket.redeemed = make(chan struct{})
		s.tickets.byText[text] = r.ticket
		s.tickets.order = append(s.tickets.order, text)
	}
}

// ByTicket reports whether a ticket brought the command.
func (e *Exec) ByTicket() bool { return e.Request.ticket != nil }

// byTicket is the decision that the request's ticket carries for the command that would now
// run; nil: none, and it is decided again.
func (s *Supervisor) byTicket(e *Exec, j *judgement) (*approval.Decision, error) {
	x := e.Request.ticket
	if x == nil {
		return nil, nil
	}
	if !x.seen && x.profile != j.profileDigest() {
		return nil, &TicketError{"what the session may touch has changed since it was made; ask again"}
	}
	x.seen = true // a change from here on comes from a person's answer
	d := x.decision
	if d == nil || !d.Approved || d.Holds(j.digest) != nil || s.Approval.Stopped(e.Session.Ref()) {
		return nil, nil
	}
	x.decision = nil // for one run
	return d, nil
}

// profileDigest is the digest of the command's profile; "": it is blocked.
func (j *judgement) profileDigest() string {
	if j.plan == nil {
		return ""
	}
	return j.plan.Profile.Digest().String()
}
