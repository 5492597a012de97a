package audit_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sandboxd/audit"
)

// R-AU-03: a disk that is full or read-only refuses the record, half-written bytes are removed, and
// the log continues when there is room. In an own mount namespace, on a small tmpfs.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "AUDIT_TEST_ACT=full "+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s%v", out, err)
	}
}

func init() {
	acts["full"] = func(dir string) int {
		if err := fullDisk(dir); err != nil {
			fmt.Println(err)
			return 1
		}
		return 0
	}
}

func fullDisk(dir string) error {
	// Without room for the redo file, and with it.
	for _, size := range []string{"256k", "3m"} {
		if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "mode=0700,size="+size); err != nil {
			return fmt.Errorf("mount: %w", err)
		}
		// One file, and several: the making of a file fails too.
		for _, rotate := range []int64{0, 30 << 10} {
			if err := fillUp(filepath.Join(dir, fmt.Sprint("log", rotate)), filepath.Join(dir, "ballast"), rotate); err != nil {
				return fmt.Errorf("%s, rotate %d: %w", size, rotate, err)
			}
		}
		if err := endsFit(dir); err != nil {
			return fmt.Errorf("%s: %w", size, err)
		}
		if err := readOnly(dir); err != nil {
			return fmt.Errorf("%s: %w", size, err)
		}
		if err := unix.Unmount(dir, 0); err != nil {
			return err
		}
	}
	return nil
}

// fillUp appends until the disk is full, then makes room.
func fillUp(logDir, ballast string, rotate int64) error {
	if err := os.WriteFile(ballast, make([]byte, 100<<10), 0o600); err != nil {
		return err
	}
	l, err := audit.Open(logDir, audit.Options{RotateSize: rotate})
	if err != nil {
		return err
	}
	defer l.Close()
	r := audit.Record{Category: audit.Decision, Subject: strings.Repeat("x", 900)}
	written := uint64(1)
	for err == nil {
		if err = l.Append(r); err == nil {
			written++
		}
	}
	if !errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("full: %w", err)
	}
	if again := l.Append(r); again == nil || l.Err() == nil {
		return fmt.Errorf("the failure does not stick: %v", again)
	}
	if l.Head().Seq != written {
		return fmt.Errorf("head %d after %d records", l.Head().Seq, written)
	}
	if sum, err := l.Verify(); err != nil || sum.Records != written {
		return fmt.Errorf("while full: %+v, %v", sum, err)
	}
	// As somebody else sees it, who does not know what was acknowledged.
	if sum, err := audit.Verify(logDir); err != nil || sum.Records != written {
		return fmt.Errorf("while full, from outside: %+v, %v", sum, err)
	}
	if err := os.Remove(ballast); err != nil {
		return err
	}
	// It finds out by itself.
	deadline := time.Now().Add(10 * time.Second)
	for err = l.Append(r); err != nil; err = l.Append(r) {
		if time.Now().After(deadline) {
			return fmt.Errorf("it does not recover: %w", err)
		}
		time.Sleep(100 * time.Millisecond)
	}
	sum, err := l.Verify()
	if err != nil || sum.Records != written+2 || len(sum.Repairs) != 1 || sum.Repairs[0].Operation != "recovered" {
		return fmt.Errorf("recovered: %+v, %v; want %d records", sum, err, written+2)
	}
	if !strings.Contains(sum.Repairs[0].Detail["cause"], "no space") {
		return fmt.Errorf("the record says %v", sum.Repairs[0].Detail)
	}
	return os.RemoveAll(logDir)
}

// endsFit fills the disk, beyond the end of a file of the log, while ends are owed: all of
// them, even the longest, are written in spite of that, and no start is (R-AU-01).
func endsFit(dir string) error {
	logDir, ballast := filepath.Join(dir, "log"), filepath.Join(dir, "ballast")
	defer os.RemoveAll(logDir)
	l, err := audit.Open(logDir, audit.Options{RotateSize: 4 << 10})
	if err != nil {
		return err
	}
	defer l.Close()
	start := audit.Record{Category: audit.Execution, Operation: "start", Subject: strings.Repeat("x", 900)}
	starts := 0
	for ; err == nil; starts++ {
		err = l.AppendStart(start)
	}
	starts--
	if !errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("start %d on a full disk: got %v, want ENOSPC", starts+1, err)
	}
	// Ready is nil while the log's writer, which tries again by itself, holds the log.
	for deadline := time.Now().Add(10 * time.Second); l.Ready() == nil; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			return errors.New("a log without room for an end is ready")
		}
	}
	os.WriteFile(ballast, make([]byte, 4<<20), 0o600) // as much as there is room
	defer os.Remove(ballast)
	end := audit.Record{Category: audit.Execution, Operation: "end", Violations: []string{strings.Repeat("y", 100<<10)}}
	for i := range starts {
		if err := l.PutAfter(end); err != nil {
			return fmt.Errorf("end %d of %d: %w", i+1, starts, err)
		}
	}
	page, err := l.Query(audit.Filter{Limit: 1 << 10})
	if err != nil {
		return err
	}
	for _, e := range page.Entries {
		if e.Record.Operation == "end" {
			starts--
		}
	}
	if _, err := l.Verify(); err != nil || starts != 0 {
		return fmt.Errorf("%d ends are missing: %w", starts, err)
	}
	return nil
}

// readOnly is a file system that is remounted read-only under the log.
func readOnly(dir string) error {
	logDir := filepath.Join(dir, "log")
	l, err := audit.Open(logDir, audit.Options{RotateSize: 1})
	if err != nil {
		return err
	}
	defer l.Close()
	r := audit.Record{Category: audit.Decision}
	if err := l.Append(r); err != nil {
		return err
	}
	// A bind of its own, so that the descriptors that are open do not keep
	// the file system from being remounted: new files then fail.
	if err := unix.Mount(dir, dir, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("bind: %w", err)
	}
	if err := unix.Mount("", dir, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		return fmt.Errorf("remount: %w", err)
	}
	if err := l.Append(r); !errors.Is(err, syscall.EROFS) {
		return fmt.Errorf("read-only: %w", err)
	}
	if err := l.Recover(); !errors.Is(err, syscall.EROFS) {
		return fmt.Errorf("recover: %w", err)
	}
	if _, err := audit.Open(filepath.Join(dir, "other"), audit.Options{}); !errors.Is(err, syscall.EROFS) {
		return fmt.Errorf("open: %w", err)
	}
	if err := unix.Unmount(dir, 0); err != nil {
		return fmt.Errorf("unmount: %w", err)
	}
	if err := l.Recover(); err != nil {
		return fmt.Errorf("recover after: %w", err)
	}
	if err := l.Append(r); err != nil {
		return err
	}
	_, err = l.Verify()
	return err
}
