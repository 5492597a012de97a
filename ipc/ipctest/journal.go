package ipctest

import (
	"context"
	"io"
	"sync"
)

// journal is a bounded list of values with numbers from 1, which any number of readers follow. A
// reader that holds makes put wait when it is behind by the whole list; any other loses the oldest
// values, and gets a gap.
type journal[T any] struct {
	mu      sync.Mutex
	kept    []T
	first   uint64 // number of kept[0]
	bound   int
	closed  bool
	moved   chan struct{} // closed and replaced at every change
	readers map[*reader[T]]bool
}

func newJournal[T any](bound int) *journal[T] {
	return &journal[T]{first: 1, bound: bound, moved: make(chan struct{}), readers: map[*reader[T]]bool{}}
}

// tell wakes all readers. The caller holds mu.
func (j *journal[T]) tell() {
	close(j.moved)
	j.moved = make(chan struct{})
}

// put adds a value. It waits for readers that hold, unless given up.
func (j *journal[T]) put(make func(seq uint64) T, given <-chan struct{}) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for len(j.kept) >= j.bound && j.heldUp() {
		moved := j.moved
		j.mu.Unlock()
		select {
		case <-moved:
		case <-given:
			given = nil
			j.mu.Lock()
			j.drop()
			continue
		}
		j.mu.Lock()
	}
	if j.closed {
		return
	}
	j.drop()
	j.kept = append(j.kept, make(j.first+uint64(len(j.kept))))
	j.tell()
}

// drop makes room for one. The caller holds mu.
func (j *journal[T]) drop() {
	if over := len(j.kept) - j.bound + 1; over > 0 {
		j.kept = append([]T(nil), j.kept[over:]...)
		j.first += uint64(over)
	}
}

// heldUp reports whether a reader still needs the oldest. The caller holds mu.
func (j *journal[T]) heldUp() bool {
	for r := range j.readers {
		if r.hold && r.next <= j.first {
			return true
		}
	}
	return false
}

func (j *journal[T]) close() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.closed {
		j.closed = true
		j.tell()
	}
}

// open makes a reader.
func (j *journal[T]) open(from uint64, hold bool, gap func(from, to uint64) T, closed func()) *reader[T] {
	j.mu.Lock()
	defer j.mu.Unlock()
	r := &reader[T]{journal: j, next: from, hold: hold, gap: gap, closed: closed}
	j.readers[r] = true
	return r
}

// reader is an ipc.Stream.
type reader[T any] struct {
	journal *journal[T]
	next    uint64 // guarded by the journal's mu
	hold    bool
	gap     func(from, to uint64) T
	closed  func()
}

// Next implements [ipc.Stream].
func (r *reader[T]) Next(ctx context.Context) (T, error) {
	j := r.journal
	var zero T
	for {
		j.mu.Lock()
		switch {
		case r.next < j.first:
			from, to := r.next, j.first-1
			r.next = j.first
			j.mu.Unlock()
			return r.gap(from, to), nil
		case r.next < j.first+uint64(len(j.kept)):
			v := j.kept[r.next-j.first]
			r.next++
			j.tell()
			j.mu.Unlock()
			return v, nil
		case j.closed:
			j.mu.Unlock()
			return zero, io.EOF
		}
		moved := j.moved
		j.mu.Unlock()
		select {
		case <-moved:
		case <-ctx.Done():
			return zero, ctx.Err()
		}
	}
}

// Ready implements [ipc.Ready].
func (r *reader[T]) Ready() bool {
	r.journal.mu.Lock()
	defer r.journal.mu.Unlock()
	return r.journal.closed || r.next < r.journal.first+uint64(len(r.journal.kept))
}

// Close implements [ipc.Stream].
func (r *reader[T]) Close() error {
	r.journal.mu.Lock()
	delete(r.journal.readers, r)
	r.journal.tell()
	r.journal.mu.Unlock()
	r.closed()
	return nil
}
