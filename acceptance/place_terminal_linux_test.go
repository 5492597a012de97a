package acceptance

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/creack/pty"
)

// atShell is a person's shell at a terminal of its own, the leader of its kernel session.
type atShell struct {
	a    *actor
	proc *exec.Cmd
	tty  *os.File
	dir  string // has the lines and their outcomes
	n    int
}

// openShell starts a shell. It reads from its terminal which line to run next.
func (a *actor) openShell() *atShell {
	a.t.Helper()
	dir := strings.TrimSpace(a.sh("mktemp -d " + a.dir + "/shell-XXXXXX"))
	cmd := a.command(context.Background(), "/bin/bash", "-c", `PATH=`+bin+`:$PATH; while read -r n; do
		. ./$n >$n.out 2>$n.err </dev/null; echo $? >$n.part; mv $n.part $n.code; done`)
	cmd.Dir = dir
	cmd.SysProcAttr.Setctty = true
	tty, err := pty.Start(cmd)
	if err != nil {
		a.t.Fatal(err)
	}
	go io.Copy(io.Discard, tty)
	s := &atShell{a: a, proc: cmd, tty: tty, dir: dir}
	a.t.Cleanup(s.end)
	return s
}

// run has the shell run a line in the project, as if it were typed.
func (s *atShell) run(line string) result {
	s.a.t.Helper()
	s.n++
	file := filepath.Join(s.dir, strconv.Itoa(s.n))
	text := fmt.Sprintf("pushd %s >/dev/null\n%s\nset -- $?\npopd >/dev/null\nreturn $1\n", s.a.project, line)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		s.a.t.Fatal(err)
	}
	fmt.Fprintln(s.tty, s.n)
	eventually(s.a.t, "the end of "+line, func() bool { _, err := os.Stat(file + ".code"); return err == nil })
	var r result
	for ext, to := range map[string]*string{".out": &r.out, ".err": &r.err} {
		b, _ := os.ReadFile(file + ext)
		*to = string(b)
	}
	b, _ := os.ReadFile(file + ".code")
	r.code, _ = strconv.Atoi(string(bytes.TrimSpace(b)))
	return r
}

// end hangs up, as a terminal that is closed does.
func (s *atShell) end() {
	if s.proc.ProcessState == nil {
		s.tty.Close()
		s.proc.Process.Kill()
		s.proc.Wait()
	}
}

// A server that sbx run leaves running at a terminal answers the next sbx run of that shell, is listed with its output,
// is stopped by name, and ends with the shell: nothing of it is left. Another terminal, a program, an agent that names
// itself at the same terminal, a command without a terminal and the machine have nothing of it. R-LY-09
func TestTerminalPlace(t *testing.T) {
	wholeMachine(t, "it lists all mounts and processes")
	for _, backend := range []string{"native", "bwrap"} {
		t.Run(backend, func(t *testing.T) {
			eachUser(t, func(t *testing.T, a *actor) { terminalPlace(a, backend) })
		})
	}
}

const terminalServer = "nohup python3 -u -m http.server 8123 --bind 127.0.0.1 & echo begun"

func terminalPlace(a *actor, backend string) {
	t := a.t
	a.sh("printf '[sandbox]\nwarm = 0\nbackend = \"" + backend + "\"\n' > " + a.dir + "/c.toml; chmod 600 " +
		a.dir + "/c.toml")
	a.start("--mode", "approve-all", "--config", filepath.Join(a.dir, "c.toml"))
	a.sbx("run", "--", "true")
	before := a.look()
	one, two, program := a.openShell(), a.openShell(), a.openProgram()
	r := one.run("sbx run -c '" + terminalServer + "'")
	if !strings.HasPrefix(r.out, "begun\n") || !strings.Contains(r.err, "left running: job j-") {
		t.Fatalf("got %v, want a job's name", r)
	}
	ready := "for i in $(seq 300); do " + get("8123") + " >/dev/null 2>&1 && exit; sleep 0.1; done; exit 9"
	if r := one.run("cat <<'END' > ready\n" + ready + "\nEND\nsbx run -- bash ready"); r.code != 0 {
		t.Fatalf("the job does not answer: %v", r)
	}
	one.run("sbx run -c 'echo x > /tmp/shared; echo x > ~/shared'")
	ns := strings.TrimSpace(one.run("sbx run -- readlink /proc/self/ns/net").out)
	page := "cat <<'END' > page\n" + get("8123", "README") + "\nEND\n"
	for _, line := range []string{page + "sbx run -- bash page", "(cd . && timeout 60 sbx run -- bash page) | cat"} {
		if r := one.run(line); r.out != "hello\n\n" {
			t.Errorf("%s: got %v, want the page", line, r)
		}
	}
	for name, run := range map[string]func(string) result{
		"another terminal": func(l string) result { return two.run("sbx run -c '" + l + "'") },
		"an agent":         func(l string) result { return one.run("sbx run --agent-name other -c '" + l + "'") },
		"no terminal":      func(l string) result { return a.sbx("run", "-c", l) },
		"a program":        program.run,
	} {
		if r := run("echo runs"); r.out != "runs\n" {
			t.Errorf("%s: %v", name, r)
		}
		for _, line := range []string{"bash page", "cat /tmp/shared", "cat ~/shared",
			"test $(readlink /proc/self/ns/net) = \"" + ns + "\"", "grep -l http[.]server /proc/[0-9]*/cmdline"} {
			if r := run(line); r.code == 0 {
				t.Errorf("%s: %s: got %v, want a failure", name, line, r)
			}
		}
	}
	if c, err := net.Dial("tcp", "127.0.0.1:8123"); err == nil {
		c.Close()
		t.Error("the machine's localhost reaches the terminal's server")
	}
	list := a.jobs()
	if len(list) != 1 || !strings.Contains(list[0].Command, "http.server") {
		t.Fatalf("got %+v, want the server", list)
	}
	if r := one.run("sbx jobs log " + list[0].ID); !strings.Contains(r.out, "GET /README") {
		t.Errorf("the log: got %v, want the request", r)
	}
	if r := one.run("sbx jobs stop " + list[0].ID); r.code != 0 {
		t.Errorf("stop: %v", r)
	}
	if r := one.run("sbx run -- bash page"); r.code == 0 {
		t.Errorf("a stopped job answers: %v", r)
	}
	program.close()
	one.terminalEnds(two, ns, before)
}

// terminalEnds ends the shell with a job, and the other shell with none.
func (s *atShell) terminalEnds(other *atShell, ns string, before litter) {
	s.a.t.Helper()
	if r := s.run("sbx run -c 'sleep 86427 & true'"); !strings.Contains(r.err, "left running: job") {
		s.a.t.Errorf("another job: %v", r)
	}
	s.end()
	eventually(s.a.t, "the end of the terminal's job", func() bool { return count("sleep 86427") == 0 })
	eventually(s.a.t, "the end of its network namespace", func() bool { return networksOf(ns) == 0 })
	if r := other.run("sbx run -c 'echo x > /tmp/x'; sbx run -- cat /tmp/x"); r.out != "x\n" {
		s.a.t.Errorf("the other terminal: %v", r)
	}
	other.end()
	eventually(s.a.t, "the removal of the terminals' files", func() bool {
		left, _ := os.ReadDir(filepath.Join(s.a.stateDir(), "places"))
		return len(left) == 0
	})
	eventually(s.a.t, "the groups of before",
		func() bool { return len(s.a.look().groups) <= len(before.groups) })
	eventually(s.a.t, "the processes of before",
		func() bool { return len(s.a.look().processes) <= len(before.processes) })
	if after := s.a.look(); !slices.Equal(after.mounts, before.mounts) {
		s.a.t.Errorf("got the mounts %q, want %q", after.mounts, before.mounts)
	}
}

// A daemon that sbx started stays as long as a terminal's job, and ends, being idle, after its shell. R-LY-09 R-IP-09
func TestTerminalJobKeepsDaemon(t *testing.T) {
	wholeMachine(t, "it lists all mounts and processes")
	eachUser(t, func(t *testing.T, a *actor) {
		a.sh("printf '[approval]\npolicy = \"contained\"\n' > " + a.dir + "/c.toml; chmod 600 " + a.dir + "/c.toml")
		a.start("--idle-timeout", "1s", "--config", filepath.Join(a.dir, "c.toml"))
		a.sbx("trust", "--contained")
		s := a.openShell()
		if r := s.run("sbx run -c 'sleep 86427 & true'; sleep 4"); !strings.Contains(r.err, "left running: job") {
			t.Fatal(r)
		}
		if n := count("sleep 86427"); n != 1 {
			t.Fatalf("got %d jobs after 4 s, want 1", n)
		}
		s.end()
		left := make(chan struct{})
		go func() { a.daemon.Wait(); close(left) }()
		eventually(t, "the end of the idle daemon", func() bool {
			select {
			case <-left:
				return true
			default:
				return false
			}
		})
		a.daemon = nil
		if n := count("sleep 86427"); n != 0 {
			t.Errorf("got %d processes, want none", n)
		}
	})
}
