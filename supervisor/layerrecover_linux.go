package supervisor

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"sandboxd/audit"
	"sandboxd/files/worker"
	"sandboxd/layer"
)

// recoverLayers holds the change sets of an earlier daemon that did not land for certain. One that landed, but whose
// displaced files the undo store does not have, is reverted. Call it for these before the earlier daemon's runs are
// scanned, and with ended after that, when none of their processes is left.
func (s *Supervisor) recoverLayers(ended bool) {
	entries, err := os.ReadDir(s.layers)
	if err != nil {
		return
	}
	for _, e := range entries {
		dir := filepath.Join(s.layers, e.Name())
		note, err := readNote(dir)
		if err != nil { // its run never began
			if l, err := layer.Open(dir); err != nil || l.Status() == layer.Mounted {
				_ = layer.Remove(dir)
			}
			continue
		}
		l, err := layer.Open(dir)
		if note.Held != "" && note.Had == nil || err == nil && (l.Status() == layer.Mounted) != ended {
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
	r := &layeredRun{s: s, sess: sess, dir: dir, rec: note.Record, granted: note.Granted, above: note.Above,
		stale: note.Stale, chosen: note.Chosen}
	if r.root, err = openRoot(sess.Root); err != nil {
		return "", err
	}
	defer r.root.Close()
	if err := r.reopen(); err != nil {
		return "", err
	}
	if r.l.Status() == layer.Mounted {
		if r.held, err = s.layersOf(r.above); err != nil {
			return "", err
		}
	}
	if _, err := s.Undo.Get(note.ID); err == nil || r.l.Status() == layer.Mounted && r.l.Untouched(r.root, r.held...) {
		if note.Had != nil && r.l.Status() != layer.Landed {
			return note.ID, r.note(note.Held)
		}
		return note.ID, r.l.Drop()
	}
	err = r.worker(s.ctx, func(w *worker.Client, dir *os.File) error {
		if r.l.Status() == layer.Mounted {
			err = r.take(s.ctx, w, dir)
		} else if _, err = w.Layer(
			s.ctx, r.root, dir, worker.LayerOrder{Verb: worker.LayerRevert, At: note.Had}, nil); err == nil {
			err = r.reopen()
		}
		if err != nil {
			return err
		}
		if r.l.Set().Empty() {
			return r.l.Drop()
		}
		if note.Held == "" && note.Boot != s.notes.Boot() {
			return fmt.Errorf("%w; the machine went down meanwhile, so that what its command wrote last may be missing", errHeld)
		}
		return errHeld
	})
	if err != nil {
		if errors.Is(err, errHeld) {
			err = errors.Join(err, r.note(cmp.Or(note.Held, err.Error())))
		}
		return "", err // else the next daemon tries again
	}
	return "", nil
}
