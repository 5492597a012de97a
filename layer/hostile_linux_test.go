package layer

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// hostile makes a layer whose upper directory the test writes to itself.
func hostile(t *testing.T, dir string) *bench {
	t.Helper()
	at, err := os.MkdirTemp(dir, "layer")
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, dir: at}
	if b.root, err = os.Open(b.tree("root")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.close)
	if b.Layer, err = New(filepath.Join(at, "run"), b.root); err != nil {
		t.Fatal(err)
	}
	return b
}

// deepen makes directories below one, of a path longer than any that the kernel takes.
func deepen(t *testing.T, dir string) {
	t.Helper()
	at, err := unix.Open(dir, unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	for range 4096 {
		if err := unix.Mkdirat(at, "d", 0o755); err != nil {
			t.Fatal(err)
		}
		next, err := unix.Openat(at, "d", unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		unix.Close(at)
		if at = next; err != nil {
			t.Fatal(err)
		}
	}
	unix.Close(at)
}

// tooLarge wants a layer not to be taken, with an error that says so, within bounds of time and memory.
func (b *bench) tooLarge(what string) {
	b.t.Helper()
	if err := b.takeWithin(); !errors.Is(err, errTooMany) || !strings.Contains(err.Error(), what) {
		b.t.Errorf("got %.200v", err)
	}
	if b.Status() != Mounted {
		b.t.Errorf("it is %s", b.Status())
	}
}

// tooDeep wants a layer to be held for its depth.
func (b *bench) tooDeep() {
	b.t.Helper()
	if err := b.takeWithin(); err != nil {
		b.t.Fatalf("got %.200v", err)
	}
	err := b.Land(b.root, yes)
	if !errors.As(err, new(*ConflictError)) || !strings.Contains(err.Error(), "more than 256 directories deep") ||
		len(err.Error()) > 2000 || b.Status() != Held {
		b.t.Errorf("landed: %s, %.300v", b.Status(), err)
	}
}

// takeWithin takes a layer within bounds of time and memory.
func (b *bench) takeWithin() error {
	b.t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	begin := time.Now()
	err := b.Take(b.root)
	took := time.Since(begin)
	runtime.ReadMemStats(&after)
	if size := (after.Sys - before.Sys) >> 20; size > 512 || took > 2*time.Minute {
		b.t.Errorf("it took %v and %d MiB", took, size)
	}
	return err
}

// TestDeepLayer has a layer deeper than any path, and one that removes such a tree: both are held, for their depth.
// R-LY-02.
func TestDeepLayer(t *testing.T) {
	b := hostile(t, "")
	deepen(t, b.Upper())
	b.tooDeep()
	b = landBench(t, []step{{Do: "mkdir", Path: "top", Mode: 0o755}}, nil)
	deepen(t, b.at("top"))
	l, err := New(filepath.Join(b.dir, "again"), b.root)
	if err != nil {
		t.Fatal(err)
	}
	b.Layer = l
	if err := unix.Mknod(b.Upper()+"/top", unix.S_IFCHR, 0); err != nil { // a whiteout
		t.Fatal(err)
	}
	b.tooDeep()
}

// TestWideLayer has a layer of more entries than a change set holds: Take says so, and fails. From -rapid.checks=1000
// on there are 1,000,000, in one directory and in many. R-LY-02.
func TestWideLayer(t *testing.T) {
	entries, shapes := maxEntries+1, []int{maxEntries + 1}
	if cases(t) >= 1000 {
		entries, shapes = 1_000_000, []int{1_000_000, 1000}
	}
	for _, each := range shapes {
		b := hostile(t, "/dev/shm") // a file system in memory has no limit of links
		if err := os.WriteFile(b.dir+"/0", nil, 0o600); err != nil {
			t.Fatal(err)
		}
		for i := range entries {
			dir := fmt.Sprintf("%s/%d", b.Upper(), i/each)
			if i%each == 0 {
				if err := os.Mkdir(dir, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			if err := unix.Link(b.dir+"/0", fmt.Sprintf("%s/%d", dir, i)); err != nil {
				t.Fatal(err)
			}
		}
		b.tooLarge("entries")
	}
}

// TestDevicesOfALayer has devices in a layer, which only root can make, at the top and in a new directory: they are
// named and do not land, and a whiteout in a new directory hides nothing. R-LY-02.
func TestDevicesOfALayer(t *testing.T) {
	b := hostile(t, "")
	if err := os.Mkdir(b.Upper()+"/dir", 0o755); err != nil {
		t.Fatal(err)
	}
	want := []Name{}
	for _, d := range []struct {
		name Name
		mode uint32
		dev  uint64
	}{
		{"dir/gone", unix.S_IFCHR, 0}, {"dir/disk\n", unix.S_IFBLK, unix.Mkdev(7, 0)},
		{"null", unix.S_IFCHR, unix.Mkdev(1, 3)},
		{"pipe", unix.S_IFIFO, 0}, {"socket", unix.S_IFSOCK, 0}, {"zero", unix.S_IFCHR, unix.Mkdev(0, 1)},
	} {
		err := unix.Mknod(filepath.Join(b.Upper(), string(d.name)), d.mode|0o666, int(d.dev))
		switch {
		case err == unix.EPERM && os.Geteuid() != 0 && d.dev != 0:
		case err != nil:
			t.Fatal(err)
		case d.name != "dir/gone":
			want = append(want, d.name)
		}
	}
	b.take().land()
	got := []Name{}
	for _, n := range b.Set().Skipped {
		got = append(got, n.Path)
	}
	if !slices.Equal(got, want) {
		t.Errorf("named %q, want %q", got, want)
	}
	if left, err := os.ReadDir(b.root.Name()); err != nil || len(left) != 1 || left[0].Name() != "dir" {
		t.Errorf("landed %v, %v", left, err)
	}
	if left, err := os.ReadDir(b.at("dir")); err != nil || len(left) != 0 {
		t.Errorf("landed in dir: %v, %v", left, err)
	}
}

// TestLinksOfALayer has links that lead out of the layer and in a loop: they land as links, and nothing follows them.
// R-LY-02.
func TestLinksOfALayer(t *testing.T) {
	b := hostile(t, "")
	for name, to := range map[string]string{"out": "/etc", "loop": "loop", "up": "../../.."} {
		if err := os.Symlink(to, filepath.Join(b.Upper(), name)); err != nil {
			t.Fatal(err)
		}
	}
	b.take().land()
	if len(b.Set().Ops) != 3 {
		t.Errorf("got %v", b.Set().Changes())
	}
	for _, op := range b.Set().Ops {
		if len(op.New) != 1 || op.New[0].Kind != Symlink {
			t.Errorf("%q: %v", op.Path, op.New)
		}
	}
}

// TestRedirectOfALayer has a directory that claims its content is elsewhere, as only another mount would write it.
// R-LY-02.
func TestRedirectOfALayer(t *testing.T) {
	b := hostile(t, "")
	if err := os.Mkdir(b.Upper()+"/dir", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setxattr(b.Upper()+"/dir", "user.overlay.redirect", []byte("/etc"), 0); err != nil {
		t.Fatal(err)
	}
	b.take()
	err := b.Land(b.root, yes)
	if !errors.As(err, new(*ConflictError)) || !strings.Contains(err.Error(), `"dir"`) || exists(b.at("dir")) {
		t.Errorf("landed: got %v", err)
	}
}

// TestUnmarkedDirectoryOfALayer has a directory without the overlay's marks where the root has one with a file, as on a
// file system that lost them: it does not land in the place of that.
func TestUnmarkedDirectoryOfALayer(t *testing.T) {
	b := newBench(t, disk, step{Do: "mkdir", Path: "dir", Mode: 0o755}, file("dir/kept", "kept"))
	t.Cleanup(b.close)
	past(t, b.root.Name())
	var err error
	if b.Layer, err = New(filepath.Join(b.dir, "run"), b.root); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(b.Upper()+"/dir", 0o755); err != nil {
		t.Fatal(err)
	}
	var conflict *ConflictError
	if err := b.take().Land(b.root, yes); !errors.As(err, &conflict) || !exists(b.at("dir/kept")) {
		t.Errorf("got %v, and %v", err, b.snapshot())
	}
}
