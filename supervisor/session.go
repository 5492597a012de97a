package supervisor

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/oklog/ulid/v2"

	"sandboxd/approval"
	"sandboxd/profile"
)

// Peer is the process at the other end of a connection, as the kernel reported it.
type Peer struct {
	UID, PID int
	Start    uint64 // with PID: one process, for as long as the host is up
	Exe      string
	SID      int    // kernel session
	TTY      uint64 // controlling terminal, 0 for none
	// Inside: the peer runs in another pid namespace and may be in a sandbox.
	Inside bool
	// Above are the process itself and its ancestors, nearest first.
	Above []Process
}

// Process names one process for as long as the host is up.
type Process struct {
	PID   int
	Start uint64
}

// Kind says how a session is found again.
type Kind string

const (
	// KindCLI is one person's terminal: the same user, kernel session,
	// terminal, project and name of an agent come back to the same session.
	KindCLI Kind = "cli"
	// KindAPI is a program: a 128-bit secret, bound to its user.
	KindAPI Kind = "api"
	// KindHook is one conversation of an agent that calls a hook for each tool
	// call: the same user, agent, conversation and project come back to the same
	// session, which ends when the agent says so or after [hookIdle].
	KindHook Kind = "hook"
)

const (
	// hookIdle is how long a session of KindHook lives without a call.
	hookIdle = 2 * time.Hour
	// unusedIdle is how long a program's session lives that was opened and never used.
	unusedIdle = time.Hour
	// ownShare is how many of a user's sessions only command lines outside of every sandbox get, so that a person can
	// undo and land whatever programs opened; of few sessions it is a quarter.
	ownShare = 8
)

// SessionRequest asks for a session.
type SessionRequest struct {
	Kind  Kind
	Peer  Peer
	Agent string // its own name for itself
	// AgentID is its verified identity, empty for none (R-AP-08).
	AgentID string
	Label   string
	// Root is the project; empty means the repository around Cwd, or Cwd.
	Root string
	Cwd  string
	// Hold has what its commands write held; KindAPI only.
	Hold bool
	// Conversation is the agent's own id of the conversation, and Prompt its id of its user's last message; KindHook
	// only.
	Conversation, Prompt string
}

// Session is one agent's run. Its fields are fixed; methods guard the changing
// state.
type Session struct {
	ID     string
	Kind   Kind
	Peer   Peer // the process that opened it
	Agent  approval.Agent
	Label  string
	Root   string // real path; empty: none
	Home   string // of the user, from the password database
	User   string
	Opened time.Time

	// outer is the command in whose sandbox the session was opened, and
	// ceiling that sandbox's profile; nil: in none.
	outer   *Exec
	ceiling profile.Profile

	secret [sha256.Size]byte // of an API session
	hold   bool              // what its commands write is held
	leader uint64            // start of the kernel session's leader, of a command-line session

	files sessionWorker
	place sessionPlace
	// contained: a person at the session's own terminal chose the policy of that name for it.
	contained atomic.Bool
	// own are the settings of a person for the session alone, as in a configuration file; nil: none.
	own     atomic.Pointer[string]
	servers atomic.Int32 // direct runs whose words show a server

	mu       sync.Mutex
	lastUsed time.Time
	turn     int
	prompt   string // with which the turn began; KindHook only
	execs    map[string]*Exec
	jobs     []*Job
	closed   bool
	reported map[string]bool // warnings that were shown at this terminal
	skills   []skillEntry    // granted for this turn
	endTurn  func()          // ends the questions about this turn's skills; nil for none
}

// Ref names the session to the approval controller.
func (s *Session) Ref() approval.SessionRef {
	return approval.SessionRef{Principal: s.principal(), ID: s.ID}
}

// principal is on whose behalf the session acts.
func (s *Session) principal() approval.Principal { return approval.Principal{UID: s.Peer.UID} }

// LastUsed is when the session last did something.
func (s *Session) LastUsed() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lastUsed
}

// unused reports whether nothing was asked in the session since it was opened.
func (s *Session) unused() bool { return !s.LastUsed().After(s.Opened) }

// Turn is the number of the current turn, from 1.
func (s *Session) Turn() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.turn
}

// Unfinished lists the executions that have not ended, by id.
func (s *Session) Unfinished() []*Exec {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []*Exec
	for _, e := range s.execs {
		if !e.ended() {
			list = append(list, e)
		}
	}
	slices.SortFunc(list, func(a, b *Exec) int { return strings.Compare(a.ID, b.ID) })
	return list
}

// SessionError is returned for a session that can't be used; one that a peer may not see
// looks exactly like one that does not exist.
type SessionError struct {
	ID     string
	Secret bool // the secret is missing or wrong
}

func (e *SessionError) Error() string {
	if e.Secret {
		return fmt.Sprintf("use session %q: its secret is missing or wrong", e.ID)
	}
	return fmt.Sprintf("use session %q: there is none of that name", e.ID)
}

// LimitError says that a peer has too many of something.
type LimitError struct {
	What string
	Most int
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("too many %s: at most %d per user; sbx session ls lists them, and sbx session close --unused ends "+
		"those that nobody used", e.What, e.Most)
}

// sessions is the registry. Its mutex guards the maps; a session's own guards
// its state.
type sessions struct {
	mu     sync.Mutex
	byID   map[string]*Session
	byCLI  map[cliKey]*Session
	byHook map[hookKey]*Session
}

// cliKey finds a command-line session again.
type cliKey struct {
	uid, sid    int
	leader, tty uint64
	root, agent string
	outer       *Exec
}

// hookKey finds a hook's session again.
type hookKey struct {
	uid                       int
	agent, conversation, root string
	outer                     *Exec
}

func newSessions() *sessions {
	return &sessions{byID: map[string]*Session{}, byCLI: map[cliKey]*Session{}, byHook: map[hookKey]*Session{}}
}

// open returns the session that r means, a new one where there is none. The
// secret is returned once, for a new API session.
func (s *sessions) open(
	r SessionRequest,
	root, home, user string,
	most int,
	outer *Exec,
	ceiling profile.Profile,
) (n *Session, secret string, known bool, err error) {
	key := cliKey{r.Peer.UID, r.Peer.SID, leaderStart(r.Peer.SID), r.Peer.TTY, root, r.Agent, outer}
	conversation := hookKey{r.Peer.UID, r.Agent, r.Conversation, root, outer}
	s.mu.Lock()
	defer s.mu.Unlock()
	if outer != nil && outer.shut {
		return nil, "", false, ErrNested // nobody would close it
	}
	var old *Session
	switch r.Kind {
	case KindCLI:
		old = s.byCLI[key]
	case KindHook:
		old = s.byHook[conversation]
	}
	if old != nil {
		old.touch()
		return old, "", true, nil
	}
	count := 0
	for _, o := range s.byID {
		if o.Peer.UID == r.Peer.UID {
			count++
		}
	}
	if r.Kind != KindCLI || outer != nil {
		most -= min(ownShare, most/4)
	}
	if most > 0 && count >= most {
		return nil, "", false, &LimitError{"sessions", most}
	}
	now := time.Now()
	n = &Session{
		ID: "s-" + strings.ToLower(ulid.Make().String()), Kind: r.Kind, Peer: r.Peer,
		Agent: approval.Agent{ID: r.AgentID, Name: r.Agent}, Label: r.Label, hold: r.Hold, Root: root, Home: home, User: user,
		Opened: now, lastUsed: now, turn: 1, prompt: r.Prompt, execs: map[string]*Exec{},
		outer: outer, ceiling: ceiling,
	}
	switch r.Kind {
	case KindCLI:
		n.leader = key.leader
		s.byCLI[key] = n
	case KindHook:
		s.byHook[conversation] = n
	default:
		var b [16]byte
		rand.Read(b[:])
		secret = base64.RawURLEncoding.EncodeToString(b[:])
		n.secret = sha256.Sum256([]byte(secret))
	}
	s.byID[n.ID] = n
	return n, secret, false, nil
}

// get finds the session for a peer that presents secret. A command-line
// session belongs to its user and terminal, an API session to its secret, a
// hook's to its user.
func (s *sessions) get(id string, p Peer, secret string) (*Session, error) {
	s.mu.Lock()
	n := s.byID[id]
	s.mu.Unlock()
	if n == nil || n.Peer.UID != p.UID {
		return nil, &SessionError{ID: id}
	}
	switch n.Kind {
	case KindAPI:
		sum := sha256.Sum256([]byte(secret))
		if subtle.ConstantTimeCompare(sum[:], n.secret[:]) != 1 {
			return nil, &SessionError{ID: id, Secret: true}
		}
	case KindCLI:
		if n.Peer.SID != p.SID || n.Peer.TTY != p.TTY || n.leader != leaderStart(p.SID) {
			return nil, &SessionError{ID: id}
		}
	}
	n.touch()
	return n, nil
}

// visible lists the sessions that an approver of uid may see.
func (s *sessions) visible(uid int) []*Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []*Session
	for _, n := range s.byID {
		if n.Peer.UID == uid {
			list = append(list, n)
		}
	}
	slices.SortFunc(list, func(a, b *Session) int { return strings.Compare(a.ID, b.ID) })
	return list
}

// remove takes the session out of the registry; it reports whether it was there.
func (s *sessions) remove(n *Session) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byID[n.ID] != n {
		return false
	}
	delete(s.byID, n.ID)
	ours := func(o *Session) bool { return o == n }
	maps.DeleteFunc(s.byCLI, func(_ cliKey, o *Session) bool { return ours(o) })
	maps.DeleteFunc(s.byHook, func(_ hookKey, o *Session) bool { return ours(o) })
	return true
}

func (s *Session) touch() {
	s.mu.Lock()
	s.lastUsed = time.Now()
	s.mu.Unlock()
}

// add registers a command; a closed session takes none.
func (s *Session) add(e *Exec) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return &RequestError{"the session is closed"}
	}
	s.execs[e.ID] = e
	return nil
}

// left lists the sessions that nobody comes back to: those of a terminal that is
// over, those of a conversation that was silent for hookIdle, and those of a program
// that did not use them for unusedIdle. None of them runs a command.
func (s *sessions) left() []*Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []*Session
	for _, n := range s.byID {
		over := n.Kind == KindCLI && leaderStart(n.Peer.SID) != n.leader ||
			n.Kind == KindHook && time.Since(n.LastUsed()) > hookIdle ||
			n.Kind == KindAPI && n.unused() && time.Since(n.Opened) > unusedIdle
		if over && len(n.Unfinished()) == 0 {
			list = append(list, n)
		}
	}
	return list
}

// endJobs ends the jobs of all sessions.
func (s *sessions) endJobs(why string) {
	s.mu.Lock()
	all := slices.Collect(maps.Values(s.byID))
	s.mu.Unlock()
	for _, n := range all {
		n.endJobs(why)
	}
}

// endWorkers ends the file workers and removes the places of all sessions.
func (s *sessions) endWorkers() {
	s.mu.Lock()
	all := slices.Collect(maps.Values(s.byID))
	s.mu.Unlock()
	for _, n := range all {
		n.files.close()
		n.place.close()
	}
}

// anyHeld reports whether a program's session is open, a conversation has not
// ended, or a terminal has a job. Without one, a command-line session holds only the files of
// its place.
func (s *sessions) anyHeld() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.byID {
		if n.Kind == KindAPI || n.Kind == KindHook && time.Since(n.LastUsed()) < hookIdle ||
			n.anyJob() {
			return true
		}
	}
	return false
}
