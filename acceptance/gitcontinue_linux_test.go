package acceptance

import (
	"os"
	"strings"
	"testing"
)

// continueOutside is what a person does where git says that an operation has not ended.
const continueOutside = `
export GIT_EDITOR=true GIT_AUTHOR_NAME=P GIT_AUTHOR_EMAIL=p@example.invalid GIT_COMMITTER_NAME=P
export GIT_COMMITTER_EMAIL=p@example.invalid
for d in . sub wt n; do ( cd $d && for c in rebase cherry-pick am revert; do
	git status; git $c --continue; git $c --skip; git $c --abort; done ) </dev/null >/dev/null 2>&1; done; true`

// begun writes the files of a rebase that has begun in the git directory $1; its list follows on the standard input.
const begun = `begun() { mkdir -p $1; echo refs/heads/t > $1/head-name; git rev-parse HEAD > $1/onto; ` +
	`git rev-parse HEAD > $1/orig-head; touch $1/interactive; cat > $1/git-rebase-todo; }; `

// conflict makes branch t with a commit that conflicts with the one of branch u, which is checked out.
const conflict = `echo 1 > f; git add f; git commit -qm 1; git checkout -qb t; echo 2 > f; git commit -qam 2
git checkout -qb u HEAD~1; echo 3 > f; git commit -qam 3; `

const strategy = `mkdir git-merge-a; printf '#!/bin/sh\ntouch @C@\n' > git-merge-a/x; chmod +x git-merge-a/x; `

var continueAttempts = []gitAttempt{
	{name: "a list of a rebase", runs: []string{begun + "echo exec touch @C@ | begun .git/rebase-merge"}},
	{name: "a list that is renamed", runs: []string{begun + "echo x touch @C@ | begun r", "mv r .git/rebase-merge"}},
	{name: "a link to a list", runs: []string{begun + "echo x touch @C@ | begun r; ln -s ../r .git/rebase-merge"}},
	{name: "a list that is a link", runs: []string{begun + "echo x touch @C@ > t; echo | begun .git/rebase-merge; " +
		"ln -sf ../../t .git/rebase-merge/git-rebase-todo"}},
	{name: "a list of a linked work tree", setup: "git worktree add -q wt", runs: []string{
		begun + "echo exec touch @C@ | begun .git/worktrees/wt/rebase-merge"}},
	{name: "a list of a new repository", runs: []string{begun + "echo exec touch @C@ | begun r", "git init -q n; " +
		"git -C n -c user.name=a -c user.email=a@b commit -q --allow-empty -m i; mv r n/.git/rebase-merge; " +
		"for f in onto orig-head; do git -C n rev-parse HEAD > n/.git/rebase-merge/$f; done"}},
	{name: "a line in the list of a person's rebase", setup: conflict + "! git rebase -q t", runs: []string{
		"echo exec touch @C@ >> .git/rebase-merge/git-rebase-todo; echo 4 > f; git add f"}},
	{name: "a rebase that the run began", setup: conflict, runs: []string{
		"git rebase --exec 'touch @C@' t; echo 4 > f; git add f"}},
	{name: "the strategy of a rebase", setup: conflict, runs: []string{strategy + begun +
		"echo pick $(git rev-parse t) | begun .git/rebase-merge; echo a/x > .git/rebase-merge/strategy"}},
	{name: "the strategy of a cherry-pick", setup: conflict, runs: []string{strategy +
		"git cherry-pick t u~1 t; printf '[options]\n\tstrategy = a/x\n' > .git/sequencer/opts; echo 4 > f; git add f"}},
}

// Where a person continues an operation of git that runs left unfinished, git executes nothing that they planted.
// R-OS-03
func TestGitContinuesNothingThatRunsLeft(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, a *actor, start func()) {
		start()
		for _, g := range continueAttempts {
			canary, results := a.leave(t, g)
			a.do(nil, "/bin/bash", "-c", continueOutside)
			if _, err := os.Lstat(canary); err == nil {
				t.Errorf("%s: git executed a planted program\n%v", g.name, results)
			}
		}
	})
}

// A rebase of a person stays as it is while runs work beside it, and one that a run begins can be continued without the
// lines that it would execute, which the report names. R-OS-03
func TestGitContinues(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.direct()
		a.sh(conflict + "! git rebase -q --exec 'touch mine' t")
		before := a.sh("cat .git/rebase-merge/git-rebase-todo")
		if r := a.sbx("run", "-c", "echo 4 > f; git add f"); r.err != "" ||
			a.sh("cat .git/rebase-merge/git-rebase-todo") != before {
			t.Errorf("a run beside a rebase: %v", r)
		}
		a.sh("GIT_EDITOR=true git rebase --continue; [ -e mine ]")
		a.sh("git checkout -qB v u~1; echo 5 > f; git commit -qam 5")
		r := a.sbx("run", "-c", "git rebase --exec 'touch theirs' u; echo 6 > f; git add f")
		if !strings.Contains(r.err, "git rebase --continue would execute") {
			t.Errorf("a rebase of a run was not reported: %v", r)
		}
		a.sh("GIT_EDITOR=true git rebase --continue; [ ! -e theirs ]; [ ! -e .git/rebase-merge ]")
		if r := a.sbx("run", "-c", "git checkout -qB w u~1; echo 7 > f; git commit -qam 7; git rebase u; echo 8 > f; "+
			"git add f; GIT_EDITOR=true git rebase --continue"); r.code != 0 || strings.Contains(r.err, "sandbox") {
			t.Errorf("a rebase that a run ends: %v", r)
		}
	})
}

// With layers, a rebase that a command began with a program to execute is held, and its reason names the program; one
// without lands, and a person continues it. R-LY-03
func TestGitContinuesLayered(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.layered()
		a.sh(conflict)
		r := a.sbx("run", "-c", "git rebase --exec 'touch theirs' t; echo 6 > f; git add f")
		if r.code != 126 || !strings.Contains(r.err, "git rebase --continue would execute") {
			t.Errorf("got %v, want a held rebase", r)
		}
		a.sh("[ ! -e .git/rebase-merge ]; [ -z \"$(git status --porcelain)\" ]")
		if r := a.sbx("run", "-c", "git rebase t; echo 6 > f; git add f"); r.code != 0 {
			t.Errorf("got %v, want a rebase that lands", r)
		}
		a.sh("GIT_EDITOR=true git rebase --continue; [ ! -e theirs ]; [ ! -e .git/rebase-merge ]")
	})
}
