package worker

import (
	"sandboxd/files"
	"sandboxd/files/tree"
)

// settle finds the state of an interrupted change, and returns how many of its steps were made. Lock
// files are removed, temporary files are removed or put back, and a rename that had exchanged two names
// is finished. Steps that were not begun stay undone.
func (s *server) settle(steps []files.Step) int {
	s.unlockSteps(steps)
	for _, step := range steps {
		if step.Temp != "" {
			s.clearTemp(step)
		}
		if step.Kind == files.RenameStep && step.Displaced == nil {
			s.finishLink(step)
		}
	}
	m := newMoments(steps)
	for p, turns := range m.turns {
		if now, _, err := s.state(p); err == nil {
			m.compare(now, turns)
		}
	}
	made, exchanged := m.likeliest()
	if exchanged {
		s.finishExchange(steps[made-1])
	}
	return made
}

// moments are the possible crash points of a change: before its first step, after each, and between
// exchanging two names and removing one. Steps are made in order, so the names of one step alone
// don't prove its result: a later step may have created the entry that an earlier one removed.
type moments struct {
	all []moment
	// turns are, for each path, its states and the moment at which each begins.
	turns map[string][]turn
}

// moment is a crash point, with the evidence for it.
type moment struct {
	made      int  // steps
	exchanged bool // the last of them only as far as the exchange of names
	// agree counts the paths whose state equals that at the moment; times those of them with its
	// modification time, less those with another.
	agree, times int
}

type turn struct {
	from  int // index of a moment
	holds files.State
	attr  bool // the folder's modification time counts
}

func newMoments(steps []files.Step) *moments {
	absent := files.State{Kind: files.Absent}
	m := &moments{all: []moment{{}}, turns: map[string][]turn{}}
	for i, step := range steps {
		displaced := absent
		if step.Displaced != nil {
			displaced = *step.Displaced
		}
		m.before(step.Path, step.Before)
		if step.Kind == files.RenameStep {
			m.before(step.To, displaced)
			if step.Displaced != nil {
				at := m.add(moment{made: i + 1, exchanged: true})
				m.turn(step.Path, at, displaced)
				m.turn(step.To, at, step.Before)
			}
		}
		at := m.add(moment{made: i + 1})
		m.turn(step.Path, at, step.After)
		m.turns[step.Path][len(m.turns[step.Path])-1].attr = step.Kind == files.AttrStep
		if step.Kind == files.RenameStep {
			m.turn(step.To, at, step.Before)
		}
	}
	return m
}

func (m *moments) add(one moment) int {
	m.all = append(m.all, one)
	return len(m.all) - 1
}

// before sets the state of a path before the change, if no earlier step has.
func (m *moments) before(p string, holds files.State) {
	if len(m.turns[p]) == 0 {
		m.turn(p, 0, holds)
	}
}

func (m *moments) turn(p string, from int, holds files.State) {
	m.turns[p] = append(m.turns[p], turn{from: from, holds: holds})
}

// compare counts the present state of one path for the moments at which it had that state.
func (m *moments) compare(now files.State, turns []turn) {
	for i, t := range turns {
		if !sameMoved(now, t.holds) {
			continue
		}
		to := len(m.all)
		if i+1 < len(turns) {
			to = turns[i+1].from
		}
		for k := t.from; k < to; k++ {
			m.all[k].agree++
			switch {
			// not known, or without meaning
			case t.holds.ModTime == 0 || now.Kind != files.File && now.Kind != files.Symlink && !t.attr:
			case t.holds.ModTime == now.ModTime:
				m.all[k].times++
			default:
				m.all[k].times--
			}
		}
	}
}

// likeliest returns the crash point that most paths match; ties are broken by modification times. A
// remaining tie counts as made, so that lost content stays stored; but no name is removed on a
// guess.
func (m *moments) likeliest() (made int, exchanged bool) {
	best := m.all[0]
	for _, k := range m.all[1:] {
		better := k.agree > best.agree || k.agree == best.agree && k.times > best.times
		if better || k.agree == best.agree && k.times == best.times && !k.exchanged {
			best = k
		}
	}
	return best.made, best.exchanged
}

// finishExchange removes the entry that a rename displaced and that has its old name now. Where
// that fails it stays there; the undo store has it as well.
func (s *server) finishExchange(step files.Step) {
	_, stat, err := s.state(step.Path)
	if err != nil {
		return
	}
	dir, name, err := s.dirOf(step.Path)
	if err != nil {
		return
	}
	defer dir.Close()
	_ = dir.Remove(name, tree.TempName(), stat)
}

// finishLink takes the old name of a file away that has both: where a rename can't promise a
// free name, it is linked first.
func (s *server) finishLink(step files.Step) {
	dir, name, err := s.dirOf(step.Path)
	if err != nil {
		return
	}
	defer dir.Close()
	toDir, to, err := s.dirOf(step.To)
	if err != nil {
		return
	}
	defer toDir.Close()
	was, err := dir.Stat(name)
	if err != nil || was.Kind != files.File || was.Links != 2 {
		return
	}
	if now, err := toDir.Stat(to); err == nil && now.ID == was.ID {
		_ = dir.Discard(name)
	}
}

// state returns the present state of a real path.
func (s *server) state(abs string) (files.State, tree.Stat, error) {
	u := undoing{server: s}
	n, err := u.look(abs)
	return n.stat.State, n.stat, err
}

// clearTemp deals with the name beside a path that a step uses for a moment. It is taken away only if its content is
// one that the record knows.
func (s *server) clearTemp(step files.Step) {
	dir, name, err := s.dirOf(step.Path)
	if err != nil {
		return
	}
	defer dir.Close()
	temp, err := dir.Stat(step.Temp)
	if err != nil || temp.Kind == files.Absent {
		return
	}
	if now, err := dir.Stat(name); err == nil && now.ID == temp.ID && temp.Kind == files.File {
		_ = dir.Discard(step.Temp) // linked, and one of the names not yet taken away
		return
	}
	switch step.Kind {
	case files.RemoveStep, files.RenameStep:
		// Renamed, and perhaps not looked at yet: it goes back, and is not
		// taken away.
		_ = dir.PutBack(step.Temp, name)
	case files.MkdirStep:
		_ = dir.Discard(step.Temp)
	case files.PutStep:
		switch temp.Kind {
		case files.File:
			if s.known(dir, step) || s.unfinished(step) {
				_ = dir.Discard(step.Temp)
			}
		case files.Symlink:
			if target, err := dir.Target(step.Temp); err == nil && step.After.Kind == files.Symlink &&
				target == step.After.Target {
				_ = dir.Discard(step.Temp)
			}
		}
	}
}

// known reports whether the entry with the temporary name has the old or the new content.
func (s *server) known(dir *tree.Dir, step files.Step) bool {
	f, _, err := dir.Open(step.Temp)
	if err != nil {
		return false
	}
	defer f.Close()
	sum, _, err := tree.Hash(f)
	return err == nil && (sum == step.Before.Hash || sum == step.After.Hash)
}

// unfinished reports whether the path itself is unchanged, so that the temporary file can only be
// the one that we had begun to write there.
func (s *server) unfinished(step files.Step) bool {
	now, _, err := s.state(step.Path)
	return err == nil && now.Same(step.Before)
}
