package worker_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"sandboxd/files"
	"sandboxd/files/filestest"
)

// want compares an error with a reason; "" is none.
func want(t *testing.T, err error, reason files.Reason) {
	t.Helper()
	if reason == "" {
		if err != nil {
			t.Fatalf("got error %v, want none", err)
		}
		return
	}
	if !errors.Is(err, &files.Conflict{Reason: reason}) {
		t.Fatalf("got %v, want a conflict for reason %q", err, reason)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// operations are the operations of R-FS-02 that change.
var operations = []struct {
	name   string
	setup  func(b *filestest.Bench)
	req    files.Request
	reason files.Reason
	path   string // that afterwards has
	want   string // this content; "-" is absent, "/" a folder
}{
	{"create", nil, text(files.Create, "new.txt", "x\n"), "", "new.txt", "x\n"},
	{"create, taken", with("a", "1"), text(files.Create, "a", "x"), files.Exists, "a", "1"},
	{"create without its folder", nil, files.Request{Op: files.Create, Path: "d/e/new"}, files.NotThere, "d", "-"},
	{"create with its folders", nil, parents(text(files.Create, "d/e/new", "x")), "", "d/e/new", "x"},
	{"create with a mode", nil,
		files.Request{Op: files.Create, Path: "run", Content: []byte("x"), Mode: 0o755}, "", "run", "x"},
	{"create nothing", nil, files.Request{Op: files.Create, Path: "empty"}, "", "empty", ""},
	{"write a new file", nil, text(files.Write, "a", "x"), "", "a", "x"},
	{"overwrite", with("a", "1"), text(files.Write, "a", "x"), "", "a", "x"},
	{"overwrite a folder", with("d/a", "1"), text(files.Write, "d", "x"), files.NotAFile, "d", "/"},
	{"overwrite follows line ends", with("a", "1\r\n2\r\n"), text(files.Write, "a", "x\ny\n"), "", "a", "x\r\ny\r\n"},
	{"overwrite exactly", with("a", "1\r\n2\r\n"),
		files.Request{Op: files.Write, Path: "a", Content: []byte("x\n"), Exact: true}, "", "a", "x\n"},
	{"edit", with("a", "one two"), edits(files.Edit, "two", "three"), "", "a", "one three"},
	{"edit, not there", with("a", "one"), edits(files.Edit, "two", "x"), files.NoMatch, "a", "one"},
	{"edit, twice there", with("a", "a a"), edits(files.Edit, "a", "x"), files.WrongCount, "a", "a a"},
	{"edit as often as said", with("a", "a a"),
		files.Request{Op: files.Edit, Path: "a", Edits: []files.Replacement{{Find: "a", Replace: "x", Count: 2}}},
		"", "a", "x x"},
	{"edit what is not there", nil, edits(files.Edit, "a", "x"), files.NotThere, "a", "-"},
	{"edit binary", with("a", "a\x00"), edits(files.Edit, "a", "x"), files.Binary, "a", "a\x00"},
	{"edit Latin-1", with("a", "caf\xe9"), edits(files.Edit, "c", "x"), files.Encoding, "a", "caf\xe9"},
	{"edit with no edit", with("a", "a"), files.Request{Op: files.Edit, Path: "a"}, files.Invalid, "a", "a"},
	{"multi-edit", with("a", "1 2"), edits(files.MultiEdit, "1", "x", "x 2", "y"), "", "a", "y"},
	{"multi-edit is all or nothing", with("a", "1 2"),
		edits(files.MultiEdit, "1", "x", "3", "y"), files.NoMatch, "a", "1 2"},
	{"append", with("a", "1\n"), text(files.Append, "a", "2\n"), "", "a", "1\n2\n"},
	{"append to what is not there", nil, text(files.Append, "a", "2\n"), files.NotThere, "a", "-"},
	{"insert after a line", with("a", "1\n2\n"),
		files.Request{Op: files.Insert, Path: "a", Line: 1, Content: []byte("x")}, "", "a", "1\nx\n2\n"},
	{"insert before a match", with("a", "f(b)"),
		files.Request{Op: files.Insert, Path: "a", Anchor: "b", Before: true, Content: []byte("a, ")}, "", "a", "f(a, b)"},
	{"insert at no line", with("a", "1\n"),
		files.Request{Op: files.Insert, Path: "a", Line: 9, Content: []byte("x")}, files.NoMatch, "a", "1\n"},
	{"delete", with("a", "1"), files.Request{Op: files.Delete, Path: "a"}, "", "a", "-"},
	{"delete a folder", with("d/a", "1"), files.Request{Op: files.Delete, Path: "d"}, files.NotAFile, "d", "/"},
	{"delete what is not there", nil, files.Request{Op: files.Delete, Path: "a"}, files.NotThere, "a", "-"},
	{"delete a link, not its target", linked("l", "a"), files.Request{Op: files.Delete, Path: "l"}, "", "a", "linked"},
	{"move", with("a", "1"), to(files.Move, "a", "b"), "", "b", "1"},
	{"move over", with("a", "1", "b", "2"), to(files.Move, "a", "b"), "", "b", "1"},
	{"move into a new folder", with("a", "1"), parents(to(files.Move, "a", "d/b")), "", "d/b", "1"},
	{"move onto a folder", with("a", "1", "d/x", "2"), to(files.Move, "a", "d"), files.Exists, "a", "1"},
	{"move onto itself", with("a", "1"), to(files.Move, "a", "./a"), files.Invalid, "a", "1"},
	{"move a folder", with("d/a", "1"), to(files.Move, "d", "e"), "", "e/a", "1"},
	{"move a folder into itself", with("d/a", "1"), to(files.Move, "d", "d/e"), files.Invalid, "d/a", "1"},
	{"copy", with("a", "1"), to(files.Copy, "a", "b"), "", "b", "1"},
	{"copy over", with("a", "1", "b", "2"), to(files.Copy, "a", "b"), "", "b", "1"},
	{"copy a folder", with("d/a", "1"), to(files.Copy, "d", "e"), files.NotAFile, "e", "-"},
	{"copy through a link", linked("l", "a"), to(files.Copy, "l", "b"), "", "b", "linked"},
	{"mkdir", nil, files.Request{Op: files.Mkdir, Path: "d"}, "", "d", "/"},
	{"mkdir, there", with("d/a", "1"), files.Request{Op: files.Mkdir, Path: "d"}, files.Exists, "d", "/"},
	{"mkdir with parents", nil, files.Request{Op: files.Mkdir, Path: "d/e/f", Parents: true}, "", "d/e/f", "/"},
	{"rmdir", folder, files.Request{Op: files.Rmdir, Path: "d"}, "", "d", "-"},
	{"mkdir without the right to search", nil, files.Request{Op: files.Mkdir, Path: "d", Mode: 0o600}, "", "d", "/"},
	{"rmdir, full", with("d/a", "1"), files.Request{Op: files.Rmdir, Path: "d"}, files.NotEmpty, "d/a", "1"},
	{"rmdir with all", with("d/a", "1", "d/e/b", "2", "d/e/f/c", "3"),
		files.Request{Op: files.Rmdir, Path: "d", Recursive: true}, "", "d", "-"},
	{"rmdir the root", nil, files.Request{Op: files.Rmdir, Path: "."}, files.Forbidden, ".", "/"},
	{"through a link inside", linked("l", "a"), text(files.Write, "l", "x"), "", "a", "x"},
	{"another hash", with("a", "1"), write(files.Sum([]byte("2"))), files.Changed, "a", "1"},
	{"the right hash", with("a", "1"), write(files.Sum([]byte("1"))), "", "a", "x"},
	{"a hash of nothing", nil, write(files.Sum([]byte("1"))), files.Changed, "a", "-"},
	{"read-only file", withMode(0o444), text(files.Write, "a", "x"), files.Forbidden, "a", "1"},
	{"set-user-id file", withMode(0o755 | os.ModeSetuid), text(files.Write, "a", "x"), files.Unkept, "a", "1"},
}

// Every operation of R-FS-02 that changes, what it leaves, and that it can be
// taken back.
func TestOperations(t *testing.T) {
	for _, c := range operations {
		t.Run(c.name, func(t *testing.T) {
			b := filestest.New(t, filestest.Options{})
			if c.setup != nil {
				c.setup(b)
			}
			before := filestest.Snapshot(t, b.Root)
			r, id, err := b.Do(c.req)
			want(t, err, c.reason)
			check(t, b, c.path, c.want)
			if l := filestest.Litter(t, b.Root); len(l) > 0 {
				t.Errorf("got %v left behind, want nothing", l)
			}
			if c.reason != "" {
				if after := filestest.Snapshot(t, b.Root); after != before {
					t.Errorf("refused: got\n%s\nwant everything as before:\n%s", after, before)
				}
				return
			}
			if !r.Changed {
				t.Fatalf("got %+v, want a change", r)
			}
			after := filestest.Snapshot(t, b.Root)
			undo, err := b.Undo(id, false)
			must(t, err)
			if back := filestest.Snapshot(t, b.Root); back != before {
				t.Errorf("undo: got\n%s\nwant\n%s", back, before)
			}
			if _, err := b.Undo(id, false); err == nil {
				t.Error("a second undo: got no error, want one")
			}
			_, err = b.Undo(undo, false)
			must(t, err)
			if again := withoutTimes(filestest.Snapshot(t, b.Root)); again != withoutTimes(after) {
				t.Errorf("undo of the undo: got\n%s\nwant\n%s", again, after)
			}
			if l := filestest.Litter(t, b.Root); len(l) > 0 {
				t.Errorf("got %v left behind, want nothing", l)
			}
		})
	}
}

// with writes files: name, content, name, content, …
func with(list ...string) func(*filestest.Bench) {
	return func(b *filestest.Bench) {
		for i := 0; i < len(list); i += 2 {
			b.Write(list[i], list[i+1])
		}
	}
}

func linked(link, target string) func(*filestest.Bench) {
	return func(b *filestest.Bench) {
		b.Write(target, "linked")
		must(b.T, os.Symlink(target, filepath.Join(b.Root, link)))
	}
}

// withMode writes a file "a" of that mode.
func withMode(mode os.FileMode) func(*filestest.Bench) {
	return func(b *filestest.Bench) {
		b.Write("a", "1")
		must(b.T, os.Chmod(filepath.Join(b.Root, "a"), mode))
	}
}

func folder(b *filestest.Bench) { must(b.T, os.Mkdir(filepath.Join(b.Root, "d"), 0o750)) }

func text(op files.Op, path, content string) files.Request {
	return files.Request{Op: op, Path: path, Content: []byte(content)}
}

// write writes "x" to the file "a" if it has that hash.
func write(hash string) files.Request {
	return files.Request{Op: files.Write, Path: "a", Content: []byte("x"), IfHash: hash}
}

func parents(r files.Request) files.Request {
	r.Parents = true
	return r
}

func to(op files.Op, path, to string) files.Request { return files.Request{Op: op, Path: path, To: to} }

// edits replaces in the file "a": text, replacement, text, replacement, …
func edits(op files.Op, list ...string) files.Request {
	r := files.Request{Op: op, Path: "a"}
	for i := 0; i < len(list); i += 2 {
		r.Edits = append(r.Edits, files.Replacement{Find: list[i], Replace: list[i+1]})
	}
	return r
}

func check(t *testing.T, b *filestest.Bench, name, want string) {
	t.Helper()
	info, err := os.Lstat(filepath.Join(b.Root, name))
	switch {
	case want == "-":
		if err == nil {
			t.Errorf("%s: got an entry, want none", name)
		}
	case err != nil:
		t.Errorf("%s: got error %v, want %q", name, err, want)
	case want == "/":
		if !info.IsDir() {
			t.Errorf("%s: got mode %v, want a folder", name, info.Mode())
		}
	default:
		if got := b.Content(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

func withoutTimes(snapshot string) string {
	var out []string
	for _, line := range strings.Split(snapshot, "\n") {
		fields := strings.Fields(line)
		out = append(out, strings.Join(append(fields[:3:3], fields[4:]...), " "))
	}
	return strings.Join(out, "\n")
}

// Edits can't make more of a file than the tool may write, not even for a moment:
// the worker would need as much memory.
func TestEditsAreBounded(t *testing.T) {
	cfg := files.Defaults()
	cfg.MaxFile = 64 << 10
	b := filestest.New(t, filestest.Options{Config: &cfg})
	few, many := "a", strings.Repeat("b", 1<<15)
	b.Write("a", strings.Repeat(few, 2000))
	grow := files.Replacement{Find: few, Replace: many, Count: 2000}
	for _, edits := range [][]files.Replacement{{grow}, {grow, {Find: many, Replace: "c", Count: 2000}}} {
		_, _, err := b.Do(files.Request{Op: files.MultiEdit, Path: "a", Edits: edits})
		want(t, err, files.TooLarge)
	}
	check(t, b, "a", strings.Repeat(few, 2000))
}

// A new file gets the group that its folder hands on, also where folders are made
// on the way.
func TestGroupOfTheFolder(t *testing.T) {
	if os.Geteuid() != 0 {
		return // only root can give a folder to any group
	}
	b := filestest.New(t, filestest.Options{})
	shared := filepath.Join(b.Root, "shared")
	must(t, os.Mkdir(shared, 0o755))
	must(t, os.Chown(shared, 0, 12))
	must(t, os.Chmod(shared, 0o775|os.ModeSetgid))
	for _, req := range []files.Request{
		{Op: files.Create, Path: "shared/a"},
		parents(text(files.Create, "shared/d/e/b", "")),
		parents(to(files.Copy, "shared/a", "shared/f/c")),
	} {
		_, id, err := b.Do(req)
		must(t, err)
		name := req.Path
		if req.To != "" {
			name = req.To
		}
		info, err := os.Stat(filepath.Join(b.Root, name))
		must(t, err)
		if gid := info.Sys().(*syscall.Stat_t).Gid; gid != 12 {
			t.Errorf("%s: got group %d, want that of its folder, 12", name, gid)
		}
		if name != "shared/a" {
			_, err = b.Undo(id, false)
			must(t, err)
		}
	}
}
