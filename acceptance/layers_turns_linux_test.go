package acceptance

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sandboxd/ipc"
)

// R-LY-03, rule 16: git waits for a layered run of its project for longer than ten seconds, as its locks are not seen
// in another layer, and both changes land.
func TestLayersGitWaits(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.layered()
		a.repository()
		wait := a.begin("run", "-c", "echo a > first; sleep 13; git add first")
		eventually(t, "the first writes", func() bool { return a.wrote("first") })
		r := a.run("echo b > second; git add second; git diff --cached --name-only -- first")
		if r.code != 0 || r.Changes.Held != "" || r.Stdout != "first\n" ||
			!strings.Contains(r.out, "waiting for another command") {
			t.Errorf("%s", r.result)
		}
		if r := wait(); r.code != 0 {
			t.Errorf("the first: %s", r)
		}
		if got := a.sh("git diff --cached --name-only -- first second"); got != "first\nsecond\n" {
			t.Errorf("git has %q", got)
		}
	})
}

// A landing that waits for a command of its project keeps no command of another project waiting, whatever that holds.
func TestLayersLandingStopsNoOtherProject(t *testing.T) {
	t.Parallel()
	a := newActor(t, "")
	a.layered()
	id, _ := a.hold("echo 1 > a")
	run := ends(a.begin("run", "-c", "echo q > q; sleep 13"))
	eventually(t, "the command writes", func() bool { return a.wrote("q") })
	landing := ends(a.begin("changes", "land", id))
	time.Sleep(time.Second) // it waits by then, or there is less to see
	first, second := a.project, a.project+"-second"
	a.sh("mkdir " + second)
	a.project = second
	a.hold("echo g > g")
	a.hold("echo h > h")
	select {
	case l := <-landing:
		t.Errorf("the other project's commands ended after the landing: %s", l.result)
	default:
		if l := <-landing; l.code != 0 {
			t.Errorf("the landing: %s", l.result)
		}
	}
	a.project = first
	if r := <-run; r.code != 0 || a.sh("cat a q") != "1\nq\n" {
		t.Errorf("the command: %s", r.result)
	}
}

// A command of which a part is held, and a landing beside it, do not wait for each other.
func TestLayersLandingBesideAConflict(t *testing.T) {
	t.Parallel()
	a := newActor(t, "")
	a.layered()
	a.sh("git init -q . && echo ign/ > .gitignore && mkdir ign && echo 0 > ign/x")
	id, _ := a.hold("echo 1 > a")
	run := ends(a.begin("run", "-c", "echo run > ign/x; echo 2 > t; sleep 4"))
	eventually(t, "the command writes", func() bool { return a.wrote("t") })
	a.sh("echo out > ign/x")
	landing := ends(a.begin("changes", "land", id))
	r, l := <-run, <-landing
	if r.code != 0 || !strings.Contains(r.err, "the rest landed") || l.code != 0 || !r.at.Before(l.at) {
		t.Errorf("the command ended %v before the landing: %s\nthe landing: %s", l.at.Sub(r.at), r.result, l.result)
	}
	if got := a.sh("cat a t ign/x"); got != "1\n2\nout\n" {
		t.Errorf("the project has %q", got)
	}
}

// ended is a command's result, and when it came.
type ended struct {
	result
	at time.Time
}

// ends returns the end of a command that was begun.
func ends(wait func() result) <-chan ended {
	c := make(chan ended, 1)
	go func() { c <- ended{wait(), time.Now()} }()
	return c
}

// R-LY-03, R-LY-08, rule 15: under an overlay a file that another run's landing replaced reads as before, and a name
// that was not found stays absent. The result of a run beside which another one landed says so, and names the paths.
func TestLayersNameStaleViews(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.layered()
		a.sh("echo old > in")
		wait := a.begin("run", "-c", "echo new > in; echo new > absent; sleep 13")
		eventually(t, "the first writes", func() bool { return a.wrote("absent") })
		r := a.run("cat in; ls absent; sleep 6; cat in; ls absent; echo mine > mine")
		if first := wait(); first.code != 0 || strings.Contains(first.err, "stale-view") {
			t.Errorf("the first: %s", first)
		}
		if got := a.sh("cat in absent mine"); got != "new\nnew\nmine\n" {
			t.Fatalf("the project has %q; the second: %s", got, r.result)
		}
		if r.code != 0 || r.Stdout != "old\nold\n" {
			t.Errorf("the second does not see the state before: %s", r.result)
		}
		stale := ""
		for _, w := range r.Warnings {
			if strings.HasPrefix(w.Message, "stale-view: ") {
				stale = w.Message
			}
		}
		for _, name := range []string{"in", "absent"} {
			if !strings.Contains(stale, filepath.Join(a.project, name)) {
				t.Errorf("%q does not name %s", stale, name)
			}
		}
		if r := a.run("cat in; echo > more"); r.Stdout != "new\n" || strings.Contains(r.out, "stale-view") {
			t.Errorf("the third: %s", r.result)
		}
	})
}

// R-LY-02, R-LY-03, rule 9: a layered run has one landing. What it leaves running ends with it, before the landing,
// also where the session has a place for jobs, so that nothing lands later over an edit from after the run.
func TestLayersLandOnce(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.layered()
		a.sh("echo old > file")
		s := a.openProgram()
		a.extraEnv = append(a.extraEnv, "SBX_SESSION_SECRET="+s.secret)
		r := a.sbx("run", "--json", "--session", s.id, "-c", "python3 -c \"import subprocess; subprocess.Popen(['sh', '-c', "+
			"'echo run > file; echo begun > begun; sleep 2; echo late > file; echo late > new'], start_new_session=True)\"; "+
			"until [ -e begun ]; do sleep 0.1; done")
		var end struct {
			Job     string
			Changes ipc.RunChanges
		}
		err := json.Unmarshal([]byte(r.out), &end)
		if err != nil || r.code != 0 || end.Changes.Kind != "layered" || end.Job != "" {
			t.Errorf("%v %s", err, r)
		}
		if got := a.sh("cat file begun; echo mine > file"); got != "run\nbegun\n" {
			t.Errorf("landed %q", got)
		}
		time.Sleep(3 * time.Second)
		if got := a.sh("cat file; ls -d new 2>&1 | grep -c 'No such'"); got != "mine\n1\n" {
			t.Errorf("later the project has %q", got)
		}
		a.noLayers()
	})
}
