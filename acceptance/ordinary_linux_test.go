package acceptance

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Ordinary work under pins and masks, with the outcome of each. "works": in a
// trusted project it needs nothing. "asks": the question names the protected
// paths that the command may change for this once, and then it works.
// "refused": the sandbox holds, by design.
var ordinaryWork = []struct {
	name    string
	setup   string // outside
	command string // inside
	check   string // outside; must succeed
	widens  string // a part of what the question must name; "": no widening
	refused bool
	lands   string // check of a layered command that is refused only where it is direct; "": a layer is held
}{
	{name: "commit", command: "echo x > f && git add f && git commit -qm second",
		check: "git log --oneline | grep -q second && git status --porcelain | wc -l | grep -qx 0"},
	{name: "branch with tracking", setup: "git branch -q base", command: "git branch --track feature base",
		check: "git config branch.feature.merge | grep -qx refs/heads/base", widens: ".git/config"},
	{name: "checkout of a tracking branch", setup: "git branch -q base2",
		command: "git checkout -q --track -b feature2 base2", check: "git rev-parse --abbrev-ref @{u} | grep -qx base2",
		widens: ".git/config"},
	{name: "remote add", command: "git remote add origin ./remote.git",
		check: "git remote get-url origin | grep -qx ./remote.git", widens: ".git/config"},
	{name: "push -u to a local bare repository",
		setup:   "git init -q --bare remote.git; echo remote.git >> .git/info/exclude; git remote add pushed ./remote.git",
		command: "git push -q -u pushed HEAD:refs/heads/main",
		check: "git -C remote.git log --oneline main | grep -q first && git config --get-regexp 'branch.*remote' | grep " +
			"-q pushed", widens: ".git/config"},
	{name: "remote add and push in one line", setup: "git init -q --bare r2.git",
		command: "git remote add r2 ./r2.git && git push -q -u r2 HEAD:refs/heads/main",
		check:   "git -C r2.git log --oneline main | grep -q first", widens: ".git/config"},
	{name: "user name", command: "git config user.name Somebody", check: "git config user.name | grep -qx Somebody",
		widens: ".git/config"},
	{name: "remote add in a script of several programs",
		command: "true; for i in 1; do git remote add scripted ./x.git; done || bash -c 'exit 1'; git remote get-url scripted",
		check:   "! git remote | grep -q scripted", refused: true, lands: "git remote get-url scripted | grep -qx ./x.git"},
	{name: "git init", command: "mkdir sub && git init -q sub && cd sub && git config user.name t && git config " +
		"user.email t@example.invalid && echo x > f && git add f && git commit -qm i",
		check: "git -C sub log --oneline | grep -q i && git -C sub config user.name | grep -qx t"},
	{name: "git clone", command: "git clone -q . copy",
		check: "git -C copy log --oneline | grep -q first && [ -z \"$(git -C copy status --porcelain)\" ] && git -C copy " +
			"remote | grep -qx origin"},
	{name: "bare clone", command: "git clone -q --bare . copy.git",
		check: "git -C copy.git log --oneline | grep -q first"},
	{name: "stash", setup: "git checkout -q -- .",
		command: "echo change >> README && git stash -q && ! grep -q change README && git stash pop -q && grep -q change " +
			"README", check: "git checkout -q -- README"},
	{name: "rebase", setup: "git checkout -q -b topic; echo t > topic; git add topic; git commit -qm topic; git " +
		"checkout -q -; echo m > main; git add main; git commit -qm main; git checkout -q topic; git branch -q onto @{-1}",
		command: "git rebase -q onto", check: "git log --oneline onto..topic | grep -q topic"},
	{name: "worktree add", command: "git worktree add -q wt -b wtbranch",
		check: "git -C wt log --oneline | grep -q first"},
	{name: "commit in a linked worktree", setup: "git worktree add -q wt2 -b wt2branch",
		command: "cd wt2 && echo x > w && git add w && git commit -qm linked",
		check:   "git -C wt2 log --oneline | grep -q linked"},
	{name: "remote add in a linked worktree", setup: "git worktree add -q wt3 -b wt3branch",
		command: "cd wt3 && git remote add linked ../x.git", check: "git remote get-url linked | grep -qx ../x.git",
		widens: ".git/config"},
	{name: "worktree with protected files of the branch",
		setup: "mkdir -p .github/workflows .vscode && echo ci > .github/workflows/ci.yml && echo s > .vscode/settings.json " +
			"&& git add -A .github .vscode && git commit -qm ci", command: "git worktree add -q wt4 -b wt4branch",
		check: "[ -z \"$(git -C wt4 status --porcelain)\" ] && [ -e wt4/.github/workflows/ci.yml ]"},
	{name: "moving a package folder", setup: "mkdir -p packages/a/src && echo x > packages/a/src/x.js",
		command: "mv packages/a packages/b", check: "[ -e packages/b/src/x.js ] && [ ! -e packages/a ]"},
	{name: "moving a package folder with protected names",
		setup: "mkdir -p packages/c/.vscode && echo s > packages/c/.vscode/settings.json && echo e > " +
			"packages/c/.env.example",
		command: "mv packages/c packages/d", check: "[ -e packages/d/.vscode/settings.json ] && [ -e " +
			"packages/d/.env.example ] && [ ! -e packages/c ]", widens: "packages/c/.vscode"},
	{name: "replacing a folder", setup: "mkdir -p build && echo old > build/out",
		command: "mkdir build.new && echo new > build.new/out && rm -rf build && mv build.new build",
		check:   "grep -qx new build/out"},
	{name: "an editor's save by rename", setup: "echo old > text.txt",
		command: "echo new > .text.txt.swp && mv .text.txt.swp text.txt", check: "grep -qx new text.txt"},
	{name: "an editor's save of a protected file", setup: "echo old > AGENTS.md",
		command: "echo new > .a.swp && mv .a.swp AGENTS.md", check: "grep -qx old AGENTS.md", refused: true},
	{name: "a hook", command: "echo x > .git/hooks/post-commit", check: "[ ! -e .git/hooks/post-commit ]", refused: true},
	{name: "a program in the configuration", command: "git config core.fsmonitor 'touch pwn'",
		check: "! grep -q fsmonitor .git/config", refused: true},
}

// R-OS-03: pins and masks leave ordinary work alone.
func TestOrdinaryWork(t *testing.T) {
	t.Parallel()
	eachKind(t, func(t *testing.T, a *actor, start func()) {
		start()
		layered := strings.Contains(t.Name(), "layered")
		for _, w := range ordinaryWork {
			held := layered && w.refused && w.lands == ""
			if layered && w.lands != "" {
				w.refused, w.check = false, w.lands
			}
			t.Run(w.name, func(t *testing.T) {
				parent := a.t
				a.t = t
				defer func() { a.t = parent }()
				if w.setup != "" {
					a.sh(w.setup)
				}
				r := a.sbx("run", "-c", w.command)
				if w.refused == (r.code == 0) {
					t.Errorf("%s\n%v", w.command, r)
				}
				if held && (r.code != 126 || !strings.Contains(r.err, "it is held: sbx changes show")) {
					t.Errorf("%s: got %v, want a held layer", w.command, r)
				}
				if strings.Contains(r.err, "moved to the trash") || strings.Contains(r.err, "look at ") && !held ||
					strings.Contains(r.err, "does not hold everything") {
					t.Errorf("it was noticed:\n%s", r.err)
				}
				if c := a.do(nil, "/bin/bash", "-euc", w.check); c.code != 0 {
					t.Errorf("check: %s: %v\nthe command: %v", w.check, c, r)
				}
				a.sh("git checkout -q -- . 2>/dev/null || true")
			})
		}
	})
}

// The question says which protected paths a yes opens; nothing else is opened.
func TestWideningIsAsked(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.start()
		if r := a.sbx("trust", a.project); r.code != 0 {
			t.Fatalf("%v", r)
		}
		for _, w := range ordinaryWork {
			if w.widens == "" {
				continue
			}
			t.Run(w.name, func(t *testing.T) {
				parent := a.t
				a.t = t
				defer func() { a.t = parent }()
				if w.setup != "" {
					a.sh(w.setup)
				}
				done := make(chan result, 1)
				go func() { done <- a.sbx("run", "-c", w.command) }()
				id, question := a.question()
				if !strings.Contains(question, "may change the protected "+filepath.Join(a.project, w.widens)) {
					t.Errorf("the question does not say what a yes opens: %s", question)
				}
				a.sbx("approve", id, "--allow")
				if r := <-done; r.code != 0 {
					t.Errorf("%v", r)
				}
			})
		}
	})
}

// question waits for the one open question.
func (a *actor) question() (id, text string) {
	for range 200 {
		r := a.sbx("pending", "--json")
		var list struct {
			Approvals []struct{ ID string }
		}
		if json.Unmarshal([]byte(r.out), &list) == nil && len(list.Approvals) == 1 {
			return list.Approvals[0].ID, r.out
		}
		time.Sleep(50 * time.Millisecond)
	}
	a.t.Error("nothing was asked")
	return "", ""
}

// The scan after a run enforces protected names that did not exist before it, so the
// daemon enforces them in full in a project without vendored trees.
func TestProtectedIsEnforcedInAnOrdinaryProject(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.approveAll()
		r := a.sbx("run", "--json", "-c", "echo x > file")
		var out struct {
			Enforcement struct {
				Protections []struct{ Name, Level, Why string }
			}
		}
		if err := json.Unmarshal([]byte(r.out), &out); err != nil {
			t.Fatalf("%v: %v", err, r)
		}
		for _, p := range out.Enforcement.Protections {
			if p.Name == "protected" && p.Level != "enforced" {
				t.Errorf("protected is %s: %s", p.Level, p.Why)
			}
		}
		if r := a.sbx("run", "-c", "echo y > file"); r.code != 0 || strings.Contains(r.err, "protected") {
			t.Errorf("%v", r)
		}
	})
}

// The daemon moves a command's new file under a protected name to the trash, and reports it.
func TestQuarantineIsReported(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.direct()
		r := a.sbx("run", "-c", "mkdir .claude && echo '{}' > .claude/settings.json && echo done")
		if r.code != 0 || !strings.Contains(r.out, "done") || !strings.Contains(r.err, ".claude") {
			t.Errorf("%v", r)
		}
		a.sh("[ ! -e .claude ]")
		if found, _ := filepath.Glob(filepath.Join(a.stateDir(), "trash", "*", "*-.claude",
			"settings.json")); len(found) != 1 {
			t.Errorf("in the trash: %v", found)
		}
		if log := a.sbx("log", "--json"); !strings.Contains(log.out, `"quarantine"`) {
			t.Errorf("not on record: %v", log)
		}
	})
}
