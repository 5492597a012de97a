package sandbox

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"sandboxd/profile"
)

// A sandbox of either back end begins in its group of version 2, and everything below it is there. The groups are made
// without controllers, as a hybrid tree has none. DESIGN §5.
func TestSandboxIsBornInItsGroup(t *testing.T) {
	for _, backend := range []string{BackendNative, BackendBwrap} {
		parent, err := os.MkdirTemp(unified(t), "test")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { removeTree(parent) })
		dir := workDir(t)
		h, err := Open(context.Background(), Options{Stage: testStage, Backend: backend})
		if err != nil {
			t.Fatal(err)
		}
		h.cgroups = &cgroups{v2: true, dirs: []string{parent}}
		plan := planOf(t, h, system(t, dir, profile.Limits{}), dir, "trap '' TERM; sleep 60 & wait")
		proc, err := h.Start(context.Background(), plan, Stdio{nil, os.Stdout, os.Stderr}, nil)
		if err != nil {
			t.Fatalf("%s: %v", backend, err)
		}
		for _, pid := range []int{proc.First(), proc.Pid()} {
			group, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
			if want := "0::/" + filepath.Base(parent) + "/1\n"; err != nil || !strings.Contains(string(group), want) {
				t.Errorf("%s: process %d is in %q (%v), want %q", backend, pid, group, err, want)
			}
		}
		proc.Signal(syscall.SIGKILL)
		proc.Wait()
		h.Close()
		if left, err := os.ReadDir(parent); err == nil && slices.ContainsFunc(left, os.DirEntry.IsDir) {
			t.Errorf("%s: a group is left", backend)
		}
	}
}

// unified is where version 2 is mounted.
func unified(t *testing.T) string {
	t.Helper()
	for _, dir := range []string{cgroupRoot, cgroupRoot + "/unified"} {
		if _, err := os.Stat(dir + "/cgroup.controllers"); err == nil {
			return dir
		}
	}
	t.Fatal("no control group tree of version 2 is mounted")
	return ""
}
