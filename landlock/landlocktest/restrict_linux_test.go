package landlocktest_test

import (
	"errors"
	"os"
	"runtime"
	"testing"

	"sandboxd/landlock/landlocktest"
	"sandboxd/landlock/lsm"

	"golang.org/x/sys/unix"
)

// onThread runs f on a thread that ends with it, with no_new_privs set.
func onThread(t *testing.T, f func() error) error {
	t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread is not used again
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			done <- err
			return
		}
		done <- f()
	}()
	return <-done
}

// TestRestrict: the calling thread is bound, the others are not.
func TestRestrict(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"/open", "/closed"} {
		if err := os.WriteFile(dir+name, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ruleset := lsm.Ruleset{
		HandledFS: lsm.ReadFile | lsm.WriteFile | lsm.ReadDir,
		Paths: []lsm.PathRule{
			{Path: dir + "/open", Access: lsm.ReadFile | lsm.ReadDir}, // ReadDir is no right of a file, and left out
			{Path: dir + "/absent", Access: lsm.ReadFile, Optional: true},
		},
	}
	err := onThread(t, func() error {
		if err := landlocktest.Restrict(ruleset); err != nil {
			return err
		}
		if fd, err := unix.Open(dir+"/closed", unix.O_RDONLY, 0); err != unix.EACCES {
			unix.Close(fd)
			t.Errorf("closed: %v, want EACCES", err)
		}
		fd, err := unix.Open(dir+"/open", unix.O_RDONLY, 0)
		unix.Close(fd)
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if _, err := os.ReadFile(dir + "/closed"); err != nil {
		t.Errorf("another thread is bound: %v", err)
	}
}

// TestRestrictIsStrict: a ruleset that cannot be applied whole is not applied at all.
func TestRestrictIsStrict(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink("/usr", dir+"/link"); err != nil {
		t.Fatal(err)
	}
	port := []lsm.PortRule{{Port: 1, Access: lsm.BindTCP}}
	execute := []lsm.PathRule{{Path: "/", Access: lsm.Execute}}
	rule := func(path string) lsm.Ruleset {
		return lsm.Ruleset{HandledFS: lsm.ReadFile, Paths: []lsm.PathRule{{Path: path, Access: lsm.ReadFile}}}
	}
	for name, c := range map[string]struct {
		ruleset lsm.Ruleset
		want    error
	}{
		"a missing path":           {rule(dir + "/absent"), unix.ENOENT},
		"a link":                   {rule(dir + "/link"), unix.ELOOP},
		"behind a link":            {rule(dir + "/link/bin"), unix.ELOOP},
		"nothing is handled":       {lsm.Ruleset{}, unix.ENOMSG},
		"a right nobody knows":     {lsm.Ruleset{HandledFS: 1 << 60}, unix.EINVAL},
		"a right not handled":      {lsm.Ruleset{HandledFS: lsm.ReadFile, Paths: execute}, unix.EINVAL},
		"a flag nobody knows":      {lsm.Ruleset{HandledFS: lsm.ReadFile, Flags: 1 << 30}, unix.EINVAL},
		"a port without the right": {lsm.Ruleset{HandledFS: lsm.ReadFile, Ports: port}, unix.EINVAL},
	} {
		err := onThread(t, func() error {
			err := landlocktest.Restrict(c.ruleset)
			fd, open := unix.Open("/etc/passwd", unix.O_RDONLY, 0)
			unix.Close(fd)
			if open != nil {
				t.Errorf("%s: the thread is restricted nevertheless: %v", name, open)
			}
			return err
		})
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}
