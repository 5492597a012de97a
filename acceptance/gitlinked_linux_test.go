package acceptance

import (
	"path/filepath"
	"strings"
	"testing"
)

// In a linked work tree of a repository outside of the project git reads; it commits where the person grants that, and
// the .git file that leads there stays as it is. R-OS-03
func TestLinkedOutside(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		main := filepath.Join(a.home, "main-"+filepath.Base(a.project), ".git")
		a.sh(linkedOutside)
		t.Cleanup(func() { a.do(nil, "/bin/rm", "-rf", filepath.Dir(main)) })
		before := a.sh("cat .git")
		a.approveAll()
		for _, line := range []string{"git status", "git log --oneline", "git show"} {
			if r := a.sbx("run", "-c", line); r.code != 0 {
				t.Errorf("%s: %v", line, r)
			}
		}
		for _, line := range []string{"rm -f .git", "echo gitdir: /tmp > .git", "mv .git old", "ln -sf x .git",
			"echo x > " + main + "/x"} {
			if r := a.sbx("run", "-c", line); r.code == 0 || a.sh("cat .git") != before {
				t.Errorf("%s was not refused: %v", line, r)
			}
		}
		commit := []string{"run", "-c", "git -c user.name=A -c user.email=a@example.invalid commit -q --allow-empty -m run"}
		if r := a.sbx(commit...); r.code == 0 || !strings.Contains(r.err, "sbx allow --write "+main) {
			t.Errorf("a commit without a grant: %v", r)
		}
		a.sh("printf '[sandbox]\nwrite = [\"" + main + "\"]\n' > " + a.dir + "/grant.toml; chmod 600 " + a.dir +
			"/grant.toml")
		a.start("--mode", "approve-all", "--config", filepath.Join(a.dir, "grant.toml"))
		if r := a.sbx(commit...); r.code != 0 || !strings.Contains(a.sh("git log -1"), "run") {
			t.Errorf("a commit with a grant: %v", r)
		}
		if r := a.sbx("run", "-c", "git config core.fsmonitor 'touch pwn'"); r.code == 0 {
			t.Errorf("the configuration outside was changed: %v", r)
		}
	})
}

// A .git file below the project leads where it led after a run; one that is removed alone is back, too, and the result
// reports it. R-OS-03
func TestGitFilesStay(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, a *actor, start func()) {
		a.sh("git worktree add -q wt; mkdir -p c; cp -r .git/objects .git/refs .git/HEAD .git/config c")
		before := a.sh("cat wt/.git .git/worktrees/wt/commondir .git/worktrees/wt/gitdir")
		start()
		for _, line := range []string{"rm wt/.git", `echo "gitdir: $PWD/c" > wt/.git`, "rm wt/.git; cp -r c wt/.git",
			"rm wt/.git; ln -s ../c wt/.git",
			"mv wt/.git wt/old", `echo "$PWD/c" > .git/worktrees/wt/commondir`, "rm .git/worktrees/wt/commondir",
			"echo /x/.git > .git/worktrees/wt/gitdir"} {
			r := a.sbx("run", "-c", line)
			if after := a.sh("cat wt/.git .git/worktrees/wt/commondir .git/worktrees/wt/gitdir"); after != before {
				t.Errorf("%s left\n%s%v", line, after, r)
			}
			if !strings.Contains(r.err, "wt/.git") && !strings.Contains(r.err, "worktrees/wt/") {
				t.Errorf("%s was not reported: %v", line, r)
			}
		}
		if r := a.sbx("run", "-c", "git worktree remove --force wt && git worktree add -q w2"); r.code != 0 || r.err != "" {
			t.Errorf("ordinary work: %v", r)
		}
	})
}

// A file that has another name keeps its content, and the report says so. R-OS-03
func TestHardLinksOfProtectedFiles(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, a *actor, start func()) {
		a.sh(`mkdir .claude; echo '{}' > .claude/settings.json; ln .claude/settings.json alias; ln .git/config alias2
			printf '#!/bin/sh\n' > .git/hooks/pre-push; chmod +x .git/hooks/pre-push
			ln .git/hooks/pre-push alias3; ln alias2 alias4`)
		before := a.sh("cat .git/config .claude/settings.json .git/hooks/pre-push")
		start()
		for _, line := range []string{"echo x >> alias", "printf '[core]\n\tfsmonitor = x\n' >> alias2",
			"echo x >> alias3; chmod -x alias3"} {
			r := a.sbx("run", "-c", line)
			if after := a.sh("cat .git/config .claude/settings.json .git/hooks/pre-push; [ -x .git/hooks/pre-push " +
				"]"); after != before {
				t.Errorf("%s left\n%s%v", line, after, r)
			}
			if !strings.Contains(r.err, "hard link") {
				t.Errorf("%s was not reported: %v", line, r)
			}
		}
	})
}
