package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// lock waits for the lock on name; it ends with this process at the latest.
func lock(ctx context.Context, name string) (unlock func(), err error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return func() { f.Close() }, nil
		case !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR):
			f.Close()
			return nil, fmt.Errorf("lock %q: %w", name, err)
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, fmt.Errorf("lock %q: another sbx is starting a daemon and does not get ready: %w", name, ctx.Err())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// openLog opens the daemon's output for appending, and says where the new
// output begins. An old log that has grown long is kept as NAME.1.
func openLog(name string) (*os.File, int64, error) {
	if fi, err := os.Lstat(name); err == nil && fi.Size() > 1<<20 {
		if err := os.Rename(name, name+".1"); err != nil {
			return nil, 0, err
		}
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, 0, err
	}
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, end, nil
}

// tail is the end of the daemon's output behind from.
func tail(name string, from int64) string {
	text, err := os.ReadFile(name)
	if err != nil || int64(len(text)) < from {
		return "  (its log " + strconv.Quote(name) + " cannot be read)"
	}
	lines := bytes.Split(bytes.TrimSpace(text[from:]), []byte("\n"))
	// Where it says why it ended, its warnings before that are no reason.
	if said := slices.DeleteFunc(slices.Clone(lines),
		func(l []byte) bool { return bytes.HasPrefix(l, []byte("time=")) }); len(said) > 0 {
		lines = said
	}
	lines = lines[max(0, len(lines)-8):]
	out := string(bytes.Join(lines, []byte("\n  ")))
	if strings.TrimSpace(out) == "" {
		out = "(nothing)"
	}
	return "  " + out + "\n  (log: " + name + ")"
}

// closeOnExecList marks every descriptor above 2 that dir, which lists this
// process's, names.
func closeOnExecList(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
	return nil
}
