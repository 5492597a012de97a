package lsm_test

import (
	"errors"
	"os"
	"runtime"
	"strings"
	"testing"

	"sandboxd/landlock/lsm"

	"golang.org/x/sys/unix"
)

// TestConstants compares the rights with those of the kernel's header.
func TestConstants(t *testing.T) {
	for ours, theirs := range map[uint64]uint64{
		uint64(lsm.Execute): unix.LANDLOCK_ACCESS_FS_EXECUTE, uint64(lsm.ReadDir): unix.LANDLOCK_ACCESS_FS_READ_DIR,
		uint64(lsm.MakeSym): unix.LANDLOCK_ACCESS_FS_MAKE_SYM, uint64(lsm.Refer): unix.LANDLOCK_ACCESS_FS_REFER,
		uint64(lsm.Truncate): unix.LANDLOCK_ACCESS_FS_TRUNCATE, uint64(lsm.IoctlDev): unix.LANDLOCK_ACCESS_FS_IOCTL_DEV,
		uint64(lsm.ResolveUnix): unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX,
	} {
		if ours != theirs {
			t.Errorf("%v is %#x, the header says %#x", lsm.AccessFS(ours), ours, theirs)
		}
	}
	if lsm.ConnectSendUDP != unix.LANDLOCK_ACCESS_NET_CONNECT_SEND_UDP || lsm.Signal != unix.LANDLOCK_SCOPE_SIGNAL ||
		lsm.LogSubdomainsOff != unix.LANDLOCK_RESTRICT_SELF_LOG_SUBDOMAINS_OFF || lsm.BindTCP != unix.LANDLOCK_ACCESS_NET_BIND_TCP {
		t.Error("ports, scopes or flags differ from the header")
	}
}

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

func newest(t *testing.T) int {
	t.Helper()
	abi, err := lsm.ABI()
	if err != nil {
		t.Fatalf("%v; the tests need a kernel with Landlock", err)
	}
	return abi
}

// TestRestrict: the calling thread is bound, the others are not.
func TestRestrict(t *testing.T) {
	newest(t)
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
		if err := ruleset.Restrict(); err != nil {
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

// TestRestrictIsStrict: what cannot be applied whole is not applied at all.
func TestRestrictIsStrict(t *testing.T) {
	newest(t)
	dir := t.TempDir()
	if err := os.Symlink("/usr", dir+"/link"); err != nil {
		t.Fatal(err)
	}
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
		"a right not handled":      {lsm.Ruleset{HandledFS: lsm.ReadFile, Paths: []lsm.PathRule{{Path: "/", Access: lsm.Execute}}}, unix.EINVAL},
		"a flag nobody knows":      {lsm.Ruleset{HandledFS: lsm.ReadFile, Flags: 1 << 30}, unix.EINVAL},
		"a port without the right": {lsm.Ruleset{HandledFS: lsm.ReadFile, Ports: []lsm.PortRule{{Port: 1, Access: lsm.BindTCP}}}, unix.EINVAL},
	} {
		err := onThread(t, func() error {
			err := c.ruleset.Restrict()
			fd, open := unix.Open("/etc/passwd", unix.O_RDONLY, 0)
			unix.Close(fd)
			if open != nil {
				t.Errorf("%s: the thread is restricted all the same: %v", name, open)
			}
			return err
		})
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

// TestFacts: what the kernel says of itself makes sense.
func TestFacts(t *testing.T) {
	abi := newest(t)
	if abi < 1 {
		t.Errorf("ABI %d", abi)
	}
	fixed, err := lsm.FixedErrata()
	if err != nil {
		t.Error(err)
	}
	if text := fixed.String(); strings.Contains(text, "0x") {
		t.Logf("the kernel has fixed errata that this package does not know: %s", text)
	}
	t.Logf("ABI %d, errata fixed: %v", abi, fixed)
}
