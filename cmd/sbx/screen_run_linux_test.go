package main

import (
	"crypto/rand"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sandboxd/cmd/sbx/internal/term/termtest"
)

// project is a directory, a daemon of its own, and a terminal in it.
type project struct {
	desk
	dir string
}

// open runs a shell line in a project; P is replaced by its directory.
func openProject(t *testing.T, cols, rows int, line string) *project {
	t.Helper()
	bin := build(t)
	var b [3]byte
	rand.Read(b[:])
	dir := "/tmp/sbx" + hex.EncodeToString(b[:]) // as long every time: it is on the screen
	if err := os.MkdirAll(filepath.Join(dir, "project"), 0o755); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(dir, "config.toml")
	if err := os.WriteFile(config, []byte("[approval]\ntimeout = \"95s\"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	env := []string{"SBX_SOCKET_DIR=" + filepath.Join(dir, "run"), "SBX_STATE_DIR=" + filepath.Join(dir, "state"), "PATH=" + bin + ":" + os.Getenv("PATH")}
	t.Cleanup(func() {
		stop := exec.Command(filepath.Join(bin, "sbx"), "stop", "--now")
		stop.Env = append(os.Environ(), env...)
		stop.Run()
		os.RemoveAll(dir)
	})
	m := termtest.OpenTmux(t, cols, rows, env, "cd "+dir+"/project && alias sbx='sbx --config "+config+"'\n"+line)
	p := &project{desk: desk{Tmux: m, t: t}, dir: filepath.Join(dir, "project")}
	p.clean = func(s string) string {
		s = regexp.MustCompile(regexp.QuoteMeta(dir)).ReplaceAllString(s, "/tmp/sbx______")
		s = regexp.MustCompile(`(?m)^sbx: the sockets are in .*\n(place\n)?`).ReplaceAllString(s, "")
		s = regexp.MustCompile(`(?m)^sbx: .*…\n`).ReplaceAllString(s, "") // what takes over a second is told
		s = regexp.MustCompile(`(?m)^│ Held by:.*\n(│ {10}.*\n)*`).ReplaceAllString(s, "│ Held by: (differs from host to host)\n")
		s = regexp.MustCompile(`\d\d hidden places`).ReplaceAllString(s, "00 hidden places")
		return regexp.MustCompile(`\d+ s old(, |,\s+)\d+ s left`).ReplaceAllString(s, "0 s old${1}00 s left")
	}
	return p
}

func (p *project) exists(name string) bool {
	_, err := os.Lstat(filepath.Join(p.dir, name))
	return err == nil
}

// R-UX-01, R-UX-06: the box where sbx run asks, with the real daemon behind it,
// and what the program that asked gets to read.
func TestScreenRun(t *testing.T) {
	for _, c := range []struct {
		name, line string
		press      []string
		status     int
		made       bool
	}{
		{"run-yes", "sbx run -c 'echo hi > new.txt; cat new.txt'", []string{"y", "?> 1. Execute once", "Enter"}, 0, true},
		{"run-no", "sbx run -c 'echo hi > new.txt'", []string{"n", "?> 2. Deny:", "Enter"}, 126, false},
		{"run-nothing", "sbx run -c 'echo hi > new.txt'", []string{"Enter"}, 126, false},
		{"run-reason", "sbx run -c 'echo hi > new.txt'", []string{`"always ask me first"`, "?Deny: always ask me first", "Enter"}, 126, false},
		{"run-cancelled", "sbx run -c 'echo hi > new.txt'", []string{"C-c"}, 126, false},
		{"run-quit", "sbx run -c 'echo hi > new.txt'", []string{"q", "?> 3. Quit", "Enter"}, 126, false},
		{"run-danger", "sbx trust >/dev/null 2>&1; sbx run -c 'rm -rf build > new.txt'", []string{"1", "?> 1. Deny:", "Enter"}, 126, false},
		{"run-session", "sbx trust >/dev/null 2>&1; sbx run -c 'echo hi > new.txt' && rm new.txt && sbx run -c 'echo hi > new.txt'", []string{"s", "?> 2. Allow for this session", "Enter"}, 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := openProject(t, 90, 44, c.line)
			p.Wait("s old")
			settle()
			p.golden(c.name)
			for _, k := range c.press {
				p.step(k)
			}
			if got := p.Status(); got != c.status {
				t.Errorf("exit status %d, want %d", got, c.status)
			}
			p.golden(c.name + "-after")
			if p.exists("new.txt") != c.made {
				t.Errorf("new.txt is there: %v", !c.made)
			}
		})
	}
}

// Typed before the question, resized while it is open, answered elsewhere: the
// box of sbx run keeps to the same rules.
func TestScreenRunUnsettled(t *testing.T) {
	t.Parallel()
	p := openProject(t, 90, 44, "sleep 1; sbx run -c 'echo hi > new.txt'")
	p.Tmux.Press("y", "Enter", "1")
	p.Wait("s old")
	p.Tmux.Press("1", "y", "Enter")
	settle()
	if p.Wait("> 2. Deny:"); p.exists("new.txt") {
		t.Fatal("what was typed before has answered")
	}
	p.Resize(40, 44)
	p.Wait("(?s)^┌─ sandboxd asks ─{18}┐")
	settle()
	clean := p.clean
	p.clean = func(s string) string { // a terminal that grows narrower folds what was there before
		return clean(s[max(strings.LastIndex(s, "┌─ sandboxd asks"), 0):])
	}
	p.golden("run-resized")
	p.Press("1")
	if got := p.Status(); got != 0 || !p.exists("new.txt") {
		t.Errorf("exit status %d, new.txt is there: %v", got, p.exists("new.txt"))
	}
}
