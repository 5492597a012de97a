package sandbox

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"sandboxd/bwrap"
	"sandboxd/profile/abspath"
	"sandboxd/sandbox/stage"
)

// makesOverlays reports whether the back end has overlays.
func (h *Host) makesOverlays() bool {
	return h.native || h.report.Layer(BackendBwrap).Active && !h.Version.Less(bwrap.OverlaySince)
}

// overlay replaces the writable mounts of the request's overlays. A mount below one, such as that which
// holds a protected name, then shows the overlay's entry: otherwise it would expose the host's.
func (p *Plan) overlay(r Request, makes bool) error {
	if len(r.Overlays) == 0 {
		return nil
	}
	if !makes {
		return fmt.Errorf("plan: %w", ErrNoOverlay)
	}
	p.overlays, p.operations, p.holds = r.Overlays, slices.Clone(p.operations), maps.Clone(p.holds)
	for _, o := range r.Overlays {
		for _, dir := range o.dirs() {
			if !path.IsAbs(dir) || path.Clean(dir) != dir || strings.ContainsRune(dir, 0) {
				return fmt.Errorf("plan: overlay of %q: %q is not an absolute, clean path", o.Path, dir)
			}
			if shown := p.shows(dir); shown != "" {
				return fmt.Errorf("plan: overlay of %q: the command reaches %q through %q; choose a hidden directory",
					o.Path, dir, shown)
			}
		}
		if o.Upper != "" && (abspath.Contains(o.Upper, o.Work) || abspath.Contains(o.Work, o.Upper)) {
			return fmt.Errorf("plan: overlay of %q: %q and %q lie in each other", o.Path, o.Upper, o.Work)
		}
		if err := p.replace(o); err != nil {
			return err
		}
	}
	return nil
}

// dirs are the directories of an overlay without its own, in the order of [stage.OpOverlay].
func (o Overlay) dirs() []string {
	if o.Upper == "" {
		return o.Above
	}
	return append([]string{o.Upper, o.Work}, o.Above...)
}

// text is the one of its [stage.OpOverlay].
func (o Overlay) text() string { return strings.Join(append(slices.Clone(o.dirs()), o.Path), "\x00") }

// replace has o in the place of the mount of its path, which is writable if o is.
func (p *Plan) replace(o Overlay) error {
	if n := len(o.Above); n > MaxAbove || o.Upper == "" && n == 0 {
		return fmt.Errorf("plan: overlay of %q: %d layers above it", o.Path, n)
	}
	p.holds[o.Path] = true
	if p.operations == nil {
		r, err := p.result.WithOverlay(bwrap.Overlay{Path: o.Path, Above: o.Above, Upper: o.Upper, Work: o.Work})
		if err != nil {
			return fmt.Errorf("plan: overlay of %q: %w", o.Path, err)
		}
		p.args, p.result = r.Args, &r
		return nil
	}
	found, flag := false, uint8(0)
	if o.Upper == "" {
		flag = stage.OpReadOnly
	}
	for i := range p.operations {
		switch op := &p.operations[i]; {
		case op.Path == o.Path && op.Kind == stage.OpBind && op.Flags&stage.OpReadOnly == flag:
			op.Kind, op.Text, found = stage.OpOverlay, o.text(), true
		case op.Kind == stage.OpBind && abspath.Contains(o.Path, op.Path):
			op.Flags |= stage.OpInner
		}
	}
	if !found {
		return fmt.Errorf("plan: overlay of %q: the profile has no such mount there", o.Path)
	}
	return nil
}

// shows returns the path of the mount through which the command reaches dir or an entry below, or "".
func (p *Plan) shows(dir string) string {
	var around bwrap.Mount
	for _, m := range p.result.Layout {
		switch {
		case m.Form.Host() && abspath.Contains(dir, m.Path):
			return m.Path
		case m.Form != bwrap.Proc && abspath.Contains(m.Path, dir) && len(m.Path) >= len(around.Path):
			around = m
		}
	}
	if !around.Form.Host() {
		return ""
	}
	return around.Path
}

// spareLayer is a layer of a sandbox that waits. nil is none.
type spareLayer struct {
	Spares
	dir string
}

func (s *spareLayer) drop() {
	if s != nil {
		s.Drop(s.dir)
	}
}

// sparable reports whether a sandbox can wait for the plan's next command as far as its overlay is concerned: one of
// the native back end. A mount further below it would have the kernel keep what it found at the directories above,
// which may be others when the command runs.
func (p *Plan) sparable() bool {
	if len(p.overlays) > 0 && p.operations == nil {
		return false
	}
	for _, o := range p.overlays {
		deep := func(op stage.Operation) bool {
			return op.Path != o.Path && path.Dir(op.Path) != o.Path && abspath.Contains(o.Path, op.Path)
		}
		if o.Spares == nil || o.Begin == nil || len(o.Above) > 0 || len(p.overlays) > 1 ||
			slices.ContainsFunc(p.operations, deep) {
			return false
		}
	}
	return true
}

// spared returns the plan with a spare layer in the place of its own.
func (p *Plan) spared() (*Plan, *spareLayer, error) {
	if len(p.overlays) == 0 {
		return p, nil, nil
	}
	o, waits := p.overlays[0], *p
	o.Begin = nil
	dir, err := o.Spares.Make()
	if err != nil {
		return nil, nil, err
	}
	o.Upper, o.Work = path.Join(dir, path.Base(o.Upper)), path.Join(dir, path.Base(o.Work))
	waits.overlays, waits.operations, waits.args = []Overlay{o}, slices.Clone(p.operations), slices.Clone(p.args)
	for i, arg := range waits.args { // of bwrap's --overlay
		switch arg {
		case p.overlays[0].Upper:
			waits.args[i] = o.Upper
		case p.overlays[0].Work:
			waits.args[i] = o.Work
		}
	}
	for i := range waits.operations {
		if op := &waits.operations[i]; op.Path == o.Path && op.Kind == stage.OpOverlay {
			op.Text = o.text()
		}
	}
	return &waits, &spareLayer{o.Spares, dir}, nil
}

// beginOverlays makes the layers of the plan's command; of that of the sandbox which waited, unless it is nil.
func (p *Plan) beginOverlays(waited *launch) error {
	spare := ""
	if waited != nil && waited.spare != nil {
		spare, waited.spare = waited.spare.dir, nil
	}
	for _, o := range p.overlays {
		if o.Begin == nil {
			continue
		}
		if err := o.Begin(spare); err != nil {
			if spare != "" {
				o.Spares.Drop(spare)
			}
			return fmt.Errorf("overlay of %q: %w", o.Path, err)
		}
	}
	return nil
}
