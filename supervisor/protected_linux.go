package supervisor

import (
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"sandboxd/layer"
	"sandboxd/profile"
	"sandboxd/profile/abspath"
	"sandboxd/supervisor/aftermath"
)

// protectedAsks asks about protected names that existed before the run, and about new entries below them: no mount
// holds them from a layered run. A configuration of git lands unasked where all that changed is known to be harmless.
func (r *layeredRun) protectedAsks(changes []layer.Change, j *judgement) (asks []landAsk) {
	made, removed := map[layer.Name]bool{}, map[layer.Name]bool{}
	for _, c := range changes {
		made[c.Path] = c.Old.Kind == layer.Absent
		removed[c.Path] = c.New.Kind == layer.Absent
	}
	protects := func(at layer.Name) (string, bool) {
		kind, _, rule := j.plan.Profile.Effective(path.Join(r.sess.Root, string(at)))
		return rule.Name, kind == profile.Protect
	}
	for _, c := range changes {
		at, dir := path.Join(r.sess.Root, string(c.Path)), layer.Name(path.Dir(string(c.Path)))
		name, protected := protects(c.Path)
		_, below := protects(dir)
		if !protected || made[c.Path] && (!below || made[dir]) || removed[c.Path] && removed[dir] ||
			aftermath.Others(at, r.sess.Root, name) {
			continue
		}
		if why := r.protectedWhy(c, name, j.widened); why != "" {
			asks = append(asks, landAsk{Path: at, Why: why, Guarded: true})
		}
	}
	return asks
}

// protectedWhy returns why a change under the protected name asks, or "". granted are the paths that a yes let the
// command change, but for configurations of git.
func (r *layeredRun) protectedWhy(c layer.Change, name string, granted []string) string {
	at := path.Join(r.sess.Root, string(c.Path))
	old, now := c.Old, c.New
	switch {
	case old.Kind == layer.Dir && now.Kind == layer.Dir, old.Kind == now.Kind && old.Hash == now.Hash &&
		old.Target == now.Target && old.Mode == now.Mode && old.Size == now.Size:
		return "" // its times, or the entries below
	case old.Kind == layer.File && now.Kind == layer.File && strings.HasPrefix(name, ".git/") &&
		slices.Contains([]string{"config", "config.worktree"}, path.Base(at)):
		return r.configWhy(c.Path)
	case slices.ContainsFunc(granted, func(dir string) bool { return abspath.Contains(dir, at) }):
		return ""
	case old.Kind == layer.Absent:
		return aftermath.Made
	case now.Kind == layer.Absent:
		return aftermath.Removed
	}
	return aftermath.Changed
}

// configWhy returns why a changed configuration of git asks, or "".
func (r *layeredRun) configWhy(at layer.Name) string {
	const most = 1 << 20
	read := func(f *os.File, err error) []byte {
		if err != nil {
			return nil
		}
		defer f.Close()
		text, err := io.ReadAll(io.LimitReader(f, most+1))
		if err != nil || len(text) > most {
			return nil
		}
		return text
	}
	root, err := os.OpenRoot(r.sess.Root)
	if err != nil {
		return err.Error()
	}
	defer root.Close()
	before, after := read(root.Open(string(at))), read(r.l.Content(at))
	if before == nil || after == nil {
		return "it is no configuration that can be read"
	}
	return aftermath.ConfigWhy(before, after, path.Join(r.sess.Root, path.Dir(string(at))), r.sess.Root)
}
