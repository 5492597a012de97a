package termtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Tmux is a terminal whose screen tmux draws, as a person would see it.
type Tmux struct {
	t    TB
	dir  string
	done bool
}

// OpenTmux runs a command line at a terminal of that size, with nothing in its
// environment but env, PATH and a UTF-8 locale. It ends with the test.
func OpenTmux(t TB, cols, rows int, env []string, command string) *Tmux {
	t.Helper()
	dir, err := os.MkdirTemp("", "tm") // short: a socket's path has 103 bytes at most
	if err != nil {
		t.Fatal(err)
	}
	m := &Tmux{t: t, dir: dir}
	t.Cleanup(func() { m.Close(); os.RemoveAll(dir) })
	script := filepath.Join(dir, "run")
	lines := "#!/bin/sh\n" + command + "\n" + `echo "$?" > ` + dir + "/tmp; mv " + dir + "/tmp " + dir +
		"/status\nwhile :; do sleep 1000; done\n"
	if err := os.WriteFile(script, []byte(lines), 0o700); err != nil {
		t.Fatal(err)
	}
	args := []string{"-f", "/dev/null", "new-session", "-d", "-x", strconv.Itoa(cols), "-y", strconv.Itoa(rows), "env",
		"-i",
		"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "LANG=C.UTF-8", "TERM=screen"}
	args = append(append(args, env...), script)
	m.tmux(append(args, ";", "set", "status", "off", ";", "set", "-g", "escape-time", "0")...)
	m.Resize(cols, rows)
	return m
}

func (m *Tmux) tmux(args ...string) string {
	m.t.Helper()
	cmd := exec.Command("tmux", append([]string{"-u", "-S", filepath.Join(m.dir, "s")}, args...)...)
	cmd.Env = append(os.Environ(), "LANG=C.UTF-8", "TERM=screen", "TMUX=")
	out, err := cmd.CombinedOutput()
	if err != nil && !m.done {
		m.t.Fatalf("tmux %q: %v\n%s", args, err, out)
	}
	return string(out)
}

// Resize changes the terminal's size.
func (m *Tmux) Resize(cols, rows int) {
	m.t.Helper()
	m.tmux("resize-window", "-x", strconv.Itoa(cols), "-y", strconv.Itoa(rows))
}

// Screen is the screen's text, without blanks at the ends of lines and
// empty lines at the end.
func (m *Tmux) Screen() string {
	m.t.Helper()
	return trim(m.tmux("capture-pane", "-p"))
}

// Colors is the screen with its escape sequences for colour.
func (m *Tmux) Colors() string {
	m.t.Helper()
	return m.tmux("capture-pane", "-p", "-e")
}

func trim(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n") + "\n"
}

// Press types keys by tmux's names: "y", "Enter", "C-c", "PageDown". A name
// in quotes, as in `"stop it"`, is typed letter by letter.
func (m *Tmux) Press(keys ...string) {
	m.t.Helper()
	for _, k := range keys {
		if text, err := strconv.Unquote(k); err == nil {
			m.tmux("send-keys", "-l", text)
			continue
		}
		m.tmux("send-keys", k)
	}
}

// Raw sends bytes, in hexadecimal, as if the terminal had.
func (m *Tmux) Raw(bytes ...string) {
	m.t.Helper()
	m.tmux(append([]string{"send-keys", "-H"}, bytes...)...)
}

// Paste pastes text, marked as such where the program has asked for that and
// marked is true.
func (m *Tmux) Paste(text string, marked bool) {
	m.t.Helper()
	m.tmux("set-buffer", "--", text)
	if marked {
		m.tmux("paste-buffer", "-p")
	} else {
		m.tmux("paste-buffer")
	}
}

// Wait waits until the screen matches, and returns it; at most half a minute.
func (m *Tmux) Wait(pattern string) string {
	m.t.Helper()
	s, ok := m.Shows(pattern, 30*time.Second)
	if !ok {
		m.t.Fatalf("the screen never matched %q; it is\n%s", pattern, s)
	}
	return s
}

// Shows waits at most that long until the screen matches, and returns it.
func (m *Tmux) Shows(pattern string, patience time.Duration) (screen string, ok bool) {
	m.t.Helper()
	re := regexp.MustCompile(`(?m)` + pattern)
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		s := m.Screen()
		if re.MatchString(s) {
			return s, true
		}
		if time.Now().After(end) {
			return s, false
		}
	}
}

// Steady waits until the screen matches and stays as it is for a moment.
func (m *Tmux) Steady(pattern string) string {
	m.t.Helper()
	last := m.Wait(pattern)
	for range 100 {
		time.Sleep(60 * time.Millisecond)
		now := m.Wait(pattern)
		if now == last {
			return now
		}
		last = now
	}
	m.t.Fatalf("the screen does not come to rest:\n%s", last)
	return ""
}

// Status waits for the command's end and returns its exit status.
func (m *Tmux) Status() int {
	m.t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		b, err := os.ReadFile(filepath.Join(m.dir, "status"))
		if err == nil {
			n, err := strconv.Atoi(strings.TrimSpace(string(b)))
			if err != nil {
				m.t.Fatal(fmt.Errorf("exit status: %w", err))
			}
			return n
		}
		if time.Now().After(end) {
			m.t.Fatalf("the command did not end; the screen is\n%s", m.Screen())
		}
	}
}

// Close ends the terminal and the programs at it.
func (m *Tmux) Close() {
	if !m.done {
		m.done = true
		m.tmux("kill-server")
	}
}
