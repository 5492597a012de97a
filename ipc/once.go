package ipc

import (
	"context"
	"crypto/sha256"
	"slices"
	"sync"
	"time"
)

const (
	rememberFor = 10 * time.Minute // an idempotency key
	rememberMax = 1024             // of one user
)

// memory knows the requests with an idempotency key that succeeded lately, so
// that one that is sent again does nothing twice and has the same answer.
type memory[Resp any] struct {
	mu    sync.Mutex
	users map[int]*userMemory[Resp]
}

type userMemory[Resp any] struct {
	known map[onceKey]*once[Resp]
	order []onceKey // oldest first; may hold some that are gone
}

// onceKey identifies a request for a client: the key counts within a session, and for the owner of
// its secret.
type onceKey struct {
	session, key string
	secret       Secret
}

// once is a request that is being carried out, or was.
type once[Resp any] struct {
	request   [sha256.Size]byte
	at        time.Time
	done      chan struct{} // closed when the fields below are set
	answer    Resp
	err       error
	abandoned bool // it failed, and its caller had hung up by then: that is no answer for another
}

func newMemory[Resp any]() *memory[Resp] { return &memory[Resp]{users: map[int]*userMemory[Resp]{}} }

// startOnce is Backend.StartExec, once for each key.
func startOnce(x *exchange) method[ExecRequest, ExecStarted] {
	return func(_ Backend, ctx context.Context, c Caller, r ExecRequest) (ExecStarted, error) {
		started, _, err := x.start(ctx, c, r)
		return started, err
	}
}

// start starts a command, once for each key, and reports whether this request did.
func (x *exchange) start(ctx context.Context, c Caller, r ExecRequest) (started ExecStarted, starts bool, err error) {
	k := onceKey{session: r.Session, key: r.IdempotencyKey, secret: c.Secret}
	started, err = x.starts.do(ctx, c, k, func() []byte { return encode(r) }, func() (ExecStarted, error) {
		starts = true
		return x.startWith(ctx, c, r)
	})
	return started, starts, err
}

// runOnce is startOnce, and the events of the started command. The first has the answer of
// exec.start.
func runOnce(x *exchange, r ExecRequest) (Stream[Event], error) {
	ctx := x.r.Context()
	started, starts, err := x.start(ctx, x.caller, r)
	if err != nil {
		return nil, err
	}
	events, err := x.backend.ExecEvents(ctx, x.caller, EventsRequest{ID: started.ID, Starts: starts})
	if err != nil {
		return nil, err
	}
	return &startedStream{Stream: events, started: &started}, nil
}

// startedStream is a command's events with the answer of exec.start in the first.
type startedStream struct {
	Stream[Event]
	started *ExecStarted // nil once it is sent
}

// Ready implements ready.
func (t *startedStream) Ready() bool { return isReady(t.Stream) }

func (t *startedStream) Next(ctx context.Context) (Event, error) {
	e, err := t.Stream.Next(ctx)
	if err == nil {
		e.Queued, t.started = t.started, nil
	}
	return e, err
}

// startWith starts a command with the descriptors that came for it.
func (x *exchange) startWith(ctx context.Context, c Caller, r ExecRequest) (ExecStarted, error) {
	if len(r.Stdio) == 0 {
		return x.backend.StartExec(ctx, c, r)
	}
	if x.carrier == nil {
		return ExecStarted{}, noneCame()
	}
	var bad *Error
	if r.Passed, bad = x.carrier.take(r.Stdio); bad != nil {
		x.log.Debug("descriptors refused", "peer", c.Peer.String(), "reason", bad.Message)
		return ExecStarted{}, bad
	}
	if r.Passed.In != nil && r.Stdin != "" && r.Stdin != StdinNone {
		r.Passed.Close()
		return ExecStarted{}, badRequest("stdin was passed as a descriptor, and is given here too")
	}
	started, err := x.backend.StartExec(ctx, c, r)
	if err != nil {
		r.Passed.Close()
	}
	return started, err
}

// changeOnce is Backend.File, once for each key. An operation that only reads is repeated.
func changeOnce(x *exchange) method[FileRequest, FileResult] {
	return func(b Backend, ctx context.Context, c Caller, r FileRequest) (FileResult, error) {
		k := onceKey{session: r.Session, key: r.IdempotencyKey, secret: c.Secret}
		if slices.Contains(fileReads, r.Op) || r.DryRun {
			k.key = ""
		}
		return x.changes.do(ctx, c, k, func() []byte { return append(encode(r), r.Op...) },
			func() (FileResult, error) { return b.File(ctx, c, r) })
	}
}

// do carries a request out once for each key; without one always. Failures are
// not remembered.
func (m *memory[Resp]) do(ctx context.Context, c Caller, k onceKey, request func() []byte,
	carryOut func() (Resp, error)) (Resp, error) {
	var none Resp
	if k.key == "" {
		return carryOut()
	}
	same := sha256.Sum256(request())
	s, first := m.enter(c.Peer.UID, k, same)
	for s != nil && !first {
		select {
		case <-s.done:
			if !s.abandoned {
				return s.answer, s.err
			}
			s, first = m.enter(c.Peer.UID, k, same) // it is this caller's turn, or another's
		case <-ctx.Done():
			return none, ctx.Err()
		}
	}
	if s == nil {
		return none, &Error{Code: CodeConflict, Message: "this idempotency key was used for another request",
			Hint: "take a new key for each request"}
	}
	s.err = &Error{Code: CodeInternal, Message: "the first request with this key failed"} // should it panic
	defer func() {
		if s.err != nil {
			s.abandoned = ctx.Err() != nil
			m.forget(c.Peer.UID, k)
		}
		close(s.done)
	}()
	s.answer, s.err = carryOut()
	return s.answer, s.err
}

// enter finds the request with this key, or makes it: then it is the first.
// It returns nil where the key belongs to a request that is not the same.
func (m *memory[Resp]) enter(uid int, k onceKey, request [sha256.Size]byte) (s *once[Resp], first bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	u := m.users[uid]
	if u == nil {
		u = &userMemory[Resp]{known: map[onceKey]*once[Resp]{}}
		m.users[uid] = u
	}
	now := time.Now()
	for len(u.order) > 0 {
		oldest := u.known[u.order[0]]
		if oldest != nil && now.Sub(oldest.at) < rememberFor && len(u.order) < rememberMax {
			break
		}
		delete(u.known, u.order[0])
		u.order = u.order[1:]
	}
	if s := u.known[k]; s != nil {
		if s.request != request {
			return nil, false
		}
		return s, false
	}
	s = &once[Resp]{request: request, at: now, done: make(chan struct{})}
	u.known[k] = s
	u.order = append(u.order, k)
	return s, true
}

func (m *memory[Resp]) forget(uid int, k onceKey) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.users[uid].known, k)
}
