package lsm_test

import (
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
		lsm.LogSubdomainsOff != unix.LANDLOCK_RESTRICT_SELF_LOG_SUBDOMAINS_OFF ||
		lsm.BindTCP != unix.LANDLOCK_ACCESS_NET_BIND_TCP {
		t.Error("ports, scopes or flags differ from the header")
	}
}

func newest(t *testing.T) int {
	t.Helper()
	abi, err := lsm.ABI()
	if err != nil {
		t.Fatalf("%v; the tests need a kernel with Landlock", err)
	}
	return abi
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
