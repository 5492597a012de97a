package worker

import (
	"errors"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"sandboxd/files"
	"sandboxd/files/internal/fault"
	"sandboxd/files/tree"
	"sandboxd/internal/fdconn"
)

// change is a list of steps with their functions. Nothing happens before the keeper has all of
// them.
type change struct {
	server *server
	parts  []changePart
	closes []func()
	// passes reports that the steps go on without one that failed; nil for never.
	passes func(err error) bool
}

type changePart struct {
	step files.Step
	// lost opens the content that is lost; nil where there is none.
	lost func() (*os.File, error)
	act  func() error
	// later is the landing of a put of which nothing is staged before its turn; else nil.
	later *laterPut
}

func (c *change) add(step files.Step, lost func() (*os.File, error), act func() error) {
	c.parts = append(c.parts, changePart{step: step, lost: lost, act: act})
}

// opened is a content that is open already and stays so until the change ends.
func opened(f *os.File) func() (*os.File, error) {
	if f == nil {
		return nil
	}
	return func() (*os.File, error) {
		fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			return nil, err
		}
		return os.NewFile(uintptr(fd), f.Name()), nil
	}
}

// atEnd has something closed when the change is over.
func (c *change) atEnd(f func()) { c.closes = append(c.closes, f) }

func (c *change) close() {
	for i := len(c.closes) - 1; i >= 0; i-- {
		c.closes[i]()
	}
}

// run has the steps stored and performs them. It reverts a change that fails on the way if only new
// folders were made; otherwise the error says how far it came.
func (c *change) run() error {
	if err := c.keep(); err != nil {
		return err
	}
	fault.Point("kept")
	return c.carryOut()
}

// carryOut performs the steps.
func (c *change) carryOut() error {
	for i, p := range c.parts {
		err := c.stageAhead(i)
		if err == nil {
			err = p.act()
		}
		if err = named("", err, p.step.Path); err != nil {
			if c.passes != nil && c.passes(err) {
				continue
			}
			if made := (*tree.MadeError)(nil); errors.As(err, &made) {
				return &files.PartialError{Done: i + 1, Err: err}
			}
			if left := c.rollBack(i); left > 0 {
				return &files.PartialError{Done: left, Err: err}
			}
			return err
		}
	}
	fault.Point("done")
	return nil
}

// keep sends the steps in portions, as many as descriptors travel at once.
func (c *change) keep() error {
	for from := 0; ; {
		to, fds := from, 0
		for ; to < len(c.parts) && fds < maxFDs && to-from < 1024; to++ {
			if c.parts[to].lost != nil {
				fds++
			}
		}
		last := to == len(c.parts)
		if err := c.keepPortion(c.parts[from:to], last); err != nil || last {
			return err
		}
		from = to
	}
}

func (c *change) keepPortion(parts []changePart, last bool) error {
	steps, old := make([]files.Step, len(parts)), make([]*os.File, len(parts))
	defer func() { fdconn.Close(old) }()
	for i, p := range parts {
		steps[i] = p.step
		if p.lost == nil {
			continue
		}
		f, err := p.lost()
		if err != nil {
			return err
		}
		old[i] = f
	}
	return c.server.keep(steps, old, last)
}

// rollBack removes the folders that the first n steps made; it returns how many
// steps are still done.
func (c *change) rollBack(n int) int {
	for ; n > 0; n-- {
		step := c.parts[n-1].step
		if step.Kind != files.MkdirStep {
			return n
		}
		dir, name, err := c.server.dirOf(step.Path)
		if err != nil {
			return n
		}
		err = dir.Rmdir(name)
		if err == nil && step.ParentTime != 0 {
			_ = dir.SetModTime(step.ParentTime)
		}
		dir.Close()
		if err != nil {
			return n
		}
	}
	return 0
}

// dirOf opens the folder of a real, absolute path.
func (s *server) dirOf(abs string) (*tree.Dir, string, error) {
	t, rel, err := s.at(abs)
	if err != nil {
		return nil, "", err
	}
	if rel == "." {
		return nil, "", &files.Conflict{Path: abs, Reason: files.Invalid, Found: "the root of a sandbox"}
	}
	d, err := t.Dir(path.Dir(rel))
	return d, path.Base(rel), err
}

// modTime is a folder's own time, for the record.
func modTime(d *tree.Dir) int64 {
	st, err := d.Self()
	if err != nil {
		return 0
	}
	return st.ModTime
}

// parents adds a step for each folder that is missing on the way to a path, and
// returns a function that opens the folder of the path once they are made.
func (c *change) parents(at spot) func() (*tree.Dir, error) {
	dirs := make([]string, at.fact.Missing) // absolute, outermost first
	p := at.fact.Real
	for i := len(dirs) - 1; i >= 0; i-- {
		p = path.Dir(p)
		dirs[i] = p
	}
	for i, p := range dirs {
		step := files.Step{Kind: files.MkdirStep, Path: p, Before: files.State{Kind: files.Absent},
			After: files.State{Kind: files.Dir}}
		if i == 0 {
			if dir, _, err := c.server.dirOf(p); err == nil {
				step.ParentTime = modTime(dir)
				dir.Close()
			}
		}
		c.add(step, nil, func() error { return c.server.mkdir(p, 0o777) })
	}
	return func() (*tree.Dir, error) {
		dir, _, err := c.server.dirOf(at.fact.Real)
		return dir, err
	}
}

func (s *server) mkdir(abs string, perm uint32) error {
	dir, name, err := s.dirOf(abs)
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Mkdir(name, perm)
}

func (s *server) mkdirLike(abs, temp string, want files.State) error {
	dir, name, err := s.dirOf(abs)
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.MkdirLike(name, temp, want)
}

// put adds the steps that give a path a content: its folders, and itself.
func (c *change) put(at spot, l *landing, lost func() (*os.File, error)) error {
	open := c.parents(at)
	l.name, l.temp = at.name(), tree.TempName()
	step := files.Step{Kind: files.PutStep, Path: at.fact.Real, Before: l.old.State, Temp: l.temp}
	if l.old.Kind == "" {
		l.old.Kind, step.Before.Kind = files.Absent, files.Absent
	}
	if at.fact.Missing == 0 {
		dir, err := open()
		if err != nil {
			return err
		}
		c.atEnd(func() { dir.Close() })
		c.atEnd(l.close) // before its folder
		l.dir, step.ParentTime = dir, modTime(dir)
		if step.After, err = l.stage(c.server.umask); err != nil {
			return err
		}
	} else {
		dir, err := at.folder()
		if err != nil {
			return err
		}
		step.After, err = l.predict(c.server.umask, dir)
		dir.Close()
		if err != nil {
			return err
		}
	}
	if l.dir == nil {
		c.addLater(step, lost, l)
		return nil
	}
	c.add(step, lost, l.land)
	return nil
}

// do performs a request, if the facts still equal those of the decision.
func (s *server) do(req files.Request, expected files.Facts) (files.Result, error) {
	p, err := s.plan(req)
	defer p.close()
	if err != nil {
		return files.Result{}, err
	}
	if p.facts.Digest() != expected.Digest() {
		return files.Result{}, stale(p, expected)
	}
	r := files.Result{Path: p.from.fact.Real}
	if p.facts.To != nil {
		r.To = p.to.fact.Real
	}
	meant := p.facts.Path.Real
	if p.facts.To != nil {
		meant = p.facts.To.Real
	}
	if req.Op.Reads() {
		return r, named(req.Op, s.read(p, &r), meant)
	}
	if p.same {
		r.Hash, r.Size = p.oldStat.Hash, p.oldStat.Size
		return r, nil
	}
	c := &change{server: s}
	defer c.close()
	if err := s.steps(p, c); err != nil {
		return r, named(req.Op, err, meant)
	}
	if err := c.run(); err != nil {
		return r, named(req.Op, err, meant)
	}
	r.Changed, r.Replaced = true, p.replaced
	last := c.parts[len(c.parts)-1].step
	r.Hash, r.Size = last.After.Hash, last.After.Size
	if last.Kind == files.RenameStep {
		r.Hash, r.Size = last.Before.Hash, last.Before.Size
	}
	return r, nil
}

// stale returns a conflict for the first fact that differs from those of the decision.
func stale(p *plan, expected files.Facts) error {
	c := &files.Conflict{
		Op: p.req.Op, Path: p.req.Path, Reason: files.Changed,
		Hint: "it is not what it was when this was approved; ask again", Hash: p.oldStat.Hash,
	}
	now, then := p.facts.Path, expected.Path
	switch {
	case now.Real != then.Real:
		c.Expected, c.Found = then.Real, now.Real
	case now.Kind != then.Kind:
		c.Expected, c.Found = string(then.Kind), string(now.Kind)
	case now.Hash != then.Hash:
		c.Expected, c.Found = then.Hash, now.Hash
	}
	return c
}

// named puts the operation into a conflict that the tree found, and the path that is
// meant where there is none or one that was used for a moment.
func named(op files.Op, err error, meant string) error {
	var c *files.Conflict
	if errors.As(err, &c) {
		if c.Op == "" {
			c.Op = op
		}
		if c.Path == "" || strings.HasPrefix(path.Base(c.Path), files.TempPrefix) {
			c.Path = meant
		}
	}
	return err
}

// steps turns a plan into steps.
func (s *server) steps(p *plan, c *change) error {
	switch p.req.Op {
	case files.Create, files.Write, files.Edit, files.MultiEdit, files.Append, files.Insert:
		return s.contentSteps(p, c)
	case files.Mkdir:
		return s.mkdirSteps(p, c)
	case files.Delete:
		return s.removeStep(c, p.from, p.oldStat)
	case files.Rmdir:
		return s.rmdirSteps(p, c)
	case files.Copy:
		return s.copySteps(p, c)
	}
	return s.moveSteps(p, c)
}

func (s *server) contentSteps(p *plan, c *change) error {
	l := &landing{
		open: bytesOf(p.content), hash: p.facts.NewHash, size: int64(len(p.content)),
		old: p.oldStat, perm: 0o666,
	}
	if p.old != nil {
		want := p.oldStat.State
		want.ModTime = 0
		l.want = &want
	} else if p.req.Mode != 0 {
		l.perm, l.mode = p.req.Mode&0o777, p.req.Mode&0o777
	}
	return c.put(p.from, l, opened(p.old))
}
