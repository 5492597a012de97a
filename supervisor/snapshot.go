package supervisor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"sandboxd/audit"
	"sandboxd/files"
	"sandboxd/files/snapshot"
	"sandboxd/files/store"
	"sandboxd/files/worker"
	"sandboxd/shell"
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

// Changes is the change set of a run, as its result has it.
type Changes struct {
	Coverage
	snapshot.Changes
	// Undo is the id that takes them back; empty where nothing was changed.
	Undo string
}

// Coverage takes a snapshot of a session's project, as a run would now, and reports what it covers.
func (s *Supervisor) Coverage(ctx context.Context, sess *Session) Coverage {
	_, m, err := s.snapshot(ctx, sess)
	return coverage(m, err)
}

func coverage(m *snapshot.Manifest, err error) Coverage {
	if err != nil {
		return Coverage{Why: err.Error()}
	}
	c := Coverage{LeftOut: m.LeftOut, Skipped: m.Skipped, Covered: len(m.LeftOut) == 0}
	if !c.Covered {
		c.Why = "the snapshot lacks " + m.LeftOut[0]
		if n := len(m.LeftOut) - 1; n > 0 {
			c.Why += fmt.Sprintf(" (and %d more)", n)
		}
	}
	return c
}

// errUntrusted is returned for a project that no sandbox may write to.
var errUntrusted = errors.New("the project is not trusted")

// snapshot has the session's worker take a snapshot of its project.
func (s *Supervisor) snapshot(ctx context.Context, sess *Session) (*store.Project, *snapshot.Manifest, error) {
	cfg, _, err := s.projectConfig(sess)
	if err != nil {
		return nil, nil, err
	}
	if !s.trusted(sess, cfg) {
		return nil, nil, errUntrusted
	}
	j := &fileJudgement{cfg: cfg}
	if err := s.fileRules(sess, j); err != nil {
		return nil, nil, err
	}
	p, operator, err := s.profiles(cfg, sess, true, "none")
	if err != nil {
		return nil, nil, err
	}
	if j.plan, err = s.workerPlan(cfg, p, operator); err != nil {
		return nil, nil, err
	}
	project, err := s.Undo.Project(sess.Root)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, snapshotTime)
	defer cancel()
	m, err := project.Take(func(base *snapshot.Manifest, most int64, k files.Keeper) (m *snapshot.Manifest, err error) {
		scan := func(client *worker.Client) (err error) {
			m, err = client.Scan(ctx, base, worker.ScanLimits{Bytes: most}, k)
			return err
		}
		if err = sess.files.useFor(ctx, s, j.plan, j.setup, 0, scan); errors.Is(err, errWorkerClosed) {
			err = s.once(ctx, j.plan, j.setup, scan)
		}
		return m, err
	})
	return project, m, err
}

// runSnapshot is the snapshot around one run. The zero value is that of a reader.
type runSnapshot struct {
	s       *Supervisor
	e       *Exec
	id      string // of its change set
	project *store.Project
	before  *snapshot.Manifest
	err     error // why there is none
}

// reads reports whether a run is judged to read only.
func (j *judgement) reads() bool {
	return j.verdict.Decision == shell.Auto && len(j.verdict.Parts) > 0 && onlySafe(j.verdict.Parts)
}

// beginSnapshot takes the snapshot that a run starts from; nil for a reader, and in a project that
// is not trusted.
func (s *Supervisor) beginSnapshot(e *Exec, j *judgement) *runSnapshot {
	if j.reads() || !j.trusted || e.Session.Root == "" {
		return nil
	}
	r := &runSnapshot{s: s, e: e, id: "r-" + strings.ToLower(ulid.Make().String())}
	r.begin()
	return r
}

func (r *runSnapshot) begin() {
	if r.project, r.before, r.err = r.s.snapshot(r.s.ctx, r.e.Session); r.err == nil {
		r.err = r.project.Begin(r.id, r.before)
	}
}

// end compares the project with the snapshot, and keeps what the run changed.
func (r *runSnapshot) end() *Changes {
	if r == nil {
		return nil
	}
	c := &Changes{Coverage: coverage(r.before, r.err)}
	if r.err != nil {
		return c
	}
	defer r.project.End(r.id)
	_, after, err := r.s.snapshot(context.WithoutCancel(r.s.ctx), r.e.Session)
	if err == nil {
		c.Changes, c.Undo, err = r.s.keepRun(
			store.Record{ID: r.id, Exec: r.e.ID, Session: r.e.Session.ID, Project: r.e.Session.Root, Note: r.e.text()},
			r.project,
			r.before,
			after,
		)
	}
	if err != nil {
		c.Covered, c.Why = false, "what the run changed could not be compared or kept: "+err.Error()
	}
	return c
}

// keepRun stores what differs between two snapshots; undo is empty where nothing does.
func (s *Supervisor) keepRun(
	r store.Record,
	p *store.Project,
	before, after *snapshot.Manifest,
) (c snapshot.Changes, undo string, err error) {
	steps, c := snapshot.Steps(before, after)
	if c.Len() == 0 { // at most directories' times
		return c, "", nil
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

// recoverSnapshots compares the projects of runs that an earlier daemon's death cut off, and keeps
// what those changed.
func (s *Supervisor) recoverSnapshots() {
	for _, cut := range s.Undo.CutOff() {
		r := store.Record{ID: cut.Run, Project: cut.Project}
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
	p, err := s.Undo.Project(r.Project)
	if err != nil {
		return "", err
	}
	sess, err := s.sessionOf(r)
	if err != nil { // the project was removed
		p.End(r.ID)
		return "", err
	}
	defer sess.files.close()
	before, err := p.Began(r.ID)
	if err != nil {
		return "", err
	}
	_, after, err := s.snapshot(s.ctx, sess)
	if err != nil { // the next daemon tries again
		return "", err
	}
	defer p.End(r.ID)
	_, undo, err = s.keepRun(r, p, before, after)
	return undo, err
}
