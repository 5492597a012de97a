package layer

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

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

// TestDeepLayer has a layer deeper than any path: Take names the depth, and fails. R-LY-02.
func TestDeepLayer(t *testing.T) {
	b := hostile(t, "")
	at, err := unix.Open(b.Upper(), unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
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
	if err := b.Take(b.root); !errors.Is(err, errTooMany) || !strings.Contains(err.Error(), "directories deep") {
		t.Errorf("got %.200v", err)
	}
	if b.Status() != Mounted {
		t.Errorf("it is %s", b.Status())
	}
}

// TestWideLayer has a layer of more entries than a change set holds: Take says so, and fails. R-LY-02.
func TestWideLayer(t *testing.T) {
	b := hostile(t, "/dev/shm") // a file system in memory has no limit of links
	if err := os.WriteFile(b.Upper()+"/0", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	upper, err := os.Open(b.Upper())
	if err != nil {
		t.Fatal(err)
	}
	defer upper.Close()
	for i := range maxEntries {
		if err := unix.Linkat(int(upper.Fd()), "0", int(upper.Fd()), fmt.Sprint(i+1), 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Take(b.root); !errors.Is(err, errTooMany) || !strings.Contains(err.Error(), "entries") {
		t.Errorf("got %.200v", err)
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
	if err := b.Take(b.root); err == nil || !strings.Contains(err.Error(), `"dir"`) {
		t.Errorf("got %v", err)
	}
}
