package sandbox

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"sandboxd/profile"
)

// R-OS-10: a control group that was made ahead has the limits of the command that gets it,
// and one that somebody took away is no obstacle.
func TestSpareGroup(t *testing.T) {
	h, err := Open(context.Background(), Options{Stage: testStage})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if h.cgroups == nil {
		t.Fatal("there are no control groups here")
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	run := func(processes int) (used []string) {
		plan, err := h.Plan(Request{Profile: system(t, workDir(t), profile.Limits{Processes: processes, Memory: 64 << 20}), Command: Command{Argv: []string{"sleep", "60"}, Dir: "/", Env: []string{"PATH=/usr/bin:/bin"}}})
		if err != nil {
			t.Fatal(err)
		}
		proc, err := h.Start(context.Background(), plan, Stdio{null, null, null}, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { proc.End(EndCancelled, 0); <-proc.Done() }()
		found := false
		for _, dir := range proc.cgroup.dirs {
			used = append(used, dir)
			if b, err := os.ReadFile(filepath.Join(dir, "pids.max")); err == nil {
				found = true
				if got := strings.TrimSpace(string(b)); got != strconv.Itoa(processes+ownTasks) {
					t.Errorf("at most %s processes, want %d", got, processes+ownTasks)
				}
			}
		}
		if !found {
			t.Error("nothing bounds the processes")
		}
		return used
	}
	spare := func() []string {
		for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
			h.cgroups.mu.Lock()
			g := h.cgroups.spare
			h.cgroups.mu.Unlock()
			if g != nil {
				return g.dirs
			}
		}
		t.Fatal("no group is made ahead")
		return nil
	}
	run(20)
	ahead := spare()
	if got := run(31); strings.Join(got, " ") != strings.Join(ahead, " ") {
		t.Errorf("the command ran in %q, and %q was there for it", got, ahead)
	}
	for _, dir := range spare() {
		if err := syscall.Rmdir(dir); err != nil {
			t.Fatal(err)
		}
	}
	run(42)
	ahead = spare()
	h.Close()
	for _, dir := range ahead {
		if _, err := os.Lstat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%q is left: %v", dir, err)
		}
	}
}
