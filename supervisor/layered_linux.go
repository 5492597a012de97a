package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"
	"golang.org/x/sys/unix"

	"sandboxd/audit"
	"sandboxd/files/store"
	"sandboxd/files/worker"
	"sandboxd/layer"
)

// layerable returns why a run of the session can't have a layer on this host; "" where it can.
func (s *Supervisor) layerable(sess *Session) string {
	if s.layers == "" || !s.Host.Overlays() {
		return "only [sandbox] backend = \"native\" makes layers"
	}
	root, err := openRoot(sess.Root)
	if err != nil {
		return err.Error()
	}
	defer root.Close()
	// A sandbox has no capability, and its user namespace maps the daemon's user alone.
	own := func(uid, gid uint32) bool { return int(uid) == os.Geteuid() && int(gid) == os.Getegid() }
	reason, err := layer.Reason(root, s.layers, own)
	if err != nil {
		return err.Error()
	}
	return reason
}

// openRoot opens a project's directory without following a link.
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
}

// noteFile is the file beside a layer that says whose it is.
const noteFile = "run.json"

// beginLayer makes the layer of a run, just before its sandbox is mounted; nil for a run without one.
func (s *Supervisor) beginLayer(ctx context.Context, e *Exec, j *judgement, result *Result) (r *layeredRun, err error) {
	if j.kind != RunLayered {
		return nil, nil
	}
	r = &layeredRun{s: s, sess: e.Session, dir: filepath.Join(s.layers, e.ID)}
	r.rec = store.Record{ID: "r-" + strings.ToLower(ulid.Make().String()), Time: time.Now(), Exec: e.ID,
		Session: e.Session.ID, Project: e.Session.Root, Op: opRun, Note: e.text()}
	var waited time.Duration
	if r.end, waited = s.turns.take(ctx, e.Session.Root); waited > time.Second {
		result.Warnings = append(result.Warnings, fmt.Sprintf("it waited for %s, while another command wrote to the project",
			waited.Round(time.Second)))
	}
	if r.root, err = openRoot(e.Session.Root); err != nil {
		r.end()
		return nil, err
	}
	if r.l, err = layer.New(r.dir, r.root); err == nil {
		err = r.note("")
	}
	if err != nil {
		r.drop()
		return nil, err
	}
	return r, nil
}

// note writes noteFile.
func (r *layeredRun) note(held string) error {
	data, err := json.Marshal(layerNote{r.rec, held})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.dir, noteFile), data, 0o600)
}

// drop deletes the layer.
func (r *layeredRun) drop() {
	if r == nil {
		return
	}
	if r.l != nil {
		_ = r.l.Drop() // what is left is dropped by the next daemon
	}
	r.root.Close()
	r.end()
}

// worker calls f with a worker that can change the project and the layers, and nothing else.
func (r *layeredRun) worker(ctx context.Context, f func(c *worker.Client, dir *os.File) error) error {
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
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), workerTime)
	defer cancel()
	return r.s.once(ctx, plan, j.setup, func(c *worker.Client) error { return f(c, dir) })
}

// reopen reads what the worker wrote of the layer.
func (r *layeredRun) reopen() (err error) {
	r.l, err = layer.Open(r.dir)
	return err
}

// land makes the change set of a run whose processes have ended, judges it and lands it. look scans the project for
// protected names after that, and before the change set counts as landed; it is called once in any case.
func (r *layeredRun) land(ctx context.Context, j *judgement, result *Result, look func()) {
	look = sync.OnceFunc(look)
	defer look()
	if r == nil {
		return
	}
	c := &Changes{Kind: RunLayered, Coverage: Coverage{Covered: true}}
	result.Changes = c
	if r.l.Untouched(r.root) {
		r.drop()
		return
	}
	defer r.end()
	defer r.root.Close()
	err := r.worker(ctx, func(w *worker.Client, dir *os.File) error {
		if _, err := w.Layer(ctx, r.root, dir, worker.LayerOrder{Verb: worker.LayerTake}, nil); err != nil {
			return err
		}
		if err := r.reopen(); err != nil {
			return err
		}
		set := r.l.Set()
		if set.Empty() && len(set.Conflicts) == 0 {
			result.Warnings = append(result.Warnings, leftBehind(set)...)
			return r.l.Drop()
		}
		if refused := refusedBy(set, permits(j.plan.Profile, r.sess.Root)); len(refused) > 0 {
			return &layer.RefusedError{Refused: refused}
		}
		order := worker.LayerOrder{Verb: worker.LayerLand, Digest: set.Digest()}
		if _, err := w.Layer(ctx, r.root, dir, order, nil); err != nil {
			return err
		}
		result.Warnings = append(result.Warnings, leftBehind(set)...)
		look()
		c.Changes = changedPaths(r.sess.Root, set, func(p string) bool { return takenOut(result.Quarantined, p) })
		return r.keep(ctx, w, dir, c, nil)
	})
	if err == nil {
		return
	}
	if r.reopen() == nil && r.l.Status() == layer.Landed {
		c.Covered, c.Why = false, "what the run changed could not be kept: "+err.Error()
		return
	}
	r.hold(c, result, err)
}

// leftBehind are warnings of objects that did not land as the command left them.
func leftBehind(set *layer.Set) (list []string) {
	for _, notes := range [][]layer.Note{set.Skipped, set.Altered} {
		if len(notes) > 0 {
			list = append(list, firstNotes(notes))
		}
	}
	return list
}

// hold keeps a change set that did not land, and has the result say why.
func (r *layeredRun) hold(c *Changes, result *Result, cause error) {
	why := cause.Error()
	var refused *layer.RefusedError
	var conflict *layer.ConflictError
	switch {
	case errors.As(cause, &refused):
		why = firstNotes(refused.Refused)
	case errors.As(cause, &conflict):
		why = firstNotes(conflict.Conflicts)
	}
	c.Held, c.Why = why, why
	own := result.Code
	result.Code = 126
	if r.l.Set() == nil {
		result.Warnings = append(result.Warnings, fmt.Sprintf("the command ended with status %d, and what it wrote could "+
			"not be read: %s; the next daemon tries again (%s)", own, why, r.dir))
		return
	}
	none := func(string) bool { return false }
	c.Changes, c.Digest = changedPaths(r.sess.Root, r.l.Set(), none), r.l.Set().Digest()
	if err := r.note(why); err != nil {
		result.Warnings = append(result.Warnings, "the held change set could not be noted: "+err.Error())
	}
	c.HeldID = heldID(r.rec.Exec)
	result.Warnings = append(result.Warnings, fmt.Sprintf(
		"the command ended with status %d, and what it wrote did not land: %s; it is held: "+
			"sbx undo %s lands it, with --drop deletes it", own, why, c.HeldID))
}

// keep has the undo store keep what the landing displaced, and drops the layer.
// had are the parts that landed earlier, and are kept.
func (r *layeredRun) keep(ctx context.Context, w *worker.Client, dir *os.File, c *Changes, had []int) error {
	if err := r.reopen(); err != nil {
		return err
	}
	k, err := r.s.Undo.Landing(r.rec.ID)
	if err != nil {
		return err
	}
	answer, err := w.Layer(ctx, r.root, dir, worker.LayerOrder{Verb: worker.LayerDisplaced}, k)
	if err != nil {
		return err
	}
	now := r.l.At()
	landed := func(i int) bool { return now[i] && !slices.Contains(had, i) }
	before, after := manifests(r.l.Set(), k, landed)
	if c.Undo, err = r.s.keepLanded(r.rec, r.sess.Root, before, after, k); err != nil {
		return err
	}
	for _, e := range before {
		if e.Partial {
			c.LeftOut = append(c.LeftOut, e.Path+": its content could not be kept")
		}
	}
	if c.Covered = len(c.LeftOut) == 0; !c.Covered {
		c.Why = "undo lacks " + c.LeftOut[0]
	}
	for _, at := range answer.Late {
		c.LeftOut = append(c.LeftOut, fmt.Sprintf("%s: another program wrote to the file that the landing displaced", at))
	}
	if r.l.Status() != layer.Landed {
		return nil
	}
	return r.l.Drop()
}

// recoverLayers holds the change sets of an earlier daemon that did not land for certain. One that landed, but was not
// scanned for protected names, is reverted. Call it for these before the earlier daemon's runs are scanned, and with
// ended after that, when none of their processes is left.
func (s *Supervisor) recoverLayers(ended bool) {
	entries, err := os.ReadDir(s.layers)
	if err != nil {
		return
	}
	for _, e := range entries {
		dir := filepath.Join(s.layers, e.Name())
		var note layerNote
		data, err := os.ReadFile(filepath.Join(dir, noteFile))
		if err == nil {
			err = json.Unmarshal(data, &note)
		}
		if err != nil { // its run never began
			if l, err := layer.Open(dir); err != nil || l.Status() == layer.Mounted {
				_ = os.RemoveAll(dir)
			}
			continue
		}
		l, err := layer.Open(dir)
		if note.Held != "" || err == nil && (l.Status() == layer.Mounted) != ended {
			continue
		}
		rec := audit.Record{Category: audit.File, Operation: "settle", ExecID: note.Exec, Subject: note.Project}
		if rec.Undo, err = s.recoverLayer(dir, note); err != nil {
			rec.Error = err.Error()
		}
		if s.record(rec) != nil {
			return // nothing is done unrecorded
		}
	}
}

// errHeld is returned for a change set that is held because of a death.
var errHeld = errors.New("the daemon ended before it landed; the change set is held")

func (s *Supervisor) recoverLayer(dir string, note layerNote) (undo string, err error) {
	sess, err := s.sessionOf(note.Record)
	if err != nil {
		return "", err
	}
	r := &layeredRun{s: s, sess: sess, dir: dir, rec: note.Record}
	if r.root, err = openRoot(sess.Root); err != nil {
		return "", err
	}
	defer r.root.Close()
	if err := r.reopen(); err != nil {
		return "", err
	}
	if _, err := s.Undo.Get(note.ID); err == nil || r.l.Status() == layer.Mounted && r.l.Untouched(r.root) {
		return note.ID, r.l.Drop()
	}
	err = r.worker(s.ctx, func(w *worker.Client, dir *os.File) error {
		verb := worker.LayerRevert
		if r.l.Status() == layer.Mounted {
			verb = worker.LayerTake
		}
		if _, err := w.Layer(s.ctx, r.root, dir, worker.LayerOrder{Verb: verb}, nil); err != nil {
			return err
		}
		if err := r.reopen(); err != nil {
			return err
		}
		if r.l.Set().Empty() {
			return r.l.Drop()
		}
		return errHeld
	})
	if err != nil {
		if errors.Is(err, errHeld) {
			err = errors.Join(err, r.note(err.Error()))
		}
		return "", err // else the next daemon tries again
	}
	return "", nil
}
