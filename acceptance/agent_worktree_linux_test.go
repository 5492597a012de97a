package acceptance

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"sandboxd/ipc"
)

// inWorktree is what an agent does in its work tree: a commit, a file that is not committed, and attempts at all else
// of the project.
const inWorktree = `echo by $1 > work-$1 && git add . && git commit -qm "by $1" && echo loose > loose || exit 1
cat ../../README
for f in ../../README ../../new ../other/README .git ../../.git/HEAD ../../.git/index ../../.git/config; do
  { echo changed >> $f; } 2>/dev/null && echo "WROTE $f"
done
mv .git moved 2>/dev/null && echo "MOVED .git"
{ ln -s /nonexistent/target ../../.git/hooks/post-merge; } 2>/dev/null && echo "LINKED a hook"
exit 0`

// Agents at once each have a work tree and a branch, write nothing else of the project, and leave what they made: the
// person is shown how to take it or to drop it. R-IP-08
func TestAgentWorktree(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		st := newStage(a, answeredTimes)
		asked := answerAll(t, st, ipc.Answer{Allow: true})
		run := func(name string) result {
			return a.sbx("run", "--agent", "--worktree", name, "--", "sh", "-c", inWorktree, "agent", name)
		}
		if r := run("other"); r.code != 0 || asked.Load() != 2 {
			t.Fatalf("after %d questions, want the work tree's and the agent's: %v", asked.Load(), r)
		}
		results := make([]result, 3)
		var all sync.WaitGroup
		names := []string{"one", "two", "three.x"}
		for i, name := range names {
			all.Go(func() { results[i] = run(name) })
		}
		all.Wait()
		for i, name := range names {
			r := results[i]
			if r.code != 0 || r.out != "hello\n" || !strings.Contains(r.err, "git merge "+name) {
				t.Errorf("%s: %v", name, r)
			}
			if log := a.sh("git log --format=%s " + name); log != "by "+name+"\nfirst\n" {
				t.Errorf("the branch %s has %q", name, log)
			}
			if got := a.sh("cat .worktrees/" + name + "/loose"); got != "loose\n" {
				t.Errorf("what %s did not commit: %q", name, got)
			}
		}
		if got := a.sh("cat README; git status --porcelain; git log --format=%s; git fsck 2>&1"); got != "hello\nfirst\n" {
			t.Errorf("the project has %q", got)
		}
		// The same name again continues.
		before := asked.Load()
		r := a.sbx("run", "--agent", "--worktree", "one", "--", "sh", "-c", "cat loose; git commit --allow-empty -qm more")
		if r.code != 0 || r.out != "loose\n" || asked.Load() != before+1 {
			t.Errorf("again, after %d questions: %v", asked.Load()-before, r)
		}
		// What the person is shown takes it, and drops it.
		shown := regexp.MustCompile(`take it: (.*); drop it: (.*)`).FindStringSubmatch(r.err)
		if shown == nil {
			t.Fatal(r)
		}
		a.sh(shown[1])
		if got := a.sh("cat work-one; git log -1 --format=%s"); got != "by one\nmore\n" {
			t.Errorf("taken: %q", got)
		}
		a.sh(shown[2])
		if _, err := os.Lstat(filepath.Join(a.project, ".worktrees/one")); err == nil || a.sh("git branch --list one") != "" {
			t.Error("it is not dropped")
		}
		// Not below the top of a git project, not over another entry, not by a name that is no branch.
		a.sh("mkdir sub && ln -s sub .worktrees/link")
		for _, c := range []struct{ line, want string }{
			{"cd sub && " + bin + "/sbx run --agent --worktree x -- true", "is not the top of a git project"},
			{bin + "/sbx run --agent --worktree link -- true", "is no directory"},
			{bin + "/sbx run --agent --worktree ../x -- true", "want letters"},
			{bin + "/sbx run --worktree x -- true", "needs --agent"},
		} {
			if r := a.do(nil, "/bin/sh", "-c", c.line); r.code != 125 || !strings.Contains(r.err, c.want) {
				t.Errorf("%s: %v, want %q", c.line, r, c.want)
			}
		}
	})
}
