package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/oklog/ulid/v2"

	"sandboxd/files"
	"sandboxd/files/snapshot"
	"sandboxd/files/worker"
	"sandboxd/layer"
)

// held opens a held change set that a session may land.
func (s *Supervisor) held(sess *Session, id string) (*layeredRun, layerNote, error) {
	var note layerNote
	missing := noChange(id, "no held change set of that id in this project")
	exec := "x-" + strings.TrimPrefix(id, heldPrefix)
	if strings.ContainsAny(exec, "/.") {
		return nil, note, missing
	}
	r := &layeredRun{s: s, sess: sess, dir: filepath.Join(s.layers, exec)}
	data, err := os.ReadFile(filepath.Join(r.dir, noteFile))
	if err == nil {
		err = json.Unmarshal(data, &note)
	}
	if err != nil || note.Held == "" || !mayUndo(sess, note.Record) || note.Project != sess.Root || r.reopen() != nil ||
		r.l.Set() == nil {
		return nil, note, missing
	}
	r.rec = note.Record
	return r, note, nil
}

// steps are those that the landing of a held change set carries out.
func (r *layeredRun) steps() []files.Step {
	at := r.l.At()
	before, after := manifests(r.l.Set(), nil, func(i int) bool { return !at[i] })
	steps, _, _ := snapshot.Steps(r.sess.Root, snapshot.List(before), snapshot.List(after)) // lists do not fail
	return steps
}

// heldOf lists the held change sets that a session may land; of narrows them to another session's.
func (s *Supervisor) heldOf(sess *Session, of string) (list []Change) {
	entries, _ := os.ReadDir(s.layers)
	for _, e := range entries {
		if r, note, err := s.held(sess, heldID(e.Name())); err == nil && (of == "" || of == note.Session) {
			list = append(list, heldChange(note, r.steps()))
		}
	}
	return list
}

// heldUndoing finds the held change set that a request means.
func (s *Supervisor) heldUndoing(c *fileCall) (*undoing, error) {
	r, note, err := s.held(c.sess, c.req.UndoID)
	if err != nil {
		return nil, err
	}
	u := &undoing{id: c.req.UndoID, note: note.Note, held: c.req.UndoID, run: true, kept: &heldSteps{steps: r.steps()}}
	if len(c.req.Paths) == 0 {
		return u, nil
	}
	return u, u.only(c.sess.Root, c.req.Paths)
}

// landHeld lands a held change set, or the part at the request's paths, or drops it. Protected names are looked for
// after it as after a run.
func (s *Supervisor) landHeld(ctx context.Context, c *fileCall, j *fileJudgement, out *FileResult) error {
	r, _, err := s.held(c.sess, j.undo.held)
	if err != nil {
		return err
	}
	out.Path, out.Changed = c.sess.Root, true
	if c.req.Drop {
		return r.l.Drop()
	}
	release, _ := s.turns.take(ctx, c.sess.Root)
	defer release()
	if r.root, err = openRoot(c.sess.Root); err != nil {
		return err
	}
	defer r.root.Close()
	p, operator, err := s.profiles(j.cfg, c.sess, s.trusted(c.sess, j.cfg), "none")
	if err != nil {
		return err
	}
	if refused := refusedBy(r.l.Set(), permits(p, c.sess.Root)); len(refused) > 0 {
		return &layer.RefusedError{Refused: refused}
	}
	order := worker.LayerOrder{Verb: worker.LayerLand, Digest: r.l.Set().Digest()}
	for _, abs := range c.req.Paths {
		rel, err := filepath.Rel(c.sess.Root, abs)
		if err != nil {
			return err
		}
		order.Paths = append(order.Paths, layer.Name(rel))
	}
	check := &afterCheck{s: s, e: c.exec, j: &judgement{names: p, operator: operator, plan: j.plan, kind: RunLayered}}
	if err := check.begin(); err != nil {
		return err
	}
	var had []int
	for i, at := range r.l.At() {
		if at {
			had = append(had, i)
		}
	}
	r.rec.ID = "r-" + strings.ToLower(ulid.Make().String())
	result, changes := Result{}, &Changes{}
	looked := false
	err = r.worker(ctx, func(w *worker.Client, dir *os.File) error {
		if _, err := w.Layer(ctx, r.root, dir, order, nil); err != nil {
			return err
		}
		looked = true
		check.after(&result)
		return r.keep(ctx, w, dir, changes, had)
	})
	if !looked {
		check.after(&result)
	}
	c.exec.cleanUp()
	out.Undo = changes.Undo
	out.Warnings = append(out.Warnings, result.Warnings...)
	for _, item := range result.Quarantined {
		out.Warnings = append(out.Warnings, item.Path+" was taken out: "+item.Why)
	}
	var conflict *layer.ConflictError
	if errors.As(err, &conflict) {
		return &files.Conflict{Op: files.Undo, Path: j.undo.id, Reason: files.Changed, Found: firstNotes(conflict.Conflicts),
			Hint: "land the other paths by --path, or run the command again"}
	}
	return err
}
