package bwrap_test

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"

	"sandboxd/bwrap"
	"sandboxd/profile"
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

// R-OS-02: a hidden file that only another user may read needs no mount, in a tree in which nothing can be changed.
func TestNoMountForTheUnreadable(t *testing.T) {
	top := project(t, os.Geteuid(), "a.key", "b.key")
	if err := errors.Join(os.Chmod(top+"/a.key", 0o600), os.Chmod(top+"/b.key", 0o640)); err != nil {
		t.Fatal(err)
	}
	for tree, want := range map[profile.Access]string{profile.Read: "b", profile.Read | profile.Write: "a b"} {
		for _, uid := range []int{os.Geteuid(), os.Geteuid() + 1} {
			result, err := bwrap.Compile(mustNew(t, allow(tree, top), named(profile.Hide, top, "*.key")), nil,
				bwrap.Host{Version: bwrap.Version{Minor: 8}, FS: bwrap.HostFS(), Euid: uid, Descriptor: 10})
			if err != nil {
				t.Fatal(err)
			}
			var hidden []string
			for _, name := range []string{"a", "b"} {
				if strings.Contains(layout(result), "hidden file "+top+"/"+name+".key") {
					hidden = append(hidden, name)
				}
			}
			if got := strings.Join(hidden, " "); uid != os.Geteuid() && got != want || uid == os.Geteuid() && got != "a b" {
				t.Errorf("access %v, uid %d: hidden are %s", tree, uid, got)
			}
		}
	}
}
