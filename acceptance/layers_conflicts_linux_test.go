package acceptance

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// conflictWork changes, creates and removes files that second writers change, too.
const conflictWork = "for i in 0 1 2; do echo run >> f$i; done; echo run > new; rm f3; sleep 0.1"

// secondWriter begins to write beside a run; end returns the versions that are to be in files of the project.
type secondWriter func(a *actor, round int) (end func() map[string][]string)

// R-LY-03: while a layered run writes and lands, another writer writes to the same files and to others, at random
// moments and in several ways: a program, a person's git, which adds, commits and changes branches, or another session,
// whose held change set lands. No version is lost: each is in the project, held, or comes back by undo.
// $ACCEPTANCE_LAYER_CONFLICTS is the number of runs; the program then also keeps a file open before it writes.
func TestLayerConflicts(t *testing.T) {
	t.Parallel()
	rounds := atLeastOne(t, "ACCEPTANCE_LAYER_CONFLICTS", 9)
	bothUsers(t, func(t *testing.T, a *actor) {
		a.layered()
		ends, session := map[string]int{}, a.coders(1)[0]
		for round := range rounds {
			a.sh("rm -rf * .git && for i in 0 1 2 3 4 5; do echo base > f$i; done")
			kind, writer, work := "program", secondWriter((*actor).programWriter), conflictWork
			switch round % 3 {
			case 1:
				kind, writer = "git", (*actor).gitWriter
				if round%2 == 0 {
					work += "; git add new"
				}
			case 2:
				kind, writer = "session", session.heldWriter
			}
			end := writer(a, round)
			r := a.run(work)
			written := end()
			ends[fmt.Sprintf("%s wrote %d, run %s", kind, min(len(written), 1), a.noneLost(written, r))]++
			if t.Failed() {
				t.Fatalf("round %d, %s: %s", round, kind, r.result)
			}
		}
		a.noLayers()
		t.Logf("%v", ends)
	})
}

// programWriter is outsideWriter.
func (a *actor) programWriter(round int) (end func() map[string][]string) {
	open := "0"
	if os.Getenv("ACCEPTANCE_LAYER_CONFLICTS") != "" {
		open = "0.05"
	}
	return a.script(outsideWriter, round, open)
}

// gitWriter is a person's git. Its commits are wanted in the repository, with their files, and no staged deletion.
func (a *actor) gitWriter(round int) (end func() map[string][]string) {
	a.sh(`git init -q -b main . && git config user.email a@example.com && git config user.name A && git add -A &&
git commit -qm first && git checkout -q -b alt && echo alt > f0 && echo alt > f4 &&
git commit -qam alt && git checkout -q main`)
	finish := a.script(gitWriter, round)
	return func() map[string][]string {
		log := ""
		for name, versions := range finish() {
			log += a.sh("git cat-file -p $(git log --all --format=%H --grep=" + versions[0] + "):" + name)
			if !strings.Contains(log, versions[0]) {
				a.t.Errorf("the commit of %s is lost: %s", name, log)
			}
		}
		out := a.sh("git fsck --full --no-dangling --no-progress 2>&1; git diff --cached --name-only --diff-filter=D")
		if out != "" {
			a.t.Errorf("git: %s", out)
		}
		return nil
	}
}

// heldWriter holds a change set in its session, and lands it beside the run. What does not land stays held.
func (p *coder) heldWriter(a *actor, round int) (end func() map[string][]string) {
	version := fmt.Sprintf("session-%d.", round)
	names := [][]string{{"f0", "f1", "mine"}, {"f4", "f5", "mine"}}[round/3%2]
	r := p.do(nil, filepath.Join(bin, "sbx"), "run", "--hold", "--session", p.session, "--json", "-c",
		"echo "+version+" | tee -a "+strings.Join(names, " "))
	id := heldID(r.out)
	if id == "" {
		a.t.Fatal(r)
	}
	delay := time.Duration(rand.New(rand.NewPCG(5, uint64(round))).IntN(300)) * time.Millisecond
	done := make(chan result, 1)
	go func() {
		time.Sleep(delay)
		done <- p.sbx("changes", "land", id)
	}()
	return func() map[string][]string {
		if r := <-done; r.code == 0 {
			written := map[string][]string{}
			for _, name := range names {
				written[name] = []string{version}
			}
			return written
		}
		if shown := a.sbx("changes", "show", id); strings.Count(shown.out, version) < 3 {
			a.t.Errorf("not landed, and it shows %s", shown)
		}
		a.sbx("changes", "drop", id)
		return nil
	}
}

// script starts a program in Python outside, with its log, a seed and further arguments. end ends it by SIGTERM, and
// returns its log.
func (a *actor) script(text string, round int, args ...string) (end func() map[string][]string) {
	log := filepath.Join(a.dir, "written")
	a.sh("rm -f " + log)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	seed := time.Now().Format("150405.000000")
	cmd := a.command(ctx, "/usr/bin/python3", append([]string{"-c", text, log, seed}, args...)...)
	if err := cmd.Start(); err != nil {
		a.t.Fatal(err)
	}
	return func() (written map[string][]string) {
		defer cancel()
		eventually(a.t, "the writer begins", func() bool { return os.Remove(log+".begun") == nil })
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			a.t.Fatal(err)
		}
		_ = cmd.Wait() // it ends when it has written its log
		text, err := os.ReadFile(log)
		if err != nil || json.Unmarshal(text, &written) != nil {
			a.t.Fatalf("the writer's log: %v %s", err, text)
		}
		return written
	}
}

// noneLost wants the last versions of the second writer in the project, or those that the landing displaced in it
// after an undo; and those of a run that did not land in its held change set, which it drops.
func (a *actor) noneLost(written map[string][]string, r ran) string {
	a.t.Helper()
	missing := func() (list []string) {
		for name, versions := range written {
			content, _ := os.ReadFile(filepath.Join(a.project, name))
			for _, v := range versions {
				if !strings.Contains(string(content), v) {
					list = append(list, name+": "+v)
				}
			}
		}
		return list
	}
	lost := missing()
	if id := r.Changes.HeldID; id != "" {
		shown := a.sbx("changes", "show", id)
		if len(lost) > 0 || strings.Count(shown.out, "run\n") < 4 {
			a.t.Errorf("held, and lost %q; it shows %s", lost, shown)
		}
		a.sbx("changes", "drop", id)
		return "held"
	}
	if r.Changes.Undo == "" {
		a.t.Errorf("neither landed nor held")
	}
	if len(lost) == 0 {
		return "landed"
	}
	u := a.sbx("undo", "--last", "--rest") // without the files that it wrote after the landing
	if lost = missing(); len(lost) > 0 {
		a.t.Errorf("landed over %q; undo: %s", lost, u)
	}
	return "landed over, and undone"
}

// outsideWriter writes versions to files in several ways until SIGTERM, and then logs for each file those that are to
// be there.
const outsideWriter = `import json, os, random, signal, sys, time
log, seed, open_for = sys.argv[1], sys.argv[2], float(sys.argv[3])
rnd, kept, stop = random.Random(seed), {}, []
signal.signal(signal.SIGTERM, lambda *_: stop.append(1))
open(log + ".begun", "w").close()
time.sleep(rnd.random() * 0.15)
for k in range(rnd.randint(1, 6)):
    if stop:
        break
    name = rnd.choice(["f0", "f1", "f2", "f3", "f4", "f5", "new", "mine"])
    version, way = "w%s-%d;" % (seed, k), rnd.randint(0, 3)
    if way == 0:
        with open(name + ".tmp", "w") as f:
            f.write(version)
        os.rename(name + ".tmp", name)
        kept[name] = [version]
    elif way == 1:
        with open(name, "w") as f:
            f.write(version)
        kept[name] = [version]
    else:
        with open(name, "a") as f:
            time.sleep(rnd.random() * open_for)
            f.write(version)
        kept.setdefault(name, []).append(version)
    time.sleep(rnd.random() * 0.08)
while not stop:
    time.sleep(0.005)
with open(log, "w") as f:
    json.dump(kept, f)
`

// gitWriter commits files of its own and changes branches until SIGTERM, trying again where a lock is held, and then
// logs the files with their subjects.
const gitWriter = `import json, random, signal, subprocess, sys, time
log, seed = sys.argv[1:3]
rnd, kept, stop = random.Random(seed), {}, []
signal.signal(signal.SIGTERM, lambda *_: stop.append(1))
def git(*args):
    for _ in range(500):
        r = subprocess.run(["git", *args], capture_output=True, text=True)
        if r.returncode == 0 or ".lock" not in r.stderr:
            return r.returncode == 0
        time.sleep(0.01)
    raise SystemExit("locked: " + r.stderr)
open(log + ".begun", "w").close()
time.sleep(rnd.random() * 0.2)
for k in range(rnd.randint(1, 4)):
    if stop:
        break
    if rnd.random() < 0.3:
        git("checkout", "-q", rnd.choice(["main", "alt"]))
        continue
    name, version = "p%d" % k, "w%s-%d." % (seed, k)
    with open(name, "w") as f:
        f.write(version)
    if git("add", name) and git("commit", "-qm", version, "--", name):
        kept[name] = [version]
    time.sleep(rnd.random() * 0.05)
while not stop:
    time.sleep(0.005)
with open(log, "w") as f:
    json.dump(kept, f)
`

// R-LY-03, rules 3 and 15: a person commits while git commits in a layer: the branch has the person's commit, and that
// of the layer is held, also where git packed the references meanwhile. A branch beside it lands.
func TestLayersCommitBesideAPerson(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, a *actor) {
		a.layered()
		a.sh(`git init -q . && git checkout -q -B main && git config user.email a@example.com &&
git config user.name A && git config core.logAllRefUpdates false && echo base > f && git add -A &&
git commit -qm first && git pack-refs --all`)
		for _, work := range []string{
			"echo run >> f; GIT_EDITOR='sleep 1; echo run >' git commit -qa",
			"new=$(git commit-tree -p HEAD -m run 'HEAD^{tree}'); touch .git/COMMIT_EDITMSG; sleep 1; " +
				"git update-ref refs/heads/main $new",
			"touch .git/NO_EDITMSG; sleep 1; rm .git/NO_EDITMSG; git branch topic",
		} {
			a.sh("rm -f .git/COMMIT_EDITMSG")
			wait := a.begin("run", "--json", "-c", work)
			eventually(t, "git in the layer", func() bool {
				found, _ := filepath.Glob(filepath.Join(a.stateDir(), "layers/*/upper/.git/*_EDITMSG"))
				return len(found) > 0
			})
			a.sh("git commit -q --allow-empty -m person; git pack-refs --all")
			person, r := a.sh("git rev-parse main"), wait()
			if now := a.sh("git rev-parse main"); now != person {
				t.Errorf("%s: main is %s, not the person's %s", work, now, person)
			}
			if topic := strings.HasSuffix(work, "topic"); topic != (r.code == 0) || topic == (heldID(r.out) != "") {
				t.Errorf("%s: %v", work, r)
			}
			a.sh("git fsck --full --no-dangling --no-progress >&2")
			if id := heldID(r.out); id != "" {
				a.landing(always, "changes", "drop", id)
			}
		}
	})
}
