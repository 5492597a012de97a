package supervisor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/oklog/ulid/v2"

	"sandboxd/approval"
	"sandboxd/files"
	"sandboxd/files/snapshot"
	"sandboxd/files/worker"
	"sandboxd/layer"
	"sandboxd/profile"
	"sandboxd/shell"
)

// heldNote finds the directory and the note of a held change set.
func (s *Supervisor) heldNote(id string) (dir string, note layerNote, err error) {
	exec := "x-" + strings.TrimPrefix(id, heldPrefix)
	if strings.ContainsAny(exec, "/.") {
		return "", note, noHeld(id)
	}
	dir = filepath.Join(s.layers, exec)
	switch note, err = readNote(dir); {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return dir, note, damagedHeld(id, dir, fmt.Errorf("%s: %w", noteFile, err))
	case err != nil || note.Held == "":
		return "", note, noHeld(id)
	}
	return dir, note, nil
}

// damagedHeld is the error of a held change set whose files in the state directory can't be read. No verb lands or
// drops it: a person can still copy from them.
func damagedHeld(id, dir string, cause error) error {
	return &files.Conflict{Op: files.Undo, Path: id, Reason: files.Damaged, Found: cause.Error(),
		Hint: fmt.Sprintf("what the command wrote is in %s (upper or slots); delete that directory when you have copied it",
			dir)}
}

func noHeld(id string) error {
	return &files.Conflict{Op: files.Undo, Path: id, Reason: files.NotThere,
		Found: "no held change set of that id in this project", Hint: "sbx changes lists them"}
}

// held opens a held change set that a session may land.
func (s *Supervisor) held(sess *Session, id string) (*layeredRun, layerNote, error) {
	dir, note, err := s.heldNote(id)
	if err != nil && (dir == "" || sess.Kind == KindCLI) { // whose a damaged one is, is not known
		return nil, note, err
	}
	r := &layeredRun{s: s, sess: sess, dir: dir, rec: note.Record, granted: note.Granted, had: note.Had,
		above: note.Above, stale: note.Stale, chosen: note.Chosen}
	if err != nil || !mayUndo(sess, note.Record) || note.Project != sess.Root {
		return nil, note, noHeld(id)
	}
	if err := r.reopen(); err != nil {
		return nil, note, damagedHeld(id, dir, err)
	}
	return r, note, nil
}

// part reports which Ops, and then Dirs, of a held change set land for the paths, which are absolute: all that have not
// landed where there are none. Call it with the project's directory open.
func (r *layeredRun) part(paths []string) (names []layer.Name, chosen func(int) bool, err error) {
	for _, p := range paths {
		rel, err := filepath.Rel(r.sess.Root, p)
		if err != nil {
			return nil, nil, err
		}
		names = append(names, layer.Name(rel))
	}
	return names, r.l.Part(r.root, names...), nil
}

// names is the profile by which the landing of a held change set is judged.
func (s *Supervisor) names(c *fileCall, j *fileJudgement) (profile.Profile, error) {
	p, _, err := s.profiles(j.cfg, c.sess, s.trusted(c.sess, j.cfg), "none")
	return p, err
}

// allSteps are those that the landing of a part carries out.
func (r *layeredRun) allSteps(chosen func(int) bool) []files.Step {
	before, after := manifests(r.l.Set(), nil, chosen, r.l.MTime)
	steps, _, _ := snapshot.Steps(r.sess.Root, snapshot.List(before), snapshot.List(after)) // lists do not fail
	return steps
}

// steps are those that a person sees.
func (r *layeredRun) steps(chosen func(int) bool) []files.Step {
	steps := r.allSteps(chosen)
	// The time of a folder changes with its entries.
	return slices.DeleteFunc(steps, func(s files.Step) bool {
		return s.Kind == files.AttrStep && s.Before.Same(s.After) &&
			maps.EqualFunc(s.Before.Xattrs, s.After.Xattrs, bytes.Equal)
	})
}

// settleWait is how long a list waits for the change sets of an earlier daemon's last commands.
const settleWait = 10 * time.Second

// HeldChanges lists the change sets that a session may land, the latest first; nil is those of every project. Damaged
// ones are among them, and say so.
func (s *Supervisor) HeldChanges(sess *Session) (list []HeldChange) {
	wait, cancel := context.WithTimeout(s.ctx, settleWait)
	defer cancel()
	for _, settled := range []chan struct{}{s.looked, s.read} {
		select {
		case <-settled:
		case <-wait.Done():
		}
	}
	entries, _ := os.ReadDir(s.layers)
	for _, e := range entries {
		id, of := heldID(e.Name()), sess
		dir, note, err := s.heldNote(id)
		if dir == "" || !strings.HasPrefix(e.Name(), "x-") {
			continue
		}
		if of == nil {
			of = &Session{Kind: KindCLI, Root: note.Project}
		}
		c := HeldChange{ID: id, Exec: e.Name()}
		if err == nil {
			c, err = s.heldChange(of, id)
		} else if of.Kind != KindCLI {
			continue
		}
		if errors.Is(err, &files.Conflict{Reason: files.Damaged}) {
			c = HeldChange{ID: id, Exec: e.Name(), Session: note.Session, Project: note.Project, Time: note.Time,
				Command: note.Note, Why: err.Error()}
			if info, err := e.Info(); err == nil && c.Time.IsZero() {
				c.Time = info.ModTime()
			}
		} else if err != nil {
			continue
		}
		list = append(list, c)
	}
	slices.SortStableFunc(list, func(a, b HeldChange) int { return b.Time.Compare(a.Time) })
	return list
}

func (s *Supervisor) heldChange(sess *Session, id string) (HeldChange, error) {
	r, note, err := s.held(sess, id)
	if err != nil {
		return HeldChange{}, err
	}
	c := HeldChange{
		ID: id, Exec: note.Exec, Session: note.Session, Project: note.Project, Time: note.Time, Command: note.Note,
		Why: note.whyHeld(),
	}
	if r.l.Set() == nil {
		return c, nil
	}
	c.Digest = r.l.Set().Digest()
	left := r.l.Set().ChangesOf(r.l.Left)
	c.Changes = changedPaths(sess.Root, left)
	for _, n := range r.l.Conflicts() {
		c.Conflicts = append(c.Conflicts, filepath.Join(sess.Root, string(n.Path))+": "+n.Reason)
	}
	return c, nil
}

// heldUndoing finds the held change set that a request means.
func (s *Supervisor) heldUndoing(c *fileCall, j *fileJudgement) (*undoing, error) {
	r, note, err := s.held(c.sess, c.req.UndoID)
	if err != nil {
		return nil, err
	}
	if !c.req.DryRun {
		if err := s.settles(note, c.req); err != nil {
			return nil, err
		}
	}
	if r.root, err = openRoot(c.sess.Root); err != nil {
		return nil, err
	}
	defer r.root.Close()
	if r.l.Set() == nil {
		if c.req.Drop {
			return &undoing{id: c.req.UndoID, note: note.Note, held: c.req.UndoID, run: true, kept: &heldSteps{}}, nil
		}
		if err := r.takeAgain(); err != nil {
			return nil, &files.Conflict{Op: files.Undo, Path: c.req.UndoID, Reason: files.Unkept,
				Found: "what the command wrote could not be read: " + err.Error(), Hint: "drop the change set, or try again later"}
		}
	}
	for i, p := range c.req.Paths {
		if !filepath.IsAbs(p) {
			p = filepath.Join(c.sess.Root, p)
		}
		c.req.Paths[i] = filepath.Clean(p)
	}
	_, chosen, err := r.part(c.req.Paths)
	if err != nil {
		return nil, err
	}
	p, err := s.names(c, j)
	if err != nil {
		return nil, err
	}
	u := &undoing{id: c.req.UndoID, note: note.Note, held: c.req.UndoID, run: true,
		kept: &heldSteps{steps: r.steps(chosen)}}
	if !c.req.Drop {
		asks, err := r.setAsks(chosen, shell.Verdict{})
		if err != nil {
			return nil, err
		}
		u.asks = append(asks, r.judge(p, chosen, r.granted, new([]string))...)
		u.paths = offeredPaths(r.l.Units(r.root, chosen))
	}
	u.guarded = slices.ContainsFunc(u.asks, func(a landAsk) bool { return a.Guarded })
	u.landing = func(p string) (*os.File, error) {
		rel, err := filepath.Rel(c.sess.Root, p)
		if err != nil {
			return nil, err
		}
		return r.l.Content(layer.Name(rel))
	}
	if len(c.req.Paths) > 0 && len(u.kept.Steps()) == 0 {
		return nil, &files.Conflict{Op: files.Undo, Path: c.req.Paths[0], Reason: files.NotThere,
			Found: "no change there by " + u.id, Hint: "sbx changes show " + u.id + " shows what it changes"}
	}
	return u, nil
}

// maxOffered bounds the paths of which a yes may take some.
const maxOffered = 1000

// offeredPaths are those of which a yes to a landing may take some: none where there is only one, or more than a person
// looks through. One that is no text can't be in an answer.
func offeredPaths(units []layer.Name) (paths []string) {
	for _, u := range units[:min(len(units), maxOffered+1)] {
		if utf8.ValidString(string(u)) {
			paths = append(paths, string(u))
		}
	}
	if len(units) < 2 || len(units) > maxOffered {
		return nil
	}
	return paths
}

// landHeld lands a held change set, or the part at the request's paths, or drops it.
func (s *Supervisor) landHeld(ctx context.Context, c *fileCall, j *fileJudgement, out *FileResult) error {
	p := s.projects.of(c.sess.Root)
	if !c.req.Drop {
		p.settling.Lock()
		err := p.unseen(j.undo.held) // waiting would be for nothing
		p.settling.Unlock()
		if err != nil {
			return err
		}
		waiting, cancel := context.WithTimeout(ctx, turnWait)
		defer cancel()
		release, _ := s.projects.take(waiting, c.sess.Root, false)
		defer release()
	}
	p.settling.Lock()
	defer p.settling.Unlock()
	r, note, err := s.held(c.sess, j.undo.held)
	if err == nil && note.Had != nil { // an earlier landing did not end
		if _, err = s.recoverLayer(r.dir, note); err == nil || errors.Is(err, errHeld) {
			r, note, err = s.held(c.sess, j.undo.held)
		}
	}
	if err != nil {
		return err
	}
	if err := p.unseen(j.undo.held); err != nil {
		return err
	}
	if err := s.settles(note, c.req); err != nil {
		return err
	}
	out.Path, out.Changed = c.sess.Root, true
	if c.req.Drop {
		defer s.readers.replace(note.Exec)()
		return s.dropHeld(c, j, r, note)
	}
	if r.root, err = openRoot(c.sess.Root); err != nil {
		return err
	}
	defer r.root.Close()
	names, chosen, err := r.approvedPart(c, j)
	if some := out.Decision.Paths; err == nil && len(some) > 0 {
		c.req.Paths = nil // those of the next question, too, if this part asks again
		for _, p := range some {
			c.req.Paths = append(c.req.Paths, filepath.Join(c.sess.Root, p))
		}
		names, chosen, err = r.part(c.req.Paths)
	}
	if err != nil {
		return err
	}
	if refused := refusedBy(r.l.Set().ChangesOf(chosen), permits(j.profile, c.sess.Root)); len(refused) > 0 {
		return &files.Conflict{Op: files.Undo, Path: j.undo.id, Reason: files.Forbidden, Found: firstNotes(refused),
			Hint: "land the other paths, or drop the change set"}
	}
	r.rec.ID, r.had = "r-"+strings.ToLower(ulid.Make().String()), r.l.At()
	changes := &Changes{Kind: RunLayered, Digest: r.l.Set().Digest(), Landed: true}
	changes.Changes = changedPaths(c.sess.Root, r.l.Set().ChangesOf(chosen))
	left := len(r.l.Set().ChangesOf(r.l.Left)) - changes.Len()
	if err := r.note(note.Held); err != nil {
		return err
	}
	err = r.landPart(context.WithoutCancel(ctx), c, j, names, chosen, changes, out)
	if err := r.landingEnded(note.Held, err); err != nil {
		out.Warnings = append(out.Warnings, "the end of the landing is not noted: "+err.Error())
	}
	if err == nil {
		out.landed = changes
		s.publish(note.Record, c.run, approval.ChangeSet{ID: j.undo.held, Digest: changes.Digest, Undo: changes.Undo,
			State: approval.ChangeLanded, Left: left}, changes.Changes)
	}
	return landingConflict(j.undo.id, err)
}

// approvedPart is part of the request's paths. It fails where that is not what was approved.
func (r *layeredRun) approvedPart(
	c *fileCall, j *fileJudgement,
) (names []layer.Name, chosen func(int) bool, err error) {
	names, chosen, err = r.part(c.req.Paths)
	if err == nil && files.StepsDigest(r.steps(chosen)) != j.undo.digest {
		err = &files.Conflict{Op: files.Undo, Path: j.undo.id, Reason: files.Changed,
			Hint: "it is not what it was when this was approved; ask again"}
	}
	return names, chosen, err
}

// dropHeld deletes a held change set, or the part at the request's paths.
func (s *Supervisor) dropHeld(c *fileCall, j *fileJudgement, r *layeredRun, note layerNote) (err error) {
	set, changes := s.heldSet(note, approval.ChangeDropped)
	drop := r.l.Drop
	if len(c.req.Paths) > 0 {
		if r.root, err = openRoot(c.sess.Root); err != nil {
			return err
		}
		defer r.root.Close()
		names, chosen, err := r.approvedPart(c, j)
		if err != nil {
			return err
		}
		all := changes.Len()
		changes = changedPaths(c.sess.Root, r.l.Set().ChangesOf(chosen))
		set.Left = all - changes.Len()
		drop = func() error { return r.dropPart(names, note.Held) }
	}
	if err = errors.Join(s.outdate(note.Exec), drop()); err == nil {
		s.publish(note.Record, nil, set, changes)
	}
	return err
}

// dropPart drops a part, and notes how much is left.
func (r *layeredRun) dropPart(names []layer.Name, held string) error {
	if err := r.l.DropPart(r.root, names...); err != nil {
		return err
	}
	if _, err := os.Lstat(r.dir); err != nil { // nothing is left
		return nil
	}
	return r.note(held)
}

// landPart lands the paths of a held change set, after one more look at the project.
func (r *layeredRun) landPart(ctx context.Context, c *fileCall, j *fileJudgement, names []layer.Name,
	chosen func(int) bool, changes *Changes, out *FileResult) error {
	p, err := r.s.names(c, j)
	if err != nil {
		return err
	}
	err = r.worker(ctx, func(w *worker.Client, dir *os.File) error {
		err := r.s.seen.Alone(func() error {
			asks := r.judge(p, chosen, slices.Concat(r.granted, j.widened), &out.Warnings)
			if asks = notAsked(asks, j.undo.asks); len(asks) > 0 {
				return &askError{asks}
			}
			return r.move(ctx, w, dir, worker.LayerOrder{Paths: names})
		})
		if err != nil {
			return err
		}
		if !noUndo(j.undo.asks) || len(r.s.budgetAsk(r.allSteps(chosen))) == 0 {
			return r.keep(ctx, w, dir, changes)
		}
		changes.Why = "it can't be undone"
		if err := r.reopen(); err != nil {
			return err
		}
		if r.landed(); r.l.Status() != layer.Landed {
			return nil
		}
		return r.l.Drop()
	})
	if err != nil && r.landedMore() {
		err = r.unland(ctx, changes, err)
	}
	out.Undo = changes.Undo
	if changes.Why != "" {
		out.Warnings = append(out.Warnings, changes.Why)
	}
	return err
}

// landedMore reports whether a landing that failed has put something into the project.
func (r *layeredRun) landedMore() bool {
	return r.reopen() == nil && r.l.Status() != layer.Moving && !slices.Equal(r.l.At(), r.had)
}

// landingEnded notes the end of a landing, unless something landed that the undo store does not have: the next landing
// or the next daemon takes that back.
func (r *layeredRun) landingEnded(held string, err error) error {
	if _, err := os.Lstat(r.dir); err != nil { // all of it landed
		return nil
	}
	if err != nil && !errors.As(err, new(*askError)) {
		if r.reopen() != nil || r.l.Status() == layer.Moving || !slices.Equal(r.l.At(), r.had) {
			return nil
		}
	}
	r.had = nil
	return errors.Join(r.l.Prune(), r.note(held))
}

// landingConflict is the error of a landing for its requester.
func landingConflict(id string, err error) error {
	if conflict := (*layer.ConflictError)(nil); errors.As(err, &conflict) {
		return &files.Conflict{Op: files.Undo, Path: id, Reason: files.Changed, Found: firstNotes(conflict.Conflicts),
			Hint: "land the other paths, or run the command again"}
	}
	return err
}

// takeBack reverts a landing that the death of its worker cut off. Another worker does it.
func (r *layeredRun) takeBack(ctx context.Context, had []bool) error {
	if err := r.reopen(); err != nil || r.l.Status() != layer.Moving {
		return err
	}
	return r.revert(ctx, had)
}

// revert has a worker take back what landed since had, nil for all.
func (r *layeredRun) revert(ctx context.Context, had []bool) error {
	err := r.worker(ctx, func(w *worker.Client, dir *os.File) error {
		_, err := w.Layer(ctx, r.root, dir, worker.LayerOrder{Verb: worker.LayerRevert, At: had}, nil)
		return err
	})
	return errors.Join(err, r.reopen())
}

// unland takes back a landing whose undo can't be kept: the error says so. Where that is impossible, as somebody
// changed what had landed, it stays.
func (r *layeredRun) unland(ctx context.Context, c *Changes, cause error) error {
	err := r.revert(ctx, r.had)
	if err == nil {
		return fmt.Errorf("its undo can't be kept: %w", cause)
	}
	c.Covered, c.Why = false, fmt.Sprintf("what it changed can't be undone: %v, and not taken back: %v", cause, err)
	switch {
	case r.l.Status() != layer.Landed: // the rest is held
		return nil
	case errors.As(err, new(*layer.ConflictError)):
		return r.l.Drop()
	}
	r.stays = true
	return r.note("")
}
