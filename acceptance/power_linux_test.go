package acceptance

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// R-AU-01, R-OP-03: the decision for every command that ran is in the log after a loss of
// power: what the disk had got at one moment, and nothing that the system still held in
// memory. The state directory is an ext4 of its own, and a file is its disk.
func TestPowerCut(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Log("left out: only root can mount a file system from a file; CI runs this as root")
		return
	}
	if _, err := os.Stat("/dev/loop-control"); err != nil {
		t.Logf("left out: this kernel has no loop devices: %v", err)
		return
	}
	bothUsers(t, func(t *testing.T, a *actor) {
		disk := filepath.Join(a.dir, "disk")
		if out, err := exec.Command("/bin/sh", "-ec", "truncate -s 32M "+disk+"; /sbin/mke2fs -q -t ext4 "+
			disk).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		a.mountState(disk)
		if err := os.Chmod(a.stateDir(), 0o700); err != nil {
			t.Fatal(err)
		}
		a.chown(a.stateDir())
		a.approveAll()
		const commands = 12
		for i := range commands {
			if got := a.sbx("run", "--", "touch", fmt.Sprintf("made-%d-", i)); got.code != 0 {
				t.Fatal(got)
			}
		}
		if err := a.daemon.Process.Signal(syscall.SIGSTOP); err != nil { // nothing more is written
			t.Fatal(err)
		}
		if out, err := exec.Command("/bin/cp", disk, disk+"-cut").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		a.kill()
		if err := unix.Unmount(a.stateDir(), unix.MNT_DETACH); err != nil {
			t.Fatal(err)
		}
		a.mountState(disk + "-cut")
		before, err := filepath.Glob(filepath.Join(a.stateDir(), "audit", "*.jsonl"))
		if err != nil || len(before) == 0 {
			t.Fatalf("%q, %v", before, err)
		}
		had, err := os.ReadFile(before[len(before)-1])
		if err != nil {
			t.Fatal(err)
		}
		if got := a.sbx("log", "verify", "--dir", filepath.Join(a.stateDir(), "audit")); !strings.Contains(got.out+got.err,
			"when it starts") {
			t.Errorf("it does not say that records are missing: %v", got)
		}
		a.approveAll()
		if got := a.sbx("log", "verify"); got.code != 0 {
			t.Errorf("%v", got)
		}
		log, inFile := a.sbx("log", "--json", "-n", "1000").out, 0
		for i := range commands {
			name := fmt.Sprintf("made-%d-", i)
			if strings.Contains(string(had), name) {
				inFile++
			}
			if !strings.Contains(log, name) {
				t.Errorf("nothing is on record of %s, which ran", name)
			}
		}
		t.Logf("of %d commands the log's own file had %d after the cut", commands, inFile)
		if got := a.sbx("status"); inFile < commands && !strings.Contains(got.out+got.err, "a loss of power") {
			t.Errorf("the status does not say it: %v", got)
		}
	})
}

// mountState has the actor's state on the ext4 in a file.
func (a *actor) mountState(image string) {
	a.t.Helper()
	if err := os.MkdirAll(a.stateDir(), 0o700); err != nil {
		a.t.Fatal(err)
	}
	if out, err := exec.Command("/bin/mount", "-o", "loop", image, a.stateDir()).CombinedOutput(); err != nil {
		a.t.Fatalf("%v: %s", err, out)
	}
	a.t.Cleanup(func() {
		a.stop()
		unix.Unmount(a.stateDir(), unix.MNT_DETACH)
	})
}
