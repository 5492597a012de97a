package acceptance

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sandboxd/ipc"
)

// agentOfTwoTurns is the script of an agent whose hook has two prompts. Its trees of dependencies have what a snapshot
// skips: its program, the calls, and what it waits for.
const agentOfTwoTurns = `set -e
call() { node_modules/.bin/sbx hook claude --agent-version 2.1.330 < node_modules/$1.json > /dev/null; }
await() { touch node_modules/$1; while [ ! -e node_modules/$1.seen ]; do sleep 0.05; done; }
call first
echo first >> src/one.txt; echo a > made; rm src/new.txt; mkdir lib; mv src/deep lib; chmod 640 README
await second
call second; call second
echo second >> src/one.txt; rm made; echo b > other; rm -r lib; mkdir made; echo c > made/c; ln -sf one.txt README
git add -A; git -c user.name=a -c user.email=a@b commit -qm agent
await end
`

// work is everything without the trees of dependencies and without git's objects, of which undo keeps the created ones.
func (a *actor) work() string {
	lines := strings.Split(withoutObjects(a.everything()), "\n")
	lines = slices.DeleteFunc(lines, func(l string) bool { return strings.Contains(l, "node_modules") })
	return strings.Join(lines, "\n")
}

// twoTurns starts an agent of two turns in a repository that has the tree before. reached waits until it is at a mark,
// and passes it.
func (a *actor) twoTurns() (before string, wait func() result, reached func(mark string) (tree string)) {
	a.t.Helper()
	a.sh("rm -rf node_modules; mkdir -p node_modules/.bin; cp " + filepath.Join(bin, "sbx") + " " +
		filepath.Join(bin, "sbx-verbs") + " node_modules/.bin")
	for _, turn := range []string{"first", "second"} {
		call := event(a.t, call("claude", a.project, "Bash", bash("true")), map[string]any{"prompt_id": turn})
		a.sh("cat > node_modules/" + turn + ".json <<'END'\n" + call + "\nEND")
	}
	before = a.work()
	wait = a.begin("run", "--json", "--agent", "--", "sh", "-c", agentOfTwoTurns)
	return before, wait, func(mark string) string {
		a.t.Helper()
		eventually(a.t, mark, func() bool {
			_, err := os.Stat(filepath.Join(a.project, "node_modules", mark))
			return err == nil
		})
		defer a.sh("touch node_modules/" + mark + ".seen")
		return a.work()
	}
}

// runs lists the change sets of runs that can be undone, the latest first.
func (a *actor) runs() (list []ipc.Change) {
	a.t.Helper()
	var all []ipc.Change
	if err := json.Unmarshal([]byte(a.sbx("undo", "--list", "--json").out), &all); err != nil {
		a.t.Fatal(err)
	}
	for _, c := range all {
		if c.Op == "run" && c.UndoneBy == "" {
			list = append(list, c)
		}
	}
	return list
}

// R-LY-11: each turn of a whole agent inside is a change that can be undone by itself, the latest first, and all of
// the run by its id, before and after an undo of a turn.
func TestUndoOfTurns(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, a *actor) {
		a.layered()
		a.repository()
		a.sh("echo readme > README; git add README; git commit -qm readme -- README")
		same := func(what, want string) {
			t.Helper()
			if now := a.work(); now != want {
				t.Fatalf("after %s: %s", what, diff(want, now))
			}
		}
		undo := func(args ...string) {
			t.Helper()
			if r := a.undone(args...); r.code != 0 {
				t.Fatalf("undo %v: %v", args, r)
			}
		}
		for _, turnFirst := range []bool{true, false} {
			before, wait, reached := a.twoTurns()
			second := reached("second")
			reached("end")
			r := wait()
			var out struct{ Changes ipc.RunChanges }
			if err := json.Unmarshal([]byte(r.out), &out); r.code != 0 || err != nil || out.Changes.Undo == "" {
				t.Fatalf("the agent: %v, %v", r, err)
			}
			if turns := a.runs(); len(turns) != 2 || !strings.Contains(turns[0].Note, "turn 2") ||
				!strings.Contains(turns[1].Note, "turn 1") || turns[0].Exec != turns[1].Exec {
				t.Fatalf("got %+v, want a change for each turn", turns)
			}
			if list := a.sbx("undo", "--list").out; !strings.Contains(list, "turn 2") {
				t.Errorf("the list names no turn:\n%s", list)
			}
			if turnFirst {
				undo("--last")
				same("undo of the second turn", second)
			}
			undo(out.Changes.Undo)
			same("undo of the run", before)
			if left := a.runs(); len(left) != 0 {
				t.Errorf("after the undo of the run there are %+v", left)
			}
		}
		a.sh("git fsck --no-dangling --no-progress >&2")
		_, wait, reached := a.twoTurns()
		second := reached("second")
		reached("end")
		wait()
		turns := a.runs()
		a.stop()
		a.sh("rm -r " + a.stateDir() + "/undo/" + turns[1].ID) // as an eviction
		a.layered()
		ended := a.work()
		if r := a.undone(turns[1].Exec); r.code == 0 || !strings.Contains(r.err, "first turns are no longer kept") {
			t.Errorf("undo of a run whose first turn is not kept: %v", r)
		}
		same("an undo that was refused", ended)
		undo(turns[0].ID)
		same("undo of the turn that is kept", second)
	})
}

// R-LY-11, R-OP-03: a daemon that is killed in the second turn of an agent leaves a change for each.
func TestUndoOfTurnsThatWereCutOff(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, a *actor) {
		a.layered()
		a.repository()
		a.sh("echo readme > README; git add README; git commit -qm readme -- README")
		before, wait, reached := a.twoTurns()
		second := reached("second")
		eventually(t, "the end", func() bool {
			_, err := os.Stat(filepath.Join(a.project, "node_modules", "end"))
			return err == nil
		})
		a.kill()
		wait()
		// As where it died between the two notes of a turn.
		a.sh("cd " + a.stateDir() + "/snapshots/*; for n in run-*-0002; do ln $n ${n%-0002}; done")
		a.layered()
		eventually(t, "two turns", func() bool { return len(a.runs()) == 2 })
		if left, _ := filepath.Glob(filepath.Join(a.stateDir(), "snapshots/*/run-*")); len(left) > 0 {
			t.Errorf("there is %q", left)
		}
		if r := a.undone("--last"); r.code != 0 || a.work() != second {
			t.Fatalf("undo of the second turn: %v %s", r, diff(second, a.work()))
		}
		if r := a.undone("--since", "5m"); r.code != 0 || a.work() != before {
			t.Fatalf("undo of the first turn: %v %s", r, diff(before, a.work()))
		}
	})
}

// R-LY-11: a turn of a session is one of each direct run that it has. Where the project can't be compared then, the
// turn has no change of its own, and the run's end says why.
func TestUndoOfTurnsOfAProgram(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, a *actor) {
		file := filepath.Join(a.dir, "direct.toml")
		a.sh("umask 077; printf '[sandbox]\\nlayers = \"off\"\\n[files.undo]\\nkeep_bytes = 4000000\\n' > " + file)
		a.start("--mode", "approve-all", "--config", file)
		before := a.work()
		p := a.openProgram()
		turn := func() {
			t.Helper()
			if r := a.sbx("session", "resume", p.id); r.code != 0 {
				t.Fatal(r)
			}
		}
		begin := func(line string) func() result {
			a.extraEnv = append(a.extraEnv, "SBX_SESSION_SECRET="+p.secret)
			defer func() { a.extraEnv = a.extraEnv[:len(a.extraEnv)-1] }()
			return a.begin("run", "--json", "--session", p.id, "-c", line)
		}
		wait := begin("for n in 1 2 3; do echo $n > made$n; while [ ! -e go$n ]; do sleep 0.05; done; done")
		made := func(name string) {
			eventually(t, name, func() bool { _, err := os.Stat(filepath.Join(a.project, name)); return err == nil })
		}
		made("made1")
		turn()
		a.sh("touch go1")
		made("made2")
		a.sh("head -c 1500000 /dev/zero > big; cp big large")
		turn() // the snapshot is beyond its budget
		a.sh("rm big large; touch go2")
		made("made3")
		a.sh("touch go3")
		end := func() string { return a.sh("cat made*; ls") }
		if r := wait(); r.code != 0 || !strings.Contains(r.out, "turn 3") || !strings.Contains(r.out, "keep_bytes") {
			t.Errorf("the result does not say that a turn has no snapshot: %v", r)
		}
		turns := a.runs()
		if len(turns) != 2 || !strings.Contains(turns[1].Note, "turn 1") || !strings.Contains(turns[0].Note, "turn 2") {
			t.Fatalf("%+v", turns)
		}
		ended := end()
		if r := a.undone(turns[0].ID); r.code != 0 || a.sh("ls") != "README\nmade1\n" {
			t.Errorf("undo of the second: %v, there is %s", r, a.sh("ls"))
		}
		if r := a.undone(turns[1].Exec); r.code != 0 || a.work() != before {
			t.Errorf("undo of the run: %v %s", r, diff(before, a.work()))
		}
		var all []ipc.Change
		_ = json.Unmarshal([]byte(a.sbx("undo", "--list", "--json").out), &all)
		for _, c := range all[:2] {
			if r := a.undone(c.ID); r.code != 0 {
				t.Errorf("undo of an undo: %v", r)
			}
		}
		if now := end(); now != ended {
			t.Errorf("after undo of both undos there is %s", now)
		}
		wait = begin("touch part; while [ ! -e go ]; do sleep 0.05; done; rm big")
		made("part")
		a.sh("truncate -s 3000000 big")
		turn()
		a.sh("touch go")
		if r := wait(); !strings.Contains(r.out, `"covered":false,"why":"the snapshot lacks big`) {
			t.Errorf("a run that deletes what its last turn's snapshot lacks: %v", r)
		}
	})
}
