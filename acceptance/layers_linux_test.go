package acceptance

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"sandboxd/ipc"
)

// layered starts the daemon with the native back end, whose runs have layers, and has it ask nobody.
func (a *actor) layered() {
	a.t.Helper()
	file := filepath.Join(a.dir, "layered.toml")
	a.sh("umask 077; printf '[sandbox]\\nbackend = \"" + overlays + "\"\\nlayers = \"auto\"\\n' > " + file)
	a.start("--mode", "approve-all", "--config", file)
}

// direct is approveAll with commands that write to the project itself, and with the scan after each.
func (a *actor) direct() {
	a.t.Helper()
	file := filepath.Join(a.dir, "direct.toml")
	a.sh("umask 077; printf '[sandbox]\\nlayers = \"off\"\\n' > " + file)
	a.start("--mode", "approve-all", "--config", file)
}

// eachKind calls f with each user whose commands are direct, and with each whose commands have layers; start starts the
// daemon.
func eachKind(t *testing.T, f func(t *testing.T, a *actor, start func())) {
	t.Run("direct", func(t *testing.T) {
		eachUser(t, func(t *testing.T, a *actor) { f(t, a, a.direct) })
	})
	t.Run("layered", func(t *testing.T) {
		eachUser(t, func(t *testing.T, a *actor) { f(t, a, a.layered) })
	})
}

// ran is the result of a run.
type ran struct {
	result
	Exit        *int
	Changes     ipc.RunChanges
	Quarantined []ipc.Quarantined
	Stdout      string
	Warnings    []ipc.Warning
}

// run runs a line.
func (a *actor) run(line string) (out ran) {
	a.t.Helper()
	r := a.sbx("run", "--json", "-c", line)
	if err := json.Unmarshal([]byte(r.out), &out); err != nil {
		a.t.Fatalf("%s: %v in %s%s", line, err, r.out, r.err)
	}
	out.result = r
	return out
}

// R-LY-01, R-LY-04: with the native back end a command that writes has a layer, which lands when it has ended; the
// answer says so, and undo gives everything back.
func TestLayeredRuns(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.layered()
		a.repository()
		before := a.everything()
		for _, line := range []string{
			"rm -rf src", "find . -name '*.txt' -exec rm {} +", "git add -A && git commit -qm all && git branch other",
			"git checkout -q -f HEAD -- . && git clean -qfdx -e node_modules",
			"mv src lib && echo more >> lib/one.txt && chmod 700 lib/deep && ln lib/one.txt lib/again",
			"echo a > 'odd\nname' && printf b > $(printf '\\377') && mkfifo pipe && mkdir -p x/y/z && " +
				"truncate -s 50M x/sparse",
			"git stash -q", "touch src/one.txt src && chmod 500 src/deep && rmdir empty",
			"echo new > src/deep/new && chmod 400 src/one.txt && chmod 311 src/deep", "chmod 0 src",
			"chmod 0 src/one.txt && echo x > src/new && chmod 200 src/new && echo more >> src/two.txt && chmod 0 src/two.txt",
			"rm -rf node_modules && mkdir node_modules && echo y > node_modules/y",
		} {
			r := a.run(line)
			c := r.Changes
			if r.code != 0 || c.Kind != "layered" || c.Undo == "" || !c.Covered || c.Held != "" {
				t.Errorf("%q: %d %s%s", line, r.code, r.out, r.err)
				continue
			}
			if after := a.everything(); after == before {
				t.Errorf("%q changed nothing", line)
			}
			if r := a.sbx("undo", "--last"); r.code != 0 {
				t.Errorf("undo of %q: %d %s%s", line, r.code, r.out, r.err)
			}
			if now := a.everything(); withoutObjects(now) != withoutObjects(before) {
				t.Fatalf("after undo of %q:\n%s\n--- instead of\n%s", line, now, before)
			}
			a.sh("git fsck --no-dangling --no-progress >&2")
		}
		if c := a.run("sh -c 'exit 0'").Changes; c.Kind != "layered" || c.Undo != "" || !c.Covered {
			t.Errorf("a run that changed nothing: %+v", c)
		}
		a.noLayers()
	})
}

// noLayers reports layers that are left, besides those of sandboxes that wait.
func (a *actor) noLayers() {
	a.t.Helper()
	var left string
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		left = strings.TrimSpace(a.sh("ls " + a.stateDir() + "/layers | grep -v '^spare-' || true"))
		if left == "" { // one that nothing was written to is deleted after the answer
			return
		}
	}
	a.t.Errorf("layers are left: %s", left)
}

// R-LY-03, R-LY-05: a file that somebody else changed during the run is not overwritten; nothing of the change set
// lands, and both versions are kept: a person lands the rest, and drops it.
func TestLayerHoldsAConflict(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.layered()
		a.sh("echo old > both; echo old > other")
		done := make(chan ran, 1)
		go func() { done <- a.run("echo run > both; echo run > other; echo run > new; touch ready; sleep 2") }()
		eventually(t, "the command has written", func() bool { return a.wrote("ready") })
		if got := a.sh("cat both other; ls new 2>&1 | grep -c 'No such'"); got != "old\nold\n1\n" {
			t.Errorf("during the run the project has %q", got)
		}
		a.sh("echo mine > both")
		r := <-done
		if c := r.Changes; r.code != 126 || c.Kind != "layered" || !strings.Contains(c.Held, "both") || c.Digest == "" {
			t.Errorf("%d %+v", r.code, c)
		}
		if got := a.sh("cat both other; ls new 2>&1 | grep -c 'No such'"); got != "mine\nold\n1\n" {
			t.Errorf("after the run the project has %q", got)
		}
		id := r.Changes.HeldID
		if r := a.sbx("changes"); !strings.Contains(r.out, id) || !strings.Contains(r.out, "both") {
			t.Errorf("%s is not listed: %s%s", id, r.out, r.err)
		}
		if r := a.sbx("changes", "land", id); r.code == 0 || !strings.Contains(r.err, "both") {
			t.Errorf("the whole lands: %d %s%s", r.code, r.out, r.err)
		}
		if r := a.sbx("changes", "land", id, "other", "new"); r.code != 0 {
			t.Errorf("a part: %d %s%s", r.code, r.out, r.err)
		}
		if got := a.sh("cat both other new"); got != "mine\nrun\nrun\n" {
			t.Errorf("after a part landed the project has %q", got)
		}
		if r := a.sbx("undo", "--last"); r.code != 0 {
			t.Errorf("undo of the part: %d %s%s", r.code, r.out, r.err)
		}
		if got := a.sh("cat both other; ls new 2>&1 | grep -c 'No such'"); got != "mine\nold\n1\n" {
			t.Errorf("after that the project has %q", got)
		}
		if r := a.sbx("changes", "drop", id); r.code != 0 {
			t.Errorf("drop: %d %s%s", r.code, r.out, r.err)
		}
		a.noLayers()
	})
}

// R-LY-02: a daemon that is killed while a command runs leaves the project as it was, and the next one holds what the
// command wrote.
func TestLayerOfACutOffRun(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.layered()
		a.repository()
		before := a.everything()
		done := make(chan result, 1)
		go func() { done <- a.sbx("run", "-c", "rm -rf src; echo x > new; mv new made; sleep 60") }()
		eventually(t, "the command has written", func() bool { return a.wrote("made") })
		a.die()
		<-done
		a.layered()
		var list string
		eventually(t, "the change set is held", func() bool {
			list = a.sbx("changes").out
			return strings.Contains(list, "h-")
		})
		if now := a.everything(); now != before {
			t.Errorf("the project is\n%s\n--- instead of\n%s", now, before)
		}
		id := list[strings.Index(list, "h-"):]
		id, _, _ = strings.Cut(id, " ")
		if r := a.sbx("changes", "land", id); r.code != 0 || a.sh("cat made; ls src 2>&1 | grep -c 'No such'") != "x\n1\n" {
			t.Errorf("the held change set lands: %d %s%s", r.code, r.out, r.err)
		}
		if r := a.sbx("undo", "--last"); r.code != 0 || a.everything() != before {
			t.Errorf("its undo: %d %s%s: %s", r.code, r.out, r.err, a.everything())
		}
		if r := a.run("echo y > again"); r.code != 0 || r.Changes.Undo == "" {
			t.Errorf("the next run: %d %s%s", r.code, r.out, r.err)
		}
	})
}

// R-LY-02, R-LY-04: what a command wrote that the end of its launch server or of the daemon cut off is held; what one
// wrote that a limit or a signal ended lands, and the result names it with its undo.
func TestLayerOfAnEndedRun(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.layered()
		for _, c := range []struct {
			name string
			args []string
			end  func()
			held bool
		}{
			{"launch server", nil, func() { syscall.Kill(a.find("server"), syscall.SIGKILL) }, true},
			{"stop", nil, func() { a.sbx("stop", "--now"); a.stop() }, true},
			{"limit", []string{"--timeout", "3s"}, func() {}, false},
			{"signal", nil, func() {
				eventually(t, "a sleep to kill", func() bool {
					return slices.ContainsFunc(processes(), func(p process) bool {
						return p.cmdline == "sleep 97531 " && below(p.pid, a.daemon.Process.Pid) &&
							syscall.Kill(p.pid, syscall.SIGKILL) == nil
					})
				})
			}, false},
		} {
			a.sh("rm -f a b")
			const line = "echo a > a; exec sleep 97531; echo b > b"
			wait := a.begin(slices.Concat([]string{"run"}, c.args, []string{"-c", line})...)
			eventually(t, "the command has written", func() bool { return a.wrote("a") })
			c.end()
			r := wait()
			if a.daemon == nil {
				a.layered()
			}
			_, err := os.Stat(filepath.Join(a.project, "a"))
			list := a.sbx("changes").out
			if landed := err == nil; landed == c.held || strings.Contains(list, "h-") != c.held {
				t.Errorf("%s: landed: %v, held: %s\n%s", c.name, landed, list, r)
			}
			want := "(a): sbx undo r-"
			if c.held {
				want = "it is held: sbx changes show h-"
				for _, id := range strings.Fields(list) {
					if strings.HasPrefix(id, "h-") {
						a.sbx("changes", "drop", id)
					}
				}
			}
			if r.code == 0 || !strings.Contains(r.err, want) {
				t.Errorf("%s: the result does not say %q: %s", c.name, want, r)
			}
		}
	})
}

// A run that the end of the machine cut off may lack what its command had passed to fsync(2): what is held says so.
func TestLayerOfARunInAnotherBoot(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.layered()
		done := make(chan result, 1)
		go func() { done <- a.sbx("run", "-c", "echo x > made; sleep 60") }()
		eventually(t, "the command has written", func() bool { return a.wrote("made") })
		// Before the death, as a daemon that the client starts could be the one that recovers it.
		a.sh("cd " + a.stateDir() + "/layers/x-*; sed -i 's/^{\"sum\":\"[0-9a-f]*\",/{/; s/\"boot\":\"/&another-/' run.json")
		a.die()
		<-done
		a.layered()
		eventually(t, "the change set is held, and why", func() bool {
			return strings.Contains(a.sbx("changes").out, "what its command wrote last may be missing")
		})
	})
}

// R-LY-06, R-LY-01: protected names that a layered run makes do not land without a person's yes, and no mode is one;
// those that exist are held; what git writes to its configuration lands, and git renames a directory in a direct run.
func TestLayersKeepProtectedNames(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.layered()
		a.repository()
		before := a.everything()
		for _, line := range []string{
			"echo y > y; mkdir -p q/.vscode; echo x > q/.vscode/tasks.json",
			"echo y > y; git init -q sub; echo x > sub/.git/hooks/pre-commit",
		} {
			r := a.run(line)
			if c := r.Changes; r.code != 126 || c.HeldID == "" || len(r.Quarantined) > 0 {
				t.Errorf("%q: %d %+v %s", line, r.code, c, r.err)
			}
			if now := a.everything(); now != before {
				t.Fatalf("after %q the project is\n%s\n--- instead of\n%s", line, now, before)
			}
			a.sbx("changes", "drop", r.Changes.HeldID)
		}
		if r := a.run("git init -q sub; echo y > y"); r.code != 0 || !a.there("sub/.git/config") || !a.there("y") {
			t.Errorf("a new repository: %d %s%s", r.code, r.out, r.err)
		}
		if r := a.run("git remote add o https://example.com/o && git config user.email b@example.com"); r.code != 0 ||
			r.Changes.Kind != "layered" || r.Changes.Held != "" {
			t.Errorf("git's configuration: %d %s%s", r.code, r.out, r.err)
		}
		if got := a.sh("git remote; git config user.email"); got != "o\nb@example.com\n" {
			t.Errorf("git's configuration has %q", got)
		}
		if r := a.run("git mv src lib"); r.code != 0 || r.Changes.Kind != "direct" || r.Changes.Direct == "" {
			t.Errorf("git mv: %d %s%s", r.code, r.out, r.err)
		}
		a.noLayers()
	})
}
