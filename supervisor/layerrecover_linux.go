package supervisor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"sandboxd/approval"
	"sandboxd/audit"
	"sandboxd/files/worker"
	"sandboxd/internal/modes"
	"sandboxd/layer"
)

// recoverLayers holds the change sets of an earlier daemon that did not land for certain. Of one that landed it gives
// the displaced files to the undo store, or reverts it. Call it for these before the earlier daemon's runs are
// scanned, and with ended after that, when none of their processes is left. It returns the directories of layers that
// are still to be read, which are held meanwhile.
func (s *Supervisor) recoverLayers(ended bool) (unread []string) {
	entries, err := os.ReadDir(s.layers)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		dir := filepath.Join(s.layers, e.Name())
		note, err := readNote(dir)
		if err != nil { // its run never began, or else the note is damaged
			if nothingIn(filepath.Join(dir, "upper")) && nothingIn(filepath.Join(dir, "slots")) {
				_ = modes.RemoveAll(dir)
			}
			continue
		}
		l, err := layer.Open(dir)
		mounted := err == nil && l.Status() == layer.Mounted
		if note.Held != "" && note.Had == nil && !mounted || err == nil && mounted != ended {
			continue
		}
		rec := audit.Record{Category: audit.File, Operation: "settle", ExecID: note.Exec, Subject: note.Project}
		c, err := s.recoverLayer(dir, note)
		if rec.Undo = c.Undo; c.Landed {
			rec.Changes = c.record()
		}
		if err != nil {
			rec.Error = err.Error()
		}
		if errors.Is(err, errUnread) {
			unread = append(unread, dir)
		}
		if _, note, err := s.heldNote(heldID(note.Exec)); err == nil {
			set, c := s.heldSet(note, approval.ChangeHeld)
			s.publish(note.Record, nil, set, c)
		}
		if s.record(rec) != nil {
			break // nothing is done unrecorded
		}
	}
	return unread
}

// layeredRunOf is the run of an earlier daemon.
func (s *Supervisor) layeredRunOf(sess *Session, dir string, note layerNote) *layeredRun {
	return &layeredRun{s: s, sess: sess, dir: dir, rec: note.Record, granted: note.Granted, above: note.Above,
		stale: note.Stale, chosen: note.Chosen, stays: note.Stays, had: note.Had, boot: note.Boot}
}

// nothingIn reports whether a directory is empty, or is not there.
func nothingIn(dir string) bool {
	entries, err := os.ReadDir(dir)
	return len(entries) == 0 && (err == nil || errors.Is(err, fs.ErrNotExist))
}

// errHeld is returned for a change set that is held because of a death.
var errHeld = errors.New("the daemon ended before it landed; the change set is held")

// recoverLayer returns the changes of a landing that it finished, or that had ended unnoted.
func (s *Supervisor) recoverLayer(dir string, note layerNote) (c *Changes, err error) {
	c = &Changes{Kind: RunLayered}
	sess, err := s.sessionOf(note.Record)
	if err != nil {
		return c, err
	}
	r := s.layeredRunOf(sess, dir, note)
	if r.root, err = openRoot(sess.Root); err != nil {
		return c, err
	}
	defer r.root.Close()
	if err := r.reopen(); err != nil {
		return c, err
	}
	if r.l.Status() == layer.Mounted {
		if r.held, err = s.layersOf(r.above); err != nil {
			return c, err
		}
	}
	_, err = s.Undo.Get(note.ID)
	if err == nil {
		c.Undo = note.ID
		r.tellLanded(c)
	}
	if err == nil || r.l.Status() == layer.Mounted && r.l.Untouched(r.root, r.held...) {
		if note.Had != nil && r.l.Status() != layer.Landed {
			return c, r.note(note.Held)
		}
		return c, r.l.Drop()
	}
	if r.l.Status() == layer.Mounted {
		return c, errors.Join(errUnread, r.note(errUnread.Error()))
	}
	if r.l.Status() == layer.Held && note.Had == nil { // nothing landed: no worker is needed, which might not start
		return c, r.heldByDeath(note)
	}
	err = r.worker(s.ctx, func(w *worker.Client, dir *os.File) error {
		landed := r.l.Status() != layer.Moving && !slices.Equal(r.l.At(), r.hadAll())
		switch {
		case landed && r.keepRecovered(s.ctx, w, dir, c) == nil:
			return r.landingEnded(note.Held, nil)
		case note.Stays:
			return errors.New("it landed, and its undo could not be kept")
		default:
			_, err = w.Layer(s.ctx, r.root, dir, worker.LayerOrder{Verb: worker.LayerRevert, At: note.Had}, nil)
			err = errors.Join(err, r.reopen())
			if landed && errors.As(err, new(*layer.ConflictError)) {
				return errors.Join(fmt.Errorf("it landed, and can't be undone: %w", err), r.l.Drop())
			}
		}
		if err != nil {
			return err
		}
		return r.heldByDeath(note)
	})
	return c, err
}

// heldByDeath notes that a change set of which nothing landed is held, and returns errHeld. An empty one is dropped.
func (r *layeredRun) heldByDeath(note layerNote) error {
	if r.l.Set().Empty() {
		return r.l.Drop()
	}
	err := errHeld
	if note.Held == "" && note.Boot != r.s.notes.Boot() {
		err = fmt.Errorf("%w; the machine went down meanwhile, so that what its command wrote last may be missing", errHeld)
	}
	return errors.Join(err, r.note(cmp.Or(note.Held, err.Error())))
}

// keepRecovered keeps the undo of a landing whose end nobody noted.
func (r *layeredRun) keepRecovered(ctx context.Context, w *worker.Client, dir *os.File, c *Changes) error {
	r.tellLanded(c)
	err := r.keep(ctx, w, dir, c)
	c.Landed = err == nil
	return err
}

// tellLanded puts what has landed since had into c.
func (r *layeredRun) tellLanded(c *Changes) {
	set := r.l.Set()
	if set == nil {
		return
	}
	c.Landed, c.Digest, c.Covered = true, set.Digest(), true
	c.Changes = changedPaths(r.sess.Root, set.ChangesOf(r.since()))
}

// since returns what has landed since had.
func (r *layeredRun) since() func(int) bool {
	at, had := r.l.At(), r.hadAll()
	return func(i int) bool { return at[i] && !had[i] }
}

// hadAll is which parts had landed before the landing that did not end.
func (r *layeredRun) hadAll() []bool {
	if r.had != nil {
		return r.had
	}
	return make([]bool, len(r.l.At()))
}
