package aftermath_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sandboxd/supervisor/aftermath"
)

// A command that fills the disk, with the trash on it, keeps nothing in place by that, and what
// was there before comes back (R-FS-08). In a mount namespace of its own, on a small tmpfs.
func TestFullDisk(t *testing.T) {
	if os.Getenv("AFTERMATH_TEST_FULL") == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestFullDisk$")
		cmd.Env = append(os.Environ(), "AFTERMATH_TEST_FULL=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s%v", out, err)
		}
		return
	}
	b := newBench(t)
	disk := filepath.Dir(b.project)
	if err := unix.Mount("tmpfs", disk, "tmpfs", 0, "size=4m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Unmount(disk, unix.MNT_DETACH) })
	if err := os.Mkdir(b.project, 0o755); err != nil {
		t.Fatal(err)
	}
	b.sh("echo mine > AGENTS.md; echo mine > CLAUDE.md")
	for range 2 { // once more when there is room again
		if err := aftermath.Reserve(b.trash); err != nil {
			t.Fatal(err)
		}
		before := aftermath.Before(b.profile, &b.cache, "")
		b.run.Start, b.run.Trash = time.Now(), b.trash
		b.sh("mkdir .vscode; echo x > .vscode/tasks.json; head -c 200000 /dev/zero > AGENTS.md; rm CLAUDE.md")
		fill(t, filepath.Join(b.project, "ballast"))
		b.run.End = time.Now()
		found := before.After(b.run)
		before.Done()
		if got := b.names(found); !slices.Equal(got, []string{".vscode", "AGENTS.md", "kept CLAUDE.md"}) {
			t.Errorf("found %+v", found.Items)
		}
		b.sh("[ ! -e .vscode ]; grep -qx mine AGENTS.md; grep -qx mine CLAUDE.md; [ -s " + b.trash + "/" + b.run.ID +
			"/manifest.json ]; rm ballast")
		b.run.ID += "1"
	}
}

// fill takes what is left of a file system.
func fill(t *testing.T, name string) {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	if !errors.Is(err, unix.ENOSPC) {
		t.Fatal(err)
	}
}
