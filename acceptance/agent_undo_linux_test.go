package acceptance

import (
	"path/filepath"
	"testing"
)

// agentAtWork is the script of an agent: it edits files itself, and runs commands through sbx.
const agentAtWork = `set -e
sbx=node_modules/.bin/sbx
echo edited >> src/one.txt; rm src/new.txt; mv src/deep lib; rmdir empty; chmod 700 src
echo changed >> src/debug.log; ln -sf elsewhere src/link; mkdir -p made/by
echo me > made/by/agent; echo log > made/x.log
$sbx run -c 'sed -i s/two/zwei/ lib/two.txt && echo inner > inner.txt && cat lib/two.txt'
$sbx run -c 'git add -A && git commit -qm agent && git branch side && git tag v1'
echo more > inner.txt
$sbx run -c 'rm -r src; git stash -q; git checkout -q -b topic HEAD~1
echo topic > topic; git add topic; git commit -qm topic'
git branch -q -D side
git update-ref refs/notes/agent HEAD
echo loose > loose
rm README .gitignore
`

// R-LY-11: what a whole agent inside did, by itself and by commands of its own, is undone as one run: the work tree,
// untracked files and ignored ones that are no dependencies, and git's state are as they were.
func TestUndoOfAnAgent(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.layered()
		a.repository()
		a.sh("mkdir node_modules/.bin; cp " + filepath.Join(bin, "sbx") + " " + filepath.Join(bin, "sbx-verbs") +
			" node_modules/.bin; git branch kept")
		const refs = "export GIT_OPTIONAL_LOCKS=0; " +
			"git for-each-ref; git symbolic-ref HEAD; git stash list; git status --porcelain"
		before, beforeRefs := a.everything(), a.sh(refs)
		r := a.sbx("run", "--agent", "--", "sh", "-c", agentAtWork)
		if r.code != 0 || r.out != "zwei\n" {
			t.Fatalf("the agent: %s", r)
		}
		if now := a.sh("git log -1 --format=%s; git tag; git branch --list side; ls README lib 2>&1 | grep -c such; " +
			"cat topic loose"); now != "topic\nv1\n2\ntopic\nloose\n" {
			t.Errorf("the agent left %q", now)
		}
		if r := a.sbx("undo", "--last"); r.code != 0 {
			t.Errorf("undo: %s", r)
		}
		if now := a.everything(); withoutObjects(now) != withoutObjects(before) {
			t.Errorf("after undo: %s", lineDifferences(withoutObjects(now), withoutObjects(before)))
		}
		if now := a.sh(refs); now != beforeRefs {
			t.Errorf("git has %s\ninstead of %s", now, beforeRefs)
		}
		a.sh("git fsck --no-dangling --no-progress >&2")
	})
}
