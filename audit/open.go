package audit

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// begin finds the end of the chain and makes it fit to be continued.
func (l *Log) begin() error {
	numbers, err := segments(l.dir)
	if err != nil {
		return err
	}
	if l.redo, err = openRedo(l.dir); err != nil {
		return err
	}
	if len(numbers) == 0 {
		return l.genesis()
	}
	l.number = numbers[len(numbers)-1]
	if l.file, err = openFile(l.path(l.number), os.O_RDWR|os.O_APPEND); err != nil {
		return err
	}
	found, err := scan(l.file, fileName(l.number))
	if err != nil {
		return err
	}
	before, left, err := l.endBefore(numbers)
	if err != nil {
		return err
	}
	if err := l.holes(&found, before); err != nil {
		return err
	}
	found.link(before, fileName(l.number))
	l.head, l.size, l.last = found.head, found.good, found.last
	l.opening.Head = l.head
	if found.bad == nil {
		if restored, err := l.restore(found); restored || err != nil {
			return err
		}
	}
	unsaid := left != nil && found.prev == "" && found.bad == nil // leave began this file and got no further
	// a process that was killed may have left it to the system
	if err := l.flush(); err != nil {
		return err
	}
	switch {
	case found.bad != nil:
		return l.leave(found)
	case l.head.Seq == 0 && found.tail == 0: // made, and nothing written yet
		return l.first()
	case found.tail > 0:
		if err := l.repair(found); err != nil {
			return err
		}
	}
	if unsaid {
		return l.foundChanged(left)
	}
	return nil
}

// genesis begins a chain. Its first record holds a random number, so that no
// two chains are alike and one cannot be put in the place of another.
func (l *Log) genesis() error {
	if err := l.redo.clear(); err != nil {
		return err
	}
	if err := l.rotate(); err != nil {
		return err
	}
	return l.first()
}

func (l *Log) first() error {
	l.head = Anchor{Hash: zeroHash}
	return l.note("began", map[string]string{"chain": rand.Text(), "uid": strconv.Itoa(os.Geteuid())})
}

// ending is the end of the newest file as scan found it.
type ending struct {
	head     Anchor // of the last good line; zero: there is none
	prev     string // the hash before the first line; "": there is no line
	firstSeq uint64
	good     int64 // bytes of good lines
	last     int64 // where the last of them begins
	tail     int64 // bytes after them
	bad      *BadRecord
	lastLine Anchor // of the last line that is whole by itself
}

// scan reads a file to its end. The bytes behind the good lines are a torn end, left by a crash, if
// they stop in the middle of a line or contain NUL bytes (blocks that never reached the disk), and
// no whole line follows. Any other bad line was changed.
func scan(f *os.File, name string) (ending, error) {
	var e ending
	torn := 0 // the line
	lines := newLineReader(io.NewSectionReader(f, 0, 1<<62))
	for {
		line, ended, err := lines.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return e, err
		}
		got, err := unseal(line)
		if err == nil && ended {
			e.lastLine = got.Anchor
		}
		switch {
		case e.bad != nil:
			continue
		case torn > 0 && err == nil && ended:
			e.bad = &BadRecord{File: name, Line: torn, Seq: e.head.Seq + 1, Problem: "it was changed"}
		case torn > 0:
		case err != nil && (!ended || bytes.IndexByte(line, 0) >= 0):
			torn = lines.line
		case err != nil:
			e.bad = &BadRecord{File: name, Line: lines.line, Seq: e.head.Seq + 1, Problem: "it was changed: " + err.Error()}
		case !ended: // whole but for its newline: nobody got an acknowledgement
			torn = lines.line
		case e.prev != "" && (got.Seq != e.head.Seq+1 || got.Prev != e.head.Hash):
			e.bad = &BadRecord{File: name, Line: lines.line, Seq: e.head.Seq + 1,
				Problem: fmt.Sprintf("record %d is in its place", got.Seq)}
		default:
			if e.prev == "" {
				e.prev, e.firstSeq = got.Prev, got.Seq
			}
			e.head, e.last, e.good = got.Anchor, e.good, lines.offset
		}
	}
	e.tail = lines.offset - e.good
	return e, nil
}

// endBefore returns the end of the file before the newest, and that file's bad record.
func (l *Log) endBefore(numbers []int) (Anchor, *BadRecord, error) {
	if len(numbers) == 1 {
		return Anchor{Hash: zeroHash}, nil, nil
	}
	n := numbers[len(numbers)-2]
	f, err := openFile(l.path(n), os.O_RDONLY)
	if err != nil {
		return Anchor{}, nil, err
	}
	defer f.Close()
	e, err := scan(f, fileName(n))
	if err != nil {
		return Anchor{}, nil, err
	}
	end, err := e.end(f)
	return end, e.bad, err
}

// link compares the newest file's beginning with the end of the one before.
func (e *ending) link(before Anchor, name string) {
	switch {
	case e.prev == "" && e.bad == nil:
		e.head = before
	case e.prev != "" && (e.prev != before.Hash || e.firstSeq != before.Seq+1):
		if e.bad == nil {
			e.bad = &BadRecord{File: name, Line: 1, Seq: before.Seq + 1, Problem: "it does not follow from the file before"}
		}
	}
}

// leave leaves a changed file as it is and continues in a new one, after the last line that is
// whole by itself, or else after the file's present end.
func (l *Log) leave(found ending) error {
	var err error
	if l.head, err = found.end(l.file); err != nil {
		return err
	}
	if err := l.rotate(); err != nil {
		return err
	}
	return l.foundChanged(found.bad)
}

// foundChanged records that a file is not as it was written.
func (l *Log) foundChanged(bad *BadRecord) error {
	bad.Dir = l.dir
	l.opening.Broken = bad
	return l.note("found-changed", map[string]string{
		"file": bad.File, "line": strconv.Itoa(bad.Line),
		"seq": strconv.FormatUint(bad.Seq, 10), "problem": bad.Problem,
	})
}

// end is where the next file continues: the last line that is whole by itself;
// in a file without any, the file.
func (e *ending) end(f *os.File) (Anchor, error) {
	if e.lastLine.Hash != "" || e.bad == nil {
		return e.lastLine, nil
	}
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(f, 0, 1<<62)); err != nil {
		return Anchor{}, err
	}
	return Anchor{Seq: e.bad.Seq, Hash: fmt.Sprintf("%x", h.Sum(nil))}, nil
}

// repair takes a torn end out and records that.
func (l *Log) repair(found ending) error {
	fresh := l.head.Seq == 0
	if fresh {
		l.head = Anchor{Hash: zeroHash}
	}
	detail, err := l.cutTail()
	if err != nil {
		return err
	}
	l.opening.Repair = &Repair{File: fileName(l.number), Bytes: found.tail, Aside: detail["aside"]}
	if fresh {
		if err := l.first(); err != nil {
			return err
		}
	}
	return l.note("repaired", detail)
}

// cutTail removes the bytes behind size. It first saves those that are not known to be our own
// failed write in a file beside the log.
func (l *Log) cutTail() (map[string]string, error) {
	tail, err := io.ReadAll(io.NewSectionReader(l.file, l.size, 1<<62))
	if err != nil {
		return nil, err
	}
	detail := map[string]string{"file": fileName(l.number), "bytes": strconv.Itoa(len(tail))}
	if len(tail) == 0 {
		return detail, nil
	}
	detail["sha256"] = fmt.Sprintf("%x", sha256.Sum256(tail))
	if !bytes.HasPrefix(l.unacked, tail) {
		if detail["aside"], err = l.setAside(tail); err != nil {
			return nil, err
		}
	}
	if err := l.file.Truncate(l.size); err != nil {
		return nil, err
	}
	return detail, datasync(l.file)
}

// setAside keeps bytes in a new file and returns its base name.
func (l *Log) setAside(tail []byte) (string, error) {
	for i := 1; ; i++ {
		name := fmt.Sprintf("torn-%08d-%d-%d", l.number, l.size, i)
		f, err := openFile(filepath.Join(l.dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL)
		if errors.Is(err, fs.ErrExist) && i < 1000 {
			continue
		}
		if err != nil {
			return "", err
		}
		_, err = f.Write(tail)
		if err := errors.Join(err, datasync(f), f.Close(), syncDir(l.dir)); err != nil {
			return "", err
		}
		return name, nil
	}
}
