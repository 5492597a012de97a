package audit

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"time"
)

// BadRecord is the first record of a log that is not as it was written.
type BadRecord struct {
	Dir     string
	File    string // base name
	Line    int    // from 1; 0: the file as a whole
	Seq     uint64 // of the record that should be there
	Problem string

	incomplete bool // the last line of a file, without its end
	absent     bool // the file is not there
	short      bool // the log ends before an anchor
}

// Error names the record.
func (b *BadRecord) Error() string {
	return fmt.Sprintf("verify %q: %s", b.Dir, b.Text())
}

// Text returns the bad record and its place, as far as known, and its fault.
func (b *BadRecord) Text() string {
	where := b.File
	if b.Line > 0 {
		where = fmt.Sprintf("%s line %d", b.File, b.Line)
	}
	switch {
	case b.Seq == 0:
		return where + ": " + b.Problem
	case where == "":
		return fmt.Sprintf("record %d: %s", b.Seq, b.Problem)
	}
	return fmt.Sprintf("record %d (%s): %s", b.Seq, where, b.Problem)
}

// Summary is the result of a verification.
type Summary struct {
	Files   int
	Records uint64
	Head    Anchor // the last good record; zero: there is none
	// Repairs are the records that this package wrote about the log itself, other than its first,
	// such as a tail cut off after a crash. The chain holds, but a person should know of them.
	Repairs []Entry
	// Removed is the last record of the files that were removed because of their age, by a later
	// record; zero: there are none. Records before it can't be checked.
	Removed Anchor
	// Waiting counts the records behind Head that a loss of power took from the newest
	// file, and that [Open] puts back.
	Waiting uint64
}

// Verify reads a whole log, and compares it with every anchor given. The error is a [*BadRecord]
// with the first record that was changed, removed, added or moved, or another one where the log
// cannot be read. The Summary covers the good records, in either case. The log may be in use.
func Verify(dir string, anchors ...Anchor) (Summary, error) {
	sum, err := verify(dir, position{}, anchors)
	for range 5 {
		var bad *BadRecord
		if !errors.As(err, &bad) || !bad.incomplete && !bad.absent || !isLocked(dir) {
			break
		}
		time.Sleep(20 * time.Millisecond) // it is being written at this moment
		sum, err = verify(dir, position{}, anchors)
	}
	if isLocked(dir) {
		return sum, err
	}
	if sum.Waiting = waiting(dir, sum.Head); sum.Waiting > 0 {
		var bad *BadRecord
		if errors.As(err, &bad) && (bad.incomplete || bad.short) {
			bad.Problem += fmt.Sprintf("; %d that follow are in %q, from where the daemon puts them back when it starts",
				sum.Waiting, redoName)
		}
	}
	return sum, err
}

// position is a place between two records; zero: the end of the last file.
type position struct {
	file   int
	offset int64
}

func verify(dir string, until position, anchors []Anchor) (Summary, error) {
	v := verifier{dir: dir, prev: zeroHash, anchors: anchors, at: map[uint64][]string{}}
	for _, a := range anchors {
		v.at[a.Seq] = append(v.at[a.Seq], a.Hash)
	}
	numbers, err := segments(dir)
	if err != nil && (len(anchors) == 0 || !errors.Is(err, fs.ErrNotExist)) {
		return v.sum, fmt.Errorf("verify %q: %w", dir, err)
	}
	v.late = len(numbers) > 0 && numbers[0] > 1
	for i, n := range numbers {
		if until.file != 0 && n > until.file {
			break
		}
		if n != numbers[0]+i {
			v.file, v.line = fileName(numbers[0]+i), 0
			return v.sum, v.absent()
		}
		limit := int64(-1)
		if n == until.file {
			limit = until.offset
		}
		if err := v.segment(n, limit); err != nil {
			return v.sum, err
		}
	}
	if v.late {
		v.sum, v.file, v.line = Summary{}, fileName(1), 0
		return v.sum, v.absent()
	}
	return v.sum, v.missing()
}

// verifier walks a log from its beginning.
type verifier struct {
	dir     string
	sum     Summary
	prev    string // hash of the record before
	late    bool   // the oldest file is not the first, and nothing accounts for that yet
	start   Anchor // the record before the oldest file
	file    string
	line    int
	anchors []Anchor
	at      map[uint64][]string // the anchors' hashes, by number
}

// incomplete returns the error for a last line that a crash during its write, or a cut, left
// incomplete.
func (v *verifier) incomplete() error {
	b := v.bad("it is incomplete: its line has no end")
	b.incomplete = true
	return b
}

func (v *verifier) absent() error {
	b := v.bad("the file is missing")
	b.absent = true
	return b
}

func (v *verifier) bad(format string, args ...any) *BadRecord {
	return &BadRecord{Dir: v.dir, File: v.file, Line: v.line, Seq: v.sum.Head.Seq + 1,
		Problem: fmt.Sprintf(format, args...)}
}

// segment walks one file, up to limit where that is not negative.
func (v *verifier) segment(n int, limit int64) error {
	v.file, v.line = fileName(n), 0
	f, err := openToRead(filepath.Join(v.dir, v.file))
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return v.absent()
		}
		return fmt.Errorf("verify %q: %w", v.dir, err)
	}
	defer f.Close()
	v.sum.Files++
	var from io.Reader = f
	if limit >= 0 {
		from = io.LimitReader(f, limit)
	}
	lines := newLineReader(from)
	for {
		line, ended, err := lines.next()
		if err == io.EOF {
			if limit >= 0 && lines.offset < limit {
				v.line++
				return v.bad("the file was cut short: it has %d bytes, and had %d", lines.offset, limit)
			}
			return nil
		}
		v.line++
		if err != nil {
			return v.bad("%v", err)
		}
		if err := v.record(line, ended); err != nil {
			return err
		}
	}
}

// record checks one line against the one before.
func (v *verifier) record(line []byte, ended bool) error {
	e, err := unseal(line)
	if v.late && v.sum.Records == 0 && ended && err == nil && e.Seq > 1 {
		v.start = Anchor{Seq: e.Seq - 1, Hash: e.Prev}
		v.sum.Head, v.prev = v.start, e.Prev
		for _, a := range v.anchors {
			if a.Seq == v.start.Seq && a.Hash != v.start.Hash {
				return v.bad("what was before it is another record than the anchor's: the log was rewritten")
			}
		}
	}
	switch {
	case !ended:
		return v.incomplete()
	case err != nil:
		return v.bad("it was changed: %v", err)
	case e.Seq != v.sum.Head.Seq+1:
		return v.bad("record %d is in its place (removed, moved or repeated)", e.Seq)
	case e.Prev != v.prev:
		return v.bad("it does not follow from the record before it")
	}
	if err := e.open(); err != nil {
		return v.bad("%v", err)
	}
	e.File, e.Line = v.file, v.line
	switch {
	case e.Category != Chain || e.Seq == 1:
	case e.Operation == removedOld:
		// One that a crash cut off has left files that it names.
		if r := removal(e.Record); v.late && (r == v.start || r.Seq > v.start.Seq) {
			v.late, v.sum.Removed = false, v.start
		}
	default:
		v.sum.Repairs = append(v.sum.Repairs, e)
	}
	for _, hash := range v.at[e.Seq] {
		if hash != e.Hash {
			return v.bad("it is another record than the anchor's: the log was rewritten")
		}
	}
	v.sum.Records++
	v.sum.Head, v.prev = e.Anchor, e.Hash
	return nil
}

// missing finds an anchor beyond the end.
func (v *verifier) missing() error {
	for _, a := range v.anchors {
		if a.Seq > v.sum.Head.Seq {
			if v.file != "" {
				v.line++
			}
			b := v.bad("the log ends before it, but the anchor is of record %d: the tail was cut off", a.Seq)
			b.short = true
			return b
		}
	}
	return nil
}
