package main

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"sandboxd/cmd/sbx/internal/term/termtest"
)

// openShell is an interactive shell in a project, which runs what reaches it.
func openShell(t *testing.T, config string) *project {
	t.Helper()
	h := newHouse(t, config)
	h.write("../rc", "PS1='shell> '\nalias sbx='sbx --config "+h.dir+"/config.toml'\n")
	trust := "sbx --config " + h.dir + "/config.toml trust >../trusted 2>&1; "
	m := termtest.OpenTmux(t, 90, 44, h.env, "cd "+h.project()+" && "+trust+
		"exec bash --noprofile --rcfile "+h.dir+"/rc -i")
	p := &project{h, &approverSocket{Tmux: m, t: t, cols: 90, clean: h.clean}}
	p.Wait("^shell>$")
	return p
}

// asks runs a command that asks, and waits until keys count.
func (p *project) asks(command string) {
	p.t().Helper()
	p.Tmux.Press("C-l")
	p.Tmux.Press(strconv.Quote("sbx run -c '" + command + "'"))
	p.Tmux.Press("Enter")
	p.Wait("s old")
	settle()
}

func (p *project) t() *testing.T { return p.approverSocket.t }

// steadily types text, a key each 50 ms; whether it took longer between two keys is returned.
func (p *project) steadily(text string) (steady bool) {
	steady = true
	for last, rest := time.Now(), text; rest != ""; rest = rest[1:] {
		p.Tmux.Press(strconv.Quote(rest[:1]))
		if time.Since(last) > 200*time.Millisecond {
			steady = false
		}
		time.Sleep(50 * time.Millisecond)
		last = time.Now()
	}
	return steady
}

// empty wants the shell's prompt with nothing on it, and no file that a leaked line makes.
func (p *project) empty(when string) {
	p.t().Helper()
	p.Wait(`^shell>$`)
	time.Sleep(300 * time.Millisecond) // a key that reached the shell would be on the screen now
	if screen := p.Screen(); !strings.HasSuffix(strings.TrimRight(screen, "\n "), "shell>") || p.exists("owned") {
		p.t().Errorf("%s: keys reached the shell:\n%s", when, screen)
	}
}

// R-UX-09, U1: a reason that begins with a digit is a no with all of it, and nothing of what
// is typed at a question reaches the shell behind it.
func TestScreenShellBehind(t *testing.T) {
	t.Parallel()
	p := openShell(t, "[approval]\ntimeout = \"95s\"\n")

	p.asks("echo hi > new.txt")
	p.steadily("2 touch owned")
	p.Wait("Deny: 2 touch owned")
	p.Tmux.Press("Enter")
	p.Wait("2 touch owned")
	if p.empty("a reason with a digit"); p.exists("new.txt") {
		t.Error("a reason that begins with a digit approved")
	}

	p.asks("echo hi > new.txt") // pasted without a mark, in one piece
	p.Paste("2 touch owned; \n", false)
	p.Wait("Deny: 2 touch owned")
	p.Tmux.Press("Escape")
	settle()
	p.Tmux.Press("C-c")
	if p.empty("a paste"); p.exists("new.txt") {
		t.Error("a paste approved")
	}

	ends := map[string][]string{"after a letter": {"n", "Enter"}, "after a digit": {"3"}, "after Ctrl+C": {"C-c"}}
	for name, keys := range ends {
		for range 5 { // until the machine let the keys come without a pause
			p.asks("echo hi > new.txt")
			for i, k := range keys {
				if i > 0 {
					time.Sleep(700 * time.Millisecond)
				}
				p.Tmux.Press(k)
			}
			if name == "after a digit" {
				p.Wait("Denied")
			}
			time.Sleep(30 * time.Millisecond) // an Enter in one piece with other keys is a paste
			if p.steadily("xxxx touch owned xxx") && !strings.Contains(p.Screen(), "Enter denies") {
				p.empty(name)
				break
			}
			p.Tmux.Press("C-c")
			p.Wait(`^shell>`)
			p.Tmux.Press("C-c")
		}
	}
}

// R-UX-09, U4: the end of the time is not the end of what somebody is typing.
func TestScreenShellTimeout(t *testing.T) {
	t.Parallel()
	p := openShell(t, "[approval]\ntimeout = \"4s\"\n")
	p.asks("echo hi > new.txt")
	p.steadily(strings.Repeat("x", 80) + " touch owned") // the clock stops while keys come (R-UX-11)
	p.Wait("xxx touch owned")
	p.Tmux.Press("Enter")
	p.Wait(`\[Denied\] . x+`)
	p.empty("a reason that takes longer than the time")
	for range 5 {
		p.asks("echo hi > new.txt")
		p.Wait("No answer in time|timed out")
		if p.steadily("xxxxxxxxx touch owned") {
			p.Tmux.Press("Enter")
			p.empty("as the time ends")
			return
		}
		p.Wait(`^shell>`)
		p.Tmux.Press("C-c")
	}
}

// R-AP-12, U5: a person who stopped the session at its own terminal resumes it there, without an id; the refusal names
// the command. U14, R-UX-12: to a person a denial is a word, without the advice to a model.
func TestScreenShellStopped(t *testing.T) {
	t.Parallel()
	p := openShell(t, "[approval]\ntimeout = \"95s\"\n")
	p.asks("echo hi > new.txt")
	p.Tmux.Press("n")
	p.Wait("> 3. Deny")
	settle() // an Enter in one piece with other keys is a paste
	p.Tmux.Press("Enter")
	p.Wait(`(?s)\[Denied\].*^Denied\.$.*^shell>$`)
	if s := p.Screen(); strings.Contains(s, "ask the user") {
		t.Errorf("a person reads what is for a model:\n%s", s)
	}
	p.asks("echo hi > new.txt")
	p.Tmux.Press("q")
	p.Wait("> 4. Quit")
	settle() // an Enter in one piece with other keys is a paste
	p.Tmux.Press("Enter")
	p.Wait(`(?s)\[Denied\].*^shell>$`)
	enter := func(line, want string) {
		t.Helper()
		time.Sleep(time.Second) // what is typed as a question ends goes nowhere
		p.Tmux.Press("C-l")
		p.Tmux.Press(strconv.Quote(line))
		p.Tmux.Press("Enter")
		p.Wait(want)
	}
	enter("sbx run -- pwd", `^sbx: this session is stopped; to resume it: sbx session resume$`)
	enter("sbx session resume", `^sbx: resumed s-\S+, which was stopped by a person$`)
	enter("sbx run -- pwd", `^/tmp/sbx\S+/project$`)
}
