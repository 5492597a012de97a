package audit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"sandboxd/secret"
)

var (
	// ErrLocked is in the error of [Open] where another process has the log open.
	ErrLocked = errors.New("another process has this log open")
	// ErrClosed is in the error of [Log.Append] after [Log.Close].
	ErrClosed = errors.New("the log is closed")
	// ErrLost is in the error where records that were on the disk are missing or changed while the
	// log is open. Nothing is written to the log after it.
	ErrLost = errors.New("records that were written are gone or changed")
)

// Options of a log. The zero value is good.
type Options struct {
	RotateSize int64 // bytes after which a new file begins; 0: 16 MiB
	MaxRecord  int   // bytes of one record; a longer one is shortened and marked; 0: 256 KiB
	// DigestKey is the file with the key of the digests by which the values of variables
	// are recorded; Open creates it where it is absent. Empty: a key of this process alone.
	DigestKey string
	Exclude   []string // keys of Record.Input that are never recorded, in any case of letters
	// Keep is how many files are kept, the one that is being written among
	// them; the oldest are removed, on record, when a new one begins. 0: all;
	// 1 counts as 2.
	Keep int
	// Mirror is called with every record that is on the disk, in order, by
	// the log's own goroutine and soon: it must not wait. nil: nowhere else.
	Mirror func(Mirrored)
}

// Mirrored is a record for a second place.
type Mirrored struct {
	Anchor
	Record Record
	Line   []byte // the line of the log, with its newline; valid during the call only
}

// Log is a log that is open for writing.
type Log struct {
	dir   string
	opts  Options
	lock  *os.File
	queue chan *pending
	wrote chan struct{} // has something when writeNow has written
	ended chan struct{} // closed when the writer has returned

	closing sync.RWMutex // held for reading while something is put into queue
	closed  bool

	mu     sync.Mutex // guards the fields below; held by the writer while it writes
	file   *os.File
	number int   // of file
	size   int64 // bytes of file that are ours
	firm   int64 // of these, as many are on the disk without regard to redo
	room   int64 // offset in file up to which blocks are allocated; may be less than size
	owed   int64 // ends that have a start on record, and room reserved
	redo   redo
	// doubtful: the disk's content of file behind firm is not known.
	doubtful bool
	last     int64      // where its last line begins; equal to size: it has none
	head     Anchor     // the last record
	failed   error      // set: nothing can be written until recover succeeds
	short    error      // set: no room but for ends, until makeRoom succeeds
	owing    []*pending // ends that failed; recover writes them first
	tried    time.Time
	buffer   []byte // of the last write
	unacked  []byte // bytes that a failed write may have left behind size
	late     late
	synced   []toMirror // for Options.Mirror: on the disk, and not mirrored yet
	opening  Opening
	secrets  secret.Masker
}

// Opening is the result of [Open].
type Opening struct {
	Head Anchor // the last record before this opening
	// Restored counts the records that a loss of power had taken from the log's newest
	// file, and that are there again.
	Restored int
	Repair   *Repair    // the end was incomplete, and was moved aside
	Broken   *BadRecord // the newest file is not as it was written; a new one was begun
}

// Repair is an incomplete end of a log, left by a crash in the middle of a write. No caller got an
// acknowledgement for it.
type Repair struct {
	File  string // that it was cut from; base name
	Bytes int64
	Aside string // the file in the log's directory that holds it now; base name
}

// pending are records on their way to the disk together.
type pending struct {
	entries []entry
	after   bool // it may be late
	start   bool // room is reserved for its end
	owes    bool // Log.owed counts it
	result  error
	once    sync.Once
	written chan struct{} // closed when the record is in the file, or done is
	done    chan struct{} // closed when result is set
}

func newPending() *pending {
	return &pending{written: make(chan struct{}), done: make(chan struct{})}
}

// entry is one record and its encoding.
type entry struct {
	record Record
	object []byte
}

// Open opens the log in dir, which it makes if it is absent. It returns [ErrLocked] where the log
// is open already.
//
// An incomplete end is moved aside; a newest file that was changed is left as evidence and a new
// one begun. Both are recorded in the log and in [Log.Opening].
func Open(dir string, opts Options) (*Log, error) {
	if opts.RotateSize <= 0 {
		opts.RotateSize = 16 << 20
	}
	if opts.Keep == 1 {
		opts.Keep = 2 // the newest file is checked against the one before
	}
	if opts.MaxRecord <= 0 {
		opts.MaxRecord = 256 << 10
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open log %q: %w", dir, err)
	}
	if err := checkDir(dir); err != nil {
		return nil, fmt.Errorf("open log %q: %w", dir, err)
	}
	key, err := secret.Key(opts.DigestKey)
	if err != nil {
		return nil, fmt.Errorf("open log %q: %w", dir, err)
	}
	lock, err := lockLog(dir)
	if err != nil {
		return nil, fmt.Errorf("open log %q: %w", dir, err)
	}
	l := &Log{dir: dir, opts: opts, secrets: secret.Masker{Key: key}, lock: lock, queue: make(chan *pending, 256),
		wrote: make(chan struct{}, 1), ended: make(chan struct{})}
	if err := l.begin(); err != nil {
		if l.file != nil {
			l.file.Close()
		}
		l.redo.close()
		lock.Close()
		return nil, fmt.Errorf("open log %q: %w", dir, err)
	}
	go l.write()
	return l, nil
}

// Opening returns the result of Open.
func (l *Log) Opening() Opening { return l.opening }

// Dir is the log's directory.
func (l *Log) Dir() string { return l.dir }

// Head is the last record that is on the disk.
func (l *Log) Head() Anchor {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.late.waiting != nil {
		return l.late.head
	}
	return l.head
}

// Err is why no start can be recorded at present, or nil.
func (l *Log) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed != nil {
		return l.failed
	}
	return l.short
}

// Append returns nil when records are on the disk, in their order; where that fails, none of them
// is. After an error the caller must not perform the recorded action: the record is not in the log,
// and a part that reached the disk will be removed, with a record.
//
// After a failure every Append fails until the log has recovered, which it tries by itself once a
// second, and [Log.Recover] at once.
func (l *Log) Append(records ...Record) error { return l.putAndWait(newPending(), records) }

func (l *Log) putAndWait(p *pending, records []Record) error {
	if err := l.put(p, records); err != nil {
		return err
	}
	<-p.done
	return l.wrapped(p.result)
}

// PutAfter is Append for completed events: it returns nil when they are in the file, so that they
// outlive this process, and they are on the disk within [lateness], or with the next Append. A
// power failure between the two loses them. Each call follows one of [Log.AppendStart], which has
// reserved its room.
//
// After an error, or where they don't reach the disk, they are queued, and written first when the
// log has recovered; until then [Log.Err] reports the error.
func (l *Log) PutAfter(records ...Record) error {
	p := newPending()
	p.after = true
	if err := l.put(p, records); err != nil {
		return err
	}
	<-p.written
	select {
	case <-p.done:
		return l.wrapped(p.result)
	default:
		return nil
	}
}

func (l *Log) wrapped(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("append to log %q: %w", l.dir, err)
}

// put hands records to the writer, or writes them.
func (l *Log) put(p *pending, records []Record) error {
	for _, r := range records {
		if r.Category == "" || r.Category == Chain {
			return fmt.Errorf("append to log %q: category %q", l.dir, r.Category)
		}
	}
	most := l.opts.MaxRecord
	if p.after {
		most = min(most, maxEnd-sealing)
	}
	p.entries = make([]entry, 0, len(records))
	for _, r := range records {
		if r.Time.IsZero() {
			r.Time = time.Now()
		}
		r.Time = r.Time.UTC()
		r = l.masked(r)
		object, err := encodeRecord(r, l.opts.Exclude, most)
		if err != nil {
			return fmt.Errorf("append to log %q: %w", l.dir, err)
		}
		p.entries = append(p.entries, entry{r, object})
	}
	l.closing.RLock()
	defer l.closing.RUnlock()
	if l.closed {
		return fmt.Errorf("append to log %q: %w", l.dir, ErrClosed)
	}
	if !l.writeNow(p) {
		l.queue <- p
	}
	return nil
}

// Recover tries to make a log that failed writable again.
func (l *Log) Recover() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.again()
}

// Close writes the queued records and closes the log.
func (l *Log) Close() error {
	l.closing.Lock()
	if l.closed {
		l.closing.Unlock()
		return nil
	}
	l.closed = true
	close(l.queue)
	l.closing.Unlock()
	<-l.ended
	l.mu.Lock()
	defer l.mu.Unlock()
	var err error
	if len(l.owing) > 0 {
		err = l.again()
	}
	if l.failed == nil {
		err = errors.Join(err, l.flush(), l.release())
	}
	return errors.Join(err, l.file.Close(), l.redo.close(), l.lock.Close())
}

// Verify is [Verify] for a log that is open: it reads the bytes that were on the disk when it was
// called.
func (l *Log) Verify(anchors ...Anchor) (Summary, error) {
	l.mu.Lock()
	until, head := position{file: l.number, offset: l.size}, l.head
	l.mu.Unlock()
	return verify(l.dir, until, append(anchors, head))
}

// Query is [Query] for this log.
func (l *Log) Query(f Filter) (Page, error) { return Query(l.dir, f) }

// path is where the n-th file is.
func (l *Log) path(n int) string { return filepath.Join(l.dir, fileName(n)) }
