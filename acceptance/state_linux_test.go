package acceptance

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// smallState puts the actor's state on a file system of its own.
func (a *actor) smallState(kib int) {
	a.t.Helper()
	if err := os.Mkdir(a.stateDir(), 0o700); err != nil {
		a.t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", a.stateDir(), "tmpfs", 0, fmt.Sprintf("size=%dk,mode=0700", kib)); err != nil {
		a.t.Fatalf("mount: %v", err)
	}
	a.t.Cleanup(func() {
		a.stop()
		unix.Unmount(a.stateDir(), unix.MNT_DETACH)
	})
	a.chown(a.stateDir())
}

// fill takes what is left of the actor's state, to the last page.
func (a *actor) fill(name string) {
	a.t.Helper()
	f, err := os.Create(filepath.Join(a.stateDir(), name))
	if err != nil {
		a.t.Fatal(err)
	}
	defer f.Close()
	for piece := make([]byte, 64<<10); len(piece) > 0; {
		if _, err = f.Write(piece); err != nil {
			piece = piece[:len(piece)/2]
		}
	}
	if !errors.Is(err, syscall.ENOSPC) {
		a.t.Fatal(err)
	}
}

// makes has a command make a file, and says whether it ran; what did not run
// must not have made it.
func (a *actor) makes(name string) (ran bool, got result) {
	a.t.Helper()
	got = a.sbx("run", "-c", "echo x > "+name)
	_, err := os.Stat(filepath.Join(a.project, name))
	switch made := err == nil; {
	case got.code == 0 && made:
		return true, got
	case got.code != 125 || made:
		a.t.Errorf("%s: made: %v, %v", name, made, got)
	case !strings.Contains(got.err, "audit log") && !strings.Contains(got.err, "no space left") &&
		!strings.Contains(got.err, "read-only file system"):
		a.t.Errorf("%s: it does not say why: %v", name, got)
	}
	return false, got
}

// until runs commands until one runs, or does not.
func (a *actor) untilMakes(want bool) (last result) {
	a.t.Helper()
	deadline := time.Now().Add(patience)
	for i := 0; ; i++ {
		ran, got := a.makes(fmt.Sprintf("made-%t-%d-%d", want, time.Now().UnixNano(), i))
		if ran == want {
			return got
		}
		if a.t.Failed() || time.Now().After(deadline) {
			a.t.Fatalf("want it to run: %v; the last one: %v", want, got)
		}
	}
}

// R-AU-03: while the state directory is read-only, neither a running daemon nor one
// that starts then runs a command.
func TestStateIsReadOnly(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Log("left out: only root can mount a small file system; CI runs this as root")
		return
	}
	bothUsers(t, func(t *testing.T, a *actor) {
		a.smallState(4096)
		config := filepath.Join(a.dir, "config.toml")
		if err := os.WriteFile(config, []byte("[audit]\nrotate_size = \"2KiB\"\n[sandbox]\nwarm = 0\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		a.start("--config", config, "--mode", "approve-all")
		a.untilMakes(true)
		// A mount over it, as what is open for writing keeps the file system from
		// changing. What is open can be written on, the next file can't be begun.
		readOnly := func() {
			t.Helper()
			if err := unix.Mount(a.stateDir(), a.stateDir(), "", unix.MS_BIND, ""); err != nil {
				t.Fatal(err)
			}
			if err := unix.Mount("", a.stateDir(), "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
				t.Fatal(err)
			}
		}
		writable := func() {
			t.Helper()
			if err := unix.Unmount(a.stateDir(), unix.MNT_DETACH); err != nil {
				t.Fatal(err)
			}
		}
		readOnly()
		if got := a.untilMakes(false); !strings.Contains(got.err, "read-only file system") {
			t.Errorf("it does not say why: %v", got)
		}
		writable()
		a.untilMakes(true)
		a.stop()
		readOnly()
		if got := a.sbx("run", "-c", "echo x > again"); got.code != 125 ||
			!strings.Contains(got.err, "read-only file system") {
			t.Errorf("a daemon that starts with a read-only state: %v", got)
		}
		if _, err := os.Stat(filepath.Join(a.project, "again")); err == nil {
			t.Error("it ran")
		}
		writable()
		a.start("--config", config, "--mode", "approve-all")
		a.untilMakes(true)
		if got := a.sbx("log", "verify"); got.code != 0 {
			t.Error(got)
		}
	})
}

// R-AU-02, R-AU-03: files begin and old ones go while commands run side by side;
// none of them notices.
func TestLogRotatesUnderLoad(t *testing.T) {
	t.Parallel()
	a := newActor(t, "")
	config := filepath.Join(a.dir, "config.toml")
	if err := os.WriteFile(config, []byte("[audit]\nrotate_size = \"4KiB\"\nkeep = 5\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	a.start("--config", config)
	var busy sync.WaitGroup
	for range 4 {
		busy.Go(func() { a.commands(t, slices.Repeat([]string{"cat README"}, 15)) })
	}
	for range 5 { // reading along loses nothing either
		if got := a.sbx("log", "verify"); got.code != 0 {
			t.Errorf("while it is written: %v", got)
		}
	}
	busy.Wait()
	if got := a.sbx("log", "verify"); got.code != 0 || !strings.Contains(got.err, "were removed because of their age") {
		t.Error(got)
	}
	if files, _ := filepath.Glob(filepath.Join(a.stateDir(), "audit", "*.jsonl")); len(files) > 5 {
		t.Errorf("%d files are kept", len(files))
	}
}
