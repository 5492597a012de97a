package audit

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	suffix   = ".jsonl"
	lockName = "lock"
)

// maxLine bounds one line, in bytes; no line of ours comes near.
const maxLine = 16 << 20

// fileName is that of the n-th file, from 1.
func fileName(n int) string { return fmt.Sprintf("%08d%s", n, suffix) }

// segments lists the numbers of the files of a log, in order.
func segments(dir string) ([]int, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var numbers []int
	for _, e := range entries {
		stem, ok := strings.CutSuffix(e.Name(), suffix)
		n, err := strconv.Atoi(stem)
		if ok && err == nil && n > 0 && e.Name() == fileName(n) {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers, nil
}

// checkDir refuses a directory that others could look into or write, or that
// is not ours.
func checkDir(dir string) error {
	fi, err := os.Lstat(dir)
	switch {
	case err != nil:
		return err
	case !fi.IsDir():
		return errors.New("it is not a directory")
	}
	return checkOwner(fi, 0o700)
}

func checkOwner(fi fs.FileInfo, mode fs.FileMode) error {
	if uid := int(fi.Sys().(*syscall.Stat_t).Uid); uid != os.Geteuid() {
		return fmt.Errorf("it belongs to uid %d, not to us (%d)", uid, os.Geteuid())
	}
	if extra := fi.Mode().Perm() &^ mode; extra != 0 {
		return fmt.Errorf("its mode is %04o, which is more than %04o; look at what is in it, then run chmod %o on it",
			fi.Mode().Perm(), mode, mode)
	}
	return nil
}

// openFile opens a file of a log to write, which must be a plain file of ours.
func openFile(path string, flag int) (*os.File, error) {
	f, fi, err := openPlain(path, flag)
	if err != nil {
		return nil, err
	}
	if err := checkOwner(fi, 0o600); err != nil {
		f.Close()
		return nil, fmt.Errorf("open %q: %w", path, err)
	}
	return f, nil
}

// openToRead opens a file of a log with any owner: it may be a copy.
func openToRead(path string) (*os.File, error) {
	f, _, err := openPlain(path, os.O_RDONLY)
	return f, err
}

// openPlain opens a plain file, never the target of a symbolic link, and never waits for the other
// end of a FIFO.
func openPlain(path string, flag int) (*os.File, fs.FileInfo, error) {
	f, err := os.OpenFile(path, flag|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, nil, err
	}
	fi, err := f.Stat()
	if err == nil && !fi.Mode().IsRegular() {
		err = errors.New("not a plain file")
	}
	if err != nil {
		f.Close()
		return nil, nil, fmt.Errorf("open %q: %w", path, err)
	}
	return f, fi, nil
}

// syncDir makes a new name in dir last.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// lockLog takes the right to write a log, which ends with the process.
func lockLog(dir string) (*os.File, error) {
	f, err := openFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	for i := 0; i < 5 && errors.Is(err, unix.EWOULDBLOCK); i++ {
		time.Sleep(10 * time.Millisecond) // it may be a Verify that only looks
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	}
	if err != nil {
		f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, ErrLocked
		}
		return nil, fmt.Errorf("lock %q: %w", dir, err)
	}
	return f, nil
}

// isLocked reports whether a process has the log open.
func isLocked(dir string) bool {
	f, err := openToRead(filepath.Join(dir, lockName))
	if err != nil {
		return false
	}
	defer f.Close()
	return errors.Is(unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB), unix.EWOULDBLOCK)
}

// lineReader reads lines and knows where it is.
type lineReader struct {
	r      *bufio.Reader
	line   int   // number of the line last read, from 1
	offset int64 // of the byte after it
}

func newLineReader(r io.Reader) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, 64<<10)}
}

// next returns a line without its end, in memory of its own; of one that is longer than
// maxLine, the beginning and something that no record ends with. ended is false
// where the file stops before the line end. After the last line err is io.EOF.
func (l *lineReader) next() (line []byte, ended bool, err error) {
	for {
		part, err := l.r.ReadSlice('\n')
		if len(line) <= maxLine {
			if line = append(line, part...); len(line) > maxLine {
				line = append(line[:maxLine], "…"...)
			}
		}
		l.offset += int64(len(part))
		switch {
		case err == nil:
			l.line++
			return bytes.TrimSuffix(line, []byte("\n")), true, nil
		case errors.Is(err, bufio.ErrBufferFull):
		case err == io.EOF && len(line) > 0:
			l.line++
			return line, false, nil
		default:
			return nil, false, err
		}
	}
}
