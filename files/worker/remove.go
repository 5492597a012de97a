package worker

import (
	"os"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"sandboxd/files"
	"sandboxd/files/tree"
)

// planMkdir prepares making a folder, and with parents those on the way.
func (s *server) planMkdir(p *plan) error {
	switch p.from.stat.Kind {
	case files.Absent:
		return p.needParents(p.from)
	case files.Dir:
		if p.req.Parents {
			p.same = true
			return nil
		}
	}
	return &files.Conflict{Path: p.from.fact.Asked, Reason: files.Exists, Found: string(p.from.stat.Kind)}
}

func (s *server) mkdirSteps(p *plan, c *change) error {
	c.parents(p.from)
	perm := p.req.Mode & 0o777
	if perm == 0 {
		perm = 0o777
	}
	step := files.Step{Kind: files.MkdirStep, Path: p.from.fact.Real, Before: files.State{Kind: files.Absent},
		After: files.State{Kind: files.Dir}}
	if p.from.fact.Missing == 0 {
		dir, err := p.from.parent()
		if err != nil {
			return err
		}
		step.ParentTime = modTime(dir)
		dir.Close()
	}
	c.add(step, nil, func() error { return s.mkdir(step.Path, perm) })
	return nil
}

// planDelete prepares taking a file or link away.
func (s *server) planDelete(p *plan) error {
	switch p.from.stat.Kind {
	case files.Absent:
		return p.from.missing()
	case files.Dir:
		return &files.Conflict{Path: p.from.fact.Asked, Reason: files.NotAFile, Hint: "rmdir takes folders away"}
	case files.Other:
		return &files.Conflict{Path: p.from.fact.Asked, Reason: files.Special}
	}
	if err := s.recordRemoved(p, p.from); err != nil {
		return err
	}
	p.facts.Path.Hash = p.oldStat.Hash
	return p.checkHash()
}

// recordRemoved records the entry that the operation will remove.
func (s *server) recordRemoved(p *plan, at spot) error {
	if at.stat.Kind == files.File {
		return s.openOld(p, at)
	}
	p.oldStat = at.stat
	if at.stat.Kind == files.Other {
		return nil
	}
	dir, err := at.parent()
	if err != nil {
		return err
	}
	defer dir.Close()
	if p.oldStat.Target, err = dir.Target(at.name()); err == nil && !s.run && !utf8.ValidString(p.oldStat.Target) {
		return badName(at.fact.Real)
	}
	return err
}

// removeStep adds the removal of a file or link. Its content is opened only for the keeper, and its
// folder only for the removal, so that a large folder needs few descriptors.
func (s *server) removeStep(c *change, at spot, old tree.Stat) error {
	dir, err := at.parent()
	if err != nil {
		return err
	}
	step := files.Step{
		Kind: files.RemoveStep, Path: at.fact.Real, Before: old.State, After: files.State{Kind: files.Absent},
		Temp: tree.TempName(), ParentTime: modTime(dir),
	}
	dir.Close()
	lost := func() (*os.File, error) {
		dir, err := at.parent()
		if err != nil {
			return nil, err
		}
		defer dir.Close()
		f, now, err := dir.Open(at.name())
		if err == nil && now.ID != old.ID {
			f.Close()
			return nil, &files.Conflict{Path: at.fact.Real, Reason: files.Changed, Found: "another file under the name"}
		}
		return f, err
	}
	if old.Kind != files.File {
		lost = nil
	}
	c.add(step, lost, func() error {
		dir, err := at.parent()
		if err != nil {
			return err
		}
		defer dir.Close()
		return dir.Remove(at.name(), step.Temp, old)
	})
	return nil
}

// Bounds of one removal.
const (
	maxTaken  = 10_000
	maxLevels = 64
	maxHolds  = 5
)

// taken is an entry below a removed folder, in the order of removal: children before parents.
type taken struct {
	spot spot
	stat tree.Stat
}

// planRmdir prepares taking a folder away: an empty one, or with Recursive all
// it holds.
func (s *server) planRmdir(p *plan) error {
	if err := needDir(p.from); err != nil {
		return err
	}
	dir, err := p.from.tree.Dir(p.from.rel)
	if err != nil {
		return err
	}
	defer dir.Close()
	if !p.req.Recursive {
		names, _, err := dir.Names(1)
		if err == nil && len(names) > 0 {
			return &files.Conflict{Path: p.from.fact.Asked, Reason: files.NotEmpty, Hint: "recursive takes what it holds along"}
		}
		return err
	}
	if err := s.collect(p, p.from, 0); err != nil {
		return err
	}
	p.facts.Path.Holds = s.holds(p)
	return nil
}

// collect walks the entries of a folder.
func (s *server) collect(p *plan, at spot, level int) error {
	if level > maxLevels {
		return &files.Conflict{Path: at.fact.Real, Reason: files.TooLarge, Found: "more than 64 folders inside each other"}
	}
	dir, err := at.tree.Dir(at.rel)
	if err != nil {
		return err
	}
	defer dir.Close()
	names, more, err := dir.Names(maxTaken - len(p.takes))
	if err != nil {
		return err
	}
	tooMany := &files.Conflict{Path: p.from.fact.Asked, Reason: files.TooLarge, Found: "more than 10000 things in it",
		Hint: "remove it by a command, which can be undone only from a backup"}
	if more {
		return tooMany
	}
	slices.Sort(names)
	for _, name := range names {
		if !utf8.ValidString(name) {
			return badName(strings.ToValidUTF8(path.Join(at.fact.Real, name), "\ufffd"))
		}
		st, err := dir.Stat(name)
		if err != nil {
			return err
		}
		inner := spot{tree: at.tree, rel: path.Join(at.rel, name), stat: st}
		inner.fact = files.Fact{Asked: path.Join(at.fact.Asked, name), Real: path.Join(at.fact.Real, name), Kind: st.Kind}
		switch st.Kind {
		case files.Dir:
			if err := s.collect(p, inner, level+1); err != nil {
				return err
			}
		case files.Other:
			return &files.Conflict{Path: inner.fact.Real, Reason: files.Special}
		}
		if len(p.takes) == maxTaken {
			return tooMany
		}
		p.takes = append(p.takes, taken{inner, st})
	}
	return nil
}

// holds names the entries of a folder that are protected, hidden, or not to be touched because of
// their suffix.
func (s *server) holds(p *plan) []string {
	var out []string
	for _, t := range p.takes {
		real := t.spot.fact.Real
		if len(out) < maxHolds && (s.rules.Sensitive(real) || t.stat.Kind != files.Dir && !s.rules.Suffix(real)) {
			rel, ok := relativeTo(p.from.fact.Real, real)
			if ok && !slices.ContainsFunc(out, func(o string) bool { _, inside := relativeTo(o, rel); return inside }) {
				out = append(out, rel)
			}
		}
	}
	return out
}

func relativeTo(dir, p string) (string, bool) {
	if len(p) > len(dir)+1 && p[:len(dir)] == dir && p[len(dir)] == '/' {
		return p[len(dir)+1:], true
	}
	return "", false
}

// rmdirSteps adds a removal for everything, the innermost first.
func (s *server) rmdirSteps(p *plan, c *change) error {
	var total int64
	for _, t := range p.takes {
		if t.stat.Kind == files.Dir {
			if err := s.rmdirStep(c, t.spot); err != nil {
				return err
			}
			continue
		}
		sub := &plan{req: p.req}
		err := s.recordRemoved(sub, t.spot)
		sub.close()
		if err != nil {
			return err
		}
		if total += sub.oldStat.Size; s.beyondKeeping(total) {
			return tooLarge(p.from.fact.Asked, total, s.rules.KeepBytes(), "files.undo.keep_bytes")
		}
		if err := s.removeStep(c, t.spot, sub.oldStat); err != nil {
			return err
		}
	}
	return s.rmdirStep(c, p.from)
}

func (s *server) rmdirStep(c *change, at spot) error {
	dir, err := at.parent()
	if err != nil {
		return err
	}
	time := modTime(dir)
	dir.Close()
	state, err := at.tree.DirState(at.rel)
	if err != nil {
		return err
	}
	step := files.Step{
		Kind: files.RmdirStep, Path: at.fact.Real, Before: state, After: files.State{Kind: files.Absent}, ParentTime: time,
	}
	c.add(step, nil, func() error {
		dir, err := at.parent()
		if err != nil {
			return err
		}
		defer dir.Close()
		return dir.Rmdir(at.name())
	})
	return nil
}
