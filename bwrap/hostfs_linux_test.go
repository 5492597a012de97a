package bwrap_test

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"testing"

	"sandboxd/bwrap"
)

// TestHostFS: it is the real file system, and follows no link on the way.
func TestHostFS(t *testing.T) {
	top := project(t, os.Geteuid(), "dir/file", "dir/sub/")
	for link, target := range map[string]string{"/link": top + "/dir", "/dir/to file": "file"} {
		if err := os.Symlink(target, top+link); err != nil {
			t.Fatal(err)
		}
	}
	host, at := bwrap.HostFS(), top[1:]
	info, err := host.Lstat(at + "/dir/file")
	if err != nil || info.Size() != int64(len("content of dir/file")) || info.Mode() != 0o755 || info.Name() != "file" {
		t.Errorf("Lstat of a file: %v, %v", info, err)
	}
	if info, err := host.Lstat(at + "/link"); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("Lstat of a link: %v, %v", info, err)
	}
	if text, err := host.ReadLink(at + "/link"); err != nil || text != top+"/dir" {
		t.Errorf("ReadLink: %q, %v", text, err)
	}
	if _, err := host.ReadLink(at + "/dir/file"); err == nil {
		t.Error("ReadLink of a file: no error")
	}
	entries, err := fs.ReadDir(host, at+"/dir")
	if err != nil || len(entries) != 3 || entries[2].Name() != "to file" || entries[2].Type()&fs.ModeSymlink == 0 {
		t.Errorf("ReadDir: %v, %v", entries, err)
	}
	if content, err := fs.ReadFile(host, at+"/dir/file"); err != nil || string(content) != "content of dir/file" {
		t.Errorf("ReadFile: %q, %v", content, err)
	}
	if info, err := host.Lstat("."); err != nil || !info.IsDir() {
		t.Errorf("Lstat of the root: %v, %v", info, err)
	}
	for _, name := range []string{at + "/link/file", at + "/link/sub"} {
		if _, err := host.Lstat(name); !errors.Is(err, syscall.ELOOP) {
			t.Errorf("Lstat(%q): %v, want ELOOP", name, err)
		}
	}
	if _, err := fs.ReadDir(host, at+"/link"); err == nil {
		t.Error("ReadDir of a link: no error")
	}
	if _, err := host.Open(at + "/dir/to file"); err == nil {
		t.Error("Open of a link: no error")
	}
	if _, err := host.Lstat(at + "/absent"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Lstat of nothing: %v", err)
	}
	for _, name := range []string{"/etc", "a/../b", ""} {
		if _, err := host.Lstat(name); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("Lstat(%q): %v, want invalid", name, err)
		}
	}
}
