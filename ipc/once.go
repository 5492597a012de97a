package ipc

import (
	"context"
	"crypto/sha256"
	"sync"
	"time"
)

const (
	rememberFor = 10 * time.Minute // an idempotency key
	rememberMax = 1024             // of one user
)

// memory knows the requests with an idempotency key that succeeded lately, so
// that one that is sent again starts nothing twice.
type memory struct {
	mu    sync.Mutex
	users map[int]*userMemory
}

type userMemory struct {
	starts map[startKey]*start
	order  []startKey // oldest first; may hold some that are gone
}

// startKey is what a client means by the same request: the key counts within
// a session, and for who holds its secret.
type startKey struct {
	session, key string
	secret       Secret
}

// start is a request that is being carried out, or was.
type start struct {
	request [sha256.Size]byte
	at      time.Time
	done    chan struct{} // closed when what follows is set
	answer  ExecStarted
	err     error
}

func newMemory() *memory { return &memory{users: map[int]*userMemory{}} }

// start is Backend.StartExec, once for each key. Failures are not remembered.
func (m *memory) start(b Backend, ctx context.Context, c Caller, r ExecRequest) (ExecStarted, error) {
	if r.IdempotencyKey == "" {
		return b.StartExec(ctx, c, r)
	}
	k := startKey{session: r.Session, key: r.IdempotencyKey, secret: c.Secret}
	s, first := m.enter(c.Peer.UID, k, sha256.Sum256(encode(r)))
	if s == nil {
		return ExecStarted{}, &Error{Code: CodeConflict, Message: "this idempotency key was used for another request", Hint: "take a new key for each command"}
	}
	if !first {
		select {
		case <-s.done:
			return s.answer, s.err
		case <-ctx.Done():
			return ExecStarted{}, ctx.Err()
		}
	}
	s.err = &Error{Code: CodeInternal, Message: "the first request with this key failed"} // should StartExec panic
	defer func() {
		if s.err != nil {
			m.forget(c.Peer.UID, k)
		}
		close(s.done)
	}()
	s.answer, s.err = b.StartExec(ctx, c, r)
	return s.answer, s.err
}

// enter finds the request with this key, or makes it: then it is the first.
// It returns nil where the key belongs to a request that is not the same.
func (m *memory) enter(uid int, k startKey, request [sha256.Size]byte) (s *start, first bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	u := m.users[uid]
	if u == nil {
		u = &userMemory{starts: map[startKey]*start{}}
		m.users[uid] = u
	}
	now := time.Now()
	for len(u.order) > 0 {
		oldest := u.starts[u.order[0]]
		if oldest != nil && now.Sub(oldest.at) < rememberFor && len(u.order) < rememberMax {
			break
		}
		delete(u.starts, u.order[0])
		u.order = u.order[1:]
	}
	if s := u.starts[k]; s != nil {
		if s.request != request {
			return nil, false
		}
		return s, false
	}
	s = &start{request: request, at: now, done: make(chan struct{})}
	u.starts[k] = s
	u.order = append(u.order, k)
	return s, true
}

func (m *memory) forget(uid int, k startKey) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.users[uid].starts, k)
}
