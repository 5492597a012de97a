// Package approvaltest holds doubles for programs that use package approval,
// and the walks through the source specifications as data.
//
// The doubles are real: Person is an approval.Approver that answers by a
// function, Store is an approval.Store in memory that fails on demand,
// Clock is a wall clock that can be set.
//
// A Scenario is a list of steps (a call, an answer, time passing, …) with the outcome
// of each. Play plays it against a System; NewSystem makes one of an
// approval.Controller, and a harness for the daemon makes one of its socket.
package approvaltest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"sandboxd/approval"
)

// Person answers a question by calling the function.
type Person func(ctx context.Context, p approval.Pending) (approval.Answer, error)

// Ask implements approval.Approver.
func (f Person) Ask(ctx context.Context, p approval.Pending) (approval.Answer, error) {
	return f(ctx, p)
}

// Yes is a person that approves every question, with that scope.
func Yes(scope approval.Scope) Person {
	return func(_ context.Context, p approval.Pending) (approval.Answer, error) {
		a := p.Allow(approval.Identity{})
		a.Scope = scope
		return a, nil
	}
}

// No is a person that denies every question.
func No(note string, mode approval.RejectMode) Person {
	return func(_ context.Context, p approval.Pending) (approval.Answer, error) {
		a := p.Deny(approval.Identity{}, note)
		a.Mode = mode
		return a, nil
	}
}

// Silent is a person that never answers.
func Silent() Person {
	return func(ctx context.Context, _ approval.Pending) (approval.Answer, error) {
		<-ctx.Done()
		return approval.Answer{}, context.Cause(ctx)
	}
}

// Dying is a person whose terminal goes away mid-prompt.
func Dying() Person {
	return func(context.Context, approval.Pending) (approval.Answer, error) {
		return approval.Answer{}, errors.New("the terminal was closed")
	}
}

// Garbage is a person whose answers cannot be read.
func Garbage() Person {
	return func(context.Context, approval.Pending) (approval.Answer, error) {
		return approval.Answer{Verb: "yes!", Scope: "everything"}, nil
	}
}

// Store is an approval.Store in memory. The zero value is empty.
type Store struct {
	mu     sync.Mutex
	grants []approval.Grant
	fail   error
	hold   chan struct{}
	saves  int
}

// Fail makes every Save fail with err from now on; nil makes them work again.
func (s *Store) Fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = err
}

// Hold makes every Save wait until the returned function is called.
func (s *Store) Hold() (release func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	hold := make(chan struct{})
	s.hold = hold
	return func() {
		s.mu.Lock()
		s.hold = nil
		s.mu.Unlock()
		close(hold)
	}
}

// Load implements approval.Store.
func (s *Store) Load() ([]approval.Grant, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.grants), nil
}

// Save implements approval.Store.
func (s *Store) Save(grants []approval.Grant) error {
	s.mu.Lock()
	hold := s.hold
	s.mu.Unlock()
	if hold != nil {
		<-hold
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		return s.fail
	}
	s.grants = slices.Clone(grants)
	s.saves++
	return nil
}

// Grants is the stored grants.
func (s *Store) Grants() []approval.Grant {
	g, _ := s.Load()
	return g
}

// Clock is a wall clock that can be set; it goes with real (or synctest's)
// time otherwise. The zero value shows the right time.
type Clock struct {
	mu     sync.Mutex
	offset time.Duration
}

// Now is for approval.Options.Now. Like a clock that was set, its readings
// keep the monotonic part only as long as it was never set.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.offset == 0 {
		return time.Now()
	}
	return time.Now().Round(0).Add(c.offset)
}

// Jump sets the clock forth, or back.
func (c *Clock) Jump(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offset += d
}
