package gateway

import (
	"sync"

	"golang.org/x/time/rate"
)

// Requests a second: of one caller, and with a wrong secret, of all together.
const (
	perCaller, burst       = 50, 200
	wrongSecret, wrongMany = 2, 20
)

// limiter bounds one caller's requests, and the rate of guesses at secrets.
type limiter struct {
	guesses *rate.Limiter

	mu      sync.Mutex
	callers map[string]*rate.Limiter
}

func newLimiter() *limiter {
	return &limiter{guesses: rate.NewLimiter(wrongSecret, wrongMany), callers: map[string]*rate.Limiter{}}
}

// guess counts a wrong secret, and reports whether there were not too many.
func (l *limiter) guess() bool { return l.guesses.Allow() }

// take counts a request of name and reports whether it may be made. There are
// at most as many names as front ends, and one.
func (l *limiter) take(name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.callers[name]
	if c == nil {
		c = rate.NewLimiter(perCaller, burst)
		l.callers[name] = c
	}
	return c.Allow()
}
