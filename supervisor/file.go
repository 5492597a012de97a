package supervisor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"sandboxd/approval"
	"sandboxd/files"
	"sandboxd/files/store"
	"sandboxd/files/worker"
	"sandboxd/sandbox"
)

// FileRequest asks for one operation of the file tool.
type FileRequest struct {
	files.Request
	// UndoID is the change that an undo reverts: the id of a result, of
	// a quarantined entry, or lastChange. Force does so although something
	// has changed since.
	UndoID string
	Force  bool
	// Held: UndoID is a held change set, which lands instead, or with Drop is deleted.
	Held, Drop bool
	// Rest makes an undo skip paths that have changed since; Paths narrow it.
	Rest  bool
	Paths []string

	CallID      string
	DryRun      bool // only report the likely decision, and show the change
	Inline      bool // the person at the caller's terminal may answer
	Description string
	Batch       approval.Batch
	Group       string
	Next        []NextCall
}

// FileResult is the outcome of a FileRequest.
type FileResult struct {
	ID string
	files.Result
	// Undo takes the change back; empty where nothing was changed.
	Undo     string
	Verdict  files.Verdict
	Decision approval.Decision
	// Shown is the presentation for a person; of a dry run only. Files are the parts of a held change set.
	Shown    *approval.Presentation
	Files    []HeldFile
	Digest   string // of the profile
	Report   sandbox.Report
	Warnings []string

	landed *Changes // of a held change set
}

// FileDenied is a file operation that was not permitted.
type FileDenied struct{ Result Result }

func (e *FileDenied) Error() string { return e.Result.Message }

// fileCall is one operation on its way.
type fileCall struct {
	exec *Exec // represents it in questions and records; it never runs
	sess *Session
	req  FileRequest
	run  *Exec // whose change set lands; nil: it is a request of its own
}

// File carries out one file operation: facts → judge → conflict → ask → record
// → keep → do → record. A *files.Conflict says that nothing was changed, a
// *FileDenied that it was not permitted.
func (s *Supervisor) File(ctx context.Context, sess *Session, peer Peer, r FileRequest) (FileResult, error) {
	out, err := s.file(ctx, sess, peer, r)
	if errors.Is(err, errWorkerClosed) { // while it was on its way
		err = &SessionError{ID: sess.ID}
	}
	return out, err
}

func (s *Supervisor) file(ctx context.Context, sess *Session, peer Peer, r FileRequest) (FileResult, error) {
	c, err := s.fileCall(sess, peer, r)
	if err != nil {
		return FileResult{}, err
	}
	if err := s.begin(); err != nil {
		return FileResult{}, err
	}
	defer s.work.Done()
	defer s.touch()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.ctx, func() { cancel(context.Cause(s.ctx)) })()
	select {
	case <-s.recovered: // the changes of an earlier daemon are settled first
	case <-ctx.Done():
		return FileResult{}, context.Cause(ctx)
	}
	defer s.asking.forget(c.exec)
	a := &fileAction{s: s, c: c}
	if r.DryRun {
		if _, err := a.judge(ctx); err != nil {
			return FileResult{}, err
		}
		return s.previewFile(ctx, c, a.j)
	}
	return s.decideFile(ctx, a)
}

// decideFile asks and carries out. A landing with a change that the question did not show changes nothing, and asks
// again.
func (s *Supervisor) decideFile(ctx context.Context, a *fileAction) (FileResult, error) {
	r := a.c.req
	for range maxAskAgain {
		p, err := s.authorize(ctx, a)
		switch {
		case errors.Is(err, ErrKeptChanging):
			return FileResult{}, keptChanging(r)
		case err != nil:
			return FileResult{}, err
		case !p.Approved:
			return FileResult{}, &FileDenied{s.denied(a.j.verdict.Tool, a.j.verdict.Description, p.Decision)}
		}
		out, err := s.carryOut(ctx, a.c, a.j, p.Decision)
		if !errors.As(err, new(*askError)) {
			return out, err
		}
	}
	return FileResult{}, keptChanging(r)
}

func keptChanging(r FileRequest) error {
	return &files.Conflict{Op: r.Op, Path: cmp.Or(r.Path, r.UndoID), Reason: files.Changed,
		Found: "changes all the time while the question was open", Hint: "try again when nothing else writes there"}
}

// fileAction is an operation of the file tool.
type fileAction struct {
	s *Supervisor
	c *fileCall
	j *fileJudgement // the last one
}

func (a *fileAction) exec() *Exec { return a.c.exec }

func (a *fileAction) judge(ctx context.Context) (subject, error) {
	j, err := a.s.judgeFile(ctx, a.c)
	if err != nil {
		return subject{}, err
	}
	a.j = j
	if j.conflict != nil && j.verdict.Decision != files.Block {
		return subject{}, a.s.refuseFile(a.c, j, j.conflict)
	}
	return subject{digest: j.digest, call: a.s.fileApproval(a.c, j), next: a.c.req.Next, record: fileRecord(a.c, j),
		trusts: j.trusts}, nil
}

// decided refuses a yes of a mode or a grant where only a person's counts: the OS sandbox stays in force in every
// mode (R-AP-18), and a person restores quarantined and protected entries (R-FS-08).
func (a *fileAction) decided(d approval.Decision) error {
	if a.c.run != nil {
		a.c.run.log.add(Event{Kind: EventDecided, Decision: &d})
	}
	if !d.Approved || !a.j.needsPerson() || d.How == approval.HowPerson {
		return nil
	}
	message := fmt.Sprintf("Denied: %s\nReason: it is protected, and only a person's own yes to just this changes it "+
		"(%s).", a.j.verdict.Description, d.Why)
	rec := fileRecord(a.c, a.j)
	rec.Operation, rec.Error = "refuse", message
	denied := &FileDenied{Result{Outcome: Refused, Code: 126, Decision: d, Message: message}}
	return errors.Join(a.s.record(rec), denied)
}

// fileCall checks a request.
func (s *Supervisor) fileCall(sess *Session, peer Peer, r FileRequest) (*fileCall, error) {
	switch {
	case sess.Root == "":
		return nil, &RequestError{"file operations need a session with a root"}
	case r.Op != files.Undo && r.Path == "":
		return nil, &RequestError{"path is missing"}
	case (r.Op == files.Move || r.Op == files.Copy) && r.To == "":
		return nil, &RequestError{"to is missing"}
	case r.Op == files.Undo && r.UndoID == "" && r.Held:
		return nil, &RequestError{"the id of a held change set is missing"}
	case r.Op == files.Undo && r.UndoID == "":
		return nil, &RequestError{"undo_id is missing"}
	}
	e := &Exec{ID: "f-" + strings.ToLower(ulid.Make().String()), Session: sess, Peer: peer, log: newEventLog(0),
		Request: ExecRequest{CallID: r.CallID, Cwd: sess.Root, Description: r.Description}}
	return &fileCall{exec: e, sess: sess, req: r}, nil
}

// begin counts work that Shutdown waits for.
func (s *Supervisor) begin() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return ErrClosing
	}
	s.lastUse = time.Now()
	s.work.Add(1)
	return nil
}

// carryOut carries out the decision. Its record, and on disk a copy of the content that
// it would lose, are written before it.
func (s *Supervisor) carryOut(ctx context.Context, c *fileCall, j *fileJudgement,
	d approval.Decision) (FileResult, error) {
	out := FileResult{ID: c.exec.ID, Verdict: j.verdict, Decision: d, Digest: j.profile.Digest().String(),
		Report: j.plan.Report, Warnings: append(j.warnings, d.Warnings...)}
	call := s.fileApproval(c, j)
	if err := s.Approval.Begin(s.ctx, call, d, j.digest); err != nil {
		return out, err
	}
	rec := fileRecord(c, j)
	rec.Operation, rec.Approval, rec.Grant = "start", d.Request, d.Grant
	if err := s.recordStart(rec); err != nil {
		return out, err
	}
	start := time.Now()
	err := s.effect(ctx, c, j, &out)
	s.Approval.End(s.ctx, call, d, err)
	end := fileRecord(c, j)
	end.Operation, end.Undo, end.DurationMS = "end", out.Undo, time.Since(start).Milliseconds()
	if err != nil {
		end.Error = err.Error()
	} else if out.landed != nil {
		end.Changes = out.landed.record()
	}
	if rerr := s.recordEnd(end); rerr != nil {
		out.Warnings = append(out.Warnings, "the end of this operation is not on record yet: "+rerr.Error())
	}
	return out, err
}

// effect has the worker do it, with the undo store as the keeper.
func (s *Supervisor) effect(ctx context.Context, c *fileCall, j *fileJudgement, out *FileResult) error {
	// A client that hangs up now would leave it half reported, not half done.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), workerTime)
	defer cancel()
	if c.req.Op.Reads() {
		return s.withWorker(ctx, c, j, func(client *worker.Client) (err error) {
			out.Result, err = client.Do(ctx, j.request, j.facts, nil)
			return err
		})
	}
	if j.undo != nil && j.undo.held != "" {
		return s.landHeld(ctx, c, j, out)
	}
	rec := store.Record{ID: c.exec.ID, Session: c.sess.ID, Project: c.sess.Root, Op: c.req.Op,
		Guarded: j.verdict.Protected}
	if j.undo != nil {
		rec.Note, rec.Run = j.undo.note, j.undo.run
		rec.Takes = &store.Takes{ID: j.undo.id, Paths: c.req.Paths, How: c.req.how(j.undo)}
		if !j.undo.part && !c.req.Rest { // a part can be taken back by part again
			rec.Undoes, rec.Parts = j.undo.id, j.undo.parts
		}
	}
	change, err := s.Undo.Begin(rec)
	if err != nil {
		return err
	}
	err = s.withWorker(ctx, c, j, func(client *worker.Client) (err error) {
		if j.undo != nil {
			steps := &sameSteps{Keeper: change, want: j.undo.digest}
			out.Result, err = client.Undo(ctx, j.undo.kept, c.req.how(j.undo), steps)
		} else {
			out.Result, err = client.Do(ctx, j.request, j.facts, change)
		}
		return err
	})
	for _, left := range out.Left {
		out.Warnings = append(out.Warnings, "not undone: "+left)
	}
	if ferr := change.Finish(err); ferr != nil && err == nil { // it was made, and can be undone
		out.Warnings = append(out.Warnings, "it could not be noted that this was done, which is looked at again when the "+
			"daemon starts: "+ferr.Error())
	}
	if errors.Is(err, worker.ErrBroken) {
		err = s.settleBroken(ctx, c, change.ID(), err, out)
	}
	if r, gerr := s.Undo.Get(change.ID()); gerr == nil && r.State == store.Made {
		out.Undo = change.ID()
		out.Warnings = append(out.Warnings, s.evictedBy(out.Undo)...)
		s.publishUndone(j, r)
	}
	return err
}

// settleBroken determines the outcome of a change whose worker died. An undo is finished.
func (s *Supervisor) settleBroken(ctx context.Context, c *fileCall, id string, cause error, out *FileResult) error {
	r, err := s.Undo.Get(id)
	if err != nil {
		return fmt.Errorf("%w; nothing was changed, try again", cause)
	}
	if err := s.settle(ctx, c.sess, r); err != nil {
		return fmt.Errorf("%w; what became of the change is not known yet: %v", cause, err)
	}
	r, err = s.Undo.Get(id)
	switch {
	case err != nil:
		return fmt.Errorf("%w; nothing was changed, try again", cause)
	case r.Takes != nil && r.Of == 0:
		out.Path, out.Changed = c.sess.Root, true
		out.Warnings = append(out.Warnings, "the file worker ended on the way, and another one finished this")
		return nil
	case r.Takes != nil:
		return fmt.Errorf("%w; %s", cause, half(r))
	case r.Of > 0:
		return fmt.Errorf("%w; a part of the change was made, and %s undoes it", cause, id)
	}
	return fmt.Errorf("%w; the change was made nevertheless, and %s undoes it", cause, id)
}

// half describes an undo of which a part was made, and what a person can do.
func half(r store.Record) string {
	return fmt.Sprintf("the undo of %s was cut off, and a part of it is done: sbx undo %s finishes it, sbx undo %s takes "+
		"that part back", r.Takes.ID, r.Takes.ID, r.ID)
}

// withWorker calls f with a worker that may carry out the decision: the session's
// own, or for a change of a protected path one that is started for it alone
// with just that granted.
func (s *Supervisor) withWorker(ctx context.Context, c *fileCall, j *fileJudgement,
	f func(*worker.Client) error) error {
	if len(j.widened) == 0 {
		return c.sess.files.use(ctx, s, j.plan, j.setup, f)
	}
	plan, err := s.workerPlan(j.cfg, j.profile, j.operator)
	if err != nil {
		return err
	}
	return s.once(ctx, plan, j.setup, f)
}

// previewFile reports the likely decision, and shows the change.
func (s *Supervisor) previewFile(ctx context.Context, c *fileCall, j *fileJudgement) (FileResult, error) {
	out := FileResult{Verdict: j.verdict, Digest: j.profile.Digest().String(), Report: j.plan.Report,
		Warnings: j.warnings}
	out.Path, out.To, out.Hash = j.verdict.Path, j.verdict.To, j.facts.Path.Hash
	var err error
	if out.Decision, err = s.Approval.Preview(ctx, s.fileApproval(c, j)); err != nil {
		return out, err
	}
	switch {
	case c.req.Op.Reads() || j.verdict.Quiet || j.verdict.Decision == files.Block:
	case j.undo != nil:
		shown, serr := s.presentSteps(ctx, c, j)
		out.Shown, out.Files, err = files.UndoPresentation(j.undo.steps, shown), heldFiles(j.undo.steps, shown), serr
	default:
		out.Shown, err = s.present(ctx, c, j)
	}
	return out, err
}

// refuseFile records an operation that a conflict prevented, and returns
// the conflict's error.
func (s *Supervisor) refuseFile(c *fileCall, j *fileJudgement, why *files.Conflict) error {
	if c.req.DryRun {
		return why
	}
	rec := fileRecord(c, j)
	rec.Operation, rec.Error = "refuse", why.Error()
	if err := s.record(rec); err != nil {
		return err
	}
	return why
}
