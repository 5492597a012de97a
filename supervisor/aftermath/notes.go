package aftermath

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/oklog/ulid/v2"
	"golang.org/x/sys/unix"

	"sandboxd/profile"
)

// Notes keeps the data for the check after a run on disk, for every run that has not ended:
// should the daemon die, the next one checks. A note is a small file; the entries under
// protected names before the run are in a separate file, which all runs share that began
// with the same ones. Nothing is synced: the notes survive the daemon, not a power cut.
type Notes struct {
	dir  string
	boot string // of the kernel, "" if unknown

	mu   sync.Mutex
	kept map[profile.Digest]*before // the latest by profile
}

// before is a snapshot that was written down.
type before struct {
	name string
	seen found
	held map[string]bool
	runs int  // that began with it and have not ended
	old  bool // a later one took its place
}

const (
	// beat is how often a run's note gets a new time of change.
	beat = 500 * time.Millisecond
	// maxLate is how late a beat may be: a run counts as active for so long
	// after its last.
	maxLate = time.Second
	// maxKept bounds the snapshots of runs that have ended.
	maxKept = 16
	// maxNote and maxBefore bound the bytes read.
	maxNote   = 1 << 20
	maxBefore = 256 << 20

	beforePrefix = "before-"
)

// OpenNotes opens the notes in a directory of the daemon's own, which it makes.
func OpenNotes(dir string) (*Notes, error) {
	n := &Notes{dir: dir, kept: map[profile.Digest]*before{}}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("notes of what runs: %w", err)
	}
	b, _ := os.ReadFile("/proc/sys/kernel/random/boot_id") // Linux only
	n.boot = strings.TrimSpace(string(b))
	return n, nil
}

// Boot identifies the boot (random(4)). "": this system does not.
func (n *Notes) Boot() string { return n.boot }

// Begun is a run that begins.
type Begun struct {
	Exec, Session string
	// Root is the session's, for people.
	Root  string
	Start time.Time
	// Held as in Run.
	Held map[string]bool
	// Granted as in Run.
	Granted []string
	// By is the caller's account of who had the run made; see store.Record. nil: none.
	By json.RawMessage
	// Layered: the run writes to a layer, besides the trees of its snapshot.
	Layered bool
}

// line is a note's first.
type line struct {
	Version int      `json:"version"`
	Exec    string   `json:"exec"`
	Session string   `json:"session"`
	User    int      `json:"uid"` // the daemon's
	Root    []byte   `json:"root"`
	Start   int64    `json:"start"` // nanoseconds
	Boot    string   `json:"boot"`
	Before  string   `json:"before"` // file
	Granted [][]byte `json:"granted"`

	By json.RawMessage `json:"by,omitempty"`
}

// second is a note's second: the process above all others of the sandbox.
type second struct {
	First int `json:"first"`
}

// Note belongs to one run. A nil note belongs to a run that could write nothing.
type Note struct {
	n      *Notes
	file   *os.File
	before *before

	mu    sync.Mutex
	timer *time.Timer // nil: the run has ended
}

// Begin writes a run's note. Nothing of the run may happen before it returns.
func (n *Notes) Begin(r Begun, s *Snapshot) (*Note, error) {
	if len(s.found().roots) == 0 && !r.Layered {
		return nil, nil
	}
	note, err := n.begin(r, s)
	if errors.Is(err, fs.ErrNotExist) { // somebody removed the directory
		if err = os.MkdirAll(n.dir, 0o700); err == nil {
			n.forgetAll()
			note, err = n.begin(r, s)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("record the state before the run: %w", err)
	}
	return note, nil
}

func (n *Notes) begin(r Begun, s *Snapshot) (*Note, error) {
	b, err := n.keep(s, r.Held)
	if err != nil {
		return nil, err
	}
	l := line{Version: savedVersion, Exec: r.Exec, Session: r.Session, User: os.Geteuid(), Root: []byte(r.Root),
		Start: r.Start.UnixNano(), Boot: n.boot, Before: b.name,
		By: r.By}
	for _, at := range r.Granted {
		l.Granted = append(l.Granted, []byte(at))
	}
	text, err := json.Marshal(l)
	if err == nil {
		note := &Note{n: n, before: b}
		if note.file, err = create(filepath.Join(n.dir, r.Exec), append(text, '\n')); err == nil {
			note.mu.Lock()
			note.timer = time.AfterFunc(beat, note.beat)
			note.mu.Unlock()
			return note, nil
		}
	}
	n.release(b)
	return nil, err
}

// create writes a file that must not be there yet.
func create(name string, text []byte) (*os.File, error) {
	// os.OpenFile would ask its poller, which takes no regular file.
	fd, err := unix.Open(name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_APPEND|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	f := os.NewFile(uintptr(fd), name)
	if _, err := f.Write(text); err != nil {
		f.Close()
		os.Remove(name)
		return nil, err
	}
	return f, nil
}

// keep returns the file of a snapshot, written now if it says something new.
func (n *Notes) keep(s *Snapshot, held map[string]bool) (*before, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	key, seen := s.profile.Digest(), s.found()
	was := n.kept[key]
	if was != nil && was.seen.saysSame(seen) && maps.Equal(was.held, held) {
		was.runs++
		return was, nil
	}
	text, err := s.save(seen, held)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(text)
	b := &before{name: beforePrefix + strings.ToLower(ulid.Make().String()) + "-" + hex.EncodeToString(sum[:]), seen: seen,
		held: held, runs: 1}
	f, err := create(filepath.Join(n.dir, b.name), text)
	if err != nil {
		return nil, err
	}
	f.Close()
	n.drop(key)
	for other, o := range n.kept {
		if len(n.kept) < maxKept {
			break
		}
		if o.runs == 0 {
			n.drop(other)
		}
	}
	n.kept[key] = b
	return b, nil
}

// drop takes no more runs to a snapshot; n.mu is held.
func (n *Notes) drop(key profile.Digest) {
	if b := n.kept[key]; b != nil {
		b.old = true
		delete(n.kept, key)
		n.sweep(b)
	}
}

// sweep removes a snapshot that nobody needs; n.mu is held.
func (n *Notes) sweep(b *before) {
	if b.old && b.runs == 0 {
		os.Remove(filepath.Join(n.dir, b.name)) // one that stays is removed at the next start
	}
}

func (n *Notes) release(b *before) {
	n.mu.Lock()
	defer n.mu.Unlock()
	b.runs--
	n.sweep(b)
}

func (n *Notes) forgetAll() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for key := range n.kept {
		n.drop(key)
	}
}

// First adds the process above all others of the run's sandbox, with whose death
// every other one of it is dead. Where that can't be written, End of the Cut bounds it.
func (t *Note) First(pid int) {
	if t == nil {
		return
	}
	if b, err := json.Marshal(second{pid}); err == nil {
		t.file.Write(append(b, '\n'))
	}
}

// beat records that the run is still active.
func (t *Note) beat() {
	t.mu.Lock()
	defer t.mu.Unlock()
	// Without times, those of now.
	if t.timer != nil && unix.UtimesNanoAt(unix.AT_FDCWD, t.file.Name(), nil, unix.AT_SYMLINK_NOFOLLOW) == nil {
		t.timer.Reset(beat)
	}
}

// End removes the note: the run has ended and was checked.
func (t *Note) End() error {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	t.timer.Stop()
	t.timer = nil
	t.mu.Unlock()
	err := os.Remove(t.file.Name())
	t.file.Close()
	t.n.release(t.before)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return err
}

// Cut is a run that an earlier daemon's death cut off.
type Cut struct {
	Begun
	// First is the process above all others of its sandbox, 0 if that was not
	// noted, or the machine has rebooted since: then it is dead.
	First int
	// Last is when it was certainly active; until End it may have been.
	Last, End time.Time
	Before    *Snapshot

	files []string
}

// A BadNote can't be read, so that nobody can look after its run.
type BadNote struct {
	Name string
	Err  error
}

func (e *BadNote) Error() string {
	return fmt.Sprintf("the note %q of a run that was cut off can't be read: %v", e.Name, e.Err)
}
func (e *BadNote) Unwrap() error { return e.Err }

var (
	execName    = regexp.MustCompile(`^x-[0-9a-z]{26}$`)
	snapshotRef = regexp.MustCompile(`^` + beforePrefix + `[0-9a-z]{26}-([0-9a-f]{64})$`)
)

// Left are the runs that earlier daemons left, the earliest first, and the notes of
// such that can't be read. Snapshots that no note needs are removed. It is called
// once, before any run begins.
func (n *Notes) Left() (cuts []*Cut, bad []*BadNote, err error) {
	entries, err := os.ReadDir(n.dir)
	if err != nil {
		return nil, nil, fmt.Errorf("notes of what ran: %w", err)
	}
	needed := map[string]bool{}
	for _, e := range entries {
		if snapshotRef.MatchString(e.Name()) {
			continue
		}
		c, err := n.read(e.Name())
		if err != nil {
			bad = append(bad, &BadNote{e.Name(), err})
			continue
		}
		cuts = append(cuts, c)
		needed[c.files[1]] = true
	}
	for _, e := range entries {
		if snapshotRef.MatchString(e.Name()) && !needed[e.Name()] {
			os.Remove(filepath.Join(n.dir, e.Name()))
		}
	}
	slices.SortFunc(cuts, func(a, b *Cut) int { return a.Start.Compare(b.Start) })
	return cuts, bad, nil
}

// read reads the note of that name with its snapshot.
func (n *Notes) read(name string) (*Cut, error) {
	text, last, err := n.readFile(name, maxNote)
	if err != nil {
		return nil, err
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	var l line
	if err := strictly(lines[0], &l); err != nil || !bytes.HasSuffix(lines[0], []byte("\n")) {
		return nil, fmt.Errorf("it is not whole: %w", errors.Join(err, io.ErrUnexpectedEOF))
	}
	switch {
	case l.Version != savedVersion:
		return nil, fmt.Errorf("version %d is not known", l.Version)
	case !execName.MatchString(l.Exec) || l.Exec != name:
		return nil, fmt.Errorf("it says it is that of %q", l.Exec)
	case l.User != os.Geteuid():
		return nil, fmt.Errorf("it was written by user %d, and this daemon runs as %d", l.User, os.Geteuid())
	case !snapshotRef.MatchString(l.Before):
		return nil, fmt.Errorf("its snapshot is called %q", l.Before)
	}
	c := &Cut{Begun: Begun{Exec: l.Exec, Session: l.Session, Root: string(l.Root), Start: time.Unix(0, l.Start), By: l.By},
		Last: last, End: last.Add(beat + maxLate), files: []string{name, l.Before}}
	for _, at := range l.Granted {
		c.Granted = append(c.Granted, string(at))
	}
	var s second
	if l.Boot == n.boot && len(lines) > 1 && strictly(lines[1], &s) == nil && s.First > 1 {
		c.First = s.First
	}
	if text, _, err = n.readFile(l.Before, maxBefore); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(text)
	if want := snapshotRef.FindStringSubmatch(l.Before)[1]; hex.EncodeToString(sum[:]) != want {
		return nil, fmt.Errorf("its snapshot %q is not what was written", l.Before)
	}
	c.Before, c.Held, err = load(text)
	return c, err
}

// readFile reads a file of ours that is nobody else's.
func (n *Notes) readFile(name string, most int64) ([]byte, time.Time, error) {
	f, err := os.OpenFile(filepath.Join(n.dir, name), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, time.Time{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, time.Time{}, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.Mode().IsRegular() || int(st.Uid) != os.Geteuid() || info.Mode().Perm()&0o077 != 0 || st.Nlink != 1 ||
		info.Size() > most {
		return nil, time.Time{}, fmt.Errorf("%q is not a file that this daemon has written", name)
	}
	text, err := io.ReadAll(io.LimitReader(f, most))
	return text, info.ModTime(), err
}

// Done removes the note of a run that was looked after.
func (n *Notes) Done(c *Cut) error {
	err := os.Remove(filepath.Join(n.dir, c.files[0]))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return err // the snapshot may be another's, too; it goes at the next start
}

// Discard removes an unreadable note.
func (n *Notes) Discard(b *BadNote) error {
	return os.RemoveAll(filepath.Join(n.dir, b.Name))
}
