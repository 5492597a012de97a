package supervisor

import "sync"

// asking records the requester of each open question, which must not
// answer it. The zero value is empty.
type asking struct {
	mu    sync.Mutex
	execs map[string]*Exec // by the question's id
}

func (a *asking) add(e *Exec, question string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.execs == nil {
		a.execs = map[string]*Exec{}
	}
	a.execs[question] = e
}

// forget drops the questions of e, which are all decided.
func (a *asking) forget(e *Exec) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for id, o := range a.execs {
		if o == e {
			delete(a.execs, id)
		}
	}
}

// ExecAsking returns the subject of a question: an execution, or a check, which
// has no events to follow. It is nil where no such question is open.
func (s *Supervisor) ExecAsking(question string) *Exec {
	s.asking.mu.Lock()
	defer s.asking.mu.Unlock()
	return s.asking.execs[question]
}

// Runs reports whether it is an execution of ours, and not a check of a command that the
// agent will run itself.
func (e *Exec) Runs() bool { return e.done != nil }
