// Package supervisor is the one way that a request walks: session → check →
// plan → ask → audit → run → audit. It is straight-line code over the rooms
// that know their part; it adds the order, and that no step can be
// left out.
//
// The promise: nothing runs that was not judged, decided and recorded, in this
// order; the command that was shown to a person is the one that runs, or the person is asked
// again; and a command never runs outside of the sandbox that its plan
// describes.
//
//	s, err := supervisor.New(supervisor.Options{…})
//	sess, secret, err := s.OpenSession(supervisor.SessionRequest{…})
//	e, err := s.Exec(sess, peer, supervisor.ExecRequest{Line: "git status"})
//	for r := e.Events(0); ; { ev, err := r.Next(ctx) … }
//
// # Limitations
//
// Peers of the same user outside every sandbox have all of the user's
// permissions; SECURITY.md explains the consequences.
package supervisor

import (
	"context"
	"errors"
	"fmt"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"sandboxd/approval"
	"sandboxd/audit"
	"sandboxd/config"
	"sandboxd/egress"
	"sandboxd/files/store"
	"sandboxd/git"
	"sandboxd/profile/abspath"
	"sandboxd/sandbox"
	"sandboxd/supervisor/aftermath"
)

// Options are the parts of a supervisor. All fields but Paths are required.
type Options struct {
	Host     *sandbox.Host
	Approval *approval.Controller
	Audit    *audit.Log
	Trust    *TrustStore
	// Settings are what people set for single projects; nil: there are none, and none can be set.
	Settings *SettingsStore
	// Config is the configuration at the start; Paths are read again by Reload.
	Config *config.Config
	Paths  config.Paths
	// Own are the paths of our state, sockets, configuration and binaries:
	// never part of a project, hidden in every sandbox.
	Own []string
	// AgentSocket is the path of the socket that agents reach where the
	// configuration lets them; "": none.
	AgentSocket string
	// Layers is a directory of the daemon's own for the layers of runs, which New makes; "": every run is direct.
	Layers string
	// Places is a directory of the daemon's own for the places of sessions; "": each command has its own.
	Places string
	// Created is a directory of the daemon's own for notes of what it creates outside of projects; "": nothing is.
	Created string
	// Trash is a directory of the daemon's own for the entries removed from
	// projects after a run. It is made when it is needed.
	Trash string
	// Notes are of running commands, for the scan after a run that outlives the daemon.
	Notes *aftermath.Notes
	// Undo keeps the content that file operations replace or delete; Worker is the program of their
	// workers, which takes FileWorkerArg: the daemon's own.
	Undo   *store.Store
	Worker string
}

// Supervisor carries requests from their session to their result.
type Supervisor struct {
	Host     *sandbox.Host
	Approval *approval.Controller
	Audit    *audit.Log
	Trust    *TrustStore
	Settings *SettingsStore
	Undo     *store.Store

	own         []string
	agentSocket string
	trash       string
	layers      string
	places      string
	created     string
	within      kept[withinKey, bool]
	reasons     kept[rootKey, string]     // of [layer.Reason]
	mounted     kept[rootKey, string]     // why no overlay of a root can be mounted; "": one was
	chains      kept[rootState, []string] // see toolchains
	projects    projects
	notes       *aftermath.Notes
	seen        aftermath.Cache
	compiled    kept[compiledKey, *compilation]
	derived     kept[profileKey, derived]
	paths       config.Paths
	sessions    *sessions
	tickets     tickets
	asking      asking
	ctx         context.Context
	stopAll     context.CancelCauseFunc
	work        sync.WaitGroup
	worker      workerProgram
	// recovered is closed when the changes of an earlier daemon are settled; keeping
	// counts the goroutine that does it.
	recovered chan struct{}
	keeping   sync.WaitGroup
	// looked is closed when the runs that an earlier daemon left are looked after.
	looked chan struct{}
	// read is closed when the layers that an earlier daemon had not read are read, or after a while.
	read    chan struct{}
	readers readers

	// connections bounds the connections of all commands together to other hosts.
	connections *egress.Budget

	reloading sync.Mutex // held by Reload: of two, the one that read last counts

	mu            sync.Mutex
	config        *config.Config
	execs         map[string]*Exec
	live          map[string]*Exec       // of execs, those that have not ended
	kept          keptExecs              // of execs, those that have ended
	caches        map[string]*toolCache  // of presets' tools, by directory
	proxySessions map[*proxySession]bool // of running commands
	cutOffs       []CutOff               // by the death of an earlier daemon
	lastUse       time.Time
	closing       bool // no new work
}

// New returns a supervisor that takes requests at once.
func New(o Options) (*Supervisor, error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	s := &Supervisor{
		Host: o.Host, Approval: o.Approval, Audit: o.Audit, Trust: o.Trust, Settings: o.Settings, Undo: o.Undo,
		worker: workerProgram{path: o.Worker}, recovered: make(chan struct{}), looked: make(chan struct{}),
		read: make(chan struct{}), notes: o.Notes,
		own: alsoReal(o.Own), agentSocket: o.AgentSocket, trash: o.Trash, layers: o.Layers, places: o.Places,
		created: o.Created,
		paths:   o.Paths, config: o.Config, sessions: newSessions(), ctx: ctx, stopAll: cancel,
		execs: map[string]*Exec{}, live: map[string]*Exec{}, proxySessions: map[*proxySession]bool{},
		caches: map[string]*toolCache{}, connections: egress.NewBudget(maxConnections()), lastUse: time.Now(),
	}
	s.seen.Watch = o.Host.Watch()
	if err := s.probeLayers(); err != nil {
		cancel(nil)
		return s, err
	}
	err := s.record(audit.Record{Category: audit.Config, Operation: "start",
		Enforcement: string(o.Host.Report().Level()), Gaps: o.Host.Report().Degraded()})
	if err != nil {
		cancel(nil)
		return s, err
	}
	s.keeping.Add(1)
	s.keeping.Go(s.leftPlaces())
	go s.keepFiles()
	return s, nil
}

// Config is the configuration in force, without any project's part.
func (s *Supervisor) Config() *config.Config {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.config
}

// Reload reads the configuration again. It takes effect whole or not at all;
// running commands keep the profile that they started with, but their
// connections follow the new lists of hosts.
func (s *Supervisor) Reload() ([]config.Warning, error) {
	s.reloading.Lock()
	defer s.reloading.Unlock()
	cfg, warnings, err := config.Load(s.paths)
	if err == nil {
		err = s.Approval.Configure(cfg.Approval)
	}
	if err != nil {
		return nil, errors.Join(err, s.record(audit.Record{Category: audit.Config, Operation: "reload", Error: err.Error()}))
	}
	s.mu.Lock()
	s.config = cfg
	s.mu.Unlock()
	s.configureUndo()
	s.recheckOutlets()
	return warnings, s.record(audit.Record{Category: audit.Config, Operation: "reload"})
}

// guard says which directories may be roots for a user whose home this is.
func (s *Supervisor) guard(home string) guard { return newGuard([]string{home}, s.own) }

// OpenSession opens a session, or finds the command-line session that the
// request means. The secret is not empty for a new API session. The root comes
// from the disk and from a person's trust, never from the request
// alone: an untrusted one is read-only.
func (s *Supervisor) OpenSession(r SessionRequest) (*Session, string, error) {
	if r.Kind == "" {
		r.Kind = KindAPI
	}
	name, home, err := account(r.Peer.UID)
	if err != nil {
		return nil, "", err
	}
	guard := s.guard(home)
	root := r.Root
	if root == "" && r.Cwd != "" {
		if !filepath.IsAbs(r.Cwd) {
			return nil, "", &RequestError{fmt.Sprintf("cwd %q is not an absolute path", r.Cwd)}
		}
		root = guard.enclosingRepository(r.Cwd)
	}
	if root == "" {
		return nil, "", &RequestError{"give the session a root or a cwd"}
	}
	if root, err = guard.check(root); err != nil {
		return nil, "", err
	}
	for _, gone := range s.sessions.left() {
		var closed *SessionError // somebody else was first
		if _, _, err := s.CloseSession(gone); err != nil && !errors.As(err, &closed) {
			return nil, "", err
		}
	}
	outer, ceiling, err := s.outerOf(r.Peer)
	if err != nil {
		return nil, "", err
	}
	sess, secret, known, err := s.sessions.open(r, root, home, name, s.Config().Daemon.Sessions, outer, ceiling)
	if err != nil {
		return nil, "", err
	}
	s.touch()
	if known { // its opening is on record
		return sess, "", s.prompted(sess, r)
	}
	err = s.record(audit.Record{Category: audit.Session, Operation: "open", Session: sess.ID, Peer: auditPeer(r.Peer),
		Agent: r.Agent, Claimed: r.Agent != "", Subject: root})
	if err != nil {
		s.sessions.remove(sess)
		return nil, "", err
	}
	s.Approval.OpenSession(sess.Ref())
	return sess, secret, nil
}

// prompted begins a turn where a conversation has another prompt than before. A
// stop stays, as any program of the user can name a prompt: an approver clears it.
func (s *Supervisor) prompted(sess *Session, r SessionRequest) error {
	sess.mu.Lock()
	again := r.Prompt == "" || r.Prompt == sess.prompt
	sess.mu.Unlock()
	if again || s.Approval.Stopped(sess.Ref()) {
		return nil
	}
	sess.mu.Lock()
	sess.prompt = r.Prompt
	sess.mu.Unlock()
	_, err := s.NewTurn(sess, r.Peer, nil)
	return err
}

// account looks the user up in the password database; its home counts, not
// an environment variable's.
func account(uid int) (name, home string, err error) {
	u, err := user.LookupId(strconv.Itoa(uid))
	if err != nil {
		return "", "", fmt.Errorf("user %d is not in the password database: %w", uid, err)
	}
	return u.Username, realHome(u.HomeDir), nil
}

// Session finds a session for a peer; secret is that of an API session.
func (s *Supervisor) Session(id string, p Peer, secret string) (*Session, error) {
	s.touch()
	sess, err := s.sessions.get(id, p, secret)
	if err == nil && !s.mayUse(sess, p) {
		return nil, &SessionError{ID: id}
	}
	return sess, err
}

// Sessions lists those that an approver of uid may see.
func (s *Supervisor) Sessions(uid int) []*Session { return s.sessions.visible(uid) }

// CloseSession ends a session and every command of it. It returns how many
// were running.
func (s *Supervisor) CloseSession(sess *Session) (int, approval.Stats, error) {
	if !s.sessions.remove(sess) {
		return 0, approval.Stats{}, &SessionError{ID: sess.ID}
	}
	sess.mu.Lock()
	sess.closed = true
	if sess.endTurn != nil {
		sess.endTurn()
	}
	var running, ended []*Exec
	for _, e := range sess.execs {
		if e.forgettable() {
			ended = append(ended, e)
		} else {
			running = append(running, e)
		}
	}
	sess.mu.Unlock()
	sess.files.close()
	for _, e := range running {
		e.Cancel(sandbox.EndSession)
	}
	stats := s.Approval.CloseSession(sess.Ref())
	for _, e := range running {
		<-e.Done()
	}
	sess.endJobs("its session was closed")
	sess.place.close()
	unused := s.recordUnused(s.tickets.expired(sess, true))
	for _, e := range ended { // nobody can ask for it now
		s.forget(e)
	}
	return len(running), stats, errors.Join(unused,
		s.record(audit.Record{Category: audit.Session, Operation: "close", Session: sess.ID, Peer: auditPeer(sess.Peer)}))
}

// NewTurn starts the session's next user turn: it clears the stop signal and
// the turn's grants. The permissions that its skills want are put to a
// person; peer is the process that starts the turn. Direct runs begin another change set.
func (s *Supervisor) NewTurn(sess *Session, peer Peer, skills []Skill) (int, error) {
	n := s.Approval.NewTurn(sess.Ref())
	sess.mu.Lock()
	sess.turn = n
	end := sess.endTurn
	sess.endTurn, sess.skills = nil, nil
	sess.mu.Unlock()
	if end != nil {
		end()
	}
	s.recheckOutlets()
	s.snapshotTurn(sess, n)
	err := s.record(audit.Record{Category: audit.Session, Operation: "turn", Session: sess.ID, Turn: n,
		Peer: auditPeer(peer)})
	if err != nil || len(skills) == 0 {
		return n, err
	}
	return n, s.useSkills(sess, peer, n, skills)
}

// Trusted reports whether sandboxes of the session may write to its root.
func (s *Supervisor) Trusted(sess *Session) bool { return s.trusted(sess, s.Config()) }

func (s *Supervisor) trusted(sess *Session, cfg *config.Config) bool {
	if sess.Root == "" {
		return false
	}
	if slices.ContainsFunc(cfg.Daemon.Roots, func(r string) bool { return abspath.Contains(RealPath(r), sess.Root) }) {
		return true
	}
	return s.Trust.Trusted(sess.Peer.UID, sess.Root)
}

// errContained is returned where the policy "contained" is forbidden.
var errContained = errors.New("the configuration forbids the policy contained (approval.contained = false); " +
	"trust the directory without it")

// TrustDir trusts dir for uid on a person's word, if contained with the policy of that name.
func (s *Supervisor) TrustDir(uid int, dir, by string, contained bool) (Trust, error) {
	return s.trustAs(Trust{UID: uid, Dir: dir, By: by, Contained: contained})
}

// trustAs is TrustDir for a trust as it is to be kept, but for which directory it is.
func (s *Supervisor) trustAs(t Trust) (Trust, error) {
	if t.Contained && !s.Config().Approval.Contained {
		return Trust{}, errContained
	}
	_, home, err := account(t.UID)
	if err != nil {
		return Trust{}, err
	}
	if t.Dir, err = s.guard(home).check(t.Dir); err != nil {
		return Trust{}, err
	}
	rec := audit.Record{Category: audit.Grant, Operation: "trust", Subject: t.Dir, By: t.By,
		Peer: &audit.Peer{UID: t.UID}}
	if t.Contained {
		rec.Operation = "trust contained"
	}
	err = s.Carry(rec, func() (err error) {
		t.Remotes = git.Remotes(git.Disk, home, t.Dir)
		t, err = s.Trust.add(t)
		return err
	})
	s.forgetContained(t.UID, t.Dir)
	return t, err
}

// DistrustDir withdraws the trust of dir, and empties the caches of its tools; running commands keep their permissions.
func (s *Supervisor) DistrustDir(uid int, dir, by string) (bool, error) {
	real := RealPath(dir)
	s.forgetContained(uid, real)
	removed, err := s.Trust.remove(uid, real)
	if err != nil || !removed {
		return removed, err
	}
	if _, home, err := account(uid); err == nil {
		s.dropCache(home, real)
	}
	return true, s.record(audit.Record{Category: audit.Grant, Operation: "distrust", Subject: real, By: by,
		Peer: &audit.Peer{UID: uid}})
}

// ExecOf finds an execution for a peer of its session's user.
func (s *Supervisor) ExecOf(id string, uid int) (*Exec, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.execs[id]
	if e == nil || e.Session.Peer.UID != uid {
		return nil, false
	}
	return e, true
}

// ErrClosing says that the daemon is stopping and takes no new work.
var ErrClosing = errors.New("the daemon is stopping")

// register takes an execution up, in its session too, or says why not.
func (s *Supervisor) register(e *Exec) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return ErrClosing
	}
	if err := e.Session.add(e); err != nil {
		return err
	}
	s.execs[e.ID], s.live[e.ID] = e, e
	s.lastUse = time.Now()
	s.work.Add(1)
	return nil
}

// ended takes an execution out of those that run, before its end is reported.
func (s *Supervisor) ended(e *Exec) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastUse = time.Now()
	delete(s.live, e.ID)
}

func (s *Supervisor) touch() {
	s.mu.Lock()
	s.lastUse = time.Now()
	s.mu.Unlock()
}

// Running counts the executions that have not ended.
func (s *Supervisor) Running() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.live)
}

// IdleSince is when something was last asked for, and false while commands
// run or API sessions live.
func (s *Supervisor) IdleSince() (time.Time, bool) {
	s.mu.Lock()
	last, busy := s.lastUse, len(s.live) > 0
	s.mu.Unlock()
	return last, !busy && !s.sessions.anyHeld()
}

// Shutdown takes no more work, waits for running commands until ctx ends, and
// then ends them.
func (s *Supervisor) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	s.sessions.endJobs("the daemon ended")
	done := make(chan struct{})
	go func() {
		s.work.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
		s.stopAll(endError(sandbox.EndShutdown))
		<-done
	}
	s.stopAll(endError(sandbox.EndShutdown))
	s.keeping.Wait()
	s.sessions.endWorkers()
	return s.record(audit.Record{Category: audit.Config, Operation: "stop"})
}
