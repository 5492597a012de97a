package acceptance

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"sandboxd/ipc"
)

// jobs lists what commands left running.
func (a *actor) jobs() []ipc.Job {
	a.t.Helper()
	var list ipc.JobList
	if r := a.sbx("jobs", "--json"); r.code != 0 {
		a.t.Fatal(r)
	} else if err := json.Unmarshal([]byte(r.out), &list); err != nil {
		a.t.Fatalf("%v: %s", err, r.out)
	}
	return list.Jobs
}

// A server that a command leaves running answers the session's next commands and sees their edits, is listed with its
// output, is on record, and ends when it is stopped or with the session. Nobody else reaches it. R-LY-09
func TestJobs(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		for name, start := range map[string]func(){"direct": func() { a.approveAll() }, "layered": a.layered} {
			start()
			a.job(name)
		}
	})
}

// job leaves a server running and has the next commands of its session, and of another one, use it.
func (a *actor) job(name string) {
	t := a.t
	t.Log(name)
	s, other := a.openProgram(), a.openProgram()
	r := s.run("echo begun; nohup python3 -u -m http.server 8123 --bind 127.0.0.1 & disown")
	if r.code != 0 || !strings.HasPrefix(r.out, "begun\n") || !strings.Contains(r.err, "left running: job j-") {
		t.Fatalf("got %v, want a job's name", r)
	}
	ready := "for i in $(seq 300); do " + get("8123") + " >/dev/null 2>&1 && exit; sleep 0.1; done; exit 9"
	if r := s.run(ready); r.code != 0 {
		t.Fatalf("the job does not answer: %v", r)
	}
	s.run("echo edited > page.html")
	if r := s.run(get("8123", "page.html")); r.out != "edited\n\n" {
		t.Errorf("the job does not see an edit: %v", r)
	}
	if r := s.run("echo again > page.html; " + get("8123", "page.html")); r.out != "again\n\n" {
		t.Errorf("the job does not see the edit of a command that runs: %v", r)
	}
	if r := other.run(get("8123")); r.code == 0 {
		t.Errorf("another session reaches the job: %v", r)
	}
	list := a.jobs()
	if len(list) != 1 || list[0].Session != s.id || list[0].Ended != nil || !strings.Contains(r.err, list[0].ID) {
		t.Fatalf("got %+v, want the job of %q", list, r.err)
	}
	if r := a.sbx("jobs", "log", list[0].ID); !strings.Contains(r.out, "GET /page.html") {
		t.Errorf("the log: got %v, want the request", r)
	}
	if r := a.sbx("jobs", "stop", list[0].ID); r.code != 0 || !strings.Contains(r.err, "stopped by a person") {
		t.Errorf("stop: %v", r)
	}
	if r := s.run(get("8123")); r.code == 0 {
		t.Errorf("a stopped job answers: %v", r)
	}
	log := a.sbx("log", "--json").out
	for _, want := range []string{`"operation":"job"`, `"operation":"job end"`, "stopped by a person"} {
		if !strings.Contains(log, want) {
			t.Errorf("the log has no %s", want)
		}
	}
	s.close()
	other.close()
}

// Output from before a command's end is the answer's, and later output the job's. What a command without a
// terminal leaves, and a ninth job, are ended. What a job leaves under a protected name is taken out at its end.
// R-LY-09 R-LY-06
func TestJobsBounds(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, a *actor) {
		a.approveAll()
		s := a.openProgram()
		r := s.run("echo before; (while [ ! -e go ]; do sleep 0.1; done; echo after; mkdir -p sub/.vscode; " +
			"echo x > sub/.vscode/tasks.json) &")
		if r.out != "before\n" {
			t.Errorf("got %v, want the output of the command alone", r)
		}
		a.sh("touch go")
		eventually(t, "the job's end", func() bool { return len(a.jobs()) == 1 && a.jobs()[0].Ended != nil })
		if r := a.sbx("jobs", "log", a.jobs()[0].ID); r.out != "after\n" {
			t.Errorf("the log: got %v, want what came later", r)
		}
		if _, err := os.Lstat(filepath.Join(a.project, "sub/.vscode/tasks.json")); err == nil {
			t.Errorf("the job's protected file is there: %+v", a.jobs())
		}
		r = a.sbx("run", "-c", "sleep 54321 & true")
		if r.code != 0 || strings.Contains(r.err, "job") || count("sleep 54321") > 0 {
			t.Errorf("a command without a terminal: %v", r)
		}
		for range 8 {
			if r := s.run("sleep 54321 & true"); !strings.Contains(r.err, "left running: job") {
				t.Errorf("got %v, want a job", r)
			}
		}
		if r := s.run("sleep 54321 & true"); r.code != 0 || !strings.Contains(r.err, "the session has 8 jobs") {
			t.Errorf("the ninth: %v", r)
		}
		if n := count("sleep 54321"); n != 8 {
			t.Errorf("got %d processes, want 8", n)
		}
		s.close()
		if n := count("sleep 54321"); n != 0 {
			t.Errorf("got %d processes after the session, want none", n)
		}
	})
}

// Sessions with a job each leave nothing: no process, mount, namespace, control group or file; $SESSIONS is how many
// (make sessions). R-LY-09
func TestJobsLeaveNothing(t *testing.T) {
	wholeMachine(t, "it lists all mounts and processes")
	sessions := 50
	if n, err := strconv.Atoi(os.Getenv("SESSIONS")); err == nil {
		sessions = n
	}
	eachUser(t, func(t *testing.T, a *actor) {
		a.approveAllCold()
		a.openProgram().close()
		before := a.look()
		for i := range sessions {
			s := a.openProgram()
			if r := s.run("sleep 65432 & echo x > /tmp/x"); !strings.Contains(r.err, "left running: job") {
				t.Fatalf("session %d: %v", i, r)
			}
			s.close()
		}
		eventually(t, "the end of every process", func() bool { return count("sleep 65432") == 0 })
		if left, _ := os.ReadDir(filepath.Join(a.stateDir(), "places")); len(left) > 0 {
			t.Errorf("got %v, want nothing", left)
		}
		if left := a.jobs(); len(left) > 0 {
			t.Errorf("got %v, want no job", left)
		}
		eventually(t, "the end of every control group", func() bool { return len(a.look().groups) <= len(before.groups) })
		if after := a.look(); !slices.Equal(after.mounts, before.mounts) {
			t.Errorf("got the mounts %q, want %q", after.mounts, before.mounts)
		}
		namespaces, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", a.daemonPid()))
		for _, path := range namespaces {
			if at, _ := os.Readlink(path); strings.HasPrefix(at, "net:") || strings.HasPrefix(at, "user:") ||
				strings.HasPrefix(at, "mnt:") {
				t.Errorf("the daemon holds %s", at)
			}
		}
	})
}

// A job that ends with the launch server is listed as cut off. R-LY-09, R-OP-03
func TestJobsCutOff(t *testing.T) {
	t.Parallel()
	if backend != "native" {
		t.Log("left out: bwrap has no launch server")
		return
	}
	eachUser(t, func(t *testing.T, a *actor) {
		a.approveAll()
		s := a.openProgram()
		if r := s.run("nohup sleep 300 >/dev/null 2>&1 & disown"); r.code != 0 || len(a.jobs()) != 1 {
			t.Fatalf("got %v, want a job", r)
		}
		if err := syscall.Kill(a.find("server"), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the job's end", func() bool { return a.jobs()[0].Ended != nil })
		if j := a.jobs()[0]; !strings.Contains(j.Why, "the launch server ended") {
			t.Errorf("got %+v, want that it was cut off", j)
		}
		if r := s.run("echo x"); r.out != "x\n" {
			t.Errorf("the next command: %v", r)
		}
	})
}
