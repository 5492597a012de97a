package bwrap

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// TestOpenEach: what stands in for openat2 on old kernels follows no link
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
	for path, want := range map[string]error{"/a/b": nil, "/link": nil, "/link/b": unix.ELOOP, "/a/c": unix.ENOENT, "/c/b": unix.ENOENT} {
		fd, err := openEach((top + path)[1:], flags)
		if err != want {
			t.Errorf("openEach(%q) = %v, want %v", path, err, want)
		}
		if err == nil {
			unix.Close(fd)
		}
	}
	if fd, err := openEach(".", flags); err != nil {
		t.Errorf("openEach of the root: %v", err)
	} else {
		unix.Close(fd)
	}
}
