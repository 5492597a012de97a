package supervisor

import (
	"slices"
	"time"
)

// How long the output of an ended command can still be read. Beyond keepRead bytes
// the oldest goes that a reader has read to its end, beyond keepAll the oldest: readers
// follow within moments, and an agent that runs one command after the other
// must not fill the memory.
const (
	keepResults = 5 * time.Minute
	keepRead    = 8 << 20
	keepAll     = 64 << 20
	keepEach    = 32 << 10 // bytes of one besides its output, about (make bench, "MiB after the launches")
)

// keptExecs have ended and can still be read, oldest first. The
// zero value is empty; it has no lock of its own.
type keptExecs struct {
	list  []keptExec
	bytes int64
}

type keptExec struct {
	*Exec
	bytes int64
}

// add keeps e, and returns the executions that have to go for it.
func (k *keptExecs) add(e *Exec) (old []*Exec) {
	bytes := k.bytes
	for _, o := range k.list {
		if bytes <= keepRead {
			break
		}
		if bytes > keepAll || o.log.drained() {
			old = append(old, o.Exec)
			bytes -= o.bytes
		}
	}
	n := keptExec{e, keepEach + e.log.size()}
	k.list = append(k.list, n)
	k.bytes += n.bytes
	return old
}

func (k *keptExecs) remove(e *Exec) {
	i := slices.IndexFunc(k.list, func(o keptExec) bool { return o.Exec == e })
	if i >= 0 {
		k.bytes -= k.list[i].bytes
		k.list = slices.Delete(k.list, i, i+1)
	}
}

// keep lets an ended execution be read for a while, unless its session is
// closed.
func (s *Supervisor) keep(e *Exec) {
	s.asking.forget(e)
	e.mu.Lock()
	e.expiry = time.AfterFunc(keepResults, func() { s.forget(e) })
	e.proc = nil
	e.mu.Unlock()
	e.Session.mu.Lock()
	closed := e.Session.closed
	e.Session.mu.Unlock()
	if closed {
		s.forget(e)
		return
	}
	s.mu.Lock()
	var old []*Exec
	if s.execs[e.ID] == e { // else it was forgotten meanwhile
		old = s.kept.add(e)
	}
	s.mu.Unlock()
	for _, o := range old {
		s.forget(o)
	}
}

// forget drops an ended execution. Its present readers continue.
func (s *Supervisor) forget(e *Exec) {
	e.mu.Lock()
	e.expiry.Stop()
	e.mu.Unlock()
	s.mu.Lock()
	delete(s.execs, e.ID)
	s.kept.remove(e)
	s.mu.Unlock()
	e.Session.mu.Lock()
	delete(e.Session.execs, e.ID)
	e.Session.mu.Unlock()
}
