package sandbox

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sandboxd/profile"
	"sandboxd/sandbox/stage"
)

// nativeHost is a host with the native back end that has launched one command, and a profile for it.
func nativeHost(t *testing.T) (h *Host, p profile.Profile, dir string) {
	t.Helper()
	dir = workDir(t)
	h, err := Open(context.Background(), Options{Stage: testStage, Backend: BackendNative})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	p = system(t, dir, profile.Limits{})
	runs(t, h, p, dir)
	return h, p, dir
}

func planOf(t *testing.T, h *Host, p profile.Profile, dir, script string) *Plan {
	t.Helper()
	plan, err := h.Plan(Request{Profile: p, Command: Command{Argv: []string{"bash", "-c", script}, Dir: dir,
		Env: []string{"PATH=/usr/bin:/bin"}}})
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

func runs(t *testing.T, h *Host, p profile.Profile, dir string) {
	t.Helper()
	if got := carryOn(t, h, planOf(t, h, p, dir, "echo x")); got.out != "x\n" || got.exit.Code != 0 {
		t.Errorf("a command: %+v", got)
	}
}

// A message to the launch server that is odd in anything makes no process, and the server serves on.
func TestServerRefusesOddLaunches(t *testing.T) {
	h, p, dir := nativeHost(t)
	good := stage.Launch{}.Encode()
	with := func(at int, value byte) []byte { b := slices.Clone(good); b[at] = value; return b }
	for name, c := range map[string]struct {
		message     []byte
		descriptors int
	}{
		"another word":         {with(0, 'x'), 1},
		"another version":      {with(8, stage.Version+1), 1},
		"too short":            {good[:len(good)-1], 1},
		"too long":             {append(slices.Clone(good), 0), 1},
		"a group is missing":   {stage.Launch{Groups: 1}.Encode(), 1},
		"a program is missing": {stage.Launch{Program: true}.Encode(), 1},
		"one too many":         {good, 2},
		"far too many":         {good, 200},
		"many groups":          {stage.Launch{Groups: 1 << 31}.Encode(), 1},
		"no group to be in":    {stage.Launch{Born: true}.Encode(), 1},
		"another group":        {with(16, 2), 1},
		"another program":      {with(20, 2), 1},
	} {
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		ours, err := packetConn(pair[0])
		if err != nil {
			t.Fatal(err)
		}
		rights := unix.UnixRights(slices.Repeat([]int{pair[1]}, c.descriptors)...)
		_, _, err = h.server.conn.WriteMsgUnix(c.message, rights, nil)
		unix.Close(pair[1])
		if err != nil {
			t.Fatal(err)
		}
		ours.SetReadDeadline(time.Now().Add(startTimeout))
		if m, err := readStatus(ours); !errors.Is(err, io.EOF) {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
		ours.Close()
	}
	before := h.server.conn
	if runs(t, h, p, dir); h.server.conn != before {
		t.Error("the server did not survive")
	}
}

// lasting starts a command that only SIGKILL ends, and returns the launch server and its parent, too.
func lasting(t *testing.T, h *Host, p profile.Profile, dir string) (proc *Process, server, above int) {
	t.Helper()
	plan := planOf(t, h, p, dir, "trap '' TERM; sleep 60")
	proc, err := h.Start(context.Background(), plan, Stdio{nil, os.Stdout, os.Stderr}, nil)
	if err != nil {
		t.Fatal(err)
	}
	server, err = strconv.Atoi(statusOf(proc.First(), "PPid"))
	above, _ = strconv.Atoi(statusOf(server, "PPid"))
	if err != nil || statusOf(above, "PPid") != strconv.Itoa(os.Getpid()) {
		t.Fatalf("the launch server is %d: %v", server, err)
	}
	return proc, server, above
}

// With a killed launch server, or its parent, everything that it started ends, and is reported as cut off;
// the next command has another server. R-OP-03
func TestServerIsStartedAgain(t *testing.T) {
	h, p, dir := nativeHost(t)
	for _, victim := range []string{"server", "parent"} {
		one, server, above := lasting(t, h, p, dir)
		two, _, _ := lasting(t, h, p, dir)
		if victim == "parent" {
			server = above
		}
		if err := unix.Kill(server, unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
		for _, proc := range []*Process{one, two} {
			if exit := proc.Wait(); exit.Signal != syscall.SIGKILL || exit.Code != 137 || exit.Cause != EndServer {
				t.Errorf("%s: its command ended with %+v", victim, exit)
			}
			if err := unix.Kill(proc.Pid(), 0); err != unix.ESRCH {
				t.Errorf("%s: the command: %v", victim, err)
			}
		}
		runs(t, h, p, dir)
		runs(t, h, p, dir)
	}
}

// A killed first process ends its own sandbox and no other. R-OP-03
func TestKilledFirstProcessEndsOneSandbox(t *testing.T) {
	h, p, dir := nativeHost(t)
	one, _, _ := lasting(t, h, p, dir)
	two, _, _ := lasting(t, h, p, dir)
	if err := unix.Kill(one.First(), unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if exit := one.Wait(); exit.Signal != syscall.SIGKILL || exit.Cause != "" {
		t.Errorf("its command ended with %+v", exit)
	}
	if err := unix.Kill(two.Pid(), 0); err != nil {
		t.Errorf("the other command: %v", err)
	}
	two.End(EndCancelled, 0)
	if exit := two.Wait(); exit.Cause != EndCancelled {
		t.Errorf("the other command ended with %+v", exit)
	}
}

// What a plan hides or shows may be removed before the sandbox starts: nothing is made in its place on the host.
// R-OS-07
func TestServerMakesNothingOnTheHost(t *testing.T) {
	h, _, dir := nativeHost(t)
	spec := systemSpec(dir, profile.Limits{})
	spec.Rules = append(spec.Rules, profile.Rule{Kind: profile.Hide, Path: dir + "/secret"},
		profile.Rule{Kind: profile.Hide, Path: dir + "/secrets"},
		profile.Rule{Kind: profile.Allow, Access: profile.Read, Path: dir + "/sub/fixed"})
	p, err := profile.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"secret", "secrets", "sub/fixed"} {
		for _, d := range []string{"secrets", "sub"} {
			if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		for _, f := range []string{"secret", "sub/fixed"} {
			if err := os.WriteFile(filepath.Join(dir, f), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		plan := planOf(t, h, p, dir, "true")
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		proc, err := h.Start(context.Background(), plan, Stdio{nil, os.Stdout, os.Stderr}, nil)
		if err == nil {
			proc.Wait()
			t.Errorf("%s: the sandbox started", name)
		} else if !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Lstat(filepath.Join(dir, name)); !os.IsNotExist(err) {
			t.Errorf("%s was made on the host: %v", name, err)
		}
	}
}
