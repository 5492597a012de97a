package landlock_test

import (
	"errors"
	"os"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"sandboxd/landlock"
)

// TestConstants compares the rights with those of the kernel's header.
func TestConstants(t *testing.T) {
	for ours, theirs := range map[uint64]uint64{
		uint64(landlock.Execute): unix.LANDLOCK_ACCESS_FS_EXECUTE, uint64(landlock.ReadDir): unix.LANDLOCK_ACCESS_FS_READ_DIR,
		uint64(landlock.MakeSym): unix.LANDLOCK_ACCESS_FS_MAKE_SYM, uint64(landlock.Refer): unix.LANDLOCK_ACCESS_FS_REFER,
		uint64(landlock.Truncate): unix.LANDLOCK_ACCESS_FS_TRUNCATE, uint64(landlock.IoctlDev): unix.LANDLOCK_ACCESS_FS_IOCTL_DEV,
		uint64(landlock.ResolveUnix): unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX,
	} {
		if ours != theirs {
			t.Errorf("%v is %#x, the header says %#x", landlock.AccessFS(ours), ours, theirs)
		}
	}
	if landlock.ConnectSendUDP != unix.LANDLOCK_ACCESS_NET_CONNECT_SEND_UDP || landlock.Signal != unix.LANDLOCK_SCOPE_SIGNAL ||
		landlock.LogSubdomainsOff != unix.LANDLOCK_RESTRICT_SELF_LOG_SUBDOMAINS_OFF || landlock.BindTCP != unix.LANDLOCK_ACCESS_NET_BIND_TCP {
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
	abi, err := landlock.ABI()
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
	ruleset := landlock.Ruleset{
		HandledFS: landlock.ReadFile | landlock.WriteFile | landlock.ReadDir,
		Paths: []landlock.PathRule{
			{Path: dir + "/open", Access: landlock.ReadFile | landlock.ReadDir}, // ReadDir is no right of a file, and left out
			{Path: dir + "/absent", Access: landlock.ReadFile, Optional: true},
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
	rule := func(path string) landlock.Ruleset {
		return landlock.Ruleset{HandledFS: landlock.ReadFile, Paths: []landlock.PathRule{{Path: path, Access: landlock.ReadFile}}}
	}
	for name, c := range map[string]struct {
		ruleset landlock.Ruleset
		want    error
	}{
		"a missing path":           {rule(dir + "/absent"), unix.ENOENT},
		"a link":                   {rule(dir + "/link"), unix.ELOOP},
		"behind a link":            {rule(dir + "/link/bin"), unix.ELOOP},
		"nothing is handled":       {landlock.Ruleset{}, unix.ENOMSG},
		"a right nobody knows":     {landlock.Ruleset{HandledFS: 1 << 60}, unix.EINVAL},
		"a right not handled":      {landlock.Ruleset{HandledFS: landlock.ReadFile, Paths: []landlock.PathRule{{Path: "/", Access: landlock.Execute}}}, unix.EINVAL},
		"a flag nobody knows":      {landlock.Ruleset{HandledFS: landlock.ReadFile, Flags: 1 << 30}, unix.EINVAL},
		"a port without the right": {landlock.Ruleset{HandledFS: landlock.ReadFile, Ports: []landlock.PortRule{{Port: 1, Access: landlock.BindTCP}}}, unix.EINVAL},
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
	fixed, err := landlock.FixedErrata()
	if err != nil {
		t.Error(err)
	}
	if text := fixed.String(); strings.Contains(text, "0x") {
		t.Logf("the kernel has fixed errata that this package does not know: %s", text)
	}
	t.Logf("ABI %d, errata fixed: %v", abi, fixed)
}
