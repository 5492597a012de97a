package supervisor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"
	"golang.org/x/sys/unix"

	"sandboxd/approval"
	"sandboxd/files/store"
	"sandboxd/files/worker"
	"sandboxd/internal/durable"
	"sandboxd/layer"
	"sandboxd/sandbox"
)

// openRoot opens a directory without following a link anywhere in its path.
func openRoot(root string) (*os.File, error) {
	fd, err := unix.Openat2(unix.AT_FDCWD, root, &unix.OpenHow{
		Flags: unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS,
	})
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: root, Err: err}
	}
	return os.NewFile(uintptr(fd), root), nil
}

// layeredRun is the layer of one run. The zero value of its pointer is that of a direct run or a reader.
type layeredRun struct {
	s    *Supervisor
	sess *Session
	dir  string
	rec  store.Record // of the coming change
	root *os.File
	l    *layer.Layer
	end  func() // of its turn
	view *view  // nil after the run
	// asked: its question is open, or was answered. undoable: nobody was asked about its command as it can be undone.
	asked, undoable bool
	// shown: a person permitted the command by its words, as far as is known.
	shown bool
	// had is the part that had landed before a landing of a held change set which has not ended.
	had []bool
	// granted, above, stale, chosen and stays are those of layerNote; held are the layers of above.
	granted []string
	above   []string
	held    []*layer.Layer
	stale   string
	chosen  bool
	stays   bool
	boot    string // in which it began, where that was an earlier daemon's; "": this one
}

// noteFile is the file beside a layer that says whose it is.
const noteFile = "run.json"

// beginLayer waits for the turn of a run with a layer, which its sandbox's start makes; nil for a run without one.
func (s *Supervisor) beginLayer(ctx context.Context, e *Exec, j *judgement, result *Result) (r *layeredRun, err error) {
	if j.kind != RunLayered {
		return nil, nil
	}
	r = &layeredRun{s: s, sess: e.Session, dir: filepath.Join(s.layers, e.ID), granted: j.widened, above: j.above}
	r.rec = store.Record{ID: "r-" + strings.ToLower(ulid.Make().String()), Time: time.Now(), Exec: e.ID,
		Session: e.Session.ID, Project: e.Session.Root, Op: opRun, Note: e.text(), By: e.writer()}
	var waited time.Duration
	if r.end, waited, err = s.turnOf(ctx, e, j); err != nil {
		return nil, err
	}
	r.view, r.end = s.projects.view(e.Session.Root, r.end)
	r.end = sync.OnceFunc(r.end)
	if waited > time.Second {
		result.Warnings = append(result.Warnings, fmt.Sprintf("it waited for %s, while another command wrote to the project",
			waited.Round(time.Second)))
	}
	if r.root, err = openRoot(e.Session.Root); err != nil {
		r.end()
		return nil, err
	}
	if r.held, err = s.layersOf(r.above); err != nil {
		r.drop()
		return nil, err
	}
	j.layer = r
	return r, nil
}

// begin makes the layer, of a spare one where there is one, in the place of one that did not start.
func (r *layeredRun) begin(spare string) (err error) {
	if r.l != nil {
		if err := r.l.Drop(); err != nil {
			return err
		}
	}
	if spare != "" {
		r.l, err = layer.Adopt(r.dir, spare, r.root)
	} else {
		r.l, err = layer.New(r.dir, r.root, r.held...)
	}
	if err != nil {
		return err
	}
	return r.note("")
}

// note writes noteFile.
func (r *layeredRun) note(held string) error {
	note := layerNote{Record: r.rec, Boot: cmp.Or(r.boot, r.s.notes.Boot()), Granted: r.granted, Above: r.above,
		Stale: r.stale, Chosen: r.chosen, Stays: r.stays, Held: held, Had: r.had}
	if r.l == nil {
		if before, err := readNote(r.dir); err == nil {
			note.Bytes = before.Bytes
		}
	} else if set := r.l.Set(); set != nil {
		for _, c := range set.ChangesOf(r.l.Left) {
			note.Bytes += c.New.Size
		}
	}
	data, err := json.Marshal(note)
	if err != nil {
		return err
	}
	data = durable.Seal(data)
	name := filepath.Join(r.dir, noteFile)
	if held == "" {
		return os.WriteFile(name, data, 0o600)
	}
	if err = durable.Replace(name, data); DiskFull(err) { // into the room that it has
		err = overwrite(name, data)
	}
	return err
}

// overwrite gives a file another content in its place.
func overwrite(name string, data []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(data, 0)
	return errors.Join(err, f.Truncate(int64(len(data))), f.Sync(), f.Close())
}

func readNote(dir string) (note layerNote, err error) {
	data, err := os.ReadFile(filepath.Join(dir, noteFile))
	if err == nil {
		data, err = durable.Unseal(data)
	}
	if err == nil {
		err = json.Unmarshal(data, &note)
	}
	return note, err
}

// drop deletes the layer.
func (r *layeredRun) drop() {
	if r == nil {
		return
	}
	if r.l != nil {
		_ = r.l.Drop() // the next daemon drops the rest
	}
	r.root.Close()
	r.end()
}

// worker calls f with a worker that can change the project and the layers, and nothing else. It goes on when ctx ends.
func (r *layeredRun) worker(ctx context.Context, f func(c *worker.Client, dir *os.File) error) error {
	return r.reader(context.WithoutCancel(ctx), f)
}

// reader is worker for what may end with ctx.
func (r *layeredRun) reader(ctx context.Context, f func(c *worker.Client, dir *os.File) error) error {
	cfg, _, err := r.s.projectConfig(r.sess)
	if err != nil {
		return err
	}
	j := &fileJudgement{cfg: cfg}
	if err := r.s.fileRules(r.sess, j); err != nil {
		return err
	}
	p, err := r.s.landingProfile(r.sess.Root)
	if err != nil {
		return err
	}
	plan, err := r.s.workerPlan(cfg, p, nil)
	if err != nil {
		return err
	}
	dir, err := os.Open(r.dir)
	if err != nil {
		return err
	}
	defer dir.Close()
	ctx, cancel := context.WithTimeout(ctx, workerTime)
	defer cancel()
	return r.s.once(ctx, plan, j.setup, func(c *worker.Client) error { return f(c, dir) })
}

// reopen reads the layer as the worker left it.
func (r *layeredRun) reopen() (err error) {
	r.l, err = layer.Open(r.dir)
	return err
}

// errAskedToHold is returned for a change set that is held because its request, session or the configuration says so.
var errAskedToHold = errors.New("what it writes is held by choice (--hold, or land = \"hold\")")

// land makes the change set of a run whose processes have ended, judges it and lands it, or holds it. Where something
// asks, the project is as before while a person decides.
func (r *layeredRun) land(ctx context.Context, e *Exec, check *afterCheck, result *Result) {
	check.after(result)
	if r == nil {
		return
	}
	c := &Changes{Kind: RunLayered, Coverage: Coverage{Covered: true}}
	result.Changes = c
	result.Warnings = append(result.Warnings, r.s.projects.staleView(r.view)...)
	defer r.end()
	if r.l.Untouched(r.root, r.held...) {
		c.Landed = true
		e.later(r.drop)
		return
	}
	defer r.root.Close()
	r.undoable, r.shown = check.j.contained, !check.j.contained
	kept := context.WithoutCancel(ctx) // what a command wrote is not lost with its client
	err := r.worker(kept, func(w *worker.Client, dir *os.File) error {
		if err := r.take(kept, w, dir); err != nil {
			return err
		}
		set := r.l.Set()
		switch {
		case set.Empty() && len(set.Conflicts) == 0:
			result.tellLeftBehind(r.sess.Root, set)
			return r.l.Drop()
		case check.j.hold:
			return errAskedToHold
		case result.Exit.Cause == sandbox.EndLayer:
			return errors.New("it is more than [sandbox.limits] layer permits")
		case result.Exit.Cause == sandbox.EndServer:
			return errors.New("the launch server ended while it ran, so that a half of it would land")
		case result.Exit.Cause == sandbox.EndShutdown:
			return errors.New("the daemon was stopped while it ran, so that a half of it would land")
		case len(r.above) > 0:
			return &dependsError{r.above}
		}
		if refused := refusedBy(set.Changes(), permits(check.j.plan.Profile, r.sess.Root)); len(refused) > 0 {
			return &layer.RefusedError{Refused: refused}
		}
		err := r.landJudged(kept, w, dir, check.j, all, worker.LayerOrder{}, result)
		if errors.As(err, new(*layer.ConflictError)) {
			return r.landBeside(kept, w, dir, check.j, result, err)
		}
		if err != nil {
			return err
		}
		result.tellLeftBehind(r.sess.Root, set)
		c.Changes, c.Digest = changedPaths(r.sess.Root, set.Changes()), set.Digest()
		return r.keep(kept, w, dir, c)
	})
	if err != nil && r.reopen() == nil && r.l.Status() == layer.Landed {
		err = r.unland(kept, c, err)
	}
	if err == nil {
		c.Landed = c.HeldID == "" // else a part is held
		result.tellUndo(c)
		if c.Len() > 0 {
			r.publish(e, approval.ChangeLanded, c)
		}
		return
	}
	r.end()
	if errors.As(err, new(*askError)) {
		err = r.ask(ctx, e, c, result, err)
	}
	if err != nil {
		r.hold(e, c, result, err)
	}
}

// take has the worker make the change set.
func (r *layeredRun) take(ctx context.Context, w *worker.Client, dir *os.File) error {
	var below []*os.File
	for _, exec := range r.above {
		held, err := os.Open(filepath.Join(r.s.layers, exec))
		if err != nil {
			return err
		}
		defer held.Close()
		below = append(below, held)
	}
	if _, err := w.Layer(ctx, r.root, dir, worker.LayerOrder{Verb: worker.LayerTake}, nil, below...); err != nil {
		return err
	}
	return r.reopen()
}

// unrestorable notes what an undo can't give back to the landed parts' earlier objects.
func (r *layeredRun) unrestorable(c *Changes, landed func(int) bool) {
	for i, op := range r.l.Set().Ops {
		for _, n := range op.Old {
			if what := keptState(n.State).Unrestorable(); what != "" && landed(i) {
				c.LeftOut = append(c.LeftOut, string(n.Path.Below(op.Path))+": "+what)
			}
		}
	}
	if c.Covered && len(c.LeftOut) > 0 {
		c.Covered, c.Why = false, "undo lacks "+c.LeftOut[0]
	}
}

// landed returns what has landed since had, and has the commands that run meanwhile say that they may not have seen it.
func (r *layeredRun) landed() func(int) bool {
	landed := r.since()
	r.s.projects.landed(r.sess.Root, r.view, changedPaths(r.sess.Root, r.l.Set().ChangesOf(landed)))
	return landed
}

// keep stores the entries that the landing displaced for an undo, and drops the layer once all of it has landed.
func (r *layeredRun) keep(ctx context.Context, w *worker.Client, dir *os.File, c *Changes) (err error) {
	if err := r.reopen(); err != nil {
		return err
	}
	landed := r.landed()
	k, err := r.s.Undo.Landing(r.rec.ID)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, k.Discard())
		}
	}()
	answer, err := w.Layer(ctx, r.root, dir, worker.LayerOrder{Verb: worker.LayerDisplaced}, k)
	if err != nil {
		return err
	}
	before, after := manifests(r.l.Set(), k, landed, r.l.MTime)
	for _, e := range before {
		if e.Partial {
			c.LeftOut = append(c.LeftOut, e.Path+": its content could not be kept")
		}
	}
	if c.Covered = len(c.LeftOut) == 0; !c.Covered {
		if c.Why = "undo lacks " + c.LeftOut[0]; r.undoable {
			return errors.New(c.Why)
		}
	}
	if c.Undo, err = r.s.keepLanded(r.rec, r.sess.Root, before, after, k); err != nil {
		return err
	}
	r.unrestorable(c, landed)
	for _, at := range answer.Late {
		c.LeftOut = append(c.LeftOut, fmt.Sprintf("%s: another program wrote to the file that the landing displaced", at))
	}
	if r.l.Status() != layer.Landed {
		return nil
	}
	return r.l.Drop()
}
