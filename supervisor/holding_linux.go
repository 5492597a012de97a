package supervisor

import (
	"context"
	"errors"
	"fmt"

	"sandboxd/approval"
	"sandboxd/layer"
)

// ask holds a change set while a person decides, and lands it after a yes.
func (r *layeredRun) ask(ctx context.Context, e *Exec, c *Changes, result *Result, cause error) error {
	r.asked = true
	if err := r.note(cause.Error()); err != nil {
		return err
	}
	set := r.l.Set()
	c.Changes, c.Digest, c.Held = changedPaths(r.sess.Root, set.Changes()), set.Digest(), cause.Error()
	r.publish(e, approval.ChangeAsked, c)
	out, err := r.s.landAsked(ctx, e)
	var denied *FileDenied
	switch {
	case errors.As(err, &denied):
		return fmt.Errorf("%s (%s)", denied.Result.Decision.Why, cause)
	case ctx.Err() != nil:
		return fmt.Errorf("its client ended before a person answered (%w)", cause)
	case err != nil:
		return err
	}
	c.Held, c.Landed = "", true
	c.Undo, result.Warnings = out.Undo, append(result.Warnings, out.Warnings...)
	const why = "as a person let only others of its paths land"
	if r.noteHeld(why) == nil { // else nothing of it is left
		c.Landed, c.Changes = false, out.landed.Changes
		result.heldBeside(r, why)
	}
	return nil
}

// hold keeps a change set that did not land, and has the result say why.
func (r *layeredRun) hold(e *Exec, c *Changes, result *Result, cause error) {
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
	own, asked := result.Code, errors.Is(cause, errAskedToHold)
	r.chosen = asked || errors.As(cause, new(*dependsError))
	if !asked {
		c.Own, result.Code = &own, 126
	}
	text := "what it wrote could not be read"
	if set := r.l.Set(); set != nil {
		c.Changes, c.Digest = changedPaths(r.sess.Root, set.Changes()), set.Digest()
		text = "what it wrote did not land"
	}
	if err := r.noteHeld(why); err != nil {
		result.Warnings = append(result.Warnings, "what the command wrote is not held: "+err.Error())
		return
	}
	c.HeldID = heldID(r.rec.Exec)
	r.publish(e, approval.ChangeHeld, c)
	text = fmt.Sprintf("the command ended with status %d, and %s: %s; it is held", own, text, why)
	if asked {
		text = "what the command wrote is held"
	}
	result.Warnings = append(result.Warnings, fmt.Sprintf(
		"%s: sbx changes show %s, then sbx changes land or sbx changes drop", text, c.HeldID))
}

// noteHeld notes why a change set is held. A person may have landed a part of it, or settled it, while its question was
// open.
func (r *layeredRun) noteHeld(why string) error {
	project := r.s.projects.of(r.sess.Root)
	project.settling.Lock()
	defer project.settling.Unlock()
	now, _, err := r.s.held(r.sess, heldID(r.rec.Exec))
	switch {
	case err == nil:
		now.chosen = now.chosen || r.chosen
		return now.note(why)
	case r.asked:
		return errors.New("somebody landed or dropped it while its question was open")
	}
	return r.note(why)
}

// publish publishes the state of the change set of a run that ends.
func (r *layeredRun) publish(e *Exec, state approval.ChangeState, c *Changes) {
	left := 0
	if state == approval.ChangeLanded && c.HeldID != "" {
		left = len(r.l.Set().Changes()) - c.Len()
	}
	r.s.publish(r.rec, e, approval.ChangeSet{ID: heldID(r.rec.Exec), Digest: c.Digest, State: state, Why: c.Held,
		Undo: c.Undo, Left: left}, c.Changes)
}
