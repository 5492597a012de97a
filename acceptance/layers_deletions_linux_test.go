package acceptance

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"sandboxd/ipc"
)

// declined runs a line, declines the question of its landing, and returns the reasons of that question, "" where there
// is none. It drops what is held.
func (a *actor) declined(line string) (reasons string) {
	a.t.Helper()
	yes := func(ipc.Approval) bool { return true }
	r := a.landing(func(q ipc.Approval) bool {
		if !strings.HasPrefix(q.Description, "Land ") {
			return true // it is about the command
		}
		reasons = strings.Join(q.Reasons, "\n")
		return false
	}, "run", "--json", "-c", line)
	if (reasons == "") != (r.code == 0) || (r.Changes.HeldID == "") != (reasons == "") {
		a.t.Errorf("%s: asked about %q: %d %s%s", line, reasons, r.code, r.out, r.err)
	}
	if r.Changes.HeldID != "" {
		a.landing(yes, "changes", "drop", r.Changes.HeldID)
	}
	return reasons
}

// repositories adds to the project a nested repository, a bare one, a submodule, linked work trees, and what git can
// tidy up.
func (a *actor) repositories() {
	a.t.Helper()
	a.repository()
	a.sh("mkdir -p vendor && git clone -q . vendor/repo && git clone -q --bare . bare.git && " +
		"git -c protocol.file.allow=always submodule --quiet add ./vendor/repo sub && " +
		"mkdir -p node_modules/dep && git -C node_modules/dep init -q && " +
		"git worktree add -q wt && git worktree add -q --detach other && " +
		"git branch topic && git branch gone && git commit -qm more && echo 1 >> src/one.txt && git stash -q")
}

// R-LY-02: the removal of a git directory, or of its HEAD, objects or refs, asks at the landing, however it is removed;
// what git itself tidies up does not, nor does the removal of a dependency's or of a repository that the command made.
func TestLayersAskAboutGitDirectories(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.containedLayers("")
		a.repositories()
		before := a.everything()
		py := func(text string) string { return `python3 -c "import os, shutil; ` + text + `"` }
		rmtree := func(name string) string { return py("shutil.rmtree('" + name + "')") }
		for _, c := range []struct{ line, reason string }{
			{rmtree(".git"), "/.git: it removes this git directory"},
			{py("os.rename('.git/HEAD', 'x')"), "/.git: it removes HEAD"},
			{py("os.remove('.git/HEAD'); os.symlink('/etc/hostname', '.git/HEAD')"), "/.git: it removes HEAD"},
			{rmtree(".git/objects"), "/.git: it removes objects"},
			{rmtree(".git/refs") + "; touch .git/refs", "/.git: it removes refs"},
			{rmtree(".git/objects") + "; mkdir .git/objects", "/.git: it removes objects"},
			{py("shutil.move('.git', 'x')"), "/.git: it removes this git directory"},
			{rmtree(".git") + "; git init -q", "/.git: it removes this git directory"},
			{rmtree("vendor"), "/vendor/repo/.git: it removes this git directory"},
			{rmtree("bare.git"), "/bare.git: it removes this git directory"},
			{rmtree("bare.git/refs"), "/bare.git: it removes refs"},
			{rmtree(".git/modules"), "/.git/modules/sub: it removes this git directory"},
			{rmtree(".git/worktrees/wt"), "/.git/worktrees/wt: it removes this git directory"},
			{py("os.remove('.git/worktrees/other/HEAD')"), "/.git/worktrees/other: it removes HEAD"},
		} {
			if got := a.declined(c.line); !strings.Contains(got, c.reason) {
				t.Errorf("%s: asks about %q", c.line, got)
			}
			if a.everything() != before {
				t.Fatalf("%s: the project is another after a no", c.line)
			}
		}
		for _, line := range []string{
			"git worktree remove wt", "git branch -D gone", "git stash drop -q", "git pack-refs --all",
			"git gc -q --prune=now",
			"git checkout -q topic && echo t > t && git add t && git commit -qm t && git rebase -q @{-1}",
			rmtree("node_modules"), "git init -q made; " + rmtree("made"),
		} {
			if got := a.declined(line); got != "" {
				t.Errorf("%s: asks about %q", line, got)
			}
		}
		a.sh("git fsck --no-dangling --no-progress >&2")
		before = a.everything()
		r := a.landing(func(ipc.Approval) bool { return true }, "run", "--json", "-c", rmtree(".git"))
		if r.code != 0 || a.there(".git") {
			t.Errorf("after a yes: %d %s%s", r.code, r.out, r.err)
		}
		a.landsBack(before)
		a.noLayers()
	})
}

// R-LY-02: the deletion of a project's last file asks at the landing, below which directory it is.
func TestLayersAskAboutTheLastFile(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.containedLayers("")
		const project = "mkdir -p src/deep empty node_modules/x; touch node_modules/x/y; " +
			"echo 1 > src/deep/1; ln -sf 1 src/deep/link; echo 2 > 2"
		a.sh("rm -rf .git README; " + project)
		const all = "it deletes all files of the project"
		for _, c := range []struct{ line, reason string }{
			{"find . ! -type d -delete", all},
			{`python3 -c "import os; os.remove('2'); os.remove('src/deep/1'); os.remove('src/deep/link')"`, all},
			{"mv src lib; git init -q; git commit -q --allow-empty -m x; rm lib/deep/* 2", all},
			{`python3 -c "import os; os.remove('2'); os.remove('src/deep/1')"`, ""},
			{"mv src/deep/1 src/1; rm src/deep/link 2", ""},
		} {
			if got := a.declined(c.line); (got != "") != (c.reason != "") || !strings.Contains(got, c.reason) {
				t.Errorf("%s: asks about %q", c.line, got)
			}
			a.sh("rm -rf lib .git src/1; " + project)
		}
		a.noLayers()
	})
}

// R-LY-02, R-LY-07: [landing] deletes is the number of files that a command deletes unasked; a project's file lowers it
// only. What git deletes in a repository of the project, as gc does, does not count, nor what git ignored before.
func TestLayersLandingDeletes(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.containedLayers("[landing]\ndeletes = 3\n")
		a.repository()
		a.sh("git clone -q --bare . bare.git; git clone -q . nested; git -C nested config user.email a@example.org; " +
			"cd nested; for i in 1 2 3 4; do git -c user.name=A commit -q --allow-empty -m $i; done; " +
			"cd ../bare.git; for i in 1 2 3 4; do echo $i | git hash-object -w --stdin; done; cd ..; " +
			"mkdir many cache; for i in $(seq 9); do echo $i > many/$i; touch cache/$i $i.log; done; " +
			"printf 'cache/\n*.log\n' > .gitignore")
		remove := func(names string) string {
			return `python3 -c "import os; [os.remove('many/' + n) for n in '` + names + `']"`
		}
		for _, line := range []string{
			"git -C nested gc -q --prune=now", "git -C bare.git gc -q --prune=now", remove("123"),
			`python3 -c "import os, shutil; shutil.rmtree('cache'); [os.remove(n + '.log') for n in '1234']"`,
		} {
			if got := a.declined(line); got != "" {
				t.Errorf("%s: asks about %q", line, got)
			}
		}
		if got := a.declined(remove("4567")); got != "it deletes 4 files" {
			t.Errorf("more than the configured number: asks about %q", got)
		}
		const other = `python3 -c "import os; os.mkdir('other')
for n in '4567':
  s = os.stat('many/' + n)
  open('other/' + n, 'w').write('%s')
  os.utime('other/' + n, ns=(s.st_mtime_ns,) * 2)
  os.remove('many/' + n)"`
		if got := a.declined(fmt.Sprintf(other, `\\0\\0`)); got != "it deletes 4 files" {
			t.Errorf("other files of their size and time: asks about %q", got)
		}
		if got := a.declined(fmt.Sprintf(other, `' + n + '\\n`)); got != "" {
			t.Errorf("moved files: asks about %q", got)
		}
		a.sh("mv other/* many; rmdir other")
		if got := a.declined("echo many >> .gitignore; " + remove("4567")); got != "it deletes 4 files" {
			t.Errorf("what the command itself has git ignore: asks about %q", got)
		}
		for deletes, want := range map[string]string{"1": "it deletes 2 files", "100": ""} {
			a.sh("printf '[landing]\\ndeletes = " + deletes + "\\n' > .sandboxd.toml; touch many/4 many/5")
			if got := a.declined(remove("45")); got != want {
				t.Errorf("the project has deletes = %s: asks about %q", deletes, got)
			}
		}
		if got := a.declined(remove("6789")); got != "it deletes 4 files" {
			t.Errorf("the project has deletes = 100: asks about %q", got)
		}
	})
}

// R-LY-07: files from which programs run when a person builds land, and the result names them; with [files] ask_build
// their landing asks. Those of dependencies do neither.
func TestLayersNameBuildFiles(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.containedLayers("")
		a.repository()
		const line = "mkdir -p sub node_modules/dep; for f in Makefile sub/vite.config.ts sub/x.txt " +
			"node_modules/dep/package.json; do echo >> $f; done"
		build := []string{a.project + "/Makefile", a.project + "/sub/vite.config.ts"}
		r := a.landing(func(ipc.Approval) bool { return false }, "run", "--json", "-c", line)
		slices.Sort(r.Changes.Build)
		if r.code != 0 || !slices.Equal(r.Changes.Build, build) {
			t.Errorf("got %d %s%s, want that it names %q", r.code, r.out, r.err, build)
		}
		a.sh("printf '[files]\\nask_build = true\\n' > .sandboxd.toml")
		if got := a.declined(line); strings.Count(got, "ask_build") != 2 || !strings.Contains(got, build[1]) {
			t.Errorf("asks about %q, want %q", got, build)
		}
		if got := a.declined("echo >> sub/x.txt"); got != "" {
			t.Errorf("another file: asks about %q", got)
		}
	})
}
