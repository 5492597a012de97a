package supervisor

import (
	"bytes"
	"context"
	"io"
	"sync"
	"time"
)

// eventLog is the record of one execution that any number of readers follow,
// each at its own pace. Output beyond the limit is cut in the middle: the first
// half of the limit is delivered as it comes, the last half when the command ends, and
// the bytes between are counted. Everything else is always kept.
//
// Even if a command writes in tiny pieces, the log takes at most a
// bounded multiple of limit: see [blocks].
type eventLog struct {
	limit int64 // of head and tail together, bytes; 0: none

	mu     sync.Mutex
	events blocks
	bytes  int64  // of output in events
	tail   blocks // output after the head, newest last
	cut    int64  // bytes dropped from tail
	room   []byte // of what was dropped, for the next output
	closed bool
	read   uint64        // number of the newest event that somebody has read
	wake   chan struct{} // closed at the next change; nil: nobody waits
}

// keepAtMost sets limit, before there is any output.
func (l *eventLog) keepAtMost(limit int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.limit = limit
}

func newEventLog(limit int64) *eventLog { return &eventLog{limit: limit} }

// addBefore is add for an event that the next one follows closely: nobody is woken for it
// alone.
func (l *eventLog) addBefore(e Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		e.Time = time.Now()
		l.events.add(e, false)
	}
}

// add appends e, numbers it and wakes the readers. Output that nobody has read yet
// becomes part of the event before, if that is of the same kind. The log has a copy of Data.
func (l *eventLog) add(e Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	e.Time = time.Now()
	e.Data = l.copyOf(e.Data)
	if n := int64(len(e.Data)); n > 0 && l.limit > 0 {
		if room := l.head() - l.bytes; room < n {
			if room > 0 && l.tail.count() == 0 {
				first := e
				first.Data = e.Data[:room:room]
				l.append(first)
				e.Data = e.Data[room:]
			}
			l.hold(e)
			return
		}
	}
	l.append(e)
}

// copyOf copies output: it is kept for minutes, so in no more room than it needs, if need be that of a dropped piece,
// which no reader has seen. A flood of output then makes no garbage. mu is held.
func (l *eventLog) copyOf(data []byte) []byte {
	if room := l.room; len(data) <= cap(room) && cap(room) <= 2*len(data) {
		l.room = nil
		return append(room, data...)
	}
	return bytes.Clone(data)
}

// head is how many bytes of output are delivered as they come.
func (l *eventLog) head() int64 { return l.limit - l.limit/2 }

// append makes e visible; mu is held.
func (l *eventLog) append(e Event) {
	l.bytes += int64(len(e.Data))
	l.events.add(e, l.events.count() > l.read)
	if l.wake != nil {
		close(l.wake)
		l.wake = nil
	}
}

// hold keeps e for the tail and drops events that are too old; mu is held. The head is
// full from now on, however small a later piece is.
func (l *eventLog) hold(e Event) {
	l.bytes = max(l.bytes, l.head())
	l.tail.add(e, true)
	if over := l.tail.bytes - l.limit/2; over > 0 {
		if room := l.tail.drop(over); room != nil {
			l.room = room
		}
		l.cut += over
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
	for e := range l.tail.all() {
		l.append(e)
	}
	l.tail = blocks{}
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

// drained reports whether somebody has read a closed log to its end.
func (l *eventLog) drained() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed && l.read == l.events.count()
}

// size is the log's memory in bytes, about.
func (l *eventLog) size() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.events.size() + l.tail.size()
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
	return r.log.closed || r.next <= r.log.events.count()
}

// Next returns the next event, io.EOF after the last one, or ctx's error.
func (r *EventReader) Next(ctx context.Context) (Event, error) {
	for {
		r.log.mu.Lock()
		if r.next <= r.log.events.count() {
			e := r.log.events.at(r.next)
			r.next++
			r.log.read = max(r.log.read, e.Seq)
			r.log.mu.Unlock()
			return e, nil
		}
		if r.log.closed {
			r.log.mu.Unlock()
			return Event{}, io.EOF
		}
		if r.log.wake == nil {
			r.log.wake = make(chan struct{})
		}
		wake := r.log.wake
		r.log.mu.Unlock()
		select {
		case <-wake:
		case <-ctx.Done():
			return Event{}, context.Cause(ctx)
		}
	}
}
