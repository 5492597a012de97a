package audit

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// redoName is the file with the lines of the newest file that may not be on the disk yet.
//
// To sync a file that grows, the file system also writes its size, with a journal that as well, and
// waits for each. A file whose size and blocks stay as they are costs the data alone. So records
// are synced there, and the log's own file is synced when the redo file is full, when the next file
// begins and when the log is closed. [Open] writes the lines that a power failure took from the log
// again. (Databases do the same with their write-ahead logs; see ext4's data=ordered in the
// kernel's filesystems/ext4.)
const redoName = "redo"

// redoSize is the size of that file.
const redoSize = 256 << 10

// redo is that file. Its lines chain from its beginning; the remains of an earlier use behind them
// do not chain, and so are not part of it.
type redo struct {
	file *os.File // nil: there is none, and the log's own file is put on the disk each time
	end  int64    // of the lines that are not known to be on the disk in the log's own file
}

// openRedo opens the redo file of dir, or makes it. Where little room is left, that is
// for the log, and there is none.
func openRedo(dir string) (redo, error) {
	var fs unix.Statfs_t
	if _, err := os.Lstat(filepath.Join(dir, redoName)); err != nil {
		if err := unix.Statfs(dir, &fs); err != nil || uint64(fs.Bavail)*uint64(fs.Bsize) < 8*redoSize {
			return redo{}, nil
		}
	}
	f, err := openFile(filepath.Join(dir, redoName), os.O_RDWR|os.O_CREATE)
	if err != nil {
		return redo{}, err
	}
	if fi, err := f.Stat(); err == nil && fi.Size() == redoSize {
		return redo{file: f}, nil
	}
	// Another size: it is new, or making it was cut off, before anything was written there.
	_, err = f.WriteAt(make([]byte, redoSize), 0)
	if err = errors.Join(err, f.Truncate(redoSize)); err == nil {
		err = errors.Join(f.Sync(), syncDir(dir))
	}
	if err == nil {
		return redo{file: f}, nil
	}
	f.Close()
	os.Remove(f.Name())
	return redo{}, nil
}

// room reports whether n more bytes have room.
func (r *redo) room(n int) bool { return r.file != nil && r.end+int64(n) <= redoSize }

// put returns nil when lines are on the disk, behind those that were put before.
func (r *redo) put(lines []byte) error {
	if _, err := r.file.WriteAt(lines, r.end); err != nil {
		return err
	}
	if err := datasync(r.file); err != nil {
		return err
	}
	r.end += int64(len(lines))
	return nil
}

// lines are those that were put since the log's own file was on the disk.
func (r *redo) lines() ([]byte, error) {
	lines := make([]byte, r.end)
	_, err := r.file.ReadAt(lines, 0)
	return lines, err
}

// follow returns the lines that follow a record, however many there are, and the last
// of them.
func (r *redo) follow(head Anchor) (lines []byte, last []byte, end Anchor, err error) {
	end = head
	if r.file == nil {
		return nil, nil, end, nil
	}
	all := make([]byte, redoSize)
	if _, err := r.file.ReadAt(all, 0); err != nil {
		return nil, nil, end, err
	}
	var before Anchor
	for first := true; ; first = false {
		line, rest, whole := bytes.Cut(all, []byte("\n"))
		if !whole {
			return lines, last, end, nil
		}
		e, err := unseal(line)
		if err != nil || !first && (e.Seq != before.Seq+1 || e.Prev != before.Hash) {
			return lines, last, end, nil
		}
		before = e.Anchor
		if e.Seq == end.Seq+1 && e.Prev == end.Hash {
			last, end = all[:len(line)+1], e.Anchor
			lines = append(lines, last...)
		}
		all = rest
	}
}

// waiting counts the lines that follow a record in the redo file of dir, if there is one.
func waiting(dir string, head Anchor) uint64 {
	f, err := openToRead(filepath.Join(dir, redoName))
	if err != nil {
		return 0
	}
	defer f.Close()
	if head.Seq == 0 {
		head.Hash = zeroHash
	}
	r := redo{file: f}
	if _, _, end, err := r.follow(head); err == nil {
		return end.Seq - head.Seq
	}
	return 0
}

// clear removes all lines, so that none of them can follow a new chain.
func (r *redo) clear() error {
	if r.file == nil {
		return nil
	}
	if _, err := r.file.WriteAt([]byte("\n"), 0); err != nil {
		return err
	}
	return datasync(r.file)
}

func (r *redo) close() error {
	if r.file == nil {
		return nil
	}
	return r.file.Close()
}

// there reports whether the file is still in dir under its name, whole.
func (r *redo) there(dir string) bool {
	var now, ours unix.Stat_t
	return unix.Lstat(filepath.Join(dir, redoName), &now) == nil && unix.Fstat(int(r.file.Fd()), &ours) == nil &&
		now.Ino == ours.Ino && now.Dev == ours.Dev && now.Size == redoSize
}

// harden puts lines, with which the log's file ends, on the disk.
func (l *Log) harden(lines []byte) error {
	if l.redo.file != nil && !l.redo.there(l.dir) { // somebody took it away, or cut it
		if err := l.flush(); err != nil {
			return err
		}
		l.redo.close()
		l.redo, _ = openRedo(l.dir) // where it can't be made, there is none
		return nil
	}
	if l.redo.room(len(lines)) {
		return l.redo.put(lines)
	}
	return l.flush()
}

// flush syncs the log's own file. If that fails, the disk's content is not known (fsync(2), EIO),
// and recover writes the lines of the redo file again.
func (l *Log) flush() error {
	if err := datasync(l.file); err != nil {
		l.doubtful = l.redo.end > 0
		return err
	}
	l.isFirm()
	return nil
}

// isFirm notes that the log's own file is on the disk as it is.
func (l *Log) isFirm() { l.firm, l.redo.end, l.doubtful = l.size, 0, false }

// rewrite writes the lines of the redo file to their place in the log's file again, after flush has
// failed. The caller is recover.
func (l *Log) rewrite() error {
	if !l.doubtful {
		return nil
	}
	lines, err := l.redo.lines()
	if err != nil {
		return err
	}
	f, err := openFile(l.path(l.number), os.O_RDWR) // not to append
	if err != nil {
		return err
	}
	_, err = f.WriteAt(lines, l.firm)
	if err = errors.Join(err, datasync(f), f.Close()); err != nil {
		return err
	}
	l.isFirm()
	return nil
}

// holes turns a bad line into a torn end if the redo file has it and it differs in blocks only that
// never reached the disk: blocks behind them may have. before is the last record of the file
// before.
func (l *Log) holes(found *ending, before Anchor) error {
	if found.bad == nil {
		return nil
	}
	from := found.head
	if found.prev == "" {
		from = before
	}
	lines, _, _, err := l.redo.follow(from)
	if err != nil || len(lines) == 0 {
		return err
	}
	tail := make([]byte, min(found.tail, int64(len(lines)))) // nothing behind that was acknowledged
	if _, err := l.file.ReadAt(tail, found.good); err != nil {
		return err
	}
	if partly(tail, lines) {
		found.bad = nil
	}
	return nil
}

// partly reports whether tail is the beginning of lines, disregarding blocks that were never
// written.
func partly(tail, lines []byte) bool {
	for i, b := range tail {
		if i >= len(lines) || b != 0 && b != lines[i] {
			return false
		}
	}
	return true
}

// restore adds the lines to the log that only the redo file has, after a power failure, and records
// that. It reports whether there were any.
func (l *Log) restore(found ending) (bool, error) {
	lines, last, head, err := l.redo.follow(l.head)
	if err != nil || len(lines) == 0 {
		return false, err
	}
	tail := make([]byte, found.tail)
	if _, err := l.file.ReadAt(tail, found.good); err != nil {
		return false, err
	}
	if partly(tail, lines) {
		l.unacked = tail // nothing of it is lost
	}
	detail, err := l.cutTail()
	if err != nil {
		return false, err
	}
	if _, err := l.file.Write(lines); err != nil {
		return false, err
	}
	l.unacked = nil
	detail["records"] = strconv.FormatUint(head.Seq-l.head.Seq, 10)
	l.opening.Restored = int(head.Seq - l.head.Seq)
	if aside := detail["aside"]; aside != "" {
		l.opening.Repair = &Repair{File: fileName(l.number), Bytes: found.tail, Aside: aside}
	}
	l.size += int64(len(lines))
	l.head, l.last, l.opening.Head = head, l.size-int64(len(last)), head
	if err := l.flush(); err != nil {
		return false, err
	}
	return true, l.note("restored", detail)
}
