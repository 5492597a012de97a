package acceptance

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sandboxd/ipc"
)

// everything describes the project, its git directory included: kinds, modes, owners, times to the
// nanosecond, targets and contents.
func (a *actor) everything() string {
	return a.sh(`find . ! -type l -printf '%p %y %m %U:%G %T@\n' | sort
find . -type l -printf '%p %y %l\n' | sort
find . -type f -exec sha256sum {} + | sort`)
}

// repository makes the project a git repository with uncommitted work.
func (a *actor) repository() {
	a.sh(`git init -q . && git config user.email a@example.com && git config user.name A
mkdir -p src/deep/er empty && echo one > src/one.txt && echo two > src/deep/two.txt
echo tool > src/deep/er/tool && chmod 750 src/deep/er/tool
printf '*.log\nnode_modules\n' > .gitignore && git add -A && git commit -qm first
echo uncommitted >> src/one.txt && echo staged > src/staged.txt
git add src/staged.txt && echo untracked > src/new.txt
echo ignored > src/debug.log && ln -s one.txt src/link && ln -s /nowhere src/dangling && chmod 640 src/new.txt
touch -d '2001-02-03 04:05:06.789' src/deep/two.txt src/deep
mkdir -p node_modules/x && echo x > node_modules/x/index.js`)
}

// changesOf runs a line and returns its change set.
func (a *actor) changesOf(line string) ipc.RunChanges {
	a.t.Helper()
	r := a.sbx("run", "--json", "-c", line)
	var out struct{ Changes *ipc.RunChanges }
	if err := json.Unmarshal([]byte(r.out), &out); err != nil {
		a.t.Fatalf("%s: %v in %s%s", line, err, r.out, r.err)
	}
	if out.Changes == nil {
		a.t.Fatalf("%s: no changes in %s", line, r.out)
	}
	return *out.Changes
}

// yes answers every question so.
func yes(ipc.Approval) bool { return true }

// undone takes back with a person's yes, which protected names need.
func (a *actor) undone(args ...string) result {
	a.t.Helper()
	return a.landing(yes, append([]string{"undo"}, args...)...).result
}

// withoutObjects leaves out git's objects, of which undo keeps the created ones.
func withoutObjects(everything string) string {
	var out []string
	for l := range strings.Lines(everything) {
		if !strings.Contains(l, "/.git/objects") {
			out = append(out, l)
		}
	}
	return strings.Join(out, "")
}

// R-LY-11, R-LY-04: a command that a person approved deletes and changes uncommitted work; undo gives
// everything back: contents, modes, times, links, and git's own state.
func TestUndoOfRuns(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.repository()
		a.direct()
		before := a.everything()
		for _, line := range []string{
			"rm -rf src", "find . -name '*.txt' -exec rm {} +", "git add -A && git commit -qm all && git branch other",
			"git checkout -q -f HEAD -- . && git clean -qfdx -e node_modules", "rm -rf .git",
			"mv src lib && echo more >> lib/one.txt && chmod 700 lib/deep && ln lib/one.txt lib/again",
			"echo a > 'odd\nname' && printf b > $(printf '\\377') && mkfifo pipe && mkdir -p x/y/z && " +
				"truncate -s 50M x/sparse",
			"git gc -q --prune=now; git stash -q", "touch src/one.txt src && chmod 500 src/deep && rmdir empty",
		} {
			c := a.changesOf(line)
			if c.Undo == "" || !c.Covered || c.Created+c.Modified+c.Deleted == 0 && c.Undo == "" {
				t.Errorf("%q: %+v", line, c)
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
		if c := a.changesOf("sh -c 'exit 0'"); c.Undo != "" || !c.Covered {
			t.Errorf("a run that changed nothing: %+v", c)
		}
	})
}

// R-LY-11: undo takes a repository that runs created along with its objects, also where later runs added some; created
// objects of one that was there stay, and so does a dependencies' tree with the folder that was created for it.
func TestUndoOfCreatedRepositories(t *testing.T) {
	t.Parallel()
	const commit = "git -c user.name=a -c user.email=a@b commit -qm"
	bothUsers(t, func(t *testing.T, a *actor) {
		a.repository()
		a.sh("git init -q --bare lib.git && git push -q lib.git HEAD")
		a.sh("git -C lib.git symbolic-ref HEAD $(git symbolic-ref HEAD)")
		a.startWith("[approval]\npolicy = \"contained\"\ntimeout = \"20s\"\ntimeout_remote = \"20s\"\n" +
			"[sandbox]\nlayers = \"off\"\n")
		if r := a.sbx("trust"); r.code != 0 {
			t.Fatal(r)
		}
		before := a.everything()
		for _, lines := range [][]string{
			{"git -c protocol.file.allow=always submodule --quiet add ./lib.git sub",
				"git commit -qm sub"},
			{"git clone -q lib.git again",
				"cd again && echo more > more && git add more && " + commit + " more"},
			{"mkdir -p x/y && cd x/y && git init -q . && git add . ",
				"cd x/y && echo z > z && git add z", "cd x/y && git gc -q"},
			{"git worktree add -q inner && git -C inner log -1"},
		} {
			for _, line := range lines {
				if r := a.landing(yes, "run", "--json", "-c", line); r.Changes.Undo == "" {
					t.Errorf("%q: %v", line, r.result)
				}
			}
			for range lines {
				if r := a.undone("--last"); r.code != 0 {
					t.Errorf("undo of %q: %v", lines, r)
				}
			}
			if now := a.everything(); withoutObjects(now) != withoutObjects(before) {
				t.Fatalf("after undo of %q:\n%s", lines, diff(before, now))
			}
			a.sh("git fsck --no-dangling --no-progress >&2")
		}
		a.changesOf("mkdir -p app/web/node_modules/x && echo x > app/web/node_modules/x/i.js && touch app/web/f app/f")
		if r := a.undone("--last"); r.code != 0 {
			t.Error(r)
		}
		if got := a.sh("find app -type f"); got != "app/web/node_modules/x/i.js\n" {
			t.Errorf("with a dependencies' tree there is left %q", got)
		}
		// A commit by hand since: nothing of the repository goes, and with --rest its objects stay.
		a.changesOf("git init -q mine && cd mine && echo a > a && git add a && " + commit + " a")
		a.sh("cd mine && echo b > b && git add b && " + commit + " b")
		if r := a.undone("--last"); r.code == 0 || a.sh("git -C mine rev-list --count HEAD") != "2\n" {
			t.Errorf("a repository with a later commit: %v", r)
		}
		a.undone("--last", "--rest")
		if a.sh("find mine/.git/objects -type f | wc -l") != "6\n" {
			t.Error("--rest removed objects of a later commit")
		}
	})
}

// R-LY-11: undo of all changes of a while leaves in the trash what a command made under a protected name, which was not
// there before; it comes back by its own id.
func TestUndoSinceLeavesTheTrash(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.repository()
		a.direct()
		before := a.everything()
		a.changesOf(`python3 -c "open('.envrc', 'w').write('x'); open('src/one.txt', 'w').write('x')"`)
		if r := a.sbx("undo", "--list"); !strings.Contains(r.out, "quarantine") {
			t.Fatalf("nothing was quarantined: %v", r)
		}
		if r := a.undone("--since", "5m"); r.code != 0 {
			t.Error(r)
		}
		if now := a.everything(); withoutObjects(now) != withoutObjects(before) {
			t.Errorf("after the undo:\n%s", diff(before, now))
		}
	})
}

// R-LY-11: undo refuses what changed since, names it, and offers the rest; a part can be undone by
// itself; nothing of what changed since is lost.
func TestUndoOfRunsRefusesLaterChanges(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.repository()
		a.direct()
		id := a.changesOf(
			"sh -c 'echo run > src/one.txt; echo run > src/deep/two.txt; rm src/new.txt; echo made > src/made'",
		).Undo
		a.sh("echo mine > src/one.txt; echo mine >> src/made")
		if r := a.sbx("undo", id); r.code == 0 || !strings.Contains(r.err, "src/one.txt") ||
			!strings.Contains(r.err, "--rest") {
			t.Errorf("undo over a later change: %d %s%s", r.code, r.out, r.err)
		}
		got := a.sh("cat src/one.txt src/deep/two.txt src/made; ls src/new.txt 2>&1 | wc -l")
		if got != "mine\nrun\nmade\nmine\n1\n" {
			t.Errorf("a refused undo left\n%s", got)
		}
		if r := a.sbx("undo", id, "src/deep"); r.code != 0 {
			t.Errorf("undo of a path: %d %s%s", r.code, r.out, r.err)
		}
		if got := a.sh("cat src/deep/two.txt; test -e src/new.txt || echo gone"); got != "two\ngone\n" {
			t.Errorf("undo of a path left %q", got)
		}
		if r := a.sbx("undo", id, "--rest"); r.code != 0 {
			t.Errorf("undo of the rest: %d %s%s", r.code, r.out, r.err)
		}
		if got := a.sh("cat src/new.txt src/one.txt src/made"); got != "untracked\nmine\nmade\nmine\n" {
			t.Errorf("undo of the rest left %q", got)
		}
	})
}

// R-LY-11: a daemon that is killed while a command runs leaves a change set that the next one finds
// and can undo.
func TestUndoOfARunThatWasCutOff(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.repository()
		a.direct()
		before := a.everything()
		done := make(chan result, 1)
		go func() { done <- a.sbx("run", "-c", "sh -c 'rm -rf src; echo x > made; sleep 60'") }()
		for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
			if _, err := os.Stat(filepath.Join(a.project, "made")); err == nil {
				break
			}
			if time.Now().After(deadline) {
				t.Fatal("the command did not begin")
			}
		}
		a.daemon.Process.Kill()
		a.daemon.Wait()
		a.daemon = nil
		<-done
		a.direct()
		if r := a.sbx("undo", "--last"); r.code != 0 {
			t.Fatalf("undo: %d %s%s\n%s", r.code, r.out, r.err, a.sbx("log", "--json").out)
		}
		if now := a.everything(); now != before {
			t.Errorf("after undo:\n%s\n--- instead of\n%s", now, before)
		}
	})
}

// R-LY-11: what a snapshot lacks is said, and such a run is not covered.
func TestRunsThatAreNotCovered(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		config := filepath.Join(a.dir, "config.toml")
		text := "[sandbox]\nlayers = \"off\"\n[files.undo]\nkeep_bytes = 4000000\n"
		if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		a.sh("mkdir d && echo a > d/a && ln d/a d/b")
		a.start("--mode", "approve-all", "--config", config)
		if c := a.changesOf("sh -c 'echo 1 > x'"); c.Covered || len(c.LeftOut) != 2 || c.Undo == "" {
			t.Errorf("hard links: %+v", c)
		}
		// The second snapshot takes over what did not change, and lacks no less.
		a.changesOf("sh -c 'echo 1 >> x'")
		if c := a.changesOf("sh -c 'echo 1 >> x'"); c.Covered || len(c.LeftOut) != 2 {
			t.Errorf("hard links, again: %+v", c)
		}
		a.sh("rm d/b; head -c 3000000 /dev/urandom > big")
		if c := a.changesOf("sh -c 'echo 2 > x'"); c.Covered || !strings.Contains(c.Why, "keep_bytes") {
			t.Errorf("a project beyond the budget: %+v", c)
		}
		a.sh("rm big")
		if c := a.changesOf("sh -c 'echo 3 > x'"); !c.Covered || c.Undo == "" {
			t.Errorf("a project within the budget: %+v", c)
		}
	})
}

// R-LY-11, rule 22: a snapshot reads a file again only where it may have changed: the worker has leases, by which it
// sees that nobody has a file open for writing.
func TestSnapshotsReadFilesOnce(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.direct()
		a.sh("truncate -s 400M big")
		shortest := func(before string) time.Duration {
			least := time.Minute
			for range 3 {
				a.sh(before + "; sleep 0.1")
				begin := time.Now()
				if r := a.sbx("run", "--direct", "-c", "echo > x"); r.code != 0 {
					t.Fatalf("%s", r)
				}
				least = min(least, time.Since(begin))
			}
			return least
		}
		if changed, same := shortest("touch big"), shortest("true"); same > changed/2 {
			t.Errorf("a command and its snapshots take %v after a change, and %v without", changed, same)
		}
	})
}

// R-LY-11: where nobody may list the project's directory, the result of a run and the answer of an undo name the cause
// and the remedy, which helps.
func TestUndoWhereTheProjectCannotBeListed(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, a *actor) {
		a.direct()
		remedy := func(why string) {
			t.Helper()
			if !strings.Contains(why, "its mode is 0311") || !strings.Contains(why, "chmod u+rx "+a.project) {
				t.Errorf("got %q, want the mode and the remedy", why)
			}
		}
		a.changesOf("echo 1 > x")
		a.sh("chmod 311 .")
		if c := a.changesOf("echo 2 > x"); c.Covered {
			t.Errorf("a run in a directory that can't be listed: %+v", c)
		} else {
			remedy(c.Why)
		}
		remedy(a.undone("--last").err)
		a.sh("chmod u+rx,go= " + a.project + "; echo 1 > x")
		if r := a.undone("--last"); r.code != 0 || a.sh("ls") != "README\n" {
			t.Errorf("after the remedy: %v", r)
		}
		c := a.changesOf("echo 1 > x; chmod 311 .")
		remedy(c.Why)
		a.sh("chmod u+rx " + a.project)
	})
}
