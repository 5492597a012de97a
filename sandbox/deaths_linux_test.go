package sandbox

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sandboxd/profile"
)

// daemonVariable makes the test binary a daemon that starts commands in its directory until it is killed.
const daemonVariable = "SANDBOX_TEST_DAEMON"

// deadlineOfDeaths is the time within which nothing of a killed daemon or server may be left.
const deadlineOfDeaths = 2 * time.Second

// rounds is how often each process is killed: $SANDBOX_DEATHS times.
func rounds(t *testing.T) int {
	s := os.Getenv("SANDBOX_DEATHS")
	switch {
	case s == "" && testing.Short():
		return 3
	case s == "":
		return 20
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		t.Fatalf("SANDBOX_DEATHS=%q is no number above 0", s)
	}
	return n
}

// stubborn is a command that only SIGKILL ends, with a process in another session. The mark is its own.
func stubborn(mark string) string {
	return fmt.Sprintf("trap '' TERM HUP; (setsid sleep %[1]s &); sleep %[1]s", mark)
}

// left returns the processes of these that still run, and those that have the mark.
func left(of map[int]uint64, mark string) (list []string) {
	_, starts := family()
	for pid, start := range starts {
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if of[pid] == start || strings.Contains(string(b), "sleep\x00"+mark) {
			list = append(list, fmt.Sprintf("%d %q", pid, b))
		}
	}
	return list
}

// awaitNothing fails the test where something is left after the deadline.
func awaitNothing(t *testing.T, after string, of map[int]uint64, mark string) {
	t.Helper()
	end := time.Now().Add(patient(deadlineOfDeaths))
	for time.Now().Before(end) {
		if len(left(of, mark)) == 0 {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	if list := left(of, mark); len(list) > 0 {
		t.Errorf("%s: left: %v", after, list)
	}
}

// However a launch server, its parent or a first process is killed, at random moments of a command's start
// and life, nothing of the command is left, and the next command works. R-OP-03
func TestKilledServersLeaveNothing(t *testing.T) {
	h, p, dir := nativeHost(t)
	before := places(t, dir)
	rnd := rand.New(rand.NewPCG(3, 4))
	hit := map[string]int{}
	for i := range 3 * rounds(t) {
		victim, moment := []string{"server", "parent", "first"}[i%3], time.Duration(rnd.IntN(15000))*time.Microsecond
		after, mark := fmt.Sprintf("round %d, death of the %s after %v", i, victim, moment), fmt.Sprint(5364000+i)
		plan := planOf(t, h, p, dir, stubborn(mark))
		started := make(chan *Process, 1)
		go func() {
			// A server that is killed while it makes the sandbox is an error, or costs a second attempt.
			proc, err := h.Start(context.Background(), plan, Stdio{nil, os.Stdout, os.Stderr}, nil)
			if err != nil {
				proc = nil
			}
			started <- proc
		}()
		time.Sleep(moment)
		if pid := atHeight(victim); pid > 0 && unix.Kill(pid, unix.SIGKILL) == nil {
			hit[victim]++
		}
		proc := <-started
		if proc != nil {
			select {
			case <-proc.Done():
			case <-time.After(50 * time.Millisecond): // the victim was not there, or another one's
				proc.End(EndCancelled, 0)
			}
			proc.Wait()
		}
		awaitNothing(t, after, nil, mark)
		runs(t, h, p, dir)
	}
	for _, victim := range []string{"server", "parent", "first"} {
		if hit[victim] == 0 {
			t.Errorf("the %s was never hit: %v", victim, hit)
		}
	}
	h.work.Wait()
	if h.cgroups != nil {
		for _, parent := range h.cgroups.dirs {
			if groups, _ := filepath.Glob(parent + "/*/cgroup.procs"); len(groups) > 0 {
				t.Errorf("groups are left: %v", groups)
			}
		}
	}
	if now := places(t, dir); !slices.Equal(now, before) {
		t.Errorf("mounts and files were %q and are %q", before, now)
	}
}

// places returns this namespace's mounts that name the directory or a back end, and the directory's entries.
func places(t *testing.T, dir string) (list []string) {
	t.Helper()
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if strings.Contains(line, dir) || strings.Contains(line, "sandboxd-launch") || strings.Contains(line, "bwrap") {
			list = append(list, line)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

// atHeight returns a process of this one's launch server: its parent, the server or a first process.
func atHeight(victim string) int {
	children, _ := family()
	at := os.Getpid()
	for range map[string]int{"parent": 1, "server": 2, "first": 3}[victim] {
		var below int
		for _, pid := range children[at] {
			b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			if strings.HasPrefix(string(b), "sandboxd-launch\x00serve") {
				below = pid
			}
		}
		if below == 0 {
			return 0
		}
		at = below
	}
	return at
}

// Whenever a daemon is killed, all that it started ends with it. R-OP-03
func TestKilledDaemonsLeaveNothing(t *testing.T) {
	dir := workDir(t)
	before := places(t, dir)
	rnd := rand.New(rand.NewPCG(5, 6))
	var dead []string
	for i := range rounds(t) {
		mark := fmt.Sprint(5365000 + i)
		moment := time.Duration(rnd.IntN(30000)) * time.Microsecond
		cmd := exec.Command("/proc/self/exe", "-test.run=^$")
		cmd.Env = append(os.Environ(), daemonVariable+"="+dir, "STAGE="+testStage, "MARK="+mark)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
			t.Errorf("round %d: the daemon starts no command: %q, %v", i, line, err)
		}
		time.Sleep(moment)
		below := descendants(cmd.Process.Pid)
		if len(below) < 3 {
			t.Errorf("round %d: the daemon has %d processes, want its server and commands", i, len(below))
		}
		cmd.Process.Kill()
		cmd.Wait()
		dead = append(dead, cgroupPrefix+strconv.Itoa(cmd.Process.Pid)+pidNamespace())
		awaitNothing(t, fmt.Sprintf("round %d, death of the daemon after %v", i, moment), below, mark)
	}
	if now := places(t, dir); !slices.Equal(now, before) {
		t.Errorf("mounts and files were %q and are %q", before, now)
	}
	h, _, _ := nativeHost(t) // the next daemon
	if h.cgroups == nil {
		return
	}
	for _, parent := range h.cgroups.dirs {
		for _, name := range dead {
			if _, err := os.Lstat(filepath.Join(filepath.Dir(parent), name)); err == nil {
				t.Errorf("the next daemon leaves %s of a dead one in %s", name, filepath.Dir(parent))
			}
		}
	}
}

// daemon is the process that TestKilledDaemonsLeaveNothing kills: it starts commands one after the other,
// and ends each but the first.
func daemon(dir string) error {
	h, err := Open(context.Background(), Options{Stage: os.Getenv("STAGE"), Backend: BackendNative})
	if err != nil {
		return err
	}
	p, err := profile.New(systemSpec(dir, profile.Limits{}))
	if err != nil {
		return err
	}
	for i := 0; ; i++ {
		plan, err := h.Plan(Request{Profile: p, Command: Command{Dir: dir, Env: []string{"PATH=/usr/bin:/bin"},
			Argv: []string{"bash", "-c", stubborn(os.Getenv("MARK"))}}})
		if err != nil {
			return err
		}
		proc, err := h.Start(context.Background(), plan, Stdio{nil, os.Stderr, os.Stderr}, nil)
		if err != nil {
			return err
		}
		if i == 0 {
			fmt.Println("started")
			continue
		}
		time.Sleep(time.Millisecond)
		proc.End(EndCancelled, 0)
		proc.Wait()
	}
}
