package acceptance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sandboxd/ipc"
)

// askedToOpen runs a line that asks, has a person answer, and returns the question and the end.
func (a *actor) askedToOpen(line string, answer ...string) (ipc.Approval, result) {
	a.t.Helper()
	run := a.begin("run", "-c", line)
	q := a.pending(1)[0]
	if r := a.sbx(append([]string{"approve", q.ID}, answer...)...); r.code != 0 {
		a.t.Errorf("%s: %v: %v", line, answer, r)
		a.sbx("approve", q.ID, "--deny")
	}
	return q, run()
}

// R-LY-08, R-UX-10: the question about a git worktree outside the project, or a file that is written there, has that
// path as its only yes, and with it the command works. A yes without it, which could not work, is refused. Nothing is
// left of a place that a command did not use, even after a death. Places of secrets and settings, other people's
// directories and links are not offered.
func TestOnlyYesOpensThePath(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.startWith("[approval]\ntimeout = \"1m\"\n")
		a.sbx("trust")
		above := filepath.Dir(a.project)
		name := func(s string) string { return filepath.Base(a.project) + "-" + s }
		t.Cleanup(func() { a.sh("rm -rf " + a.project + "-*") })

		run := a.begin("run", "-c", "git worktree add -q ../"+name("x"))
		q := a.pending(1)[0]
		if !q.OnlyWidened || len(q.Widenings) != 1 || q.Widenings[0].Label != "write access to ~/"+name("x") {
			t.Errorf("the question offers %+v", q.Widenings)
		}
		if r := a.sbx("approve", q.ID, "--allow"); r.code == 0 || !strings.Contains(r.err, "takes one of the paths") {
			t.Errorf("a yes that opens nothing: %v", r)
		}
		if _, err := os.Lstat(filepath.Join(above, name("x"))); err == nil {
			t.Error("the place exists before the yes")
		}
		a.sbx("approve", q.ID, "--allow", "--widening", "1")
		if r := run(); r.code != 0 {
			t.Error(r)
		}
		a.sh("cd ../" + name("x") + "; git status --porcelain=v1 -b; test hello = $(cat README); " +
			"git worktree list | grep -q /" + name("x"))
		_, r := a.askedToOpen("git -C ../"+name("x")+" status", "--allow", "--widening", "1")
		if r.code != 0 || !strings.Contains(r.out, "nothing to commit") {
			t.Errorf("git in the new worktree: %v", r)
		}

		_, r = a.askedToOpen("git worktree add -q ../"+name("bad")+" nosuch", "--allow", "--widening", "1")
		if r.code == 0 || a.sh("ls -d ../"+name("bad")+" 2>/dev/null || true; ls "+a.stateDir()+"/created") != "" {
			t.Errorf("a command that fails leaves its place: %v", r)
		}
		run = a.begin("run", "-c", "sleep 100; git worktree add -q ../"+name("late"))
		a.sbx("approve", a.pending(1)[0].ID, "--allow", "--widening", "1")
		eventually(t, "the place is there", func() bool {
			_, err := os.Lstat(filepath.Join(above, name("late")))
			return err == nil
		})
		a.kill()
		run()
		a.startWith("[approval]\ntimeout = \"1m\"\n")
		eventually(t, "the place is removed", func() bool {
			_, err := os.Lstat(filepath.Join(above, name("late")))
			return err != nil
		})

		a.sh("ln -s . ../" + name("link") + "; mkdir -m 777 ../" + name("open") + "; mkdir -p ../" + name("full") + "/y")
		for _, place := range []string{"/tmp/" + name("x"), "~/.config/" + name("x"), "~/.ssh/" + name("x"),
			"../" + name("link") + "/x", "../" + name("open") + "/x", "../" + name("full"), "/proc/x",
			"../" + name("one") + " && git worktree add ../" + name("two")} {
			r := a.sbx("run", "-c", "git worktree add "+place)
			if r.code != 126 || !strings.Contains(r.err, "[sandbox] write") {
				t.Errorf("%s: %v", place, r)
			}
		}

		a.sh("echo old > ../" + name("notes"))
		q, r = a.askedToOpen("echo new >> ../"+name("notes"), "--allow", "--widening", "1")
		if got := a.sh("cat ../" + name("notes")); r.code != 0 || !q.OnlyWidened || got != "old\nnew\n" {
			t.Errorf("a file outside: %q, %v", got, r)
		}
		a.sbx("trust", "--remove")
		s := newScreen(a, "run", "-c", "git worktree add -q ../"+name("once"))
		if shown := s.sees("Once, with write access"); strings.Contains(shown, "Trust, ") {
			t.Errorf("a yes that trusts the project, and opens nothing:\n%s", shown)
		}
		s.chooses("n", `Deny:`)
		s.ends()
		a.sbx("trust")
		q, _ = a.askedToOpen("mv README ../"+name("notes"), "--deny")
		if len(q.Widenings) != 0 || q.OnlyWidened {
			t.Errorf("a file that is replaced: %+v", q.Widenings)
		}
	})
}

// R-OS-11, R-UX-06: a yes opens no hidden file that the words name; the result says so to whoever reads it: a program
// takes the file for one that does not exist.
func TestHiddenFilesAreNamed(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.startWith("[approval]\ntimeout = \"1m\"\n")
		a.sbx("trust")
		name := filepath.Base(a.project) + "-hidden"
		a.sh("echo s > ~/" + name)
		t.Cleanup(func() { a.sh("rm ~/" + name) })
		_, r := a.askedToOpen("cat ~/"+name+"; cat ~/"+name+"x", "--allow")
		if want := a.home + "/" + name; strings.Count(r.err, "refused read "+want) != 1 ||
			!strings.Contains(r.err, "sbx allow "+want+"\n") {
			t.Errorf("after a yes: %v", r)
		}
	})
}

// R-LY-08, R-OS-07: where git's directory is outside the project: beside a bare repository the yes to another work tree
// is enough for it; a commit in a linked work tree names one remedy, which is enough; git of a checkout of Android's
// repo, whose .git is a link, is read, and any other link is named.
func TestGitElsewhere(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		const by = "[approval]\ntimeout = \"1m\"\n"
		a.startWith(by)
		home, _ := filepath.Split(a.project)
		base := filepath.Base(a.project)
		t.Cleanup(func() { a.sh("rm -rf " + a.project + "-*; rm -rf " + home + ".repo/projects/" + base + "-r.git") })
		a.sh("git init -q --bare ../" + base + "-bare/.bare; git push -q ../" + base + "-bare/.bare HEAD:refs/heads/main; " +
			"cd ../" + base + "-bare; git -C .bare worktree add -q ../main main")
		at := a.project
		a.project += "-bare/main"
		a.sbx("trust")
		bare := at + "-bare/.bare"
		a.sh("cp " + bare + "/config ../config; printf '%s\n' 'for n in \"hooks/evil\", \"config\", \"info/x\":' " +
			"'  try: open(\"" + bare + "/\" + n, \"a\").write(\"[alias]\\n\")' '  except OSError: pass' > plant.py")
		q, r := a.askedToOpen("git worktree add -q ../feat -b feat && git status --short -uno; python3 plant.py", "--allow",
			"--widening", "1")
		a.sh("cmp " + bare + "/config ../config; rm plant.py; cd " + bare + "; test ! -e hooks/evil; test ! -e info/x")
		if r.code != 0 {
			t.Errorf("%+v: %v", q.Widenings, r)
		}
		if got := a.sh("cd ../feat && git status --short --branch"); got != "## feat\n" {
			t.Errorf("the new work tree: %q", got)
		}
		a.sbx("trust", "--contained")
		r = a.sbx("run", "-c", "echo 2 > f && git add f")
		if r.code == 0 || strings.Count(r.err, "sbx allow --write ") != 1 || !strings.Contains(r.err, "-bare/.bare\n") {
			t.Errorf("a commit in a linked work tree: %v", r)
		}
		a.startWith(by + "[sandbox]\nwrite = [\"" + at + "-bare/.bare\"]\n")
		run := a.begin("run", "-c", "git add f && git -c user.name=a -c user.email=a@b commit -qm two")
		a.sbx("approve", a.pending(1)[0].ID, "--allow")
		if r := run(); r.code != 0 {
			t.Errorf("with the remedy: %v", r)
		}
		a.startWith(by)

		a.project = at + "-r"
		for target, want := range map[string]string{".repo/projects/" + base + "-r.git": "", base + "-x": "is a link to"} {
			a.project = at
			a.sh("cd ..; rm -rf " + base + "-r; mkdir -p .repo/projects; cp -r " + base + " " + base + "-r; " +
				"mv " + base + "-r/.git " + target + "; ln -s ../" + target + " " + base + "-r/.git")
			a.project = at + "-r"
			a.sbx("trust")
			r := a.sbx("run", "-c", "git log --oneline | grep .")
			if want == "" && r.code != 0 || want != "" && !strings.Contains(r.err, want) {
				t.Errorf("%s: %v", target, r)
			}
		}
	})
}
