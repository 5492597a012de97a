package acceptance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// gitOutside is what a person does outside of every sandbox, in every directory of the project: git reads, lists,
// commits and updates submodules. Whatever fails does not matter here; what executes a planted program does.
const gitOutside = `
export GIT_TERMINAL_PROMPT=0 GIT_EDITOR=true GIT_PAGER=cat
find . -path '*/objects/??' -prune -o -type d -print0 | while IFS= read -r -d '' d; do (
	cd "$d" || exit
	git status
	git diff
	git log -1 -p
	git -c user.name=P -c user.email=p@example.invalid commit --allow-empty -qm person
	git submodule update --init
) </dev/null >/dev/null 2>&1; done; true`

// linkedOutside makes the project a linked work tree of a repository outside of it.
const linkedOutside = `m=$HOME/main-${PWD##*/}; rm -rf "$m"; git init -q "$m"; rm -rf .git
git -C "$m" -c user.email=a@b -c user.name=a commit -q --allow-empty -m i
git -C "$m" worktree add -q --force "$PWD/w" -b w
mv w/.git .; rm -rf w; echo "$PWD/.git" > "$m/.git/worktrees/w/gitdir"`

// gitAttempt is a sequence of runs that tries to leave something which git executes outside.
type gitAttempt struct {
	name  string
	setup string   // what the person has before
	runs  []string // each a run of its own; @C@ is what the planted program touches
}

// evil writes the configuration of a git directory that names a program.
const evil = `printf '[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = %s\n\tfsmonitor = ` +
	`"touch @C@;false"\n'`

// planted makes a folder with hooks.
const planted = "mkdir ev; printf '#!/bin/sh\\ntouch @C@\\n' > ev/post-commit; chmod +x ev/post-commit; "

var gitAttempts = []gitAttempt{
	{name: "a repository made of two runs, the configuration first", setup: "mkdir -p sub/deep", runs: []string{
		"mkdir evil; " + evil + ` "$PWD/sub" > evil/config`,
		`mkdir -p evil/objects evil/refs/heads; echo ref: refs/heads/x > evil/HEAD; echo "gitdir: $PWD/evil" > sub/.git`}},
	{name: "a bare repository in the root beside a broken HEAD", runs: []string{
		`printf '[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = %s\n\tfsmonitor = "touch ` +
			`@C@;false"\n' "$PWD" > config`,
		"mkdir -p objects refs/heads; echo ref: refs/heads/x > HEAD; echo garbage > .git/HEAD"}},
	{name: "a bare repository in a directory", setup: "mkdir -p b w", runs: []string{
		evil + ` "$PWD/w" > b/config; mkdir -p b/objects b/refs`, "echo ref: refs/heads/x > b/HEAD"}},
	{name: "a configuration that is renamed into a repository", setup: "mkdir -p b/objects b/refs w", runs: []string{
		evil + ` "$PWD/w" > c`, "mv c b/config", "echo ref: refs/heads/x > HEAD; mv HEAD b/HEAD"}},
	{name: "a linked work tree of a planted common directory", setup: "mkdir sub", runs: []string{
		"mkdir -p c/objects c/refs; printf '[core]\\n\\tfsmonitor = \"touch @C@;false\"\\n' > c/config",
		`mkdir w; echo ../c > w/commondir; echo "$PWD/sub/.git" > w/gitdir`,
		`echo ref: refs/heads/x > w/HEAD; echo "gitdir: ../w" > sub/.git`}},
	{name: "hooks that were there before the repository", setup: "mkdir sub", runs: []string{
		"mkdir -p e/hooks; printf '#!/bin/sh\\ntouch @C@\\n' > e/hooks/post-commit; cp e/hooks/post-commit " +
			"e/hooks/pre-commit; chmod +x e/hooks/*",
		`git init -q --bare x && mv x/objects x/refs x/HEAD e/ && printf '[core]\n\tbare = false\n\tworktree = %s\n' ` +
			`"$PWD/sub" > e/config && echo "gitdir: $PWD/e" > sub/.git`}},
	{name: "a directory whose mode forbids reading", setup: "mkdir sub", runs: []string{
		"mkdir -p d/e/objects d/e/refs; " + evil + ` "$PWD/sub" > d/e/config; chmod 0 d`,
		`chmod 700 d; echo ref: refs/heads/x > d/e/HEAD; chmod 111 d/e d; echo "gitdir: $PWD/d/e" > sub/.git`}},
	{name: "a HEAD that is made valid later", setup: "mkdir sub", runs: []string{
		"mkdir -p e/objects e/refs; echo garbage > e/HEAD; " + evil +
			` "$PWD/sub" > e/config; echo "gitdir: $PWD/e" > sub/.git`,
		"echo ref: refs/heads/x > e/HEAD"}},
	{name: "a link to a repository", setup: "mkdir sub", runs: []string{
		"mkdir -p e/refs; ln -s ../.git/objects e/objects; " + evil + ` "$PWD/sub" > e/config`,
		"ln -s refs/heads/x e/HEAD; ln -s ../e sub/.git"}},
	{name: "an included file of the project",
		setup: "echo '[core]' > team.gitconfig; git config include.path ../team.gitconfig", runs: []string{
			`printf '[core]\n\tfsmonitor = "touch @C@;false"\n' > team.gitconfig`}},
	{name: "hooks that the configuration finds in the project",
		setup: "mkdir scripts; git config core.hooksPath scripts", runs: []string{
			"printf '#!/bin/sh\\ntouch @C@\\n' > scripts/post-commit; chmod +x scripts/post-commit"}},
	{name: "a folder of hooks that becomes a link", setup: "mkdir tools; git config core.hooksPath tools", runs: []string{
		planted + "mv tools old; ln -s ev tools"}},
	{name: "a folder of hooks that goes and comes back",
		setup: "mkdir tools; git config core.hooksPath tools", runs: []string{
			"rmdir tools", planted + "mv ev tools"}},
	{name: "a program that goes and comes back changed",
		setup: "mkdir tools; printf '#!/bin/sh\n' > tools/s; chmod +x tools/s; git config core.fsmonitor ./tools/s",
		runs:  []string{"mv tools t2", "printf '#!/bin/sh\ntouch @C@\n' > t2/s; mv t2 tools"}},
	{name: "a program without a slash that goes and comes back changed",
		setup: "touch fs.sh; git config core.fsmonitor 'sh fs.sh'",
		runs:  []string{"rm fs.sh", "echo 'touch @C@' > fs.sh"}},
	{name: "a program of a filter behind a link",
		setup: "mkdir t1; printf '#!/bin/sh\ncat\n' > t1/s; chmod +x t1/s; ln -s t1 tools; git config filter.x.clean " +
			"./tools/s; echo '* filter=x' > .gitattributes; git add .; git commit -qm f",
		runs: []string{"rm tools", "mkdir tools; printf '#!/bin/sh\ntouch @C@\ncat\n' > tools/s; chmod +x tools/s; " +
			"echo more >> README"}},
	{name: "an included file behind a folder that becomes a link",
		setup: "mkdir conf; touch conf/inc; git config include.path ../conf/inc", runs: []string{
			`mkdir ev; printf '[core]\n\tfsmonitor = "touch @C@;false"\n' > ev/inc; mv conf old; ln -s ev conf`}},
	{name: "a hook that is a link into the project",
		setup: "printf '#!/bin/sh\\n' > hook; chmod +x hook; ln -s ../../hook .git/hooks/post-commit", runs: []string{
			"echo 'touch @C@' >> hook"}},
	{name: "a configuration that is a link into the project",
		setup: "mv .git/config team; ln -s ../team .git/config", runs: []string{
			`printf '[core]\n\tfsmonitor = "touch @C@;false"\n' >> team`}},
	{name: "a copy of the repository whose include is another file",
		setup: "git config include.path ../team; touch team", runs: []string{
			`mkdir sub; printf '[core]\n\tfsmonitor = "touch @C@;false"\n' > sub/team; cp -r .git sub/.git`}},
	{name: "a name with a line break", setup: "mkdir sub", runs: []string{
		"mkdir -p $'e\\nf'/refs $'e\\nf'/objects; " + evil + ` "$PWD/sub" > $'e\nf'/config`,
		"echo ref: refs/heads/x > $'e\\nf'/HEAD"}},
	{name: "a module of a submodule", setup: "mkdir sub", runs: []string{
		"mkdir -p .git/modules/a/b/c/objects .git/modules/a/b/c/refs; " + evil + ` "$PWD/sub" > .git/modules/a/b/c/config`,
		`echo ref: refs/heads/x > .git/modules/a/b/c/HEAD; echo "gitdir: ../.git/modules/a/b/c" > sub/.git`}},
	{name: "the .git file of a linked work tree, main inside", setup: "git worktree add -q wt", runs: []string{
		"mkdir -p e/objects e/refs; " + evil + ` "$PWD/wt" > e/config`,
		`echo ref: refs/heads/x > e/HEAD; rm wt/.git; echo "gitdir: $PWD/e" > wt/.git`}},
	{name: "the .git file of the project, main outside", setup: linkedOutside, runs: []string{
		"mkdir -p evil/objects evil/refs/heads; echo ref: refs/heads/x > evil/HEAD; " + evil +
			` "$PWD" > evil/config; rm -f .git; echo "gitdir: $PWD/evil" > .git`}},
	{name: "the common directory of a linked work tree", setup: "git worktree add -q wt", runs: []string{
		"mkdir -p e/objects e/refs; printf '[core]\\n\\tfsmonitor = \"touch @C@;false\"\\n' > e/config",
		`echo "$PWD/e" > .git/worktrees/wt/commondir`}},
	{name: "the .git file of a submodule",
		setup: "git init -q s && git -C s -c user.email=a@b -c user.name=a commit -q --allow-empty -m i && git -c " +
			"protocol.file.allow=always submodule --quiet add ./s sub && git commit -qm sub", runs: []string{
			"mkdir -p e/objects e/refs; " + evil + ` "$PWD/sub" > e/config; echo ref: refs/heads/x > e/HEAD`,
			`rm sub/.git; cp -r e sub/.git`}},
	{name: "a hook that is a link, the git directory closed meanwhile",
		setup: "printf '#!/bin/sh\\n' > hook; chmod +x hook; ln -s ../../hook .git/hooks/post-commit", runs: []string{
			"chmod 0 .git", "chmod 755 .git; echo 'touch @C@' >> hook"}},
	{name: "a hook that is a link into a directory closed meanwhile",
		setup: "mkdir d; printf '#!/bin/sh\\n' > d/hook; chmod +x d/hook; ln -s ../../d/hook .git/hooks/post-commit",
		runs:  []string{"chmod 0 d", "chmod 755 d; echo 'touch @C@' >> d/hook"}},
	{name: "an included file in a directory closed meanwhile",
		setup: "mkdir d; touch d/team; git config include.path ../d/team", runs: []string{
			"chmod 0 d", `chmod 755 d; printf '[core]\n\tfsmonitor = "touch @C@;false"\n' > d/team`}},
	{name: "the .git file of a linked work tree closed meanwhile", setup: "git worktree add -q wt", runs: []string{
		"mkdir -p e/objects e/refs; " + evil + ` "$PWD/wt" > e/config`, `echo ref: refs/heads/x > e/HEAD; rm wt/.git; ` +
			`cp -r e wt/.git; chmod 0 wt`, "chmod 755 wt"}},
	{name: "a hard link to the configuration", setup: "ln .git/config alias", runs: []string{
		`printf '[core]\n\tfsmonitor = "touch @C@;false"\n' >> alias`}},
	{name: "a hard link to a hook",
		setup: "printf '#!/bin/sh\\n' > .git/hooks/post-commit; chmod +x .git/hooks/post-commit; ln " +
			".git/hooks/post-commit alias", runs: []string{
			"echo 'touch @C@' >> alias"}},
}

// leave prepares the attempt and makes its runs; the canary is what a planted program touches.
func (a *actor) leave(t *testing.T, g gitAttempt) (canary string, results []result) {
	t.Helper()
	canary = filepath.Join(a.dir, "canary")
	os.Remove(canary)
	a.sh("chmod -R u+rwX . && rm -rf .git -- * && git init -q . && git config user.name Test && git config " +
		"user.email test@example.invalid && echo hello > README && git add . && git commit -qm first")
	a.sh(g.setup)
	for _, run := range g.runs {
		results = append(results, a.sbx("run", "-c", strings.ReplaceAll(run, "@C@", canary)))
	}
	return canary, results
}

// No sequence of runs leaves anything that git executes outside of the sandbox, in any directory of the project: what
// git would take for a repository is judged as a whole after each run, whatever the age of its parts. R-OS-03
func TestGitExecutesNothingThatRunsLeft(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, a *actor, start func()) {
		t.Parallel()
		start()
		for _, g := range gitAttempts {
			canary, results := a.leave(t, g)
			a.do(nil, "/bin/bash", "-c", gitOutside)
			if _, err := os.Lstat(canary); err == nil {
				t.Errorf("%s: git executed a planted program\n%v", g.name, results)
			}
		}
	})
}
