package audit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// maxBatch bounds one write, in calls of Append.
const maxBatch = 256

// retry is how long a failed log waits before it tries again by itself.
const retry = time.Second

// maxBuffer bounds the memory that is kept from one write to the next.
const maxBuffer = 64 << 10

// wakeDelay is how long the writer goroutine waits after a direct write before it flushes and
// mirrors.
const wakeDelay = 5 * time.Millisecond

// lateness bounds how long the records of [Log.PutAfter] wait for the disk.
const lateness = 20 * time.Millisecond

// write writes all queued records at once, so that one fdatasync(2) serves all their callers. It
// returns when the queue is closed and empty.
func (l *Log) write() {
	defer close(l.ended)
	for {
		batch, open := l.next()
		if !open {
			return
		}
		if len(batch) == 0 {
			continue
		}
		l.mu.Lock()
		l.commit(batch)
		l.mu.Unlock()
	}
}

// mirror passes synced records to Options.Mirror. Only the writer calls it.
func (l *Log) mirror() {
	l.mu.Lock()
	ends := l.synced
	l.synced = nil
	l.mu.Unlock()
	for _, m := range ends {
		l.opts.Mirror(Mirrored{Anchor: m.Anchor, Record: *m.record, Line: m.line})
	}
}

// writeNow writes in the caller's goroutine, if nothing is being written, which saves waking the
// writer and then the caller. Records queued meanwhile follow it in the file.
func (l *Log) writeNow(p *pending) bool {
	if len(l.queue) > 0 || !l.mu.TryLock() {
		return false
	}
	l.commit([]*pending{p})
	l.mu.Unlock()
	if p.after || l.opts.Mirror != nil { // it is to be on the disk, or in the mirror, soon
		time.AfterFunc(wakeDelay, l.wake) // the waiting caller runs first
	}
	return true
}

// wake makes the writer flush and mirror records that were written without it.
func (l *Log) wake() {
	select {
	case l.wrote <- struct{}{}:
	default:
	}
}

// next mirrors, and waits for records to write, for the time to put late ones on the disk, or
// to try a log that failed again. It returns false when the queue is closed and empty.
func (l *Log) next() (batch []*pending, more bool) {
	l.mirror()
	var p *pending
	open := true
	select {
	case p, open = <-l.queue:
	default:
		var late, again <-chan time.Time
		l.mu.Lock()
		if l.late.waiting != nil {
			late = time.After(time.Until(l.late.since.Add(lateness)))
		}
		if l.failed != nil || l.short != nil {
			again = time.After(retry)
		}
		l.mu.Unlock()
		select {
		case p, open = <-l.queue:
		case <-l.wrote:
			return nil, true
		case <-late:
			l.mu.Lock()
			l.sync() // the waiting callers get its error
			l.mu.Unlock()
			return nil, true
		case <-again:
			l.Recover() // Err has its error
			return nil, true
		}
	}
	if !open {
		l.mu.Lock()
		l.sync()
		l.mu.Unlock()
		l.mirror()
		return nil, false
	}
	batch = []*pending{p}
	for len(batch) < maxBatch {
		select {
		case p, open := <-l.queue:
			if !open {
				return batch, true
			}
			batch = append(batch, p)
		default:
			return batch, true
		}
	}
	return batch, true
}

// settle reports the result to each waiting caller. A failed end is written later.
func (l *Log) settle(batch []*pending, err error) {
	for _, p := range batch {
		switch {
		case err != nil && p.after:
			later := newPending()
			later.after, later.entries = true, p.entries
			l.owing = append(l.owing, later)
		case err != nil && p.owes, err == nil && p.after && l.owed > 0:
			l.owed--
		}
		p.result = err
		p.once.Do(func() { close(p.written) })
		close(p.done)
	}
}

// late marks where the file ends with records that are not known to be on the disk.
type late struct {
	size, last int64
	since      time.Time
	head       Anchor
	lines      []byte     // all of it
	ends       []toMirror // for Options.Mirror
	waiting    []*pending // nil: there is none
}

// toMirror is a record that was written.
type toMirror struct {
	Anchor
	record *Record
	line   []byte
}

// commit writes a batch, and syncs it unless all of it may be late. All of it counts or none,
// except ends, which need less than the rest. With nil every caller has a result, or will have;
// with an error each has it.
func (l *Log) commit(batch []*pending) error {
	batch, refused := l.admit(batch)
	if len(batch) == 0 {
		return refused
	}
	fail := func(err error, written []byte) error {
		l.fail(err, written)
		l.settle(batch, err)
		return err
	}
	buf := l.buffer[:0]
	head, last := l.head, l.size
	var ends []toMirror
	wait := false
	for _, p := range batch {
		wait = wait || !p.after
		for i, e := range p.entries {
			last = l.size + int64(len(buf))
			line, hash := seal(head.Seq+1, head.Hash, e.object)
			buf = append(buf, line...)
			head = Anchor{Seq: head.Seq + 1, Hash: hash}
			if l.opts.Mirror != nil {
				ends = append(ends, toMirror{head, &p.entries[i].record, line})
			}
		}
	}
	if cap(buf) <= maxBuffer {
		l.buffer = buf
	}
	if err := l.undisturbed(); err != nil {
		return fail(err, nil)
	}
	n, err := l.file.Write(buf)
	if err != nil {
		l.takeBack(buf[:n])
		return fail(err, bytes.Clone(buf[:n]))
	}
	if l.late.waiting == nil {
		l.late = late{size: l.size, last: l.last, since: time.Now(), head: l.head, lines: l.late.lines[:0]}
	}
	l.late.lines = append(l.late.lines, buf...)
	l.late.ends = append(l.late.ends, ends...)
	l.late.waiting = append(l.late.waiting, batch...)
	l.head, l.last, l.size = head, last, l.size+int64(len(buf))
	if wait {
		l.sync()
		return refused // sync has reported
	}
	for _, p := range batch {
		p.once.Do(func() { close(p.written) })
	}
	return refused
}

// sync syncs everything written and reports to the waiting callers. If that fails, the written
// records count as a failed write.
func (l *Log) sync() error {
	if l.late.waiting == nil {
		return nil
	}
	was := l.late
	l.late = late{}
	err := l.harden(was.lines)
	if err != nil {
		l.head, l.last, l.size = was.head, was.last, was.size
		err = l.fail(err, was.lines)
	} else {
		l.synced = append(l.synced, was.ends...)
		if cap(was.lines) <= maxBuffer {
			l.late.lines = was.lines
		}
	}
	l.settle(was.waiting, err)
	return err
}

// fail makes err stick.
func (l *Log) fail(err error, written []byte) error {
	l.failed, l.unacked, l.tried = err, written, time.Now()
	l.wake() // the writer tries to recover
	return err
}

// takeBack removes the bytes of a failed write at once, so that the log is whole also while the
// disk is full. Bytes that it can't remove now recover will.
func (l *Log) takeBack(written []byte) {
	tail, err := io.ReadAll(io.NewSectionReader(l.file, l.size, 1<<62))
	if err == nil && bytes.Equal(tail, written) {
		l.file.Truncate(l.size)
		l.room = 0 // it went along
	}
}

// undisturbed finds out whether somebody else wrote to the file, cut it or
// took it away since our last write.
func (l *Log) undisturbed() error {
	fi, err := l.file.Stat()
	if err != nil {
		return err
	}
	now, err := os.Lstat(l.path(l.number))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrLost, err)
	}
	switch {
	case !os.SameFile(fi, now):
		return fmt.Errorf("%w: %q is another file now", ErrLost, l.path(l.number))
	case fi.Size() < l.size:
		return fmt.Errorf("%w: %q has %d bytes, and had %d", ErrLost, l.path(l.number), fi.Size(), l.size)
	case fi.Size() > l.size:
		return fmt.Errorf("something else wrote to %q", l.path(l.number))
	}
	return nil
}

// rotate begins the next file; the present one is on the disk. One that is there already
// must be empty: an earlier attempt made it and failed.
func (l *Log) rotate() error {
	f, err := openFile(l.path(l.number+1), os.O_RDWR|os.O_APPEND|os.O_CREATE)
	if err != nil {
		return err
	}
	if fi, err := f.Stat(); err != nil || fi.Size() > 0 {
		return errors.Join(fmt.Errorf("begin %q: it is there already", f.Name()), err, f.Close())
	}
	if l.owed > 0 {
		if err := reserve(f, 0, l.owed*maxEnd); err != nil && !errors.Is(err, errChecked) {
			return errors.Join(err, f.Close())
		}
	}
	// the file as well as its name: nothing else may write it soon
	if err := errors.Join(f.Sync(), syncDir(l.dir)); err != nil {
		return errors.Join(err, f.Close())
	}
	if l.file != nil {
		l.release() // else it keeps the room
		l.file.Close()
	}
	l.file, l.number, l.size, l.last, l.firm, l.room = f, l.number+1, 0, 0, 0, 0
	return nil
}

// recover makes the log writable again after a failure: it removes the bytes of the failed write,
// records that, and appends the ends that failed. The caller holds mu.
func (l *Log) recover() error {
	l.tried = time.Now()
	cause := l.failed
	if err := l.reopen(); err != nil {
		return l.fail(err, l.unacked)
	}
	if err := l.rewrite(); err != nil {
		return l.fail(err, l.unacked)
	}
	detail, err := l.cutTail()
	if err != nil {
		return l.fail(err, l.unacked)
	}
	detail["cause"] = cause.Error()
	l.failed, l.unacked = nil, nil
	if err := l.note("recovered", detail); err != nil {
		return err
	}
	return l.writeOwing()
}

// reopen opens the newest file again and makes sure that the last acknowledged record is still in
// it.
func (l *Log) reopen() error {
	f, err := openFile(l.path(l.number), os.O_RDWR|os.O_APPEND)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("%w: %w", ErrLost, err)
		}
		return err
	}
	line := make([]byte, l.size-l.last)
	if _, err := f.ReadAt(line, l.last); err != nil {
		f.Close()
		if err == io.EOF {
			return fmt.Errorf("%w: %q was cut", ErrLost, l.path(l.number))
		}
		return err
	}
	if len(line) > 0 {
		e, err := unseal(line[:len(line)-1])
		if err != nil || e.Anchor != l.head || line[len(line)-1] != '\n' {
			f.Close()
			return fmt.Errorf("%w: record %d in %q", ErrLost, l.head.Seq, l.path(l.number))
		}
	}
	l.file.Close()
	l.file, l.room = f, 0
	return nil
}

// note records something about the log itself.
func (l *Log) note(operation string, detail map[string]string) error {
	r := Record{Time: time.Now().UTC(), Category: Chain, Operation: operation, Detail: detail}
	object, err := encodeRecord(r, nil, l.opts.MaxRecord)
	if err != nil {
		return err
	}
	p := newPending()
	p.entries = []entry{{r, object}}
	if err := l.commit([]*pending{p}); err != nil {
		return err
	}
	return p.result
}
