package ipc

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Limits bound each peer's resources. A field that is zero has the value in its comment. Each
// socket counts by itself, so that requesters cannot crowd out approvers.
type Limits struct {
	Connections     int           // of one user; 1024, or half of Total
	ProcConnections int           // of one process; 512
	Requests        int           // of one process, in flight, streams included; 384
	Calls           int           // of one WebSocket, in flight, streams included; 64
	Total           int           // connections of everybody; 4096, or an eighth of the descriptors we may have
	Body            int64         // bytes of a request's JSON; 1 MiB
	FileBody        int64         // the same, for /v1/files and /v1/batch; 8 MiB
	Buffered        int64         // bytes of all requests of one user that are being read or worked on; 32 MiB
	Header          int           // bytes of a request's header; 64 KiB
	Read            time.Duration // for a whole header, and again for a whole body; 30 s
	Write           time.Duration // without progress, for an answer or one event; 30 s
	Idle            time.Duration // of a connection between requests; 2 min
	Heartbeat       time.Duration // between signs of life on /v1/events; 15 s
	Grace           time.Duration // for requests in flight when the server stops; 3 s
}

// withDefaults fills in zero fields.
func (l Limits) withDefaults() Limits {
	or(&l.Total, min(4096, max(64, descriptorLimit()/8))) // two sockets, two descriptors each, half of all
	or(&l.Connections, min(1024, l.Total/2))
	or(&l.ProcConnections, 512)
	or(&l.Requests, 384)
	or(&l.Calls, 64)
	or(&l.Body, 1<<20)
	or(&l.FileBody, 8<<20)
	or(&l.Buffered, 32<<20)
	or(&l.Header, 64<<10)
	or(&l.Read, 30*time.Second)
	or(&l.Write, 30*time.Second)
	or(&l.Idle, 2*time.Minute)
	or(&l.Heartbeat, 15*time.Second)
	or(&l.Grace, 3*time.Second)
	return l
}

// descriptorLimit is how many this process may have open.
func descriptorLimit() int {
	var r unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &r); err != nil {
		return 1024
	}
	return int(min(r.Cur, 1<<20))
}

func or[T comparable](p *T, value T) {
	var zero T
	if *p == zero {
		*p = value
	}
}

// tally counts the present resources of the peers of one socket.
type tally struct {
	limits Limits

	mu       sync.Mutex
	total    int
	users    map[int]*userTally
	procs    map[Process]*procTally
	refusals int // connections that are only open for a refusal
}

type userTally struct {
	connections int
	buffered    int64
}

type procTally struct {
	connections int
	requests    int
}

func newTally(l Limits) *tally {
	return &tally{limits: l, users: map[int]*userTally{}, procs: map[Process]*procTally{}}
}

// connect counts one more connection of p, or returns the exceeded limit.
func (t *tally) connect(p Peer) *Error {
	t.mu.Lock()
	defer t.mu.Unlock()
	u, ok := t.users[p.UID]
	if !ok {
		u = &userTally{}
	}
	q, ok := t.procs[p.Process()]
	if !ok {
		q = &procTally{}
	}
	switch {
	case t.total >= t.limits.Total:
		return &Error{Code: CodeOverloaded, Message: "the daemon has all the connections it can serve",
			Hint: "try again shortly"}
	case u.connections >= t.limits.Connections:
		return &Error{Code: CodeLimit, Message: "this user has too many connections open", Hint: "close some, then try again"}
	case q.connections >= t.limits.ProcConnections && p.PID != 0:
		return &Error{Code: CodeLimit, Message: "this process has too many connections open",
			Hint: "close some, then try again"}
	}
	t.total++
	u.connections++
	q.connections++
	t.users[p.UID], t.procs[p.Process()] = u, q
	return nil
}

// disconnect takes back one connect.
func (t *tally) disconnect(p Peer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.total--
	t.users[p.UID].connections--
	t.procs[p.Process()].connections--
	t.forget(p)
}

// forget drops counters that are all zero, so that the maps do not grow with
// every process that ever connected. The caller holds mu.
func (t *tally) forget(p Peer) {
	if u := t.users[p.UID]; u != nil && *u == (userTally{}) {
		delete(t.users, p.UID)
	}
	if q := t.procs[p.Process()]; q != nil && *q == (procTally{}) {
		delete(t.procs, p.Process())
	}
}

// begin counts one more request in flight.
func (t *tally) begin(p Peer) *Error {
	t.mu.Lock()
	defer t.mu.Unlock()
	q, ok := t.procs[p.Process()]
	if !ok {
		q = &procTally{}
	}
	if q.requests >= t.limits.Requests && p.PID != 0 {
		return &Error{Code: CodeLimit, Message: "this process has too many requests in flight",
			Hint: "wait for some to end, then try again"}
	}
	q.requests++
	t.procs[p.Process()] = q
	return nil
}

// end takes back one begin.
func (t *tally) end(p Peer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.procs[p.Process()].requests--
	t.forget(p) // a WebSocket's connection may be gone before its request
}

// buffer counts n more bytes held for p's user.
func (t *tally) buffer(p Peer, n int64) *Error {
	t.mu.Lock()
	defer t.mu.Unlock()
	u, ok := t.users[p.UID]
	if !ok {
		u = &userTally{}
	}
	if u.buffered+n > t.limits.Buffered {
		return &Error{Code: CodeLimit, Message: "this user's requests hold too much memory",
			Hint: "wait for some to end, then try again"}
	}
	u.buffered += n
	t.users[p.UID] = u
	return nil
}

// unbuffer takes back n bytes.
func (t *tally) unbuffer(p Peer, n int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n == 0 {
		return
	}
	t.users[p.UID].buffered -= n
	t.forget(p)
}

// maxRefusals bounds the connections that wait for a refusal.
const maxRefusals = 32

// refuse reports whether there is room to send one more peer a refusal.
func (t *tally) refuse() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.refusals >= maxRefusals {
		return false
	}
	t.refusals++
	return true
}

// refused takes back one refuse.
func (t *tally) refused() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.refusals--
}
