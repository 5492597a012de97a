package acceptance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Issue "The main job", 2: what reads runs unasked, with git's output and git's status.
// R-SH-03 R-IP-09 (the daemon starts by itself)
func TestGitStatusRunsUnasked(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.sh("echo more >> README; touch untracked")
		want := a.sh("git status")
		if got := a.sbx("run", "--", "git", "status"); got.code != 0 || got.out != want {
			t.Errorf("%v\nwant %q", got, want)
		}
		if got := a.sbx("run", "-c", "git log --oneline | head -3"); got.code != 0 ||
			got.out != a.sh("git log --oneline | head -3") {
			t.Error(got)
		}
		if got := a.sbx("run", "--", "git", "log", "no-such-branch"); got.code != 128 {
			t.Errorf("git's own status is lost: %v", got)
		}
	})
}

// Issue "The main job", 2: what writes asks; n leaves nothing and says why; y writes.
// R-AP-14 (no person: no), R-UX-06
func TestWritingAsks(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		file := filepath.Join(a.project, "new.txt")
		absent := func(after string) {
			t.Helper()
			if _, err := os.Lstat(file); err == nil {
				t.Errorf("after %s the file is there", after)
			}
		}
		screen, code := a.terminal(func(tty *os.File, seen func(string) bool) {
			if seen("Allow? [") {
				tty.WriteString("n\n")
			}
		}, "run", "-c", "echo hi > new.txt")
		if code != 126 || !strings.Contains(screen, "Denied") {
			t.Errorf("n: exit %d\n%s", code, screen)
		}
		absent("n")
		screen, code = a.terminal(func(tty *os.File, seen func(string) bool) {
			if seen("Allow? [") {
				tty.WriteString("not in this repository\n")
			}
		}, "run", "-c", "echo hi > new.txt")
		if code != 126 || !strings.Contains(screen, "Denied: not in this repository") {
			t.Errorf("reason: exit %d\n%s", code, screen)
		}
		absent("a typed reason")
		screen, code = a.terminal(func(tty *os.File, seen func(string) bool) {
			if seen("Allow? [") {
				tty.WriteString("y\n")
			}
		}, "run", "-c", "echo hi > new.txt")
		if b, err := os.ReadFile(file); code != 0 || err != nil || string(b) != "hi\n" {
			t.Errorf("y: exit %d, file %q, %v\n%s", code, b, err, screen)
		}
	})
}

// R-AP-14: without a terminal nobody can answer, and that is a no in time.
//
//   - Row 000-37 yes: without a terminal nobody is prompted, and without an answer it is a no
func TestWithoutATerminalItIsDenied(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, a *actor) {
		config := filepath.Join(a.dir, "config.toml")
		a.sh("printf '[approval]\\ntimeout = \"1s\"\\ntimeout_remote = \"1s\"\\n' > " + config)
		a.start("--config", config)
		start := time.Now()
		got := a.sbx("run", "-c", "echo hi > new.txt")
		if got.code != 126 || !strings.Contains(got.err, "no person answered") {
			t.Error(got)
		}
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("it took %v", took)
		}
		if _, err := os.Lstat(filepath.Join(a.project, "new.txt")); err == nil {
			t.Error("the file is there")
		}
	})
}

// DESIGN §9: exit statuses that scripts depend on.
func TestExitStatuses(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.approveAll()
		for _, c := range []struct {
			args []string
			code int
		}{
			{[]string{"run", "-c", "exit 7"}, 7},
			{[]string{"run", "-c", "kill -TERM $$"}, 143},
			{[]string{"run", "--", "no-such-command-anywhere"}, 127},
			{[]string{"run", "--", "/etc/passwd"}, 126},
			{[]string{"run", "--timeout", "1s", "-c", "sleep 60"}, 124},
			{[]string{"run", "--no-such-flag"}, 125},
		} {
			if got := a.sbx(c.args...); got.code != c.code {
				t.Errorf("sbx %q: want %d, %v", c.args, c.code, got)
			}
		}
	})
}
