package worker_test

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"sandboxd/files"
	"sandboxd/files/filestest"
)

// R-LY-11: undo of a run that changed 5,000 files, and the undo of that, are whole, with far fewer descriptors than
// files.
func TestUndoOfARunOfFiveThousandFiles(t *testing.T) {
	root := fiveThousand(t)
	b := filestest.New(t, filestest.Options{Root: root, Store: filepath.Join(t.TempDir(), "store"), Process: true})
	few := &unix.Rlimit{Cur: 256, Max: 256}
	must(t, unix.Prlimit(b.Worker.Process.Pid, unix.RLIMIT_NOFILE, few, nil))
	was := world(t, root)
	id, _, err := b.Run(func() {
		dirs, err := filepath.Glob(filepath.Join(root, "dir*"))
		must(t, err)
		for _, dir := range dirs[:50] {
			must(t, os.RemoveAll(dir))
		}
		rest, err := filepath.Glob(filepath.Join(root, "dir*", "*"))
		must(t, err)
		for _, name := range rest {
			must(t, os.WriteFile(name, []byte("of the run"), 0o644))
		}
	})
	must(t, err)
	is := world(t, root)
	_, back, err := b.UndoRun(id, files.UndoHow{})
	must(t, err)
	if d := diffWorlds(was, world(t, root)); d != "" {
		t.Fatalf("after undo:\n%.2000s", d)
	}
	_, _, err = b.UndoRun(back, files.UndoHow{})
	must(t, err)
	if d := diffContent(is, world(t, root)); d != "" {
		t.Fatalf("after the undo of the undo:\n%.2000s", d)
	}
}
