package paths

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestNeverWhatOthersCanChange(t *testing.T) { // R-IP-09: only the sandboxd beside it
	dir := t.TempDir()
	file := func(name string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(file("target", 0o755), link); err != nil {
		t.Fatal(err)
	}
	good := file("good", 0o755)
	for name, want := range map[string]bool{good: true, file("world", 0o757): false, link: false,
		filepath.Join(dir, "absent"): false} {
		if err := Trustworthy(name); (err == nil) != want {
			t.Errorf("Trustworthy(%q) = %v, want ok: %v", name, err, want)
		}
	}
	if os.Geteuid() == 0 {
		for name, own := range map[string][2]int{"other": {12345, 0}, "group": {0, 12345}} {
			path := file(name, 0o775)
			if err := os.Chown(path, own[0], own[1]); err != nil {
				t.Fatal(err)
			}
			if err := Trustworthy(path); err == nil {
				t.Errorf("Trustworthy(%q) = nil with owner %v", name, own)
			}
		}
	}
}

func TestOwnSocketDir(t *testing.T) {
	uid := os.Geteuid()
	closed, open := t.TempDir(), t.TempDir()
	if err := errors.Join(os.Chmod(closed, 0o700), os.Chmod(open, 0o755)); err != nil {
		t.Fatal(err)
	}
	if got, want := OwnSocketDir(closed, uid), filepath.Join(closed, "sandboxd"); got != want {
		t.Errorf("OwnSocketDir(closed) = %q, want %q", got, want)
	}
	for _, xdg := range []string{"", "relative", open, "/nonexistent"} {
		got := OwnSocketDir(xdg, 54321)
		if want := "/tmp/sandboxd-54321"; got != want {
			t.Errorf("OwnSocketDir(%q) = %q, want %q", xdg, got, want)
		}
		if got := OwnSocketDir(xdg, uid); strings.HasPrefix(got, open) {
			t.Errorf("OwnSocketDir(%q) = %q, which others can enter", xdg, got)
		}
	}
}
