package supervisor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

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

// runSnapshot is the snapshot around one run.
type runSnapshot struct {
	s        *Supervisor
	e        *Exec
	id       string // of its change set
	project  *store.Project
	coverage Coverage
	begun    bool
}

// runID is the id of the change set of a direct run: the rest is that of the execution.
func runID(exec string) string { return "r-" + strings.TrimPrefix(exec, "x-") }

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
		id:      runID(e.ID),
		project: s.Undo.Project(e.Session.Root),
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
	r.coverage, r.begun = coverage(sum, err), err == nil
}

// end compares the project with the snapshot, and stores the run's changes.
func (r *runSnapshot) end() *Changes {
	if r == nil {
		return nil
	}
	c := &Changes{Kind: RunDirect, Coverage: r.coverage}
	if !r.begun {
		return c
	}
	defer r.project.End(r.id)
	var err error
	c.Changes, c.Undo, err = r.s.keepRun(
		r.s.scan(context.WithoutCancel(r.s.ctx), r.e.Session),
		store.Record{ID: r.id, Exec: r.e.ID, Session: r.e.Session.ID, Project: r.e.Session.Root, Note: r.e.text(),
			By: r.e.writer()},
	)
	if err != nil {
		c.Covered, c.Why = false, "what the run changed could not be compared or kept: "+err.Error()
	}
	return c
}

// keepRun stores the changes since a run began; undo is empty where nothing changed.
func (s *Supervisor) keepRun(scan store.Scan, r store.Record) (c snapshot.Changes, undo string, err error) {
	p := s.Undo.Project(r.Project)
	var steps []files.Step
	err = withoutDeaths(func() (err error) {
		steps, c, err = p.Compare(r.ID, scan)
		return err
	})
	if err != nil || c.Len() == 0 { // at most directories' times
		return c, "", err
	}
	if r.Op = opRun; r.Note == "" {
		r.Note = "a run that was cut off"
	}
	return c, r.ID, s.Undo.KeepRun(r, steps, p)
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
	for _, cut := range s.Undo.CutOff() {
		b := begun[cut.Run] // none where a second death has lost the note
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
	}, r)
	if scanned { // else the next daemon tries again
		p.End(r.ID)
	}
	return undo, err
}
