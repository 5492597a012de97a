package supervisor

import (
	"context"
	"io"
	"sync"
	"time"
)

// eventLog is the record of one execution that any number of readers follow,
// each at its own pace. Output beyond the limit is cut in the middle: the first
// head bytes are delivered as they come, the last tail bytes when it ends, and
// what lay between is counted. Everything else is always kept.
type eventLog struct {
	limit int64 // of head and of tail, bytes; 0: none

	mu     sync.Mutex
	events []Event
	bytes  int64   // of output in events
	tail   []Event // output after the head, newest last
	held   int64   // bytes in tail
	cut    int64   // bytes dropped from tail
	closed bool
	read   uint64        // number of the newest event that somebody has read
	wake   chan struct{} // closed and replaced at each change
}

func newEventLog(limit int64) *eventLog {
	return &eventLog{limit: limit, wake: make(chan struct{})}
}

// add appends e, numbers it and wakes the readers.
func (l *eventLog) add(e Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	e.Time = time.Now()
	if n := int64(len(e.Data)); n > 0 && l.limit > 0 {
		if room := l.limit - l.bytes; room < n {
			if room > 0 && len(l.tail) == 0 {
				first := e
				first.Data = e.Data[:room]
				l.append(first)
				e.Data = e.Data[room:]
			}
			l.hold(e)
			return
		}
	}
	l.append(e)
}

// append makes e visible; mu is held.
func (l *eventLog) append(e Event) {
	l.bytes += int64(len(e.Data))
	e.Seq = uint64(len(l.events)) + 1
	l.events = append(l.events, e)
	close(l.wake)
	l.wake = make(chan struct{})
}

// hold keeps e for the tail and drops what is too old; mu is held. The head is
// full from now on, however small a later piece is.
func (l *eventLog) hold(e Event) {
	l.bytes = max(l.bytes, l.limit)
	l.tail = append(l.tail, e)
	l.held += int64(len(e.Data))
	for l.held > l.limit {
		first := &l.tail[0]
		n := min(int64(len(first.Data)), l.held-l.limit)
		first.Data = first.Data[n:]
		l.held -= n
		l.cut += n
		if len(first.Data) == 0 {
			l.tail[0] = Event{}
			l.tail = l.tail[1:]
		}
	}
}

// flush delivers the tail, preceded by a gap where something was cut, and
// returns how many bytes that was. Called once, when no more output comes.
func (l *eventLog) flush() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cut > 0 {
		l.append(Event{Kind: EventCut, Time: time.Now(), Cut: l.cut})
	}
	for _, e := range l.tail {
		l.append(e)
	}
	l.tail = nil
	return l.cut
}

// end appends the last event and closes the log: readers see both at once.
func (l *eventLog) end(e Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e.Time = time.Now()
	l.closed = true
	l.append(e)
}

// told reports whether somebody has read a closed log to its end.
func (l *eventLog) told() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed && l.read == uint64(len(l.events))
}

// size is how many bytes of output the log holds.
func (l *eventLog) size() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bytes
}

// reader follows the log from event number from (1 is the first) on.
func (l *eventLog) reader(from uint64) *EventReader {
	return &EventReader{log: l, next: max(from, 1)}
}

// EventReader yields events in order, without loss.
type EventReader struct {
	log  *eventLog
	next uint64
}

// Ready reports whether Next would return at once.
func (r *EventReader) Ready() bool {
	r.log.mu.Lock()
	defer r.log.mu.Unlock()
	return r.log.closed || r.next <= uint64(len(r.log.events))
}

// Next returns the next event, io.EOF after the last one, or ctx's error.
func (r *EventReader) Next(ctx context.Context) (Event, error) {
	for {
		r.log.mu.Lock()
		if i := r.next - 1; i < uint64(len(r.log.events)) {
			e := r.log.events[i]
			r.next++
			r.log.read = max(r.log.read, e.Seq)
			r.log.mu.Unlock()
			return e, nil
		}
		closed, wake := r.log.closed, r.log.wake
		r.log.mu.Unlock()
		if closed {
			return Event{}, io.EOF
		}
		select {
		case <-wake:
		case <-ctx.Done():
			return Event{}, context.Cause(ctx)
		}
	}
}
