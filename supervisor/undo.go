package supervisor

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sandboxd/approval"
	"sandboxd/files"
	"sandboxd/files/snapshot"
	"sandboxd/files/store"
	"sandboxd/files/worker"
)

// lastChange means the latest change that can be undone: the session's own,
// of a command-line session the project's.
const lastChange = "last"

// undoing is a change that is to be taken back.
type undoing struct {
	id      string
	parts   []string // the change sets of a run of several, whose id is that of the run
	note    string
	kept    files.Kept
	guarded bool // only a person restores it
	run     bool // the change set of a run
	again   bool // an earlier undo was cut off
	part    bool // not all of it
	steps   []files.Step
	late    []string // paths with a later version than the one that the landing displaced
	digest  string   // of the steps
	held    string   // the id of a held change set, which lands
	paths   []string // in the project, of which a yes to that may take some
	asks    []landAsk
	// landing opens the file that a held change set has for a path.
	landing func(path string) (*os.File, error)
}

// how is how the worker undoes a change.
func (r FileRequest) how(u *undoing) files.UndoHow {
	return files.UndoHow{Force: r.Force, Rest: r.Rest, Run: u.run, Again: u.again}
}

// Change is one that can be undone, or was.
type Change struct {
	ID, Session string
	Time        time.Time
	Op          string // of the file tool, or "quarantine"
	What        []string
	Undoes      string
	UndoneBy    string
	Guarded     bool
	Note        string
	Project     string
	Exec        string // of a run
}

// Changes lists what a session can undo, the latest first: its own changes, of a
// command-line session those in its project, by any session. of narrows
// them to those that one session made; empty is all. paths narrows them to those that can be undone
// and change one of the paths or an entry below. A nil session has the runs of every project.
func (s *Supervisor) Changes(sess *Session, of string, paths []string) []Change {
	var list []Change
	for _, r := range s.Undo.List(of) {
		if sess == nil && r.Exec == "" || sess != nil && !mayUndo(sess, r) ||
			len(paths) > 0 && !s.changes(r, absolute(r.Project, paths)) {
			continue
		}
		c := Change{
			ID: r.ID, Session: r.Session, Time: r.Time, Op: string(r.Op), Undoes: r.Undoes, UndoneBy: r.UndoneBy,
			Guarded: r.Guarded, Note: r.Note, Project: r.Project, Exec: r.Exec, What: r.What,
		}
		list = append(list, c)
	}
	if of == "" && sess != nil && sess.Kind == KindCLI && len(paths) == 0 {
		list = append(list, s.quarantinedIn(sess.Root, restored(list))...)
	}
	slices.SortStableFunc(list, func(a, b Change) int { return b.Time.Compare(a.Time) })
	return list
}

// changes reports whether a change can be undone and has a step at the paths.
func (s *Supervisor) changes(r store.Record, paths []string) bool {
	kept, err := s.Undo.Kept(r.ID)
	return err == nil && len(snapshot.Select(kept.Steps(), paths)) > 0
}

// absolute returns clean paths; relative ones are below the root.
func absolute(root string, paths []string) (list []string) {
	for _, p := range paths {
		if !filepath.IsAbs(p) {
			p = filepath.Join(root, p)
		}
		list = append(list, filepath.Clean(p))
	}
	return list
}

// restored are the changes that reverted another, by the id of the reverted one.
func restored(list []Change) map[string]string {
	by := map[string]string{}
	for _, c := range list {
		if c.Undoes != "" && c.UndoneBy == "" {
			by[c.Undoes] = c.ID
		}
	}
	return by
}

// mayUndo reports whether sess may undo a change: a program its own ones, a person at a terminal those
// of the project. The session's right to write is judged besides.
func mayUndo(sess *Session, r store.Record) bool {
	if sess.Kind == KindCLI {
		return r.Project == sess.Root
	}
	return r.Session == sess.ID
}

// lookUndo determines the effect of undoing a change, and judges that. The
// worker examines everything first, so that a later change is a
// conflict before anyone is asked.
func (s *Supervisor) lookUndo(ctx context.Context, c *fileCall, j *fileJudgement) error {
	u, err := s.undoingOf(c, j)
	if err != nil {
		return err
	}
	j.undo = u
	for _, step := range u.kept.Steps() {
		if slices.Contains(u.late, step.Path) {
			j.warnings = append(j.warnings, step.Path+": another program wrote to the file that the landing displaced; undo "+
				"restores its version")
		}
	}
	if u.held != "" {
		u.steps = u.kept.Steps()
		u.digest = files.StepsDigest(u.steps)
		j.verdict = judgeHeld(j.rules, u, c.req.Paths, c.req.Drop, c.run != nil)
		return nil
	}
	looked := &lookOnly{}
	err = c.sess.files.use(ctx, s, j.plan, j.setup, func(client *worker.Client) error {
		_, err := client.Undo(ctx, u.kept, c.req.how(u), looked)
		return err
	})
	switch {
	case looked.whole: // refused by us, on purpose
	case errors.As(err, &j.conflict):
	case err != nil:
		return err
	default:
		j.conflict = &files.Conflict{Op: files.Undo, Path: u.id, Reason: files.Changed,
			Found: "everything as it was before the change", Hint: "there is nothing to take back"}
	}
	u.steps, u.digest = looked.steps, files.StepsDigest(looked.steps)
	steps := u.steps
	if len(steps) == 0 {
		steps = u.kept.Steps() // for the words
	}
	j.verdict = j.rules.JudgeUndo(u.id, steps, u.guarded)
	return nil
}

// undoingOf finds the change that is meant.
func (s *Supervisor) undoingOf(c *fileCall, j *fileJudgement) (*undoing, error) {
	id := c.req.UndoID
	if c.req.Held {
		return s.heldUndoing(c, j)
	}
	parts := s.Undo.OfExec(id)
	switch {
	case len(parts) > 0:
		id = parts[0].ID
	case strings.HasPrefix(id, "x-"):
		return s.quarantined(id, c.sess)
	}
	if id == lastChange {
		id = ""
		for _, r := range s.Undo.List("") {
			if mayUndo(c.sess, r) && r.State == store.Made && r.Undoes == "" && r.Op != files.Undo {
				id = r.ID
				break
			}
		}
		if id == "" {
			return nil, noChange(lastChange, "no change that could be undone")
		}
	}
	r, err := s.Undo.Get(id)
	if errors.Is(err, &files.Conflict{Reason: files.Damaged}) && c.sess.Kind == KindCLI { // whose it is, is not known
		return nil, err
	}
	if err != nil || !mayUndo(c.sess, r) {
		return nil, noChange(id, store.ErrNotFound.Error())
	}
	kept, err := s.Undo.Kept(id)
	if errors.As(err, new(*files.Conflict)) {
		return nil, err
	}
	if err != nil {
		return nil, &files.Conflict{Op: files.Undo, Path: id, Reason: files.Changed, Found: err.Error()}
	}
	u := &undoing{id: id, note: r.Note, kept: kept, guarded: r.Guarded, run: r.Run, again: kept.Again(),
		late: kept.Late()}
	if err := s.joined(u, r, parts); err != nil {
		return nil, err
	}
	if len(c.req.Paths) == 0 {
		return u, nil
	}
	c.req.Paths = absolute(c.sess.Root, c.req.Paths)
	return u, u.only(j.rules, c.req.Paths)
}

// joined has the undo of one of several change sets of a run take back all of them. It fails where the first ones were
// evicted: what is left would be taken for the whole run.
func (s *Supervisor) joined(u *undoing, r store.Record, parts []store.Record) error {
	if len(parts) == 0 {
		return nil
	}
	if _, err := s.Undo.Get(runOf(parts[len(parts)-1].ID)); errors.Is(err, store.ErrNotFound) {
		return &files.Conflict{Op: files.Undo, Path: r.Exec, Reason: files.Unkept,
			Found: "the changes of its first turns are no longer kept",
			Hint:  "sbx undo --list has those of the later turns, each to be undone by its ID"}
	}
	if len(parts) == 1 {
		return nil
	}
	for _, part := range parts {
		u.parts, u.guarded = append(u.parts, part.ID), u.guarded || part.Guarded
	}
	kept, err := s.Undo.Parts(parts)
	if err != nil {
		return &files.Conflict{Op: files.Undo, Path: r.Exec, Reason: files.Changed, Found: err.Error()}
	}
	u.id, u.kept, u.again, u.late = r.Exec, kept, kept.Again(), kept.Late()
	return nil
}

// only narrows an undo to paths; a path in a git directory means all of that.
func (u *undoing) only(rules *files.Rules, paths []string) error {
	part := &partKept{Kept: u.kept}
	steps := u.kept.Steps()
	part.at = snapshot.NewGitDirs(rules, steps).SelectWhole(steps, paths)
	for _, i := range part.at {
		part.steps = append(part.steps, steps[i])
	}
	if len(part.steps) == 0 {
		return &files.Conflict{Op: files.Undo, Path: paths[0], Reason: files.NotThere, Found: "no change there by " + u.id,
			Hint: "sbx undo --dry-run " + u.id + " shows what it changed"}
	}
	u.part = len(part.steps) < len(steps)
	u.kept = part
	return nil
}

// partKept is a part of a change.
type partKept struct {
	files.Kept
	steps []files.Step
	at    []int // in the whole
}

func (k *partKept) Steps() []files.Step                { return k.steps }
func (k *partKept) HasContent(step int) bool           { return k.Kept.HasContent(k.at[step]) }
func (k *partKept) Content(step int) (*os.File, error) { return k.Kept.Content(k.at[step]) }

func noChange(id, why string) error {
	return &files.Conflict{Op: files.Undo, Path: id, Reason: files.NotThere, Found: why,
		Hint: "sbx undo --list shows what there is"}
}

// lookOnly is a keeper that records the steps and lets none of them
// happen.
type lookOnly struct {
	steps []files.Step
	whole bool
}

func (k *lookOnly) Keep(_ context.Context, steps []files.Step, _ []*os.File, last bool) error {
	k.steps = append(k.steps, steps...)
	if !last {
		return nil
	}
	k.whole = true
	return &files.Conflict{Op: files.Undo, Reason: files.Invalid, Found: "only looked at"}
}

// sameSteps is a keeper that refuses steps other than those that were judged.
type sameSteps struct {
	files.Keeper
	want string
	seen []files.Step
}

func (k *sameSteps) Keep(ctx context.Context, steps []files.Step, old []*os.File, last bool) error {
	k.seen = append(k.seen, steps...)
	if last && files.StepsDigest(k.seen) != k.want {
		return &files.Conflict{Op: files.Undo, Reason: files.Changed,
			Hint: "it is not what it was when this was approved; ask again"}
	}
	return k.Keeper.Keep(ctx, steps, old, last)
}

// presentUndo shows what one file had and gets back; of several, which. A held change set, and what a dry
// run asks for, is shown with all differences.
func (s *Supervisor) presentUndo(ctx context.Context, c *fileCall, j *fileJudgement) (*approval.Presentation, error) {
	shown, err := s.presentSteps(ctx, c, j)
	if err != nil {
		return nil, err
	}
	return files.UndoPresentation(j.undo.steps, shown), nil
}

// presentSteps shows the first steps of an undo, as many as presentUndo shows whole.
func (s *Supervisor) presentSteps(
	ctx context.Context, c *fileCall, j *fileJudgement,
) (shown []*approval.Presentation, err error) {
	steps, most := j.undo.steps, 1
	if (j.undo.held != "" || c.req.DryRun) && !c.req.Drop {
		most = maxShownSteps
	}
	if len(steps) > 1 && most == 1 {
		most = 0
	}
	for _, step := range steps[:min(len(steps), most)] {
		one, err := s.presentStep(ctx, c, j, step)
		if err != nil {
			return nil, err
		}
		shown = append(shown, one)
	}
	return shown, nil
}

// heldFiles are the steps of a change set for a person.
func heldFiles(steps []files.Step, shown []*approval.Presentation) (list []HeldFile) {
	for i, step := range steps {
		f := HeldFile{Path: step.Path, What: step.String()}
		if i < len(shown) {
			f.Shown = shown[i]
		}
		list = append(list, f)
	}
	return list
}

// maxShownSteps is how many files of a held change set are shown with their differences.
const maxShownSteps = 100

// presentStep shows the effect of a step on a file; nil where the step's own words say everything.
func (s *Supervisor) presentStep(
	ctx context.Context, c *fileCall, j *fileJudgement, step files.Step,
) (shown *approval.Presentation, err error) {
	req := files.Request{Path: step.Path, Exact: true, Quiet: j.verdict.Quiet}
	switch {
	case step.Kind == files.RemoveStep && step.Before.Kind == files.File:
		req.Op = files.Delete
	case step.Kind == files.PutStep && step.After.Kind == files.File:
		content, ok := j.undo.content(step)
		if !ok {
			return nil, nil
		}
		req.Op, req.Content, req.Parents = files.Write, content, true
	default:
		return nil, nil
	}
	err = c.sess.files.use(ctx, s, j.plan, j.setup, func(client *worker.Client) error {
		facts, err := client.Facts(ctx, req)
		if err != nil || facts.Conflict != nil {
			return err
		}
		p, err := client.Preview(ctx, req)
		if err == nil {
			shown = files.Presentation(req, facts, p)
		}
		return err
	})
	if err != nil && !errors.As(err, new(*files.Conflict)) {
		return nil, err
	}
	return shown, nil
}

// maxShownContent is how much of a kept content is compared for a person.
const maxShownContent = 4 << 20

// content is the content that a step puts into a file.
func (u *undoing) content(put files.Step) ([]byte, bool) {
	want := put.After
	if u.landing != nil {
		f, err := u.landing(put.Path)
		if err != nil || want.Size > maxShownContent {
			return nil, false
		}
		return readShown(f)
	}
	for i, step := range u.kept.Steps() {
		lost, ok := step.Content()
		if !ok || lost.Hash != want.Hash || lost.Size > maxShownContent || !u.kept.HasContent(i) {
			continue
		}
		f, err := u.kept.Content(i)
		if err != nil {
			return nil, false
		}
		return readShown(f)
	}
	return nil, false
}

func readShown(f *os.File) ([]byte, bool) {
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxShownContent))
	return b, err == nil
}
