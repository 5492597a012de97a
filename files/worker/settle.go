package worker

import (
	"sandboxd/files"
	"sandboxd/files/tree"
)

// settle looks at what became of the steps of a change that was cut off. What
// was left under a temporary name is cleared away, or put back. Nothing is done
// that was not begun.
func (s *server) settle(steps []files.Step) []files.Outcome {
	out := make([]files.Outcome, len(steps))
	for i, step := range steps {
		if step.Temp != "" {
			s.clearTemp(step)
		}
		out[i] = s.outcome(step)
	}
	return out
}

// state is what a real path holds now.
func (s *server) state(abs string) (files.State, tree.Stat, error) {
	u := undoing{server: s}
	n, err := u.look(abs)
	return n.stat.State, n.stat, err
}

// clearTemp deals with the name beside a path that a put or remove uses for a
// moment. It is taken away only if its content is one that the record knows.
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
	switch step.Kind {
	case files.RemoveStep:
		// Renamed, and perhaps not looked at yet: it goes back, and the change
		// is not done.
		_ = dir.PutBack(step.Temp, name)
	case files.MkdirStep:
		_ = dir.Discard(step.Temp)
	case files.PutStep:
		switch {
		case temp.Kind != files.File:
			return
		case s.known(dir, step) || s.unfinished(dir, name, step):
			_ = dir.Discard(step.Temp)
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
func (s *server) unfinished(dir *tree.Dir, name string, step files.Step) bool {
	now, _, err := s.state(step.Path)
	return err == nil && now.Same(step.Before)
}

// outcome compares a step with what is there.
func (s *server) outcome(step files.Step) files.Outcome {
	if step.Kind == files.RenameStep {
		return s.renameOutcome(step)
	}
	now, _, err := s.state(step.Path)
	switch {
	case err != nil:
		return files.Unknown
	case step.Kind == files.MkdirStep && now.Kind == files.Dir:
		return files.Done
	case step.Kind == files.RmdirStep && now.Kind == files.Dir:
		return files.Undone
	case now.Same(step.After):
		return files.Done
	case now.Same(step.Before):
		return files.Undone
	}
	return files.Unknown
}

// renameOutcome finishes a rename onto something that had exchanged the names
// and not yet taken the displaced one away.
func (s *server) renameOutcome(step files.Step) files.Outcome {
	from, stat, errFrom := s.state(step.Path)
	to, _, errTo := s.state(step.To)
	switch {
	case errFrom != nil || errTo != nil:
		return files.Unknown
	case sameMoved(to, step.Before) && from.Kind == files.Absent:
		return files.Done
	case step.Displaced != nil && sameMoved(to, step.Before) && from.Same(*step.Displaced):
		dir, name, err := s.dirOf(step.Path)
		if err != nil {
			return files.Unknown
		}
		defer dir.Close()
		if err := dir.Remove(name, tempName(), stat); err != nil {
			return files.Unknown
		}
		return files.Done
	case sameMoved(from, step.Before):
		return files.Undone
	}
	return files.Unknown
}
