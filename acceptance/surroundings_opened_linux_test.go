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
