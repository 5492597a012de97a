package acceptance

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// screen is a tmux session of the actor: a terminal that a test can read.
type screen struct {
	a *actor
}

func (a *actor) tmux(args ...string) string {
	a.t.Helper()
	r := a.do(nil, "tmux", append([]string{"-S", filepath.Join(a.dir, "tmux"), "-f", "/dev/null"}, args...)...)
	if r.code != 0 {
		a.t.Fatalf("tmux %q: %v", args, r)
	}
	return r.out
}

// newScreen runs sbx in a terminal of 80 columns and 24 rows.
func newScreen(a *actor, args ...string) *screen {
	a.t.Helper()
	line := []string{"exec", filepath.Join(bin, "sbx")}
	for _, arg := range args {
		line = append(line, "'"+arg+"'")
	}
	a.tmux("new-session", "-d", "-x", "80", "-y", "24", "/bin/sh", "-c", strings.Join(line, " ")+" 2>"+
		filepath.Join(a.dir, "stderr"))
	a.t.Cleanup(func() { a.do(nil, "tmux", "-S", filepath.Join(a.dir, "tmux"), "kill-server") })
	return &screen{a: a}
}

func (s *screen) keys(keys ...string) {
	s.a.t.Helper()
	s.a.tmux(append([]string{"send-keys"}, keys...)...)
}

// line types a line and Enter.
func (s *screen) line(text string) {
	s.a.t.Helper()
	s.a.tmux("send-keys", "-l", text)
	s.keys("Enter")
}

// sees waits until the screen shows what pattern says.
func (s *screen) sees(pattern string) string {
	s.a.t.Helper()
	re := regexp.MustCompile(`(?m)` + pattern)
	var shown string
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if shown = s.a.tmux("capture-pane", "-p"); re.MatchString(shown) {
			return shown
		}
	}
	errs, _ := os.ReadFile(filepath.Join(s.a.dir, "stderr"))
	s.a.t.Fatalf("the screen never showed %q:\n%s\n%s", pattern, shown, errs)
	return ""
}

// ends waits until nothing of tmux is left: what ran in it has ended.
func (s *screen) ends() {
	s.a.t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if r := s.a.do(nil, "tmux", "-S", filepath.Join(s.a.dir, "tmux"), "has-session"); r.code != 0 {
			return
		}
	}
	s.a.t.Fatalf("it does not end:\n%s", s.a.tmux("capture-pane", "-p"))
}

// R-IP-02, R-IP-10: a command with a terminal of its own, driven through tmux:
// vim opens, edits and saves a file; ctrl-C reaches the command and not its shell;
// a resize arrives; jobs are stopped, listed and brought back.
func TestTerminal(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, a *actor) {
		a.start("--mode", "approve-all")
		if got := a.sbx("trust", a.project); got.code != 0 {
			t.Fatal(got)
		}

		s := newScreen(a, "run", "--tty", "--", "vim", "-u", "NONE", "-n", "README")
		s.sees(`^hello`)
		s.keys("o")
		a.tmux("send-keys", "-l", "a second line")
		s.keys("Escape")
		s.sees(`^a second line`)
		s.line(":wq")
		s.ends()
		if got := a.sh("cat README"); got != "hello\na second line\n" {
			t.Errorf("vim saved %q", got)
		}

		s = newScreen(a, "run", "--tty", "--", "bash", "--norc", "--noprofile", "-i")
		s.sees(`[$#] ?$`)
		s.line("PS1='now> '")
		s.sees(`^now> ?$`)
		s.line("stty size")
		s.sees(`^24 80$`)
		a.tmux("resize-window", "-x", "100", "-y", "40")
		for i := 0; ; i++ { // the signal is on its way
			s.line("clear; stty size")
			if shown := s.sees(`^(40 100|24 80)$`); strings.Contains(shown, "40 100") {
				break
			} else if i > 200 {
				t.Fatalf("the resize does not arrive:\n%s", shown)
			}
		}

		s.line("clear; sleep 1001")
		eventually(a.t, "sleep 1001 runs", func() bool { return count("sleep 1001") == 1 })
		s.keys("C-c")
		eventually(a.t, "sleep 1001 is gone", func() bool { return count("sleep 1001") == 0 })
		s.line("echo status $?")
		s.sees(`^status 130$`)

		s.line("clear; sleep 1002")
		eventually(a.t, "sleep 1002 runs", func() bool { return count("sleep 1002") == 1 })
		s.keys("C-z")
		s.sees(`Stopped +sleep 1002`)
		s.line("clear; bg; jobs")
		s.sees(`Running +sleep 1002`)
		s.line("clear; fg")
		s.sees(`^sleep 1002$`)
		s.keys("C-c")
		eventually(a.t, "sleep 1002 is gone", func() bool { return count("sleep 1002") == 0 })
		s.line("clear; jobs; echo none left")
		if shown := s.sees(`^none left$`); strings.Contains(shown, "sleep 1002") {
			t.Errorf("jobs lists what has ended:\n%s", shown)
		}
		s.keys("C-d")
		s.ends()
		if left := count("bash --norc --noprofile -i"); left != 0 {
			t.Errorf("%d shells are left", left)
		}
	})
}
