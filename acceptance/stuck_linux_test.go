package acceptance

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// halfway is a bwrap with our helper that waits, as it does while its daemon
// writes the maps of its user namespace, and prints its pid.
const halfway = `
import fcntl, os, subprocess
r, w = os.pipe()
null = os.open("/dev/null", os.O_WRONLY)
fd = os.memfd_create("sandboxd-launch", 0)
r, w, null, fd = [fcntl.fcntl(n, fcntl.F_DUPFD, 10) for n in (r, w, null, fd)]
os.dup2(fd, 4)
p = subprocess.Popen(["bwrap", "--unshare-user", "--unshare-pid", "--info-fd", str(null), "--userns-block-fd", str(r), "--ro-bind", "/", "/", "--die-with-parent", "--", "true"], pass_fds=[4, r, null])
print(p.pid, flush=True)
p.wait()
`

// A kill during the start of a sandbox leaves nothing behind: the next daemon ends the
// first process that bwrap's death leaves waiting without end. R-OP-03
func TestStuckSandboxesEnd(t *testing.T) {
	wholeMachine(t, "it lists all processes with a mark")
	eachUser(t, func(t *testing.T, a *actor) {
		a.stop()
		cmd := a.command(t.Context(), "/usr/bin/python3", "-c", halfway)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cmd.Wait() })
		line, err := bufio.NewReader(out).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		bwrap, err := strconv.Atoi(strings.TrimSpace(line))
		if err != nil {
			t.Fatal(err)
		}
		inner := 0
		eventually(t, "bwrap's first process", func() bool {
			text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", bwrap))
			inner, _ = strconv.Atoi(strings.TrimSpace(string(text)))
			return inner > 0
		})
		t.Cleanup(func() { syscall.Kill(inner, syscall.SIGKILL) })
		// One that still comes up is nobody's to end.
		a.start()
		if !alive(inner) {
			t.Fatal("the daemon has ended a sandbox whose bwrap lives")
		}
		a.stop()
		if err := syscall.Kill(bwrap, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		cmd.Wait()
		time.Sleep(100 * time.Millisecond)
		if !alive(inner) {
			t.Fatal("the attempt did not come off: this bwrap takes its first process along")
		}
		a.start()
		eventually(t, "the end of what was left", func() bool { return !alive(inner) })
	})
}

// endsBwrap waits until a command has ended. The bwrap that was killed may have been a worker's: then it kills the
// command's, once there is one.
func (a *actor) endsBwrap(ended <-chan struct{}) bool {
	for range slow * 50 {
		select {
		case <-ended:
			return true
		case <-time.After(300 * time.Millisecond):
			if pid := a.find("bwrap"); pid > 0 {
				syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	}
	return false
}

// A kill of bwrap, or of bwrap and the daemon, at any moment of a sandbox's start ends the command,
// too. bwrap's child requests the signal for bwrap's death only as its last step: a child whose bwrap
// died before that step would run as long as its command. R-OP-03
func TestDeathOfBwrapAsItComesUp(t *testing.T) {
	wholeMachine(t, "it lists all processes with a mark")
	eachUser(t, func(t *testing.T, a *actor) {
		a.launch = func() { a.configured("[sandbox]\nwarm = 0\nbackend = \"bwrap\"\n", "--mode", "approve-all") }
		a.launch()
		a.sbx("run", "--", "true")
		hit := 0
		for i := range 24 {
			eventually(t, "the end of the sandbox before", func() bool { return a.find("bwrap") == 0 })
			cmd := a.command(t.Context(), filepath.Join(bin, "sbx"), "run", "-c", "trap '' TERM HUP; sleep "+litterMark)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan struct{})
			go func() { cmd.Wait(); close(ended) }()
			for end := time.Now().Add(5 * time.Second); time.Now().Before(end); {
				if pid := a.find("bwrap"); pid > 0 {
					time.Sleep(time.Duration(i/2) * time.Millisecond)
					if syscall.Kill(pid, syscall.SIGKILL) == nil {
						hit++
					}
					break
				}
			}
			if i%2 == 1 {
				a.daemon.Process.Kill()
				a.daemon.Wait()
				a.daemon = nil
			}
			if !a.endsBwrap(ended) {
				t.Errorf("round %d: the client does not end", i)
				cmd.Process.Kill()
				<-ended
			}
			eventually(t, "the command's end", func() bool { return count("sleep "+litterMark) == 0 })
			if a.daemon == nil {
				a.restart()
			}
		}
		if hit < 12 {
			t.Errorf("bwrap was hit %d times only", hit)
		}
	})
}
