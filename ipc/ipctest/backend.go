// Package ipctest has an [ipc.Backend] that needs no kernel and no people: it has sessions,
// commands, questions, grants and trust in memory, and its commands are a few words that it
// performs itself. It is for testing both sides of package ipc: the server, and clients in any
// language.
//
// The commands:
//
//	echo WORDS    writes them to standard output
//	cat           copies its input, until the end of that
//	wait          does nothing until it is cancelled or gets a signal
//	flood N       writes N pieces of 32 KiB
//	fail N        exits with status N
//	ask WORDS     echo, once a question with that description has been answered
//
// # Limitations
//
// Nothing is executed and nothing is protected.
package ipctest

import (
	"context"
	"fmt"
	"sync"
	"time"

	"sandboxd/ipc"
)

// Backend is the double. Make it with [New].
type Backend struct {
	mu        sync.Mutex
	changed   int // of anything: a rejected request leaves it as it is
	next      int
	sessions  map[string]*session
	runs      map[string]*run
	questions map[string]*question
	grants    map[string]ipc.Grant
	trusted   map[string]ipc.Trust
	mode      string
	news      *journal[ipc.News]
	asked     func(ipc.Peer, ipc.Role) error
	streams   int
	running   sync.WaitGroup
}

type session struct {
	info   ipc.SessionInfo
	secret ipc.Secret
}

type question struct {
	ipc.Approval
	decided chan struct{}
	outcome ipc.Decided
}

// New makes a Backend that admits everybody.
func New() *Backend {
	return &Backend{
		sessions: map[string]*session{}, runs: map[string]*run{},
		questions: map[string]*question{}, grants: map[string]ipc.Grant{}, trusted: map[string]ipc.Trust{},
		mode: "interactive", news: newJournal[ipc.News](1024),
	}
}

// Admitting makes the Backend ask f for admission. Call it before the server is started.
func (b *Backend) Admitting(f func(ipc.Peer, ipc.Role) error) *Backend {
	b.asked = f
	return b
}

// Changes counts the changes of state so far.
func (b *Backend) Changes() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.changed
}

// OpenStreams counts the streams that were opened and not closed.
func (b *Backend) OpenStreams() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.streams
}

// Close ends every command and returns when they have ended.
func (b *Backend) Close() {
	b.mu.Lock()
	for _, r := range b.runs {
		r.cancel()
	}
	b.mu.Unlock()
	b.running.Wait()
}

// id makes a new one. The caller holds mu.
func (b *Backend) id(prefix string) string {
	b.next++
	b.changed++
	return fmt.Sprintf("%s-%d", prefix, b.next)
}

func notFound(what string) error {
	return &ipc.Error{Code: ipc.CodeNotFound, Message: "there is no such " + what}
}

// Admit implements [ipc.Backend].
func (b *Backend) Admit(p ipc.Peer, r ipc.Role) error {
	if b.asked == nil {
		return nil
	}
	return b.asked(p, r)
}

// Version implements [ipc.Backend].
func (b *Backend) Version(_ context.Context, c ipc.Caller) (ipc.Version, error) {
	return ipc.Version{Product: ipc.Product, Version: "test", Protocol: ipc.Protocol, PID: c.Peer.PID, UID: c.Peer.UID,
		Features: []string{}}, nil
}

// Status implements [ipc.Backend].
func (b *Backend) Status(ctx context.Context, c ipc.Caller) (ipc.Status, error) {
	v, _ := b.Version(ctx, c)
	b.mu.Lock()
	defer b.mu.Unlock()
	return ipc.Status{
		Version: v, Started: time.Unix(0, 0).UTC(), Mode: b.mode, Scope: "user",
		Enforcement: enforcement, Degraded: []string{"this is a test double"},
		Sessions: len(b.sessions), Running: len(b.runs), Pending: len(b.questions), Config: []ipc.ConfigFile{},
	}, nil
}

var enforcement = ipc.Enforcement{Level: ipc.Absent, Protections: []ipc.Protection{
	{Name: "filesystem", Level: ipc.Absent, Why: "this is a test double"},
}}

// Doctor implements [ipc.Backend].
func (b *Backend) Doctor(_ context.Context, _ ipc.Caller, r ipc.DoctorRequest) (ipc.Doctor, error) {
	return ipc.Doctor{Enforcement: enforcement, Findings: []ipc.Finding{{Name: "double", OK: true, Proved: r.Prove}}}, nil
}

// Profile implements [ipc.Backend].
func (b *Backend) Profile(_ context.Context, _ ipc.Caller, r ipc.ProfileRequest) (ipc.Profile, error) {
	return ipc.Profile{Digest: "none", Text: r.Session, Explain: []string{r.Path}, Diff: []string{r.Against}}, nil
}

// OpenSession implements [ipc.Backend].
func (b *Backend) OpenSession(_ context.Context, c ipc.Caller, r ipc.SessionRequest) (ipc.Session, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	id := b.id("session")
	s := &session{info: ipc.SessionInfo{
		ID: id, Kind: r.Kind, Agent: r.Agent, Claimed: true, Label: r.Label, Root: r.Root,
		Mode: b.mode, UID: c.Peer.UID, PID: c.Peer.PID,
	}}
	if r.Kind != ipc.KindCLI {
		s.secret = ipc.Secret("secret of " + id)
	}
	_, trusted := b.trusted[r.Root]
	b.sessions[id] = s
	return ipc.Session{ID: id, Secret: s.secret, Root: r.Root, Trusted: trusted, Mode: b.mode, Warnings: []ipc.Warning{}},
		nil
}

// session finds one whose secret the caller holds. The caller holds mu.
func (b *Backend) session(c ipc.Caller, id string) (*session, error) {
	s, ok := b.sessions[id]
	if !ok {
		return nil, notFound("session")
	}
	if c.Role == ipc.RoleAgent && s.secret != c.Secret {
		return nil, &ipc.Error{Code: ipc.CodeSecret, Message: "the session's secret is missing or wrong"}
	}
	return s, nil
}

// Sessions implements [ipc.Backend].
func (b *Backend) Sessions(context.Context, ipc.Caller) (ipc.SessionList, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := ipc.SessionList{Sessions: []ipc.SessionInfo{}}
	for _, s := range b.sessions {
		list.Sessions = append(list.Sessions, s.info)
	}
	return list, nil
}

// Turn implements [ipc.Backend].
func (b *Backend) Turn(_ context.Context, c ipc.Caller, r ipc.TurnRequest) (ipc.Turn, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s, err := b.session(c, r.Session)
	if err != nil {
		return ipc.Turn{}, err
	}
	b.changed++
	s.info.Turn++
	cleared := s.info.Stopped
	s.info.Stopped = ""
	return ipc.Turn{Turn: s.info.Turn, Cleared: cleared}, nil
}

// CloseSession implements [ipc.Backend].
func (b *Backend) CloseSession(_ context.Context, c ipc.Caller, r ipc.CloseRequest) (ipc.Closed, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, err := b.session(c, r.Session); err != nil {
		return ipc.Closed{}, err
	}
	b.changed++
	delete(b.sessions, r.Session)
	ended := 0
	for _, r2 := range b.runs {
		if r2.req.Session == r.Session && r2.cancel() {
			ended++
		}
	}
	return ipc.Closed{Ended: ended}, nil
}

// AfterCall implements [ipc.Backend]: nothing here gives tickets.
func (b *Backend) AfterCall(context.Context, ipc.Caller, ipc.AfterCallRequest) (ipc.AfterCall, error) {
	return ipc.AfterCall{Ran: ipc.RanUnknown}, nil
}

// Check implements [ipc.Backend]. It decides by the first word: "rm" is never
// allowed, "ask" asks, everything else runs.
func (b *Backend) Check(ctx context.Context, c ipc.Caller, r ipc.CheckRequest) (ipc.Verdict, error) {
	v := ipc.Verdict{Decision: ipc.DecisionAuto, Allowed: true, Why: "it is harmless"}
	switch word(r.Command, r.Argv) {
	case "rm":
		v.Decision, v.Allowed, v.Why = ipc.DecisionDeny, false, "it removes"
		v.Denied = &ipc.Denial{Code: ipc.CodeBlocked, Message: "rm is never allowed here"}
	case "ask":
		v.Decision, v.Allowed, v.Why = ipc.DecisionAsk, false, "it asks"
		if !r.DryRun {
			d, err := b.ask(ctx, c, r.Command)
			if err != nil {
				return ipc.Verdict{}, err
			}
			v.Allowed = d.Allowed
		}
	}
	return v, nil
}
