package worker

import (
	"sandboxd/files"
	"sandboxd/files/tree"
)

// settle looks at what became of a change that was cut off, and returns how many
// of its steps were made. What was left under a temporary name is cleared away, or
// put back, and a rename that had exchanged two names is finished. Nothing is done
// that was not begun.
func (s *server) settle(steps []files.Step) int {
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

// moments are the points in time at which a change can have been cut off: before
// its first step, after each, and between exchanging two names and taking the one
// away. Steps are made in order, so that what became of one cannot be told from its
// own names alone: a later step may have put there what an earlier one took away.
type moments struct {
	all []moment
	// turns are, for each path, what it holds from which moment on.
	turns map[string][]turn
}

// moment is one of them, and how much of what is there now speaks for it.
type moment struct {
	made      int  // steps
	exchanged bool // the last of them only as far as the exchange of names
	// agree counts the paths that hold what they held then, and times those whose
	// modification time was that one, less those that have another.
	agree, times int
}

type turn struct {
	from  int // index of a moment
	holds files.State
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

// before says what a path held before the change, if no step had to do with it yet.
func (m *moments) before(p string, holds files.State) {
	if len(m.turns[p]) == 0 {
		m.turn(p, 0, holds)
	}
}

func (m *moments) turn(p string, from int, holds files.State) {
	m.turns[p] = append(m.turns[p], turn{from, holds})
}

// compare counts what one path holds now for the moments at which it held that.
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
			case t.holds.ModTime == 0 || now.Kind != files.File && now.Kind != files.Symlink: // not known, or it tells nothing
			case t.holds.ModTime == now.ModTime:
				m.all[k].times++
			default:
				m.all[k].times--
			}
		}
	}
}

// likeliest is the moment that most paths speak for, and among those of equal
// contents the one that the times speak for. What cannot be told apart counts as
// made, so that what was lost stays kept; but no name is taken away on a guess.
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

// finishExchange takes away what a rename displaced and what now stands under its
// old name. Where that fails it stays there; the undo store has it as well.
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

// state is what a real path holds now.
func (s *server) state(abs string) (files.State, tree.Stat, error) {
	u := undoing{server: s}
	n, err := u.look(abs)
	return n.stat.State, n.stat, err
}

// clearTemp deals with the name beside a path that a step uses for a moment. It is taken away only if its content is one that the record knows.
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
			if target, err := dir.Target(step.Temp); err == nil && step.After.Kind == files.Symlink && target == step.After.Target {
				_ = dir.Discard(step.Temp)
			}
		}
	}
}

// known reports whether what stands under the temporary name is the old or the
// new content.
func (s *server) known(dir *tree.Dir, step files.Step) bool {
	f, _, err := dir.Open(step.Temp)
	if err != nil {
		return false
	}
	defer f.Close()
	sum, _, err := tree.Hash(f)
	return err == nil && (sum == step.Before.Hash || sum == step.After.Hash)
}

// unfinished reports whether the path itself is as it was before, so that the
// temporary name can only be what we had begun to write there.
func (s *server) unfinished(step files.Step) bool {
	now, _, err := s.state(step.Path)
	return err == nil && now.Same(step.Before)
}
