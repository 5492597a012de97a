package acceptance

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// commits is a command that adds a commit.
const commits = "echo more >> src/one.txt && git add -A && git commit -qm second && git branch other"

// R-LY-04, layers.md rule 4: an undo waits for no lock of git and overrides none: where git holds the index or a
// reference that would change, it names the lock and changes nothing. Without one it leaves no lock of its own.
func TestUndoRefusesGitsLocks(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.containedLayers("")
		a.repository()
		before := a.everything()
		if r := a.landing(yes, "run", "--json", "-c", commits); r.Changes.Undo == "" {
			t.Fatal(r.result)
		}
		head := strings.TrimSpace(a.sh("git symbolic-ref HEAD"))
		for _, lock := range []string{
			".git/index.lock", ".git/" + head + ".lock", ".git/HEAD.lock", ".git/packed-refs.lock",
		} {
			dir := filepath.Dir(lock) // whose time stays, as if no lock had been there
			a.sh("t=$(stat -c %y " + dir + "); touch " + lock + "; touch -d \"$t\" " + dir)
			after := a.everything()
			for _, args := range [][]string{{"--last"}, {"--last", "--force"}, {"--last", "--dry-run"}} {
				if r := a.undone(args...); r.code == 0 || !strings.Contains(r.out+r.err, lock) {
					t.Errorf("undo %v beside %s: %v", args, lock, r)
				}
			}
			if now := a.everything(); now != after {
				t.Fatalf("a refused undo beside %s changed:\n%s", lock, diff(after, now))
			}
			a.sh("t=$(stat -c %y " + dir + "); rm " + lock + "; touch -d \"$t\" " + dir)
		}
		if r := a.undone("--last"); r.code != 0 {
			t.Error(r)
		}
		if now := a.everything(); withoutObjects(now) != withoutObjects(before) {
			t.Errorf("after the undo:\n%s", diff(before, now))
		}
		a.landing(yes, "run", "--json", "-c", commits)
		git := a.sh("touch .git/index.lock; find .git -type f -exec sha256sum {} + | sort")
		r := a.undone("--last", "--rest")
		if r.code != 0 || !strings.Contains(r.err, "index.lock") || a.sh("cat src/one.txt") != "one\nuncommitted\n" {
			t.Errorf("undo of the rest beside a lock: %v", r)
		}
		if now := a.sh("find .git -type f -exec sha256sum {} + | sort"); now != git {
			t.Errorf("undo of the rest beside a lock changed the git directory:\n%s", diff(git, now))
		}
	})
}

// R-LY-04, layers.md rule 4: git can't write while an undo changes its directory, also where the daemon and its worker
// are killed meanwhile; the next daemon removes the locks, and the undo can be finished.
func TestUndoHoldsGitsLocks(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, a *actor) {
		a.containedLayers("")
		a.repository()
		before := a.everything()
		line := commits + " && mkdir many && for i in $(seq 1000); do echo $i > many/$i; done"
		lock := filepath.Join(a.project, ".git/index.lock")
		done := make(chan result, 1)
		held := func() bool { return a.there(".git/index.lock") && a.there(".git/refs/heads/other.lock") }
		// The undo takes some ms: it may end before its worker is stopped.
		for tries := 0; ; tries++ {
			if tries == 40 {
				t.Fatal("no undo was stopped while it held the locks")
			}
			if r := a.landing(yes, "run", "--json", "-c", line); r.Changes.Undo == "" {
				t.Fatal(r.result)
			}
			go func() { done <- a.undone("--last") }()
			for !held() && len(done) == 0 {
				time.Sleep(time.Millisecond)
			}
			for _, w := range a.workers() {
				syscall.Kill(w.pid, syscall.SIGSTOP)
			}
			if held() {
				break
			}
			for _, w := range a.workers() {
				syscall.Kill(w.pid, syscall.SIGCONT)
			}
			if r := <-done; r.code != 0 {
				t.Fatal(r)
			}
		}
		got := a.sh("git add -A 2>&1 || true; git update-ref refs/heads/other HEAD~1 2>&1 || true")
		if strings.Count(got, ".lock") != 2 {
			t.Errorf("git during the undo: %q", got)
		}
		for _, w := range a.workers() {
			syscall.Kill(w.pid, syscall.SIGKILL)
		}
		a.daemon.Process.Kill()
		a.daemon.Wait()
		a.daemon = nil
		<-done
		if _, err := os.Lstat(lock); err != nil {
			t.Errorf("the killed worker: %v", err)
		}
		a.containedLayers("") // which finishes an undo that had begun; this one may have had its locks alone
		r := a.undone("--last")
		if left := a.sh("find .git -name '*.lock'"); left != "" {
			t.Errorf("locks are left: %s", left)
		}
		if now := a.everything(); withoutObjects(now) != withoutObjects(before) {
			t.Errorf("after the undo:\n%s\n%s", r, diff(before, now))
		}
	})
}

// R-LY-04, layers.md rule 4: an undo restores no reference whose objects git has removed meanwhile: it names the object
// and changes nothing, and --rest leaves the whole git directory as it is.
func TestUndoNeedsGitsObjects(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.containedLayers("")
		a.repository()
		a.sh("git config core.logAllRefUpdates false && rm -rf .git/logs && git commit -qm second")
		old := strings.TrimSpace(a.sh("git rev-parse HEAD"))
		line := "echo more >> src/one.txt && git commit -q --amend -m another"
		if r := a.landing(yes, "run", "--json", "-c", line); r.Changes.Undo == "" {
			t.Fatal(r.result)
		}
		a.sh("git branch kept && git reflog expire --expire=now --all && git prune --expire=now")
		after := a.everything()
		for _, args := range [][]string{{"--last"}, {"--last", "--force"}, {"--last", ".git"}} {
			if r := a.undone(args...); r.code == 0 || !strings.Contains(r.err, "no longer has its object "+old) {
				t.Errorf("undo %v to a removed commit: %v", args, r)
			}
			if now := a.everything(); now != after {
				t.Fatalf("a refused undo changed:\n%s", diff(after, now))
			}
		}
		git := a.sh("find .git ! -type d -exec sha256sum {} + | sort")
		if r := a.undone("--last", "--rest"); r.code != 0 || !strings.Contains(r.err, old) {
			t.Errorf("undo of the rest: %v", r)
		}
		if now := a.sh("find .git ! -type d -exec sha256sum {} + | sort"); now != git {
			t.Errorf("undo of the rest changed a part of the git directory:\n%s", diff(git, now))
		}
		if got := a.sh("cat src/one.txt; git fsck --no-dangling --no-progress 2>&1"); got != "one\nuncommitted\n" {
			t.Errorf("undo of the rest left %q", got)
		}
	})
}

// R-LY-04: objects that a command removed come back with the references to them.
func TestUndoBringsGitsObjectsBack(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.containedLayers("")
		a.repository()
		a.sh("git branch gone $(git commit-tree -p HEAD -m gone HEAD^{tree}); git branch packed " +
			"$(git commit-tree -p HEAD -m packed HEAD^{tree}); git repack -qad; git branch loose " +
			"$(git commit-tree -p HEAD -m loose HEAD^{tree})")
		refs := a.sh("git for-each-ref")
		for _, line := range []string{
			"git branch -qD gone packed loose && git reflog expire --expire=now --all && git gc -q --prune=now", "rm -rf .git",
		} {
			if r := a.landing(yes, "run", "--json", "-c", line); r.Changes.Undo == "" {
				t.Fatal(r.result)
			}
			if r := a.undone("--last"); r.code != 0 {
				t.Errorf("undo of %q: %v", line, r)
			}
			if now := a.sh("git for-each-ref; git fsck --no-dangling --no-progress >&2"); now != refs {
				t.Errorf("after undo of %q:\n%s", line, diff(refs, now))
			}
		}
	})
}

// R-LY-04, layers.md rule 4: a git directory is undone as one unit: a path in it means all of it, and one in the
// work tree leaves it alone.
func TestUndoOfAPathTakesTheWholeGitDirectory(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.containedLayers("")
		a.repository()
		inGit := func() string {
			return withoutObjects(a.sh("find ./.git -printf '%p %y %m %T@\\n' | sort; " +
				"find ./.git -type f -exec sha256sum {} + | sort"))
		}
		before := inGit()
		r := a.landing(yes, "run", "--json", "-c", commits)
		if r.Changes.Undo == "" {
			t.Fatal(r.result)
		}
		after := inGit()
		if r := a.undone(r.Changes.Undo, "src"); r.code != 0 {
			t.Error(r)
		}
		if got := a.sh("cat src/one.txt"); got != "one\nuncommitted\n" || inGit() != after {
			t.Errorf("undo of a work tree's path left %q, and in the git directory\n%s", got, diff(after, inGit()))
		}
		a.sh("echo mine > src/one.txt")
		if r := a.undone("--last", ".git/refs/heads/other"); r.code != 0 {
			t.Error(r)
		}
		if got := a.sh("cat src/one.txt"); got != "mine\n" || inGit() != before {
			t.Errorf("undo of a reference left %q, and in the git directory\n%s", got, diff(before, inGit()))
		}
	})
}
