package layer

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A place is a root and a directory for its layers, below a directory with several of them.
type place struct{ Root, Layers string }

// print mounts, and writes the reason why the place can't have layers.
func (p place) print(dir string) error {
	if err := os.Chdir(dir); err != nil {
		return err
	}
	if err := unix.Mount("tmpfs", "project/sub/mounted", "tmpfs", 0, ""); err != nil {
		return err
	}
	if err := unix.Mount("ramfs", "ram", "ramfs", 0, ""); err != nil { // as tmpfs before Linux 6.6
		return err
	}
	for _, name := range []string{"ram/plain", "ram/state"} {
		if err := os.Mkdir(name, 0o755); err != nil {
			return err
		}
	}
	err := unix.Mount("overlay", "merged", "overlay", 0, "userxattr,lowerdir=lower,upperdir=upper,workdir=work")
	if err != nil {
		return err
	}
	root, err := os.Open(p.Root)
	if err != nil {
		return err
	}
	reason, err := Reason(root, p.Layers, func(uint32, uint32) bool { return true })
	fmt.Print(reason)
	return err
}

// TestReason names the roots that need a direct run. Rules 6 (two mounts), 19 (mounts below the root), 20 (nesting).
func TestReason(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{
		"project/sub/mounted", "project/state", "plain", "state", "lower", "upper", "work", "merged", "ram",
	} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		place
		want string
	}{
		{place{"plain", "state"}, ""},
		{place{"project", "state"}, "is mounted below it, at " + dir + "/project/sub/mounted"},
		{place{"project", "project/state"}, "is inside it"},
		{place{"plain", "project/sub/mounted"}, "another mount"},
		{place{"merged", "state"}, "is an overlay"},
		{place{"ram/plain", "ram/state"}, "no extended attributes"},
	} {
		o := order{Overlay: []string{dir}, Place: &c.place}
		out, err := o.command().CombinedOutput()
		if err != nil || !strings.Contains(string(out), c.want) || c.want == "" && len(out) > 0 {
			t.Errorf("%v: got %q, %v; want %q", c.place, out, err, c.want)
		}
	}
}

// Rule 18: an entry of an owner that the sandbox does not map is a reason.
func TestReasonOfOwners(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"project/file", "state"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.Open(filepath.Join(dir, "project"))
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, mapped := range []bool{true, false} {
		reason, err := Reason(root, filepath.Join(dir, "state"), func(uid, _ uint32) bool {
			return mapped && uid == uint32(os.Getuid())
		})
		if err != nil || mapped != (reason == "") {
			t.Errorf("mapped %t: got %q, %v", mapped, reason, err)
		}
	}
}

// An access control list that names somebody else, which all that is new in the root inherits, is a reason, a
// set-group-ID bit is none. R-LY-01
func TestReasonOfInheritance(t *testing.T) {
	dir := t.TempDir()
	at := filepath.Join(dir, "project")
	for _, name := range []string{at, filepath.Join(dir, "state")} {
		if err := os.Mkdir(name, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.Open(at)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	other := acl()
	binary.LittleEndian.PutUint32(other[len(other)-3*8-4:], 54321) // the user that it names
	for _, c := range []struct {
		change func() error
		want   string
	}{
		{func() error { return unix.Lsetxattr(at, "system.posix_acl_default", acl(), 0) }, ""},
		{func() error { return unix.Lsetxattr(at, "system.posix_acl_default", other, 0) }, "id 54321"},
		{func() error { return unix.Lremovexattr(at, "system.posix_acl_default") }, ""},
		{func() error { return unix.Lsetxattr(at, "system.posix_acl_access", other, 0) }, "id 54321"},
		{func() error { return unix.Lremovexattr(at, "system.posix_acl_access") }, ""},
		{func() error { return unix.Chmod(at, 0o2775) }, ""},
	} {
		if err := c.change(); err != nil {
			t.Fatal(err)
		}
		reason, err := Reason(root, filepath.Join(dir, "state"), func(uid, gid uint32) bool {
			return int(uid) == os.Getuid() && int(gid) == os.Getgid()
		})
		if err != nil || !strings.Contains(reason, c.want) || c.want == "" && reason != "" {
			t.Errorf("got %q, %v; want %q", reason, err, c.want)
		}
	}
}

// Rule 6: nothing can be renamed between two subvolumes, which have different devices under one mount, and that is said
// before a run. A landing that meets one further below changes nothing, and its error has the remedy.
func TestApart(t *testing.T) {
	dir, err := os.MkdirTemp("/dev/shm", "layer-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	at := t.TempDir()
	root, err := os.Open(at)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	other, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	reason, err := apart(int(root.Fd()), int(other.Fd()))
	if err != nil || !strings.Contains(reason, "another subvolume") {
		t.Errorf("two devices: %q, %v", reason, err)
	}
	if reason, err := apart(int(root.Fd()), int(root.Fd())); err != nil || reason != "" {
		t.Errorf("one directory: %q, %v", reason, err)
	}
	l, err := New(filepath.Join(dir, "layer"), root)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(l.Upper(), "new"), []byte("new"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := l.Take(root); err != nil {
		t.Fatal(err)
	}
	err = l.Land(root, func(Change) error { return nil })
	if err == nil || !strings.Contains(err.Error(), `"new"`) || !strings.Contains(err.Error(), "--direct") {
		t.Errorf("land: %v", err)
	}
	if entries, err := os.ReadDir(at); err != nil || len(entries) > 0 || l.Status() != Held {
		t.Errorf("the root has %v, %v; the layer is %s", entries, err, l.Status())
	}
}
