package term

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"
)

// Reader reads a descriptor in a way that can be paused and given up: while it
// is paused, arriving input is left for others to read.
type Reader struct {
	wait *waiter

	mu      sync.Mutex
	paused  int
	changed *sync.Cond
	reading context.CancelFunc // not nil while a read waits
	free    *sync.Cond         // signalled when a read ends
}

// NewReader reads fd, which stays the caller's.
func NewReader(fd int) (*Reader, error) {
	wait, err := newWaiter(fd)
	if err != nil {
		return nil, err
	}
	r := &Reader{wait: wait}
	r.changed, r.free = sync.NewCond(&r.mu), sync.NewCond(&r.mu)
	return r, nil
}

// With is an io.Reader that ends, with ctx's error, when ctx does.
func (r *Reader) With(ctx context.Context) io.Reader {
	return readerFunc(func(b []byte) (int, error) { return r.read(ctx, b) })
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }

func (r *Reader) read(ctx context.Context, buf []byte) (int, error) {
	wake := context.AfterFunc(ctx, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.changed.Broadcast()
	})
	defer wake()
	for {
		one, err := r.enter(ctx)
		if err != nil {
			return 0, err
		}
		n, err := r.wait.read(one, time.Time{}, buf)
		r.leave()
		if errors.Is(err, context.Canceled) && ctx.Err() == nil {
			continue // paused
		}
		return n, err
	}
}

// enter waits until nobody pauses, and makes the context of one read.
func (r *Reader) enter(ctx context.Context) (context.Context, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.paused > 0 && ctx.Err() == nil {
		r.changed.Wait()
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	one, cancel := context.WithCancel(ctx)
	r.reading = cancel
	return one, nil
}

func (r *Reader) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reading()
	r.reading = nil
	r.free.Broadcast()
}

// Pause returns when no read is in progress; further reads wait until resume is called.
func (r *Reader) Pause() (resume func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.paused++
	for r.reading != nil {
		r.reading()
		r.free.Wait()
	}
	return sync.OnceFunc(func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.paused--
		r.changed.Broadcast()
	})
}
