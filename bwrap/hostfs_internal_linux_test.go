package bwrap

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// TestOpenEach: the replacement of openat2 on old kernels follows no link
// either.
func TestOpenEach(t *testing.T) {
	top := t.TempDir()
	if err := os.MkdirAll(top+"/a/b", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("a", top+"/link"); err != nil {
		t.Fatal(err)
	}
	const flags = unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC
	for path, want := range map[string]error{"/a/b": nil, "/link": nil, "/link/b": unix.ELOOP, "/a/c": unix.ENOENT,
		"/c/b": unix.ENOENT} {
		fd, err := openEach((top + path)[1:], flags)
		if err != want {
			t.Errorf("openEach(%q) = %v, want %v", path, err, want)
		}
		if err == nil {
			unix.Close(fd)
		}
	}
	fd, err := openEach(".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC)
	if err != nil {
		t.Fatalf("openEach of the root: %v", err)
	}
	defer unix.Close(fd)
	if _, err := unix.ReadDirent(fd, make([]byte, 4096)); err != nil {
		t.Errorf("listing the root: %v", err)
	}
}
