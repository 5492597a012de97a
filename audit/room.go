package audit

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// maxEnd bounds a record that [Log.PutAfter] writes, bytes; a longer one is shortened.
	maxEnd = 128 << 10
	// sealing is more than a line adds to its record, bytes.
	sealing = 256
	// ahead is how many bytes more than necessary are allocated at once.
	ahead = 32 << 10
	// margin is how many bytes more a log that had no room needs before it takes records again.
	margin = 64 << 10
)

// AppendStart is Append, and reserves room for one record of an end, which [Log.PutAfter]
// writes. It fails where there is no room for both.
func (l *Log) AppendStart(records ...Record) error {
	p := newPending()
	p.start = true
	return l.putAndWait(p, records)
}

// Ready returns why a start can't be recorded at present, or nil. A log that another
// goroutine is writing counts as ready; AppendStart decides.
func (l *Log) Ready() error {
	l.closing.RLock()
	defer l.closing.RUnlock()
	if l.closed {
		return l.wrapped(ErrClosed)
	}
	if !l.mu.TryLock() {
		return nil
	}
	defer l.mu.Unlock()
	err := l.works()
	if err == nil {
		err = l.makeRoom([]*pending{{start: true}})
	}
	return l.wrapped(err)
}

// works returns why the log can't be written. It tries to recover once a second.
func (l *Log) works() error {
	if l.failed == nil || time.Since(l.tried) < retry {
		return l.failed
	}
	return l.recover()
}

// admit prepares the log for a batch and returns the part of it that can be written.
// It settles the rest with the error. Ends need no preparation but a log that works: their
// room is reserved.
func (l *Log) admit(batch []*pending) ([]*pending, error) {
	var ends, others []*pending
	for _, p := range batch {
		if p.after {
			ends = append(ends, p)
		} else {
			others = append(others, p)
		}
	}
	err := l.works()
	if err == nil && len(others) > 0 {
		err = l.makeRoom(others)
	}
	switch {
	case l.failed != nil:
		l.settle(batch, err)
		return nil, err
	case err != nil:
		l.settle(others, err)
		return ends, err
	}
	for _, p := range others {
		if p.start {
			p.owes = true
			l.owed++
		}
	}
	return batch, nil
}

// makeRoom begins the next file where that is due, and allocates room for a batch and
// for every end that is owed. Where that fails, ends can still be written. A log that
// had no room records that it has room again.
func (l *Log) makeRoom(batch []*pending) error {
	need := l.owed * maxEnd
	for _, p := range batch {
		if p.start {
			need += maxEnd
		}
		for _, e := range p.entries {
			need += int64(len(e.object)) + sealing
		}
	}
	err := l.turn()
	cause := l.short
	if cause != nil {
		need += margin
	}
	if err == nil {
		err = l.allocate(l.size + need)
	}
	if err == nil && cause != nil {
		l.short = nil
		err = l.note("recovered", map[string]string{"file": fileName(l.number), "bytes": "0", "cause": cause.Error()})
	}
	if err != nil && l.failed == nil {
		l.short = err
		l.wake() // the writer tries again
	}
	return err
}

// turn begins the next file where the present one is large enough.
func (l *Log) turn() error {
	if l.size < l.opts.RotateSize {
		return nil
	}
	if err := l.sync(); err != nil {
		return err
	}
	if err := l.flush(); err != nil {
		return l.fail(err, nil)
	}
	if err := l.rotate(); err != nil {
		return err
	}
	l.removeOld()
	return l.failed
}

// allocate ensures that writes to the log's file before the offset to have room.
func (l *Log) allocate(to int64) error {
	if to <= l.room {
		return nil
	}
	if err := preallocate(l.file, l.size, to+ahead); err == nil {
		l.room = to + ahead
		return nil
	}
	err := reserve(l.file, l.size, to)
	if err == nil {
		l.room = to
	}
	if errors.Is(err, errChecked) {
		return nil
	}
	return err
}

// errChecked is returned by reserve where there is room, and none could be reserved.
var errChecked = errors.New("room was found and not reserved")

// reserve allocates the bytes of a file from one offset to another. A file system that
// can't is asked for its free room.
func reserve(f *os.File, from, to int64) error {
	err := preallocate(f, from, to)
	if err == nil {
		return nil
	}
	if !errors.Is(err, errors.ErrUnsupported) {
		return fmt.Errorf("reserve room for records: %w", err)
	}
	var fs unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &fs); err != nil {
		return os.NewSyscallError("fstatfs", err)
	}
	// One without a size, such as ramfs, is bounded by something else.
	if fs.Blocks > 0 && int64(fs.Bavail)*int64(fs.Bsize) < to-from {
		return fmt.Errorf("reserve room for records: %w", syscall.ENOSPC)
	}
	return errChecked
}

// release gives room back that was allocated behind the end of the log's file.
func (l *Log) release() error {
	fi, err := l.file.Stat()
	if err != nil || l.room <= l.size || fi.Size() != l.size {
		return err
	}
	l.room = 0
	return l.file.Truncate(l.size)
}

// again tries to write a log that can't be written, or has no room.
func (l *Log) again() error {
	if l.failed != nil {
		if err := l.recover(); err != nil {
			return err
		}
	}
	if l.short != nil {
		return l.makeRoom(nil)
	}
	return nil
}

// writeOwing writes the ends that failed before.
func (l *Log) writeOwing() error {
	owing := l.owing
	l.owing = nil
	if len(owing) == 0 {
		return nil
	}
	return l.commit(owing)
}
