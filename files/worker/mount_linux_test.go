package worker_test

import (
	"os"
	"path/filepath"
	"runtime"
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

// R-LY-11: on an overlay whose layers are on different file systems each file has the device of its layer. A run there
// is covered, and undone.
func TestUndoOnAnOverlayOfTwoFileSystems(t *testing.T) {
	if os.Geteuid() != 0 {
		return // who can't mount has no such overlay
	}
	runtime.LockOSThread() // which ends with the test, as its mounts do
	must(t, unix.Unshare(unix.CLONE_NEWNS|unix.CLONE_FS))
	must(t, unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
	upper, err := os.MkdirTemp("/dev/shm", "files")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(upper) })
	lower, root := t.TempDir(), filepath.Join(t.TempDir(), "project")
	for _, dir := range []string{upper + "/upper", upper + "/work", root} {
		must(t, os.Mkdir(dir, 0o755))
	}
	must(t, os.WriteFile(lower+"/below", []byte("below"), 0o644))
	must(t, os.WriteFile(lower+"/gone", []byte("gone"), 0o644))
	how := "lowerdir=" + lower + ",upperdir=" + upper + "/upper,workdir=" + upper + "/work"
	must(t, unix.Mount("overlay", root, "overlay", 0, how))
	t.Cleanup(func() { must(t, unix.Unmount(root, unix.MNT_DETACH)) })
	must(t, os.WriteFile(root+"/above", []byte("above"), 0o644))
	b := filestest.New(t, filestest.Options{Root: root, Process: true})
	was := world(t, root)
	id, c, err := b.Run(func() {
		must(t, os.WriteFile(root+"/below", []byte("changed"), 0o644))
		must(t, os.WriteFile(root+"/above", []byte("changed"), 0o644))
		must(t, os.Remove(root+"/gone"))
	})
	must(t, err)
	if c.Len() != 3 {
		t.Errorf("found %+v", c)
	}
	_, _, err = b.UndoRun(id, files.UndoHow{})
	must(t, err)
	if d := diffWorlds(was, world(t, root)); d != "" {
		t.Errorf("after undo:\n%s", d)
	}
}
