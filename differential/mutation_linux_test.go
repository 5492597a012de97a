package differential

import (
	"slices"
	"strings"
	"testing"

	"sandboxd/bwrap"
	"sandboxd/landlock/lsm"
	"sandboxd/sandbox/stage"
)

// A mutation is a compiler with one thing broken.
type mutation struct {
	name   string
	way    way
	breaks func(w *world, b *built)
}

var (
	mountsOnly = way{"bwrap as an ordinary user", ordinary, true, false, false}
	rulesOnly  = way{"landlock alone as an ordinary user", ordinary, false, true, false}
	both       = way{"bwrap and landlock as an ordinary user", ordinary, true, true, false}
	nativeOnly = way{"native as an ordinary user", ordinary, true, false, true}
)

// mount breaks the options for mounts of a form below the world: change gets
// the option and returns what to use instead, nil for nothing. --perms and
// --size go where the option that they belong to goes.
func mount(form bwrap.Form, change func(op []string) []string) func(*world, *built) {
	return func(w *world, b *built) {
		of := map[string]bool{}
		for _, m := range b.mounts.Layout {
			of[m.Path] = m.Form == form && strings.HasPrefix(m.Path, w.top+"/")
		}
		var out, modifiers []string
		for _, op := range operations(b.mounts.Args) {
			if op[0] == "--perms" || op[0] == "--size" {
				modifiers = append(modifiers, op...)
				continue
			}
			instead := op
			if of[op[len(op)-1]] {
				instead = change(op)
			}
			switch {
			case instead == nil:
			case instead[0] == op[0]:
				out = append(append(out, modifiers...), instead...)
			default:
				out = append(out, instead...)
			}
			modifiers = nil
		}
		b.mounts.Args = out
	}
}

// operation breaks the native operations of a kind below the world.
func operation(kind stage.OperationKind, change func(*stage.Operation)) func(*world, *built) {
	return func(w *world, b *built) {
		for i := range b.operations {
			if op := &b.operations[i]; op.Kind == kind && strings.HasPrefix(op.Path, w.top+"/") {
				change(op)
			}
		}
	}
}

// natively breaks the native operations for mounts of a form below the world; nil leaves them out.
func natively(form bwrap.Form, change func(*stage.Operation)) func(*world, *built) {
	return func(w *world, b *built) {
		for _, m := range b.mounts.Layout {
			if m.Form != form || !strings.HasPrefix(m.Path, w.top+"/") {
				continue
			}
			i := slices.IndexFunc(b.operations, func(op stage.Operation) bool { return op.Path == m.Path })
			if change == nil {
				b.operations = slices.Delete(b.operations, i, i+1)
			} else {
				change(&b.operations[i])
			}
		}
	}
}

// bound makes an operation a bind of the host's directory.
func bound(op *stage.Operation) { op.Kind = stage.OpBind }

func leaveOut([]string) []string { return nil }

func instead(option string) func([]string) []string {
	return func(op []string) []string { return []string{option, op[len(op)-1], op[len(op)-1]} }
}

// rules breaks the rulesets.
func rules(change func(w *world, r *lsm.Ruleset)) func(*world, *built) {
	return func(w *world, b *built) {
		for i := range b.layers {
			change(w, &b.layers[i])
		}
	}
}

const writes = lsm.WriteFile | lsm.Truncate | lsm.RemoveFile | lsm.MakeReg

// untruncated breaks what Landlock has from ABI 3.
const untruncated = "truncating is not handled"

var mutations = []mutation{
	{"what is read-only is bound writable", mountsOnly, mount(bwrap.ReadOnly, instead("--bind"))},
	{"hidden directories are not masked", mountsOnly, mount(bwrap.HiddenDirectory, leaveOut)},
	{"hidden files are not masked", mountsOnly, mount(bwrap.HiddenFile, leaveOut)},
	{"masks can be changed", mountsOnly, mount(bwrap.HiddenDirectory, func(op []string) []string {
		if op[0] == "--remount-ro" {
			return nil
		}
		return op
	})},
	{"private directories show the host", mountsOnly, mount(bwrap.Private, instead("--bind"))},
	{"what is above a protected path is not pinned", mountsOnly, mount(bwrap.Pin, leaveOut)},
	{"natively what is read-only is writable", nativeOnly, operation(stage.OpBind, func(op *stage.Operation) {
		op.Flags &^= stage.OpReadOnly
	})},
	{"natively hidden directories are not masked", nativeOnly, natively(bwrap.HiddenDirectory, bound)},
	{"natively private directories show the host", nativeOnly, natively(bwrap.Private, bound)},
	{"natively what is above a protected path is not pinned", nativeOnly, natively(bwrap.Pin, nil)},
	{"natively hidden files are not masked", nativeOnly, operation(stage.OpFile, func(op *stage.Operation) {
		op.Kind = stage.OpBind
	})},
	{"natively masks can be changed", nativeOnly, operation(stage.OpSeal, func(op *stage.Operation) {
		op.Kind, op.Mode = stage.OpMode, 0o700
	})},
	{"what is denied below is granted above", rulesOnly, rules(func(w *world, r *lsm.Ruleset) {
		for _, rule := range slices.Clone(r.Paths) {
			if up := rule.Path[:strings.LastIndexByte(rule.Path, '/')]; strings.HasPrefix(up, w.root) {
				r.Paths = append(r.Paths, lsm.PathRule{Path: up, Access: rule.Access, Optional: true})
			}
		}
	})},
	{"what may be read may be written", rulesOnly, rules(func(w *world, r *lsm.Ruleset) {
		for i := range r.Paths {
			r.Paths[i].Access |= writes & r.HandledFS
		}
	})},
	{"removing is not handled", rulesOnly, rules(func(w *world, r *lsm.Ruleset) {
		r.HandledFS &^= lsm.RemoveFile | lsm.RemoveDir
		for i := range r.Paths {
			r.Paths[i].Access &^= lsm.RemoveFile | lsm.RemoveDir
		}
	})},
	{untruncated, rulesOnly, rules(func(w *world, r *lsm.Ruleset) {
		r.HandledFS &^= lsm.Truncate
		for i := range r.Paths {
			r.Paths[i].Access &^= lsm.Truncate
		}
	})},
	{"what may be read may be executed", both, rules(func(w *world, r *lsm.Ruleset) {
		for i := range r.Paths {
			r.Paths[i].Access |= lsm.Execute
		}
	})},
}

// TestNothingBroken: without a mutation there is nothing to catch, so what
// TestMutations sees is the mutation.
func TestNothingBroken(t *testing.T) {
	for _, way := range []way{mountsOnly, nativeOnly, rulesOnly, both} {
		var y tally
		for seed := range 10 {
			w := newWorld(t, seed, way.euid, 50)
			p := newProfile(t, w.rules...)
			y.compare(t, w, p, build(t, way, p))
			w.remove()
		}
		report(t, way.name+": violation", y.violations)
	}
}

// TestMutations breaks each compiler and wants to see it: acceptance 2 of
// "one profile, four mechanisms".
func TestMutations(t *testing.T) {
	kernel, err := lsm.ABI()
	must(t, err)
	for _, m := range mutations {
		if m.name == untruncated && kernel < 3 {
			continue // there is nothing to break, and the gap is published
		}
		t.Run(m.name, func(t *testing.T) {
			for seed := range profiles(t) {
				var y tally
				w := newWorld(t, seed, m.way.euid, 50)
				p := newProfile(t, w.rules...)
				b := build(t, m.way, p)
				m.breaks(w, &b)
				y.compare(t, w, p, b)
				w.remove()
				if len(y.violations) > 0 {
					t.Logf("caught by profile %d", seed+1)
					return
				}
			}
			t.Errorf("not caught by %d profiles", profiles(t))
		})
	}
}
