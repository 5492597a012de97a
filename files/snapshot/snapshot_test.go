package snapshot

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"sandboxd/files"
)

// entries is a small project with everything that an entry can have.
func entries() []Entry {
	dir := files.State{Kind: files.Dir, Mode: 0o755, UID: 1000, GID: 1000, ModTime: -5}
	file := files.State{
		Kind: files.File, Mode: 0o640, Size: 3, ModTime: 1 << 60, Hash: files.Sum([]byte("abc")),
		Xattrs: map[string][]byte{"user.a": []byte("\x00\xff"), "user.b": nil},
	}
	return []Entry{
		{State: dir, Device: 1, Inode: 2, ChangeTime: 3},
		{Path: "a", State: dir},
		{Path: "a/\xff\n", State: file, Inode: 1 << 63, Racy: true},
		{Path: "a.b", State: files.State{Kind: files.Symlink, Target: "\xfe"}},
		{Path: "c", State: files.State{Kind: files.Other, Mode: 0o600}},
		{Path: "d", Partial: true},
		{Path: "e", State: dir, Partial: true},
	}
}

func encode(t testing.TB, list []Entry, s Summary) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := NewWriter(&b, "/project")
	for _, e := range list {
		err = errors.Join(err, w.Add(e))
	}
	if err = errors.Join(err, w.Close(s)); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// decode reads a manifest; each entry is after the one before it, and below the root.
func decode(t testing.TB, b []byte) (list []Entry, s Summary, err error) {
	r, err := NewReader(bytes.NewReader(b))
	for err == nil {
		var e Entry
		if e, err = r.Next(); err != nil {
			break
		}
		if p := filepath.Join("/project", e.Path); p != "/project" && !strings.HasPrefix(p, "/project/") {
			t.Fatalf("%q leads to %q", e.Path, p)
		}
		if n := len(list); n > 0 && Compare(list[n-1].Path, e.Path) >= 0 {
			t.Fatalf("%q after %q", e.Path, list[n-1].Path)
		}
		list = append(list, e)
	}
	if err == io.EOF {
		return list, r.Summary, nil
	}
	return nil, s, err
}

func sameEntries(a, b []Entry) bool { return slices.EqualFunc(a, b, Entry.Same) }

// A manifest reads as it was written, and not when a byte of it is another or missing.
func TestManifest(t *testing.T) {
	want := Summary{Entries: len(entries()), LeftOut: []string{"d: why"}, Skipped: []string{"node_modules"}}
	b := encode(t, entries(), want)
	list, s, err := decode(t, b)
	if err != nil || !sameEntries(list, entries()) || !s.Same(want) {
		t.Fatalf("%v %+v %+v", err, s, list)
	}
	for i := range b {
		other := slices.Clone(b)
		other[i] ^= 0x41
		if list, _, err := decode(t, other); err == nil {
			t.Errorf("with byte %d changed it reads as %+v", i, list)
		}
		if _, _, err := decode(t, b[:i]); !errors.Is(err, ErrFormat) {
			t.Errorf("cut at byte %d: %v", i, err)
		}
	}
	w, err := NewWriter(io.Discard, "/project")
	if err := errors.Join(err, w.Add(Entry{Path: "b"})); err != nil {
		t.Fatal(err)
	}
	if err := w.Add(Entry{Path: "a"}); err == nil {
		t.Error("entries without order were written")
	}
}

// Compare is the order of a walk.
func TestCompareIsTheOrderOfAWalk(t *testing.T) {
	dir := t.TempDir()
	for _, p := range []string{"a/b/c", "a.b/c", "a-b/c", "a/b-c/d", "a\x01/x", "ab/c", "A/z", "Ü/é", "a/b.c", "a/b0/c"} {
		if err := os.MkdirAll(filepath.Join(dir, p), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var list []string
	_ = filepath.WalkDir(dir, func(p string, _ os.DirEntry, err error) error {
		list = append(list, strings.TrimPrefix(strings.TrimPrefix(p, dir), "/"))
		return err
	})
	if sorted := slices.SortedFunc(slices.Values(list), Compare); !slices.Equal(sorted, list) {
		t.Errorf("%q instead of %q", sorted, list)
	}
}

// What a snapshot lacks has no step, on either side.
func TestStepsLeaveOutWhatIsNotKnown(t *testing.T) {
	dir, file := files.State{Kind: files.Dir}, files.State{Kind: files.File, Hash: files.Sum(nil)}
	whole := []Entry{{State: dir}, {Path: "a", State: dir}, {Path: "a/x", State: file}, {Path: "b", State: file}}
	for _, c := range []struct {
		part                     []Entry
		steps, created, modified int
	}{
		{part: []Entry{{State: dir}, {Path: "a", State: dir, Partial: true}, {Path: "b", State: file}}},
		{part: []Entry{{State: dir}, {Path: "a", Partial: true}, {Path: "b", Partial: true}}},
		{part: []Entry{{State: dir, Partial: true}}},
		{part: []Entry{{State: dir}, {Path: "a", Partial: true}}, steps: 1, created: 1},
		{part: []Entry{{State: dir}, {Path: "a", State: file}, {Path: "b", State: file}}, steps: 3, created: 2},
	} {
		reader := func(list []Entry) *Reader {
			r, err := NewReader(bytes.NewReader(encode(t, list, Summary{})))
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		steps, changes, err := Steps("/p", reader(c.part), reader(whole))
		if err != nil || len(steps) != c.steps || len(changes.Created) != c.created || len(changes.Modified) != c.modified {
			t.Errorf("from %+v: %v %+v %+v", c.part, err, changes, steps)
		}
		back, changes, err := Steps("/p", reader(whole), reader(c.part))
		if err != nil || len(back) != c.steps || len(changes.Deleted) != c.created {
			t.Errorf("to %+v: %v %+v %+v", c.part, err, changes, back)
		}
	}
}

// R-LY-11: a manifest, and a batch from a worker, are hostile input: they lead nowhere outside, have
// one meaning, and take memory in proportion to their size only.
func FuzzManifest(f *testing.F) {
	var batch []byte
	for _, e := range entries() {
		batch = AppendEntry(batch, e)
	}
	f.Add(batch)
	f.Add(encode(f, entries(), Summary{LeftOut: []string{"d: why"}}))
	f.Add(encode(f, nil, Summary{}))
	for _, p := range []string{"../x", "a/../..", "/etc", "a//b", ".", "a\x00b", strings.Repeat("a", 1<<16+1)} {
		f.Add(AppendEntry(nil, Entry{Path: p, State: files.State{Kind: files.Dir}}))
	}
	f.Add(append([]byte(magic), "\xff\xff\xff\xff\xff\xff\xff\xff\x7f"...))
	f.Fuzz(func(t *testing.T, b []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		list, err := Entries(b)
		manifest, sum, merr := decode(t, b)
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > 1<<20+uint64(len(b))*600 {
			t.Fatalf("%d bytes took %d of memory", len(b), took)
		}
		if err == nil {
			var again []byte
			for _, e := range list {
				if p := filepath.Join("/project", e.Path); p != "/project" && !strings.HasPrefix(p, "/project/") {
					t.Fatalf("%q leads to %q", e.Path, p)
				}
				again = AppendEntry(again, e)
			}
			if twice, err := Entries(again); err != nil || !sameEntries(list, twice) {
				t.Fatalf("%v: %+v reads as %+v", err, list, twice)
			}
		}
		if merr == nil {
			twice, s, err := decode(t, encode(t, manifest, sum))
			if err != nil || !sameEntries(manifest, twice) || !s.Same(sum) {
				t.Fatalf("%v: %+v reads as %+v", err, manifest, twice)
			}
		}
	})
}

// A manifest's order and bounds hold for a reader, whatever its writer did.
func TestReaderRefusesDisorder(t *testing.T) {
	b := appendText([]byte(magic), "/project")
	for _, name := range []string{"b", "a"} {
		b = AppendEntry(append(b, 1), Entry{Path: name, State: files.State{Kind: files.Dir}})
	}
	if _, _, err := decode(t, b); err == nil || !strings.Contains(fmt.Sprint(err), "without order") {
		t.Error(err)
	}
}
