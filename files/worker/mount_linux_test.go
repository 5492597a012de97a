package worker_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sandboxd/files"
	"sandboxd/files/filestest"
)

// A move to another mount keeps of the file what a rename would: mode, time, and
// extended attributes; so does taking it back.
func TestMoveToAnotherMount(t *testing.T) {
	otherMount, err := os.MkdirTemp("/dev/shm", "files")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(otherMount) })
	cfg := files.Defaults()
	cfg.Paths["elsewhere"] = files.Sandbox{Root: otherMount, Mode: "rw"}
	for _, over := range []bool{false, true} {
		b := filestest.New(t, filestest.Options{Config: &cfg})
		b.Write("a", "x")
		from, to := filepath.Join(b.Root, "a"), filepath.Join(otherMount, "b")
		old := time.Unix(1_600_000_000, 0)
		must(t, os.Chmod(from, 0o640))
		must(t, os.Chtimes(from, old, old))
		attr := unix.Setxattr(from, "user.test", []byte("v"), 0) == nil &&
			unix.Setxattr(otherMount, "user.test", []byte("v"), 0) == nil
		if over {
			must(t, os.WriteFile(to, []byte("displaced"), 0o604))
		}
		looks := func(name string) {
			t.Helper()
			info, err := os.Stat(name)
			must(t, err)
			if info.Mode() != 0o640 || !info.ModTime().Equal(old) {
				t.Errorf("%s: %v %v", name, info.Mode(), info.ModTime())
			}
			if n, err := unix.Getxattr(name, "user.test", make([]byte, 9)); attr && n != 1 {
				t.Errorf("%s: its extended attribute is gone: %v", name, err)
			}
		}
		_, id, err := b.Do(files.Request{Op: files.Move, Path: "a", To: to})
		must(t, err)
		looks(to)
		_, err = b.Undo(id, false)
		must(t, err)
		looks(from)
		os.Remove(to)
	}
}
