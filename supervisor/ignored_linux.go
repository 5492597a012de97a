package supervisor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"

	"sandboxd/files/worker"
	"sandboxd/git"
	"sandboxd/layer"
	"sandboxd/profile"
	"sandboxd/profile/abspath"
)

// landBeside lands a change set whose conflicts are all at paths that git ignores: these are held, each topmost ignored
// directory as a whole, and the rest lands. It returns the conflict where there is no such rest.
func (r *layeredRun) landBeside(
	ctx context.Context, w *worker.Client, dir *os.File, j *judgement, result *Result, cause error,
) error {
	project := r.s.projects.of(r.sess.Root)
	project.settling.Lock()
	defer project.settling.Unlock()
	var notes []layer.Note
	var tops []layer.Name
	err := cause
	for conflict := (*layer.ConflictError)(nil); errors.As(err, &conflict); {
		more := r.ignoredTops(j.names, conflict.Conflicts)
		known := !slices.ContainsFunc(more, func(top layer.Name) bool { return !inAny(top, tops) }) // none, too
		tops, notes = append(tops, more...), append(notes, conflict.Conflicts...)
		if known || !r.separable(tops) {
			return err
		}
		why := "at paths that git ignores, " + firstNotes(notes)
		r.had = r.l.At()
		if err := r.note(why); err != nil {
			return err
		}
		err = r.landRest(ctx, w, dir, j, result, tops)
		if err := r.landingEnded(why, err); err != nil {
			result.Warnings = append(result.Warnings, "the end of the landing is not noted: "+err.Error())
		}
		if err == nil {
			result.heldBeside(r, why)
		}
	}
	if errors.As(err, new(*askError)) { // about a part of what did not ask as a whole
		return cause
	}
	return err
}

// landRest lands all but what is at or below the paths.
func (r *layeredRun) landRest(
	ctx context.Context, w *worker.Client, dir *os.File, j *judgement, result *Result, paths []layer.Name,
) error {
	chosen, c := r.l.Beside(r.root, paths...), result.Changes
	err := r.landJudged(ctx, w, dir, j, chosen, worker.LayerOrder{Beside: paths}, result)
	if err == nil {
		result.tellLeftBehind(r.sess.Root, r.l.Set())
		c.Changes = changedPaths(r.sess.Root, r.l.Set().ChangesOf(chosen))
		err = r.keep(ctx, w, dir, c)
	}
	if err != nil && r.landedMore() {
		err = r.unland(ctx, c, err)
	}
	return err
}

// ignores are the ignore rules of the project as it is before the landing; nil: it has none that can be read.
func (r *layeredRun) ignores() *git.Ignores {
	repos, err := git.Find(git.Disk, r.sess.Root)
	if err != nil || len(repos) == 0 || repos[0].Doubt || repos[0].Worktree != r.sess.Root {
		return nil
	}
	rules, err := git.Reader{Host: git.Disk, Home: r.sess.Home}.Ignores(repos[0])
	if err != nil {
		return nil
	}
	return rules
}

// ignoredTops returns the topmost ignored paths that have the conflicts; none where git does not ignore one of these,
// or the change set changes a protected name there.
func (r *layeredRun) ignoredTops(names profile.Profile, conflicts []layer.Note) (tops []layer.Name) {
	rules := r.ignores()
	if rules == nil {
		return nil
	}
	for _, n := range conflicts {
		at, dir := r.changedAt(n.Path)
		top, err := rules.Top(string(at), dir)
		if err != nil || top == "" {
			return nil
		}
		tops = append(tops, layer.Name(top))
	}
	for _, change := range r.l.Set().Changes() {
		kind, _, _ := names.Effective(path.Join(r.sess.Root, string(change.Path)))
		if kind == profile.Protect && inAny(change.Path, tops) {
			return nil
		}
	}
	return tops
}

// changedAt returns the path that the change set replaces to change another one, and whether it is a directory.
func (r *layeredRun) changedAt(at layer.Name) (top layer.Name, dir bool) {
	set := r.l.Set()
	for _, op := range set.Ops {
		if inAny(at, []layer.Name{op.Path}) {
			file := func(tree []layer.Node) bool { return len(tree) > 0 && tree[0].Kind != layer.Dir }
			return op.Path, !file(op.Old) && !file(op.New)
		}
	}
	return at, slices.ContainsFunc(set.Dirs, func(d layer.Change) bool { return d.Path == at })
}

// separable reports whether all that does not land beside the paths is at or below them, and something lands.
func (r *layeredRun) separable(paths []layer.Name) bool {
	set, chosen := r.l.Set(), r.l.Beside(r.root, paths...)
	for i, op := range set.Ops {
		if !chosen(i) && !inAny(op.Path, paths) {
			return false
		}
	}
	return len(set.ChangesOf(chosen)) > 0
}

// inAny reports whether a path is one of several or below one.
func inAny(at layer.Name, tops []layer.Name) bool {
	return slices.ContainsFunc(tops, func(top layer.Name) bool {
		return abspath.Contains("/"+string(top), "/"+string(at))
	})
}

// heldBeside has the result say what is held of a change set whose rest landed.
func (r *Result) heldBeside(l *layeredRun, why string) {
	c := r.Changes
	c.Held, c.HeldID, c.Digest = why, heldID(l.rec.Exec), l.l.Set().Digest()
	r.Warnings = append(r.Warnings, fmt.Sprintf("a part of what the command wrote is held, %s; the rest landed: "+
		"sbx changes show %s, then sbx changes land or sbx changes drop", why, c.HeldID))
}
