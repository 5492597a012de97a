package supervisor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"sandboxd/approval"
	"sandboxd/audit"
	"sandboxd/files"
	"sandboxd/files/snapshot"
	"sandboxd/files/store"
	"sandboxd/files/worker"
	"sandboxd/shell"
	"sandboxd/supervisor/aftermath"
)

// snapshotTime bounds one snapshot; a run whose snapshot takes longer is not covered.
const snapshotTime = 30 * time.Second

// Coverage says whether a direct run in a project can be undone as a whole.
type Coverage struct {
	Covered bool
	Why     string // it is not covered
	// LeftOut names entries that the snapshot lacks; Skipped are dependencies' and build trees.
	LeftOut, Skipped []string
}

// Changes is the change set of a run, as its result has it. That of a reader is empty.
type Changes struct {
	Kind   RunKind
	Direct string // why a direct run had no layer
	Coverage
	snapshot.Changes
	// Undo is the id that takes them back; empty where nothing was changed.
	Undo string
	// Held is why the change set of a layered run, or what git ignores of it, did not land; "" where all of it landed.
	// Digest identifies it then.
	Held, Digest string
	// Landed: nothing of the change set of a layered run stays out of the project.
	Landed bool
	// Own is the command's own exit status where that of the run is 126, as its change set did not land; nil elsewhere.
	Own *int
	// Build are the created and modified files from which programs run when a person builds.
	Build []string
	// HeldID names it for landing and dropping; see [Supervisor.File].
	HeldID string
}

// coverage takes a snapshot of a session's project, as a run would now, and reports its coverage.
func (s *Supervisor) coverage(ctx context.Context, sess *Session) Coverage {
	return coverage(s.Undo.Project(sess.Root).Take(s.scan(ctx, sess)))
}

func coverage(sum snapshot.Summary, err error) Coverage {
	if err != nil {
		return Coverage{Why: err.Error()}
	}
	c := Coverage{LeftOut: sum.LeftOut, Skipped: sum.Skipped, Covered: len(sum.LeftOut) == 0}
	if !c.Covered {
		c.Why = "the snapshot lacks " + sum.LeftOut[0]
		if n := len(sum.LeftOut) - 1; n > 0 {
			c.Why += fmt.Sprintf(" (and %d more)", n)
		}
	}
	return c
}

// errUntrusted is returned for a project that no sandbox may write to.
var errUntrusted = errors.New("the project is not trusted")

// scan has the session's worker walk its project.
func (s *Supervisor) scan(ctx context.Context, sess *Session) store.Scan {
	return func(
		base *os.File, most int64, found func([]snapshot.Entry, []*os.File) error,
	) (sum snapshot.Summary, same bool, err error) {
		j, err := s.judgeScan(sess)
		if err != nil {
			return sum, false, err
		}
		ctx, cancel := context.WithTimeout(ctx, snapshotTime)
		defer cancel()
		scan := func(client *worker.Client) (err error) {
			sum, same, err = client.Scan(ctx, sess.Root, base, worker.ScanLimits{Bytes: most}, found)
			return err
		}
		if err = sess.files.useFor(ctx, s, j.plan, j.setup, 0, scan); errors.Is(err, errWorkerClosed) {
			err = s.once(ctx, j.plan, j.setup, scan)
		}
		return sum, same, err
	}
}

// judgeScan returns the rules and the plan of a worker that walks the session's project.
func (s *Supervisor) judgeScan(sess *Session) (*fileJudgement, error) {
	cfg, _, err := s.projectConfig(sess)
	if err != nil {
		return nil, err
	}
	if !s.trusted(sess, cfg) {
		return nil, errUntrusted
	}
	j := &fileJudgement{cfg: cfg}
	if err := s.fileRules(sess, j); err != nil {
		return nil, err
	}
	p, operator, err := s.profiles(cfg, sess, true, "none")
	if err != nil {
		return nil, err
	}
	j.plan, err = s.workerPlan(cfg, p, operator)
	return j, err
}

// runSnapshot is the snapshot around one run. Each turn of the run's session, and of those inside its sandbox, begins
// another one, so that the run has a change set for each turn in which something changed.
type runSnapshot struct {
	s        *Supervisor
	e        *Exec
	project  *store.Project
	coverage Coverage

	mu     sync.Mutex
	begun  bool      // what changes from now on can be compared
	id     string    // of the next change set
	sets   int       // how many there are
	turn   int       // of the next one; 0: the session had none since the run began
	since  time.Time // the beginning of that
	missed []string  // warnings about the turns that have no change set of their own
}

// runID is the id of the change set of a direct run: the rest is that of the execution.
func runID(exec string) string { return "r-" + strings.TrimPrefix(exec, "x-") }

// setID is the id of the nth change set of a run, from 1. In the order of names they are in that of time.
func setID(exec string, n int) string {
	if n == 1 {
		return runID(exec)
	}
	return fmt.Sprintf("%s-%04d", runID(exec), n)
}

// runOf is the id of the first change set of the run that has the change set.
func runOf(set string) string {
	run, _, _ := strings.Cut(strings.TrimPrefix(set, "r-"), "-")
	return "r-" + run
}

// reads reports whether a run is judged to read only.
func (j *judgement) reads() bool {
	return j.verdict.Decision == shell.Auto && len(j.verdict.Parts) > 0 && onlySafe(j.verdict.Parts)
}

// maxDeaths is how many workers may die before a snapshot is given up.
const maxDeaths = 3

// withoutDeaths takes a snapshot again where its worker died.
func withoutDeaths(take func() error) error {
	for n := 1; ; n++ {
		err := take()
		if n == maxDeaths || !errors.Is(err, worker.ErrBroken) ||
			errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
			return err
		}
	}
}

// beginSnapshot takes the snapshot that a direct run starts from; nil for others.
func (s *Supervisor) beginSnapshot(e *Exec, j *judgement) *runSnapshot {
	if j.kind != RunDirect {
		return nil
	}
	r := &runSnapshot{
		s:       s,
		e:       e,
		project: s.Undo.Project(e.Session.Root),
		id:      runID(e.ID),
	}
	r.begin()
	return r
}

func (r *runSnapshot) begin() {
	var sum snapshot.Summary
	err := withoutDeaths(func() (err error) {
		sum, err = r.project.Begin(r.id, r.s.scan(r.s.ctx, r.e.Session))
		return err
	})
	r.coverage, r.begun, r.since = coverage(sum, err), err == nil, time.Now()
}

// end compares the project with the snapshot, and stores the changes of the last turn.
func (r *runSnapshot) end() *Changes {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	c := &Changes{Kind: RunDirect, Coverage: r.coverage}
	if !r.begun {
		return c
	}
	defer r.project.End(r.id)
	r.begun = false
	var err error
	c.Changes, c.Undo, err = r.keep("")
	if err == nil && r.turn > 0 {
		err = c.joined(r)
	}
	if err != nil {
		c.Covered, c.Why = false, "what the run changed could not be compared or kept: "+err.Error()
	}
	return c
}

// joined has the changes be those of all turns.
func (c *Changes) joined(r *runSnapshot) error {
	sets := r.s.Undo.OfExec(r.e.ID)
	if len(sets) == 0 {
		return nil
	}
	all, err := r.s.Undo.Parts(sets)
	if err == nil {
		c.Changes, c.Undo = all.Changes, r.e.ID
	}
	return err
}

// keep stores and publishes what changed since the last change set, or the run's begin. The id next is that of the
// following one, "" at the run's end.
func (r *runSnapshot) keep(next string) (c snapshot.Changes, undo string, err error) {
	rec := store.Record{ID: r.id, Exec: r.e.ID, Session: r.e.Session.ID, Project: r.e.Session.Root, Note: r.e.text(),
		By: r.e.writer()}
	if r.turn > 0 {
		rec.Note = fmt.Sprintf("turn %d from %s of %s", r.turn, r.since.Format(time.TimeOnly), rec.Note)
	}
	scan := r.s.scan(context.WithoutCancel(r.s.ctx), r.e.Session)
	c, undo, err = r.s.keepRun(func(
		base *os.File, most int64, found func([]snapshot.Entry, []*os.File) error,
	) (sum snapshot.Summary, same bool, err error) {
		sum, same, err = scan(base, most, found)
		if now := coverage(sum, err); next != "" && err == nil && !now.Covered {
			r.coverage = now
		}
		return sum, same, err
	}, rec, next)
	if err == nil && undo != "" {
		r.sets++
		r.s.publish(rec, r.e, approval.ChangeSet{ID: undo, State: approval.ChangeDirect, Undo: undo}, c)
	}
	return c, undo, err
}

// next begins a change set with a turn of a session.
func (r *runSnapshot) next(turn int) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.begun {
		return
	}
	if r.turn == 0 {
		r.turn = turn - 1
	}
	next := setID(r.e.ID, r.sets+2)
	switch _, undo, err := r.keep(next); {
	case err != nil:
		r.missed = append(r.missed, fmt.Sprintf("turn %d has no change set of its own: the snapshot failed: %v", turn, err))
		return
	case undo != "":
		r.project.End(r.id)
		r.id = next
	}
	r.turn, r.since = turn, time.Now()
}

// snapshotTurn begins a change set of each direct run of a session, and of those in whose sandbox it was opened.
func (s *Supervisor) snapshotTurn(sess *Session, turn int) {
	for _, e := range sess.Unfinished() {
		e.snapshot.Load().next(turn)
	}
	for e := sess.outer; e != nil; e = e.Session.outer {
		e.snapshot.Load().next(turn)
	}
}

// keepRun stores the changes since a run began; undo is empty where nothing changed. Otherwise next begins there.
func (s *Supervisor) keepRun(
	scan store.Scan, r store.Record, next string,
) (c snapshot.Changes, undo string, err error) {
	p := s.Undo.Project(r.Project)
	var steps []files.Step
	err = withoutDeaths(func() (err error) {
		steps, c, err = p.Compare(r.ID, next, scan)
		return err
	})
	if err != nil || c.Len() == 0 { // at most directories' times
		return c, "", err
	}
	if r.Op = opRun; r.Note == "" {
		r.Note = "a run that was cut off"
	}
	if err = s.Undo.KeepRun(r, steps, p); err == nil {
		return c, r.ID, nil
	}
	if next != "" {
		p.End(next)
	}
	return c, "", err
}

// opRun is the operation of a run's record.
const opRun = "run"

// text is the command for people.
func (e *Exec) text() string {
	if e.Request.Line != "" {
		return e.Request.Line
	}
	return strings.Join(e.Request.Argv, " ")
}

// recoverSnapshots compares the projects of runs that an earlier daemon's death cut off, and stores
// their changes. begun are the runs that have a note, by the ids of their change sets.
func (s *Supervisor) recoverSnapshots(begun map[string]aftermath.Begun) {
	compared := map[string]bool{}
	for _, cut := range s.Undo.CutOff() {
		run := runOf(cut.Run)
		// A death within a turn's snapshot leaves two begins: the first change set is kept, or has the second one's, too.
		if _, err := s.Undo.Get(cut.Run); err == nil || compared[run] {
			s.Undo.Project(cut.Project).End(cut.Run)
			continue
		}
		compared[run] = true
		b := begun[run] // none where a second death has lost the note
		r := store.Record{ID: cut.Run, Project: cut.Project, Exec: b.Exec, Session: b.Session, By: b.By}
		undo, err := s.recoverSnapshot(r)
		rec := audit.Record{
			Category:  audit.File,
			Operation: "settle",
			ExecID:    cut.Run,
			Subject:   cut.Project,
			Undo:      undo,
		}
		if err != nil {
			rec.Error = err.Error()
		}
		if s.record(rec) != nil {
			return // nothing is done unrecorded
		}
	}
}

func (s *Supervisor) recoverSnapshot(r store.Record) (undo string, err error) {
	p := s.Undo.Project(r.Project)
	sess, err := s.sessionOf(r)
	if err != nil { // the project was removed
		p.End(r.ID)
		return "", err
	}
	defer sess.files.close()
	scanned := false
	scan := s.scan(s.ctx, sess)
	_, undo, err = s.keepRun(func(
		base *os.File, most int64, found func([]snapshot.Entry, []*os.File) error,
	) (sum snapshot.Summary, same bool, err error) {
		sum, same, err = scan(base, most, found)
		scanned = err == nil
		return sum, same, err
	}, r, "")
	if scanned { // else the next daemon tries again
		p.End(r.ID)
	}
	return undo, err
}
