package worker

import (
	"fmt"
	"maps"
	"strings"

	"sandboxd/files"
	"sandboxd/files/tree"
)

// planCopy prepares a file's copy.
func (s *server) planCopy(p *plan) error {
	if err := needFile(p.from); err != nil {
		return err
	}
	if err := s.destination(p); err != nil {
		return err
	}
	if err := s.openOld(p, p.from); err != nil { // the content to copy, for now
		return err
	}
	p.facts.Path.Hash = p.oldStat.Hash
	p.facts.NewHash = p.oldStat.Hash
	if err := p.checkHash(); err != nil {
		return err
	}
	return s.displaced(p)
}

// planMove prepares a move.
func (s *server) planMove(p *plan) error {
	if err := needAny(p.from); err != nil {
		return err
	}
	switch p.from.stat.Kind {
	case files.Other:
		return &files.Conflict{Path: p.from.fact.Asked, Reason: files.Special}
	case files.Dir:
		if _, inside := relativeTo(p.from.fact.Real, p.to.fact.Real); inside {
			return &files.Conflict{Path: p.from.fact.Asked, Reason: files.Invalid, Found: "a folder cannot move into itself"}
		}
		if err := s.movedFolder(p); err != nil {
			return err
		}
	default:
		if s.beyondKeeping(p.from.stat.Size) {
			p.oldStat = p.from.stat // nothing of it is lost: it need not be read
			break
		}
		if err := s.recordRemoved(p, p.from); err != nil {
			return err
		}
		p.facts.Path.Hash = p.oldStat.Hash
	}
	if err := p.checkHash(); err != nil {
		return err
	}
	if err := s.destination(p); err != nil {
		return err
	}
	return s.displaced(p)
}

// movedFolder checks the entries of a folder: protected ones must not be moved away unseen.
func (s *server) movedFolder(p *plan) error {
	if err := s.collect(p, p.from, 0); err != nil {
		var c *files.Conflict
		if c = asConflict(err, p.req.Path); c.Reason == files.TooLarge || c.Reason == files.Special {
			p.facts.Path.Holds = []string{"more than can be looked through"}
			p.takes = nil
			return nil
		}
		return err
	}
	p.facts.Path.Holds = s.holds(p)
	return nil
}

// destination wants a free name, or a file that may be replaced.
func (s *server) destination(p *plan) error {
	if p.to.fact.Real == p.from.fact.Real {
		return &files.Conflict{Path: p.req.To, Reason: files.Invalid, Found: "source and destination are the same"}
	}
	switch p.to.stat.Kind {
	case files.Absent:
		return p.needParents(p.to)
	case files.File:
		if p.from.stat.Kind == files.Dir {
			return &files.Conflict{Path: p.req.To, Reason: files.Exists, Found: "a file"}
		}
		return replaceable(p.to)
	case files.Symlink:
		if p.req.Op == files.Move && p.from.stat.Kind != files.Dir {
			return nil
		}
	}
	return &files.Conflict{Path: p.req.To, Reason: files.Exists, Found: string(p.to.stat.Kind),
		Hint: "name the new file itself, not the folder"}
}

// displaced plans the loss of the destination's content. It is a plan of its own, because both
// contents are open at once.
func (s *server) displaced(p *plan) error {
	if p.to.stat.Kind == files.Absent {
		return nil
	}
	p.over = &plan{req: p.req}
	if err := s.recordRemoved(p.over, p.to); err != nil {
		return err
	}
	p.facts.To.Hash = p.over.oldStat.Hash
	return nil
}

func (s *server) copySteps(p *plan, c *change) error {
	if p.over == nil {
		return s.putCopy(p, c, nil)
	}
	want := p.over.oldStat.State
	want.ModTime = 0
	return s.putCopy(p, c, &want)
}

// putCopy adds a put of the content to copy. want is how the copy looks; nil is as
// a new file does, with the mode of the old.
func (s *server) putCopy(p *plan, c *change, want *files.State) error {
	l := &landing{open: fileOf(p.old), hash: p.oldStat.Hash, size: p.oldStat.Size, want: want, perm: 0o666}
	if want == nil {
		l.mode = p.oldStat.Mode & 0o777
	}
	if p.over == nil {
		return c.put(p.to, l, nil)
	}
	l.old = p.over.oldStat
	return c.put(p.to, l, opened(p.over.old))
}

// moved returns the state of a file that is copied to its destination: as before, without another
// user's rights and the system's marks.
func moved(old files.State) *files.State {
	old.Mode &= 0o777
	old.Xattrs = maps.Clone(old.Xattrs)
	maps.DeleteFunc(old.Xattrs, func(name string, _ []byte) bool { return strings.HasPrefix(name, "security.") })
	return &old
}

// moveSteps renames, or, between two mounts, copies a file and removes it.
func (s *server) moveSteps(p *plan, c *change) error {
	if !s.sameMount(p) {
		if p.from.stat.Kind != files.File || p.old == nil {
			return &files.Conflict{Path: p.req.Path, Reason: files.Unsupported,
				Found: fmt.Sprintf("a %s, and the destination is on another mount", p.from.stat.Kind), Hint: "move it by a command"}
		}
		if err := s.putCopy(p, c, moved(p.oldStat.State)); err != nil {
			return err
		}
		return s.removeStep(c, p.from, p.oldStat)
	}
	dir, err := p.from.parent()
	if err != nil {
		return err
	}
	c.atEnd(func() { dir.Close() })
	old := p.from.stat
	if p.oldStat.Kind != "" {
		old = p.oldStat
	}
	step := files.Step{
		Kind: files.RenameStep, Path: p.from.fact.Real, To: p.to.fact.Real,
		Before: old.State, After: files.State{Kind: files.Absent}, ParentTime: modTime(dir),
	}
	open := c.parents(p.to)
	var toDir *tree.Dir
	if p.to.fact.Missing == 0 {
		if toDir, err = open(); err != nil {
			return err
		}
		c.atEnd(func() { toDir.Close() })
		step.ToParentTime = modTime(toDir)
	}
	if p.over != nil {
		displaced := p.over.oldStat.State
		step.Displaced, step.Temp = &displaced, tree.TempName()
		c.add(step, opened(p.over.old), func() error {
			return dir.RenameOver(p.from.name(), step.Temp, old, toDir, p.to.name(), p.over.oldStat)
		})
		return nil
	}
	c.add(step, nil, func() error {
		if toDir == nil {
			if toDir, err = open(); err != nil {
				return err
			}
			c.atEnd(func() { toDir.Close() })
		}
		return dir.Rename(p.from.name(), old, toDir, p.to.name())
	})
	return nil
}

// sameMount reports whether a rename can do it. A folder that does not exist
// yet will be on its parent's mount.
func (s *server) sameMount(p *plan) bool {
	from, err := p.from.parent()
	if err != nil {
		return false
	}
	defer from.Close()
	to, err := p.to.folder()
	if err != nil {
		return false
	}
	defer to.Close()
	return from.SameMount(to)
}
