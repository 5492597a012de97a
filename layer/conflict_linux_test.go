package layer

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// TestSecondWriter has another program change the root by a script of its own while the layer's runs, before it is
// taken, or before it lands. If the layer lands, each of the other's changes is in the root as it was; if not, the root
// is as the other left it. R-LY-03.
func TestSecondWriter(t *testing.T) {
	fewer(t, 2)
	landings := 0
	rapid.Check(t, func(rt *rapid.T) {
		tree, script, other := drawTree(rt), drawScript(rt, "script", 1, 10), drawScript(rt, "other", 1, 4)
		when := rapid.IntRange(0, 2).Draw(rt, "when")
		b := newBench(t, memory, tree...)
		defer b.close()
		defer func() {
			if rt.Failed() {
				t.Logf("tree:\n%sscript:\n%sother, at %d:\n%s", show(tree), show(script), when, show(other))
			}
		}()
		past(t, b.root.Name())
		before := b.snapshot()
		write := func(at int) {
			if when == at {
				order{Dir: b.root.Name(), Script: other}.run(t)
			}
		}
		b.layerWith("run", func() { write(0) }, script...)
		write(1)
		b.take()
		write(2)
		left := b.snapshot()
		err := b.Land(b.root, yes)
		var conflict *ConflictError
		if err != nil {
			if !errors.As(err, &conflict) {
				rt.Fatal(err)
			}
			if d := differences(b.snapshot(), left); d != "" {
				rt.Fatalf("not landed, yet different: %v\n%s", err, d)
			}
			return
		}
		landings++
		landed := b.snapshot()
		for name, text := range left {
			if before[name] != text && landed[name] != text && !strings.HasPrefix(text, "dir ") {
				rt.Fatalf("landed over a change of %q:\n  left   %s\n  landed %s", name, text, landed[name])
			}
		}
		for name := range before {
			if _, there := left[name]; there || when == 0 { // the script saw what was removed before it
				continue
			}
			if _, there := landed[name]; there {
				rt.Fatalf("landed over a removal of %q: %s", name, landed[name])
			}
		}
		if err := b.Undo(b.root); err != nil {
			rt.Fatal(err)
		}
		for name, d := range left {
			if now := b.snapshot(); now[name] != d && !strings.HasPrefix(d, "dir ") {
				rt.Fatalf("undone, yet different %q:\n  left   %s\n  undone %s", name, d, now[name])
			}
		}
	})
	if landings == 0 {
		t.Error("no layer landed beside another writer")
	}
}

// A symbolic link that the command exchanged for another, and somebody else removed meanwhile, does not land again: no
// attribute of the layer distinguishes such a link from one that the command made. R-LY-03.
func TestRemovedLink(t *testing.T) {
	b := newBench(t, memory, step{Do: "symlink", Path: "one", Data: "x"}, step{Do: "symlink", Path: "two", Data: "y"})
	defer b.close()
	past(t, b.root.Name())
	b.layer("run", step{Do: "swap", Path: "one", To: "two"})
	order{Dir: b.root.Name(), Script: []step{{Do: "rmtree", Path: "two"}}}.run(t)
	b.take()
	if err := b.Land(b.root, yes); !errors.As(err, new(*ConflictError)) || exists(b.root.Name()+"/two") {
		t.Errorf("landed over the removal: %v", err)
	}
}

// TestWriterAtEachCall has another program write during a landing, at each system call of it or some of them: its
// version is in the root afterwards, landed or not. Rules 2 (leases), 3 and 7 (parents that move). R-LY-03.
func TestWriterAtEachCall(t *testing.T) {
	moved := false // before the landing changed its file
	for _, w := range append(appenders(), []writer{
		{"save by rename", func(root string) error {
			if err := os.WriteFile(root+"/saved", []byte("other"), 0o600); err != nil {
				return err
			}
			return os.Rename(root+"/saved", root+"/dir/file")
		}, appended, false},
		{"move the parent", func(root string) error {
			moved = !holds(root+"/dir/file", "new")
			return os.Rename(root+"/dir", root+"/dir2")
		}, func(root string, _ int) bool {
			landed := holds(root+"/dir2/file", "new") && exists(root+"/new") && !moved
			return landed || !holds(root+"/dir2/file", "new") && !exists(root+"/dir") && !exists(root+"/new")
		}, false},
		{"add to a removed directory", func(root string) error { return os.WriteFile(root+"/removed/more", nil, 0o600) },
			func(root string, _ int) bool { return exists(root + "/removed/more") }, false},
		{"create the new name", func(root string) error { return appendTo(root+"/new", "other", unix.O_NONBLOCK) },
			func(root string, _ int) bool { return holds(root+"/new", "other") }, false},
	}...) {
		t.Run(w.name, func(t *testing.T) { w.atEachCall(t) })
	}
}

// writer is another program.
type writer struct {
	name  string
	write func(root string) error
	kept  func(root string, left int) bool // what it wrote, left system calls before the end of the landing
	again bool                             // at each later call until it succeeds
}

func appended(root string, _ int) bool { return holds(root+"/dir/file", "other") }

// appenders write to the file that the landing changes.
func appenders() []writer {
	const tail = 20 // system calls of a landing after it asked for the leases the last time
	var waited bool // for a lease of the landing
	written := make(chan error, 1)
	later := func(name string, keep *os.File) (waits bool) {
		go func() {
			written <- appendTo(name, "other", 0)
			keep.Close()
		}()
		select { // it may wait for the landing's lease, for as long as the landing waits here
		case err := <-written:
			written <- err
			return false
		case <-time.After(20 * time.Millisecond):
			return true
		}
	}
	now := func(root string) error { return appendTo(root+"/dir/file", "other", unix.O_NONBLOCK) }
	return []writer{
		{"append", now, appended, false},
		{"append until it works", now, appended, true},
		{"append after a lease", func(root string) error {
			later(root+"/dir/file", nil)
			return nil
		}, func(root string, _ int) bool { return <-written == nil && appended(root, 0) }, false},
		{"append to the file from before", func(root string) error {
			name := root + "/dir/file"
			slots, err := filepath.Glob(filepath.Dir(root) + "/run/slots/*")
			for _, slot := range slots {
				if holds(slot, "old") && !holds(slot, "new") {
					name = slot
				}
			}
			file, err2 := os.OpenFile(name, unix.O_PATH, 0) // open(2) that a signal ends looks a name up again
			if err = errors.Join(err, err2); err == nil {
				waited = later(fmt.Sprint("/proc/self/fd/", file.Fd()), file)
			}
			return err
		}, func(root string, left int) bool {
			if <-written != nil {
				return false
			}
			l, err := Open(filepath.Dir(root) + "/run")
			if err != nil {
				return false
			}
			late, err := l.Late()
			return appended(root, 0) || err == nil && (!waited || left < tail) && slices.Contains(late, "dir/file")
		}, false},
	}
}

func (w writer) atEachCall(t *testing.T) {
	t.Helper()
	stride, landings, refusals := max(4000/cases(t), 1), 0, 0
	for at := 1; ; at += stride {
		b := newBench(t, memory, step{Do: "mkdir", Path: "dir", Mode: 0o755},
			step{Do: "create", Path: "dir/file", Data: "old", Mode: 0o644},
			step{Do: "mkdir", Path: "removed", Mode: 0o755}, step{Do: "create", Path: "removed/file", Mode: 0o644})
		past(t, b.root.Name())
		b.layer("run", step{Do: "append", Path: "dir/file", Data: "new"}, step{Do: "rmtree", Path: "removed"},
			step{Do: "create", Path: "new", Mode: 0o644}).take()
		wrote, root := false, b.root.Name()
		seen, ok := trace(t, task{"land", root, filepath.Join(b.dir, "run")}, func(seen int) bool {
			if seen == at || w.again && seen > at && !wrote {
				wrote = w.write(root) == nil
			}
			return false
		})
		if wrote && !w.kept(root, seen-at) {
			t.Fatalf("written at call %d of %d, landed %t: the other's version is lost:\n%v", at, seen, ok, b.snapshot())
		}
		if l, err := Open(filepath.Join(b.dir, "run")); err != nil {
			t.Fatal(err)
		} else if status := l.Status(); status != map[bool]Status{true: Landed, false: Held}[ok] {
			t.Fatalf("written at call %d of %d, landed %t: the layer is %s", at, seen, ok, status)
		}
		b.close()
		if ok {
			landings++
		} else {
			refusals++
		}
		if seen < at {
			break
		}
	}
	if landings == 0 || refusals == 0 {
		t.Errorf("%d landings and %d refusals: want some of each", landings, refusals)
	}
}

// appendTo writes to a file. With O_NONBLOCK it fails where a lease would have it wait.
func appendTo(name, text string, flags int) error {
	fd, err := unix.Open(name, flags|os.O_WRONLY|os.O_APPEND|os.O_CREATE|unix.O_CLOEXEC, 0o600)
	f := os.NewFile(uintptr(fd), name)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(text)
	return err
}

func holds(name, text string) bool {
	data, err := os.ReadFile(name)
	return err == nil && strings.Contains(string(data), text)
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}
