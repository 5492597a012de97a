package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sandboxd/files"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, dir string, o Options) *Store {
	t.Helper()
	s, err := Open(dir, o)
	must(t, err)
	if warnings := s.Damaged(); len(warnings) > 0 {
		t.Fatal(warnings)
	}
	return s
}

// content is an opened file that holds a text.
func content(t *testing.T, text string) *os.File {
	t.Helper()
	p := filepath.Join(t.TempDir(), "content")
	must(t, os.WriteFile(p, []byte(text), 0o600))
	f, err := os.Open(p)
	must(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

func overwrite(path, old string) files.Step {
	return files.Step{
		Kind: files.PutStep, Path: path,
		Before: files.State{Kind: files.File, Mode: 0o644, Size: int64(len(old)), Hash: files.Sum([]byte(old))},
		After:  files.State{Kind: files.File, Mode: 0o644, Size: 1, Hash: files.Sum([]byte("x"))},
	}
}

func remove(path, old string) files.Step {
	s := overwrite(path, old)
	s.Kind, s.After = files.RemoveStep, files.State{Kind: files.Absent}
	return s
}

// keep makes one change of one step.
func keep(t *testing.T, s *Store, id, text string, step files.Step) {
	t.Helper()
	c, err := s.Begin(Record{ID: id, Session: "s", Op: files.Write})
	must(t, err)
	must(t, c.Keep(context.Background(), []files.Step{step}, []*os.File{content(t, text)}, true))
	must(t, c.Finish(nil))
}

func TestKeepAndReopen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	s := open(t, dir, Options{})
	keep(t, s, "one", "old content", overwrite("/p/a", "old content"))
	keep(t, s, "bytes", "gone", remove("/p/\xff\xfe", "gone"))
	keep(t, s, "two", "gone", remove("/p/notes.txt", "gone"))
	for range 2 { // before and after a restart
		if r, err := s.Get("bytes"); err != nil || len(r.Steps) > 0 || len(r.What) != 1 {
			t.Errorf("steps of a settled change stay in memory, or it is not described: %+v, %v", r, err)
		}
		b, err := s.Kept("bytes")
		must(t, err)
		if lost, err := b.Content(0); err != nil || b.Steps()[0].Path != "/p/\xff\xfe" || lost.Close() != nil {
			t.Errorf("a name that is not UTF-8: %+v, %v", b.Steps(), err)
		}
		k, err := s.Kept("one")
		must(t, err)
		f, err := k.Content(0)
		must(t, err)
		data := make([]byte, 100)
		n, _ := f.Read(data)
		f.Close()
		if string(data[:n]) != "old content" || !k.HasContent(0) || k.Steps()[0].Path != "/p/a" {
			t.Errorf("got %q, %+v", data[:n], k.Steps())
		}
		if l := s.List("s"); len(l) != 3 || l[0].ID != "two" {
			t.Errorf("list: %+v", l)
		}
		s = open(t, dir, Options{})
	}
	// A person finds what was deleted without a tool.
	if data, err := os.ReadFile(filepath.Join(dir, "trash", "two", "0-notes.txt")); err != nil || string(data) != "gone" {
		t.Errorf("trash: %q, %v", data, err)
	}
	must(t, filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if info, err := d.Info(); err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s is open to others: %v", p, info.Mode())
		}
		return err
	}))
}

// A long name is shortened for the trash, but not within a character: the record,
// which is JSON, would name another file.
func TestLongName(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	name := strings.Repeat("€", 80)
	keep(t, open(t, dir, Options{}), "one", "gone", remove("/p/"+name, "gone"))
	k, err := open(t, dir, Options{}).Kept("one")
	must(t, err)
	f, err := k.Content(0)
	must(t, err)
	f.Close()
}

// Extended attributes are in the record, not in the contents; they count, too.
func TestAttributesTakeRoom(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "state"), Options{KeepBytes: 5000})
	step := overwrite("/p/a", "old")
	step.Before.Xattrs = map[string][]byte{"user.large": make([]byte, 3000)}
	for _, id := range []string{"one", "two", "three"} {
		keep(t, s, id, "old", step)
	}
	if l := s.List(""); len(l) != 1 || l[0].ID != "three" {
		t.Errorf("%d changes of 3000 bytes each are kept, where there is room for 5000", len(l))
	}
	step.After.Xattrs = step.Before.Xattrs
	c, err := s.Begin(Record{ID: "four", Op: files.Write})
	must(t, err)
	if err := c.Keep(context.Background(), []files.Step{step}, []*os.File{content(t, "old")}, true); !errors.Is(err,
		&files.Conflict{Reason: files.TooLarge}) {
		t.Errorf("more than there is room for: %v", err)
	}
	must(t, c.Finish(nil))
}

// How a change ended decides what becomes of the record.
func TestFinish(t *testing.T) {
	two := []files.Step{overwrite("/p/a", "a"), overwrite("/p/b", "b")}
	for _, c := range []struct {
		name  string
		err   error
		state State
		steps int
	}{
		{"made", nil, Made, 2},
		{"not made", &files.Conflict{Reason: files.Changed}, "", 0},
		{"in part", &files.PartialError{Done: 1, Err: errors.New("x")}, Made, 1},
		{"not known", errors.New("the worker is gone"), Pending, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "state")
			s := open(t, dir, Options{})
			change, err := s.Begin(Record{ID: "x"})
			must(t, err)
			must(t, change.Keep(context.Background(), two, []*os.File{content(t, "a"), content(t, "b")}, true))
			if len(s.Pending()) != 0 {
				t.Error("a change that is under way is taken for one that was cut off")
			}
			must(t, change.Finish(c.err))
			for range 2 {
				r, err := s.Get("x")
				if err == nil {
					r, err = s.whole(r)
				}
				if (err != nil) != (c.state == "") || r.State != c.state || len(r.Steps) != c.steps {
					t.Errorf("got %+v, %v", r, err)
				}
				s = open(t, dir, Options{})
			}
			if c.state == "" {
				if left, _ := os.ReadDir(filepath.Join(dir, "undo")); len(left) > 0 {
					t.Errorf("left: %v", left)
				}
			}
			if c.state == Pending {
				if p := s.Pending(); len(p) != 1 {
					t.Fatalf("pending: %v", p)
				}
				if _, err := s.Kept("x"); err == nil {
					t.Error("a change of which nobody knows can be undone")
				}
			}
		})
	}
}

// A change that was made can be undone, although the disk has no room to note that it was.
func TestEndThatCannotBeNoted(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	s := open(t, dir, Options{})
	keep(t, s, "one", "old", overwrite("/p/a", "old"))
	c, err := s.Begin(Record{ID: "two", Undoes: "one"})
	must(t, err)
	must(t, c.Keep(context.Background(), []files.Step{overwrite("/p/a", "x")}, []*os.File{content(t, "x")}, true))
	must(t, os.Mkdir(filepath.Join(dir, "undo", "two", "record.json.new"), 0o700))
	if err := c.Finish(nil); err == nil {
		t.Error("no word of it")
	}
	if k, err := s.Kept("two"); err != nil || !k.HasContent(0) {
		t.Errorf("it can't be undone: %v", err)
	}
	if r, err := s.Get("one"); err != nil || r.State != Undone {
		t.Errorf("what it undid: %+v, %v", r, err)
	}
	s = open(t, dir, Options{})
	if p := s.Pending(); len(p) != 1 || p[0].ID != "two" {
		t.Errorf("at the next start pending: %v", p)
	}
}

func TestSettle(t *testing.T) {
	for made := range 4 {
		dir := filepath.Join(t.TempDir(), "state")
		s := open(t, dir, Options{})
		change, err := s.Begin(Record{ID: "x"})
		must(t, err)
		must(t, change.Keep(context.Background(), []files.Step{overwrite("/a", "a"), overwrite("/b", "b")},
			[]*os.File{content(t, "a"), content(t, "b")}, true))
		s = open(t, dir, Options{}) // the daemon died
		if err := s.Settle("x", made); (err != nil) != (made > 2) {
			t.Errorf("%d of 2 steps: %v", made, err)
		}
		r, err := s.Get("x")
		switch {
		case made == 0:
			if !errors.Is(err, ErrNotFound) {
				t.Errorf("a change of which nothing was made is kept: %+v, %v", r, err)
			}
		case made > 2:
			if err != nil || r.State != Pending {
				t.Errorf("after a refusal: %+v, %v", r, err)
			}
		case err != nil || r.State != Made || len(r.What) != made:
			t.Errorf("%d: got %+v, %v", made, r, err)
		}
	}
}

// What a daemon that died was still writing is cleared away at the next start.
func TestUnfinishedIsClearedAway(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	s := open(t, dir, Options{})
	change, err := s.Begin(Record{ID: "x"})
	must(t, err)
	must(t, change.Keep(context.Background(), []files.Step{overwrite("/a", "a")}, []*os.File{content(t, "a")}, false))
	open(t, dir, Options{})
	if left, _ := os.ReadDir(filepath.Join(dir, "undo")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestRetention(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	dir := filepath.Join(t.TempDir(), "state")
	o := Options{KeepFor: time.Hour, KeepBytes: 100, Now: func() time.Time { return now }}
	s := open(t, dir, o)
	text := strings.Repeat("x", 40)
	keep(t, s, "a", text, overwrite("/a", text))
	now = now.Add(time.Minute)
	keep(t, s, "b", text, overwrite("/b", text))
	now = now.Add(time.Minute)
	keep(t, s, "c", text, overwrite("/c", text)) // the oldest makes room
	if _, err := s.Get("a"); !errors.Is(err, ErrNotFound) {
		t.Errorf("the oldest is still there: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "undo", "a")); !os.IsNotExist(err) {
		t.Errorf("its content is: %v", err)
	}
	big := strings.Repeat("x", 101)
	change, err := s.Begin(Record{ID: "d"})
	must(t, err)
	err = change.Keep(context.Background(), []files.Step{remove("/d", big)}, []*os.File{content(t, big)}, true)
	if !errors.Is(err, &files.Conflict{Reason: files.TooLarge}) {
		t.Errorf("more than is ever kept: %v", err)
	}
	must(t, change.Finish(err))
	if len(s.List("")) != 2 {
		t.Errorf("what could not be kept displaced something: %v", s.List(""))
	}
	now = now.Add(59*time.Minute + time.Second)
	if n, err := s.Prune(); err != nil || n != 1 {
		t.Errorf("pruned %d, %v", n, err)
	}
	now = now.Add(time.Hour)
	if n, err := s.Prune(); err != nil || n != 1 || len(s.List("")) != 0 {
		t.Errorf("pruned %d, %v", n, err)
	}
}

// However much one session changes, and in however many sessions of its project, what
// others have less of stays (R-FS-04).
func TestNobodyDisplacesOthers(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s := open(t, filepath.Join(t.TempDir(), "state"), Options{KeepBytes: 1000, Now: func() time.Time { return now }})
	change := func(id, project, session string, size int) {
		t.Helper()
		now = now.Add(time.Second)
		text := strings.Repeat("x", size)
		c, err := s.Begin(Record{ID: id, Project: project, Session: session, Op: files.Write})
		must(t, err)
		must(t, c.Keep(context.Background(), []files.Step{overwrite("/"+id, text)}, []*os.File{content(t, text)}, true))
		must(t, c.Finish(nil))
	}
	there := func(want string, ids ...string) {
		t.Helper()
		for _, id := range ids {
			if _, err := s.Get(id); err != nil {
				t.Errorf("%s: %s: %v", want, id, err)
			}
		}
	}
	change("ann-1", "/a", "ann", 50)
	change("ann-2", "/a", "ann", 50)
	change("bob-1", "/b", "bob", 300)
	for i := range 100 {
		change(fmt.Sprintf("same-%d", i), "/a", "agent", 40)
	}
	there("a session of the same project", "ann-1", "ann-2", "bob-1", "same-99")
	for i := range 100 {
		change(fmt.Sprintf("many-%d", i), "/c", fmt.Sprintf("agent-%d", i), 40)
	}
	there("many sessions of another project", "ann-1", "ann-2", "bob-1", "many-99")
	if _, err := s.Get("many-0"); !errors.Is(err, ErrNotFound) {
		t.Errorf("its own oldest is kept: %v", err)
	}
	var total int64
	for _, r := range s.List("") {
		total += r.Bytes
	}
	if total > 1000 {
		t.Errorf("%d bytes are kept", total)
	}
	change("ann-3", "/a", "ann", 1000) // as much as there may ever be
	if list := s.List(""); len(list) != 1 {
		t.Errorf("kept: %v", list)
	}
}

// Changes that keep no content are bounded, too.
func TestChangesAreBounded(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s := open(t, filepath.Join(t.TempDir(), "state"), Options{Now: func() time.Time { return now }})
	s.records["first"] = Record{ID: "first", Session: "ann", State: Made, Time: now}
	for i := range maxChanges {
		id := fmt.Sprintf("c-%d", i)
		s.records[id] = Record{ID: id, Session: "agent", State: Made, Time: now.Add(time.Duration(i+1) * time.Second)}
	}
	if n, err := s.Prune(); err != nil || n != 1 {
		t.Fatalf("pruned %d, %v", n, err)
	}
	if _, err := s.Get("first"); err != nil {
		t.Error("another session's only change is gone")
	}
	if _, err := s.Get("c-0"); !errors.Is(err, ErrNotFound) {
		t.Errorf("the oldest of the one that has the most is kept: %v", err)
	}
}

// A worker's false claims store nothing: the store checks the content itself.
func TestHostileWorker(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "state"), Options{})
	fifo := filepath.Join(t.TempDir(), "fifo")
	must(t, unix.Mkfifo(fifo, 0o600))
	pipe, err := os.OpenFile(fifo, os.O_RDWR, 0)
	must(t, err)
	defer pipe.Close()
	folder, err := os.Open(t.TempDir())
	must(t, err)
	defer folder.Close()
	growing := overwrite("/a", "short")
	for name, f := range map[string]*os.File{
		"another content": content(t, "other"), "more than it says": content(t, "short, and more"), "nothing": nil,
		"a FIFO": pipe, "a folder": folder,
	} {
		change, err := s.Begin(Record{ID: "x"})
		must(t, err)
		err = change.Keep(context.Background(), []files.Step{growing}, []*os.File{f}, true)
		if err == nil {
			t.Errorf("%s: kept", name)
		}
		must(t, change.Finish(err))
	}
	for _, id := range []string{"", "../x", "a/b", "..", ".", "a b", strings.Repeat("a", 65)} {
		if _, err := s.Begin(Record{ID: id}); err == nil {
			t.Errorf("id %q is taken", id)
		}
	}
	deep := remove("/p/"+strings.Repeat("n", 250), "x")
	keep(t, s, "long", "x", deep)
}

func TestWhoseStore(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	must(t, os.Mkdir(dir, 0o755))
	if _, err := Open(dir, Options{}); err == nil || !strings.Contains(err.Error(), "`chmod 700 ") {
		t.Errorf("a folder that others may enter: %v", err)
	}
	must(t, os.Chmod(dir, 0o700))
	if os.Geteuid() == 0 {
		must(t, os.Chown(dir, 12345, 12345))
		if _, err := Open(dir, Options{}); err == nil || !strings.Contains(err.Error(), "belongs to somebody else") {
			t.Errorf("another's folder: %v", err)
		}
	}
	link := filepath.Join(t.TempDir(), "link")
	must(t, os.Symlink(t.TempDir(), link))
	if _, err := Open(link, Options{}); err == nil {
		t.Error("a symbolic link is taken")
	}
}

// A damaged record is named and left alone.
func TestDamagedRecord(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	s := open(t, dir, Options{})
	keep(t, s, "good", "a", overwrite("/a", "a"))
	keep(t, s, "bad", "b", overwrite("/b", "b"))
	must(t, os.WriteFile(filepath.Join(dir, "undo", "bad", "record.json"), []byte("{"), 0o600))
	s, err := Open(dir, Options{})
	must(t, err)
	if warnings := s.Damaged(); len(warnings) != 1 || !strings.Contains(warnings[0].Error(), `"bad"`) {
		t.Errorf("warnings: %v", warnings)
	}
	if _, err := s.Get("good"); err != nil {
		t.Error(err)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "undo", "bad", "0")); err != nil || string(data) != "b" {
		t.Errorf("its content: %q, %v", data, err)
	}
}

// What was copied for a change that never got its record is cleared away.
func TestCutOffBeforeTheRecord(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	s := open(t, dir, Options{})
	keep(t, s, "whole", "kept", remove("/p/b", "kept"))
	for id, step := range map[string]files.Step{"gone": remove("/p/a", "a"), "other": overwrite("/p/a", "a")} {
		c, err := s.Begin(Record{ID: id})
		must(t, err)
		must(t, c.Keep(context.Background(), []files.Step{step}, []*os.File{content(t, "a")}, false))
	}
	open(t, dir, Options{}) // as after the daemon's death
	for _, d := range []string{"undo", "trash"} {
		left, err := os.ReadDir(filepath.Join(dir, d))
		must(t, err)
		if len(left) != 1 || left[0].Name() != "whole" {
			t.Errorf("left in %s: %v", d, left)
		}
	}
}

// The trash is shared with what commands left under protected names: what is not
// the store's own stays when it is opened.
func TestOthersInTheTrashStay(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	open(t, dir, Options{})
	other := filepath.Join(dir, "trash", "x-1", "001-.vscode")
	must(t, os.MkdirAll(other, 0o700))
	open(t, dir, Options{})
	if _, err := os.Stat(other); err != nil {
		t.Error(err)
	}
}
