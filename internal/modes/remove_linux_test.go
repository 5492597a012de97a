package modes

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// deep makes nested directories of a name, closed ones at the end, as a command can without a path.
func deep(t *testing.T, top, name string, levels int) {
	t.Helper()
	fd, err := unix.Open(top, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	for i := 0; i < levels && err == nil; i++ {
		if err = unix.Mkdirat(fd, name, 0o700); err != nil {
			break
		}
		var next int
		if next, err = unix.Openat(fd, name, unix.O_RDONLY|unix.O_DIRECTORY, 0); err == nil {
			unix.Close(fd)
			fd = next
		}
	}
	for _, below := range []string{"z", "y"} {
		if err == nil {
			err = unix.Mkdirat(fd, below, 0o700)
		}
		var file int
		if err != nil {
			break
		}
		if file, err = unix.Openat(fd, below+"/f", unix.O_CREAT|unix.O_WRONLY, 0o400); err == nil {
			unix.Close(file)
			err = unix.Fchmodat(fd, below, 0, 0)
		}
	}
	if err == nil {
		err = unix.Fchmod(fd, 0)
	}
	unix.Close(fd)
	if err != nil {
		t.Fatal(err)
	}
}

// A tree of any depth is removed with its closed directories, and no link is followed. R-LY-10
func TestRemoveAll(t *testing.T) {
	dir := t.TempDir()
	kept := filepath.Join(dir, "kept")
	if err := os.WriteFile(kept, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	top := filepath.Join(dir, "top")
	for _, name := range []string{"d", strings.Repeat("Q", 250), "e", ".removed-1"} {
		at := filepath.Join(top, name+"0")
		if err := os.MkdirAll(filepath.Join(at, ".removed-2", "x"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(dir, filepath.Join(at, "link")); err != nil {
			t.Fatal(err)
		}
		levels := 60
		if name == "d" {
			levels = 5_000
		}
		deep(t, at, name, levels)
	}
	if err := RemoveAll(top); err != nil {
		t.Error(err)
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 1 || list[0].Name() != "kept" {
		t.Errorf("left: %v, %v", list, err)
	}
	if err := RemoveAll(filepath.Join(dir, "none/none")); err != nil {
		t.Error(err)
	}
}
