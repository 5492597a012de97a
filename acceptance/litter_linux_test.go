package acceptance

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// launches is how many commands TestNoLitter runs for each user.
func launches(t *testing.T) int { return atLeastOne(t, "ACCEPTANCE_LAUNCHES", 100) }

// atLeastOne is the number in an environment variable, or otherwise where that is empty.
func atLeastOne(t *testing.T, name string, otherwise int) int {
	t.Helper()
	s := os.Getenv(name)
	if s == "" {
		return otherwise
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		t.Fatalf("%s=%q is no number above 0", name, s)
	}
	return n
}

// litter is everything that a launch could leave on the machine.
type litter struct {
	processes, mounts, files, groups []string
	tree                             string // digest of the project
}

const litterMark = "86427"

// deadlineOfDeaths is the time after which nothing of a command, server or daemon that was killed may be left.
const deadlineOfDeaths = 2 * time.Second

// look collects the current state, except the descriptors, which the daemon counts.
func (a *actor) look() litter {
	a.t.Helper()
	l := litter{tree: digestTree(a.t, a.project)}
	for _, p := range processes() {
		if p.state != 'Z' && a.mine(p) {
			l.processes = append(l.processes, p.cmdline)
		}
	}
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		a.t.Fatal(err)
	}
	for _, line := range strings.Split(string(b), "\n") {
		if strings.Contains(line, a.project) || strings.Contains(line, a.dir) || strings.Contains(line, "bwrap") {
			l.mounts = append(l.mounts, line)
		}
	}
	for _, dir := range []string{a.home, "/dev/shm"} {
		l.files = append(l.files, names(a.t, dir)...)
	}
	// The tests of layer/ and of supervisor/ run at the same time.
	l.files = slices.DeleteFunc(l.files, func(f string) bool {
		return strings.HasPrefix(f, "/dev/shm/layer") || strings.HasPrefix(filepath.Base(f), "supervisor-requests-")
	})
	if pid := a.daemonPid(); pid > 0 {
		for _, dir := range daemonGroups(pid) {
			groups, _ := filepath.Glob(filepath.Join(dir, "*", "cgroup.procs"))
			l.groups = append(l.groups, groups...)
		}
	}
	l.groups = append(l.groups, daemonGroups(a.dead...)...)
	return l
}

// daemonGroups returns the control groups of these daemons, in every hierarchy.
func daemonGroups(pids ...int) (list []string) {
	for _, above := range []string{"", "*", "*/*", "*/*/*"} {
		groups, _ := filepath.Glob(filepath.Join("/sys/fs/cgroup", above, "sandboxd.*.*"))
		for _, dir := range groups {
			number, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), "sandboxd."), ".")
			if pid, err := strconv.Atoi(number); err == nil && slices.Contains(pids, pid) {
				list = append(list, dir)
			}
		}
	}
	return list
}

// mine are commands with the mark, and what launches them for the actor.
func (a *actor) mine(p process) bool {
	if strings.Contains(p.cmdline, litterMark) && !strings.Contains(p.cmdline, "sbx run") {
		return true
	}
	name, _, _ := strings.Cut(p.cmdline, " ")
	if base := filepath.Base(name); base != "bwrap" && base != "sandboxd-launch" {
		return false
	}
	daemon, above := a.daemonPid(), parent(p.pid)
	if p.cmdline == launchServer { // it stays as long as the daemon, and what is below it is a sandbox
		return above == 1 || daemon > 0 && parent(parent(above)) == daemon
	}
	return daemon > 0 && above == daemon
}

// launchServer is the command line of the native back end's server, of its parent and of the first processes
// that it makes.
const launchServer = "sandboxd-launch serve "

func parent(pid int) int {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if i := strings.LastIndex(string(b), ") "); i >= 0 {
		if f := strings.Fields(string(b)[i+2:]); len(f) > 1 {
			n, _ := strconv.Atoi(f[1])
			return n
		}
	}
	return 0
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "project-") { // those of other tests
			list = append(list, filepath.Join(dir, e.Name()))
		}
	}
	return list
}

// digestTree is over names, modes, link texts, times of change and content. Access
// times are not part of it, nor is git's own index, which git status refreshes.
func digestTree(t *testing.T, root string) string {
	t.Helper()
	sum := sha256.New()
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == filepath.Join(root, ".git", "index") || path == filepath.Join(root, ".git") {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(sum, "%s\n%v\n%v\n", path, info.Mode(), info.ModTime().UnixNano())
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			link, err := os.Readlink(path)
			fmt.Fprintln(sum, link)
			return err
		case info.Mode().IsRegular():
			b, err := os.ReadFile(path)
			fmt.Fprintf(sum, "%d\n%s", len(b), b)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// clean fails the test when something is left, after a moment for the dying, and returns how long that took.
func (a *actor) clean(before litter, after string) (took time.Duration) {
	a.t.Helper()
	start := time.Now()
	var now, late litter
	for range 200 {
		if now = a.look(); len(now.processes) == 0 && len(now.groups) == 0 {
			break
		}
		if time.Since(start) > slow*deadlineOfDeaths {
			late = now
		}
		time.Sleep(50 * time.Millisecond)
	}
	if took = time.Since(start); len(late.processes)+len(late.groups) > 0 {
		a.t.Logf("after %s: for %v there were processes %q and control groups %q", after, took, late.processes,
			late.groups)
	}
	for _, c := range []struct {
		what      string
		then, now []string
	}{
		{"processes", nil, now.processes}, {"control groups", nil, now.groups},
		{"mounts", before.mounts, now.mounts}, {"files", before.files, now.files},
	} {
		for _, x := range c.now {
			if !slices.Contains(c.then, x) {
				a.t.Errorf("after %s: of %s there is left: %s", after, c.what, x)
			}
		}
	}
	if now.tree != before.tree {
		a.t.Errorf("after %s: the working tree is not what it was", after)
	}
	return took
}

// Issue "The sandbox", 3: launches leave nothing. R-OP-03
func TestNoLitter(t *testing.T) {
	wholeMachine(t, "it lists all mounts, processes and files of the home")
	eachUser(t, func(t *testing.T, a *actor) {
		a.sh("mkdir sub && echo x > sub/file && ln -s file sub/link")
		a.approveAllCold(a.counted()...)
		a.sbx("run", "--", "true")
		before := a.look()
		open := a.descriptors()
		// Each of four shells, as a person's terminal, launches its share.
		n := launches(t)
		const line = "f=$(mktemp); git status > $f; (setsid sleep " + litterMark + " &); mkfifo $f.p; cat sub/file"
		loop := fmt.Sprintf(`for i in $(seq %d); do out=$(%s run -c '%s' 2>&1); [ "$out" = x ] || echo "$i: $out"; done`,
			(n+3)/4, filepath.Join(bin, "sbx"), line)
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				if got := a.do(nil, "/bin/bash", "-c", loop); got.code != 0 || strings.Contains(got.out, ":") {
					t.Error(got)
				}
			})
		}
		wg.Wait()
		a.clean(before, fmt.Sprint(n, " launches"))
		// The runtime keeps a few; a leak would be one for each launch.
		if now := a.descriptors(); now > open+20 {
			t.Errorf("the daemon has %d descriptors open, before %d launches it had %d", now, n, open)
		}
	})
}

// Issue "The sandbox", 3: a kill of the daemon, the launcher or bwrap at any moment
// leaves nothing behind, and the next run works. R-OP-03
func TestForcedDeathsLeaveNothing(t *testing.T) {
	wholeMachine(t, "it lists all mounts, processes and files of the home")
	eachUser(t, func(t *testing.T, a *actor) {
		a.sh("mkdir sub && echo x > sub/file")
		a.approveAllCold()
		a.sbx("run", "--", "true")
		launcher := "bwrap"
		if backend == "native" {
			launcher = "server"
		}
		a.deaths("daemon", launcher, "init", "command", "client")
	})
}

// A client that dies right after it has asked, and has no session of the kernel's in common with anybody: its command
// ends with it, not when the time to follow it is over.
func TestClientDiesAtOnce(t *testing.T) {
	wholeMachine(t, "it lists all processes")
	eachUser(t, func(t *testing.T, a *actor) {
		a.approveAllCold()
		a.sbx("run", "--", "true")
		rnd := rand.New(rand.NewPCG(3, 4))
		for i := range 100 {
			cmd := a.command(t.Context(), filepath.Join(bin, "sbx"), "run", "-c", "sleep "+litterMark)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			moment := time.Duration(2000+rnd.IntN(6000)) * time.Microsecond
			time.Sleep(moment)
			cmd.Process.Kill()
			cmd.Wait()
			start := time.Now()
			for len(a.look().processes) > 0 {
				if took := time.Since(start); took > slow*deadlineOfDeaths {
					t.Fatalf("client %d, killed after %v: its command is still there %v later", i, moment, took)
				}
				time.Sleep(10 * time.Millisecond)
			}
		}
	})
}

// The same where Landlock is alone: there the reaper holds a command together.
func TestForcedDeathsByLandlockAlone(t *testing.T) {
	wholeMachine(t, "it lists all mounts, processes and files of the home")
	a := ordinaryActor(t)
	a.sh("mkdir sub && echo x > sub/file")
	a.launch = func() {
		a.stop() // one that the client started meanwhile, too
		cmd := a.on(withoutNamespaces(), requirement{require: "false", fallback: "fail_fast"})
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		a.daemon = cmd
		a.serves(make(chan struct{}))
	}
	a.launch()
	a.sbx("run", "--", "true")
	a.deaths("daemon", "reaper", "command", "client")
}

// deaths kills victims in turn, each at random moments of a command's life, $ACCEPTANCE_DEATHS times or twice.
// Nothing may be left after two seconds. The command of a client that died has the time to end first that SIGTERM
// gives it, and ignores that.
func (a *actor) deaths(victims ...string) {
	t := a.t
	t.Helper()
	before := a.look()
	rnd := rand.New(rand.NewPCG(1, 2))
	hit, longest := map[string]int{}, map[string]time.Duration{}
	each := atLeastOne(t, "ACCEPTANCE_DEATHS", 2)
	for i := range each * len(victims) {
		victim := victims[i%len(victims)]
		moment := time.Duration(rnd.IntN(150)) * time.Millisecond
		for range 5 { // it can be missed
			if a.killDuring(victim, moment) {
				hit[victim]++
				break
			}
		}
		after := fmt.Sprintf("death %d, of the %s after %v", i, victim, moment)
		if a.daemon == nil {
			a.restart()
		}
		longest[victim] = max(longest[victim], a.clean(before, after))
		if got := a.sbx("run", "--", "cat", "sub/file"); got.code != 0 || got.out != "x\n" {
			t.Errorf("after %s: the next run: %v", after, got)
		}
	}
	t.Logf("hit: %v; nothing was left after %v at most", hit, longest)
	const term = 2 * time.Second // until SIGKILL
	for _, victim := range victims {
		most := slow * deadlineOfDeaths
		if victim == "client" {
			most += term
		}
		if took := longest[victim]; took > most {
			t.Errorf("after a death of the %s something was left for %v", victim, took)
		}
		if hit[victim] == 0 {
			t.Errorf("the %s was never hit", victim)
		}
	}
	if got := a.sbx("log", "verify"); got.code != 0 {
		t.Error(got)
	}
}

// restart starts a daemon in the place of one that was killed, whose sockets are
// still there.
func (a *actor) restart() {
	a.t.Helper()
	if a.launch != nil {
		a.launch()
		return
	}
	a.approveAllCold()
}

// killDuring starts a command that would stay and kills one of those who hold
// it. It reports whether that one was there to be killed.
func (a *actor) killDuring(victim string, moment time.Duration) (hit bool) {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := a.command(ctx, filepath.Join(bin, "sbx"), "run", "-c", "trap '' TERM HUP; (setsid sleep "+litterMark+
		" &); sleep "+litterMark)
	if err := cmd.Start(); err != nil {
		a.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { cmd.Wait(); close(ended) }()
	kill := func() bool {
		pid := a.find(victim)
		return pid > 0 && syscall.Kill(pid, syscall.SIGKILL) == nil
	}
	time.Sleep(moment)
	switch victim {
	case "client":
		hit = cmd.Process.Kill() == nil
	case "daemon":
		hit = a.daemon.Process.Kill() == nil
		a.dead = append(a.dead, a.daemon.Process.Pid)
		a.daemon.Wait()
		a.daemon = nil
	default:
		for deadline := time.Now().Add(5 * time.Second); !hit && time.Now().Before(deadline); {
			hit = kill()
		}
		if !hit {
			cmd.Process.Kill()
		}
	}
	for range 40 {
		select {
		case <-ended:
			return hit
		case <-time.After(500 * time.Millisecond):
		}
		// While it comes up, bwrap has children that live for a moment; one of
		// them may have been hit instead. And a client that had not come as far
		// as the daemon has started one of its own.
		kill()
		if pid := a.daemonPid(); a.daemon == nil && pid > 0 {
			a.dead = append(a.dead, pid)
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	a.t.Errorf("the client does not end after the death of the %s", victim)
	cmd.Process.Kill()
	<-ended
	return hit
}

// find returns the daemon's child bwrap, reaper or launch server, the first process of its
// namespace (bwrap's, and then sandboxd-launch), or the command's own, 0 when it is not there.
func (a *actor) find(victim string) int {
	if a.daemon == nil {
		return 0
	}
	daemon := a.daemon.Process.Pid
	for _, p := range processes() {
		switch name, _, _ := strings.Cut(p.cmdline, " "); {
		case p.state == 'Z':
		case victim == "bwrap" && filepath.Base(name) == "bwrap" && parent(p.pid) == daemon,
			victim == "reaper" && strings.HasPrefix(p.cmdline, "sandboxd-launch reap") && parent(p.pid) == daemon,
			victim == "server" && p.cmdline == launchServer && parent(p.pid) == daemon,
			victim == "init" && p.cmdline != launchServer && parent(parent(p.pid)) == daemon && firstInside(p.pid),
			victim == "init" && p.cmdline == launchServer && parent(parent(parent(p.pid))) == daemon,
			victim == "command" && strings.Contains(p.cmdline, "sleep "+litterMark) &&
				(filepath.Base(name) == "bash" || name == "sleep") && below(p.pid, daemon):
			return p.pid
		}
	}
	return 0
}

// below reports whether the process descends from above.
func below(pid, above int) bool {
	for ; pid > 1; pid = parent(pid) {
		if pid == above {
			return true
		}
	}
	return false
}

// firstInside reports whether the process is number 1 of its namespace.
func firstInside(pid int) bool {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) > 2 && f[0] == "NSpid:" {
			return f[len(f)-1] == "1"
		}
	}
	return false
}

// A killed daemon's control groups go with the next one.
func TestDeadDaemonsGroupsAreSwept(t *testing.T) {
	wholeMachine(t, "it lists control groups")
	bothUsers(t, func(t *testing.T, a *actor) {
		a.approveAllCold()
		a.sbx("run", "--", "true")
		dead := a.daemon.Process.Pid
		a.daemon.Process.Kill()
		a.daemon.Wait()
		a.daemon = nil
		a.restart()
		if left := daemonGroups(dead); len(left) > 0 {
			t.Errorf("left: %q", left)
		}
	})
}
