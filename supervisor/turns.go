package supervisor

import (
	"context"
	"sync"
	"time"
)

// turnWait is how long a layered run waits for the others of its project. After that it runs beside them, and finds
// their changes at its landing.
const turnWait = 10 * time.Second

// turns serializes the layered runs of a project, so that each begins with the changes that the last one landed. The
// zero value is ready.
type turns struct {
	mu    sync.Mutex
	roots map[string]chan struct{} // with a place for the run whose turn it is
}

// take waits for the turn of a run, which release ends. It returns how long it waited.
func (t *turns) take(ctx context.Context, root string) (release func(), waited time.Duration) {
	t.mu.Lock()
	if t.roots == nil {
		t.roots = map[string]chan struct{}{}
	}
	place := t.roots[root]
	if place == nil {
		place = make(chan struct{}, 1)
		t.roots[root] = place
	}
	t.mu.Unlock()
	start := time.Now()
	timer := time.NewTimer(turnWait)
	defer timer.Stop()
	select {
	case place <- struct{}{}:
		return func() { <-place }, time.Since(start)
	case <-timer.C:
	case <-ctx.Done():
	}
	return func() {}, time.Since(start)
}
