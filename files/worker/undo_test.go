package worker_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"sandboxd/files"
	"sandboxd/files/filestest"
)

// Acceptance 3: after any sequence of operations, undoing all of them, the last
// first, leaves the tree as it was: content, mode, owner, attributes, names,
// links, and times to the second.
func TestUndoAll(t *testing.T) {
	changed, refused := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp("", "undo")
		must(t, err)
		defer os.RemoveAll(dir)
		root := filepath.Join(dir, "root")
		randomTree(t, rt, root)
		b, err := filestest.Start(filestest.Options{Root: root, Store: filepath.Join(dir, "state")})
		must(t, err)
		defer b.Stop()
		before := filestest.Snapshot(t, root)
		var ids, log []string
		for i := range rapid.IntRange(1, 12).Draw(rt, "operations") {
			req := randomRequest(rt)
			r, id, err := b.Do(req)
			log = append(log, fmt.Sprintf("%d %s %s %s: %v", i, req.Op, req.Path, req.To, err))
			switch {
			case err == nil && r.Changed:
				ids = append(ids, id)
				changed++
			case err != nil && answer(err) == err.Error():
				rt.Fatalf("%s\n%v", strings.Join(log, "\n"), err)
			default:
				refused++
			}
		}
		for i := len(ids) - 1; i >= 0; i-- {
			if _, err := b.Undo(ids[i], false); err != nil {
				rt.Fatalf("%s\nundo %s: %v", strings.Join(log, "\n"), ids[i], err)
			}
		}
		if after := filestest.Snapshot(t, root); after != before {
			rt.Fatalf("%s\n--- after undoing all:\n%s\n--- instead of\n%s", strings.Join(log, "\n"), after, before)
		}
		if l := filestest.Litter(t, root); len(l) > 0 {
			rt.Fatalf("left behind: %v", l)
		}
	})
	t.Logf("%d changes, %d refusals", changed, refused)
	if changed < refused/10 {
		t.Error("hardly anything was changed: the test proves nothing")
	}
}

var treeNames = []string{"a", "b.txt", "d", "d/a", "d/e", "d/e/f", "g/h/i", "l", "d/l", "new"}

func randomTree(t *testing.T, rt *rapid.T, root string) {
	must(t, os.MkdirAll(filepath.Join(root, "d/e"), 0o755))
	must(t, os.MkdirAll(filepath.Join(root, "g/h"), 0o755))
	for i, name := range []string{"a", "b.txt", "d/a", "d/e/f", "g/h/i"} {
		if !rapid.Bool().Draw(rt, "there "+name) {
			continue
		}
		full := filepath.Join(root, name)
		content := rapid.SampledFrom([]string{"", "one\ntwo\nthree\n", "one\r\ntwo\r\n", "no end", "bin\x00ary",
			"\xff\xfe"}).Draw(rt, "content")
		must(t, os.WriteFile(full, []byte(content), 0o600))
		if rapid.Bool().Draw(rt, "attribute") {
			_ = unix.Setxattr(full, "user.test", []byte(fmt.Sprint("value ", i)), 0) // where the file system has them
		}
		must(t, os.Chmod(full, rapid.SampledFrom([]os.FileMode{0o600, 0o644, 0o755, 0o664}).Draw(rt, "mode")))
	}
	must(t, os.Symlink("d/a", filepath.Join(root, "l")))
	must(t, os.Symlink("../b.txt", filepath.Join(root, "d/l")))
	if err := os.Link(filepath.Join(root, "a"), filepath.Join(root, "g/hard")); err != nil &&
		!errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	must(t, os.Chmod(filepath.Join(root, "d/e"), 0o750))
	old := time.Now().Add(-48 * time.Hour).Truncate(time.Second)
	var all []string
	must(t, filepath.WalkDir(root, func(p string, _ os.DirEntry, err error) error { all = append(all, p); return err }))
	for i := len(all) - 1; i >= 0; i-- {
		if info, err := os.Lstat(all[i]); err == nil && info.Mode()&os.ModeSymlink == 0 {
			must(t, os.Chtimes(all[i], old, old.Add(time.Duration(i)*time.Minute)))
		}
	}
}

func randomRequest(rt *rapid.T) files.Request {
	name := rapid.SampledFrom(treeNames)
	ops := []files.Op{
		files.Create, files.Write, files.Write, files.Edit, files.MultiEdit, files.Append, files.Insert,
		files.Delete, files.Move, files.Move, files.Copy, files.Mkdir, files.Rmdir, files.Rmdir,
	}
	return files.Request{
		Op: rapid.SampledFrom(ops).Draw(rt, "op"), Path: name.Draw(rt, "path"), To: name.Draw(rt, "to"),
		Content:   []byte(rapid.SampledFrom([]string{"", "new\n", "one\ntwo\nthree\n", "x\x00y"}).Draw(rt, "content")),
		Edits:     []files.Replacement{{Find: "o", Replace: "0", Count: rapid.IntRange(1, 3).Draw(rt, "count")}},
		Line:      rapid.IntRange(0, 3).Draw(rt, "line"),
		Before:    rapid.Bool().Draw(rt, "before"),
		Mode:      rapid.SampledFrom([]uint32{0, 0o600, 0o750}).Draw(rt, "mode"),
		Parents:   rapid.Bool().Draw(rt, "parents"),
		Recursive: rapid.Bool().Draw(rt, "recursive"),
	}
}

// Undo refuses entries that changed since, and with force replaces them and stores their content.
func TestUndoRefusesWhatChanged(t *testing.T) {
	for _, c := range []struct {
		name   string
		req    files.Request
		after  func(b *filestest.Bench) // what somebody else does
		forced string                   // content of "a" after undoing by force; "-" absent, "!" refused even so
	}{
		{"edited", files.Request{Op: files.Write, Path: "a", Content: []byte("ours")}, with("a", "theirs"), "old"},
		{"mode", files.Request{Op: files.Write, Path: "a", Content: []byte("ours")},
			func(b *filestest.Bench) { os.Chmod(filepath.Join(b.Root, "a"), 0o600) }, "old"},
		{"removed", files.Request{Op: files.Write, Path: "a", Content: []byte("ours")},
			func(b *filestest.Bench) { os.Remove(filepath.Join(b.Root, "a")) }, "old"},
		{"made again", files.Request{Op: files.Delete, Path: "a"}, with("a", "theirs"), "old"},
		{"edited after it was created", files.Request{Op: files.Create, Path: "new", Content: []byte("ours")},
			with("new", "theirs"), "old"},
		{"a folder now", files.Request{Op: files.Delete, Path: "a"},
			func(b *filestest.Bench) { os.Mkdir(filepath.Join(b.Root, "a"), 0o755) }, "!"},
		{"moved file edited", files.Request{Op: files.Move, Path: "a", To: "b"}, with("b", "theirs"), "theirs"},
		{"old name taken", files.Request{Op: files.Move, Path: "a", To: "b"}, with("a", "theirs"), "!"},
		{"folder filled", files.Request{Op: files.Mkdir, Path: "d"}, with("d/x", "theirs"), "!"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := filestest.New(t, filestest.Options{})
			b.Write("a", "old")
			_, id, err := b.Do(c.req)
			must(t, err)
			c.after(b)
			before := filestest.Snapshot(t, b.Root)
			if _, err := b.Undo(id, false); err == nil || answer(err) == err.Error() {
				t.Fatalf("undone, or no conflict: %v", err)
			}
			if after := filestest.Snapshot(t, b.Root); after != before {
				t.Errorf("the refusal changed something:\n%s", after)
			}
			undo, err := b.Undo(id, true)
			if c.forced == "!" {
				if err == nil {
					t.Error("done by force")
				}
				return
			}
			must(t, err)
			check(t, b, "a", c.forced)
			if _, err := b.Undo(undo, false); err != nil {
				t.Errorf("what was overridden is lost: %v", err)
			}
			if after := filestest.Snapshot(t, b.Root); withoutTimes(after) != withoutTimes(before) {
				t.Errorf("undoing the undoing left:\n%s\n--- instead of\n%s", after, before)
			}
		})
	}
}

// An undoing keeps what it loses, and what it gives back is not forgotten to
// make room for that (R-FS-08).
func TestUndoWithLittleRoom(t *testing.T) {
	cfg := files.Defaults()
	cfg.Undo.KeepBytes = 100
	b := filestest.New(t, filestest.Options{Config: &cfg})
	old, new := strings.Repeat("o", 60), strings.Repeat("n", 60)
	b.Write("a", old)
	_, id, err := b.Do(files.Request{Op: files.Write, Path: "a", Content: []byte(new)})
	must(t, err)
	undoing, err := b.Undo(id, false)
	must(t, err)
	if got := b.Content("a"); got != old {
		t.Errorf("after the undoing there is %q", got)
	}
	if _, err := b.Store.Kept(undoing); err != nil {
		t.Errorf("the undoing cannot be undone: %v", err)
	}
}

// What is too large to be kept can be moved, and so moved back: nothing of it is lost.
func TestMoveOfALargeFileIsUndone(t *testing.T) {
	cfg := files.Defaults()
	cfg.Undo.KeepBytes = 100
	b := filestest.New(t, filestest.Options{Config: &cfg})
	large := strings.Repeat("o", 200)
	b.Write("a", large)
	_, id, err := b.Do(files.Request{Op: files.Move, Path: "a", To: "b"})
	must(t, err)
	undoing, err := b.Undo(id, false)
	must(t, err)
	check(t, b, "a", large)
	_, err = b.Undo(undoing, false)
	must(t, err)
	check(t, b, "b", large)
	b.Write("b", large+"more")
	if _, err := b.Undo(undoing, false); err == nil {
		t.Error("moved back although it was changed")
	}
}

// The error for missing stored content names its path.
func TestUndoNamesThePath(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	b := filestest.New(t, filestest.Options{Store: state})
	b.Write("a", "old")
	_, id, err := b.Do(files.Request{Op: files.Delete, Path: "a"})
	must(t, err)
	must(t, os.RemoveAll(filepath.Join(state, "trash", id)))
	_, err = b.Undo(id, false)
	var c *files.Conflict
	if !errors.As(err, &c) || c.Path != filepath.Join(b.Root, "a") || c.Op != files.Undo {
		t.Errorf("%v", err)
	}

	// Of several it is the one that failed.
	must(t, os.Mkdir(filepath.Join(b.Root, "d"), 0o755))
	b.Write("d/1", "one")
	b.Write("d/2", "two")
	_, id, err = b.Do(files.Request{Op: files.Rmdir, Path: "d", Recursive: true})
	must(t, err)
	must(t, os.Remove(filepath.Join(state, "trash", id, "1-2")))
	_, err = b.Undo(id, false)
	if c = nil; !errors.As(err, &c) || c.Path != filepath.Join(b.Root, "d/2") {
		t.Errorf("%v", err)
	}
}
