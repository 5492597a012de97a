package main

import (
	"strings"
	"testing"

	"sandboxd/cmd/sbx/internal/term/termtest"
)

// project is a house, and somebody at a terminal in its project.
type project struct {
	*house
	*approverSocket
}

// openProject runs a shell line in a project that nobody trusts yet.
func openProject(t *testing.T, cols, rows int, line string) *project {
	t.Helper()
	h := newHouse(t, "[approval]\ntimeout = \"95s\"\n")
	m := termtest.OpenTmux(
		t,
		cols,
		rows,
		h.env,
		"cd "+h.project()+" && alias sbx='sbx --config "+h.dir+"/config.toml'\n"+line,
	)
	return &project{h, &approverSocket{Tmux: m, t: t, cols: cols, clean: h.clean}}
}

// R-UX-01, R-UX-06: the box where sbx run asks, with the real daemon behind it,
// and what the program that asked gets to read.
//
//   - Row 004-35 yes (run-yes): raw mode ends its lines by a carriage return and a line feed
//   - Row 004-38 yes (run-reason): the program that asked reads the denial and its reason
func TestScreenRun(t *testing.T) {
	for _, c := range []struct {
		name, line string
		press      []string
		status     int
		made       bool
	}{
		{"run-yes", "sbx run -c 'echo hi > new.txt; cat new.txt'", []string{"y", "?> 3. Only this once", "Enter"}, 0, true},
		{"run-no", "sbx run -c 'echo hi > new.txt'", []string{"n", "?> 4. Deny:", "Enter"}, 126, false},
		{"run-nothing", "sbx run -c 'echo hi > new.txt'", []string{"Enter"}, 126, false},
		{"run-reason", "sbx run -c 'echo hi > new.txt'",
			[]string{`"always ask me first"`, "?Deny: always ask me first", "Enter"}, 126, false},
		{"run-cancelled", "sbx run -c 'echo hi > new.txt'", []string{"C-c"}, 126, false},
		{"run-quit", "sbx run -c 'echo hi > new.txt'", []string{"q", "?> 5. Quit", "Enter"}, 126, false},
		{"run-trust", "sbx run -c 'echo hi > new.txt' && sbx run -c 'for i in 1 2; do echo $i >> new.txt; done' && " +
			"! sbx trust --list | grep contained && sbx status 2>&1 | grep -c ^contained",
			[]string{"1", "?> 1. Trust, and stop", "Enter"}, 0, true},
		{"run-danger", "sbx trust >/dev/null 2>&1; sbx run -c 'rm -rf build > new.txt'",
			[]string{"1", "?> 1. Deny:", "Enter"}, 126, false},
		// U9: "Always allow…" offered this session alone, and first what the option above it does.
		{"run-more", "sbx trust >/dev/null 2>&1; sbx run -c 'npm run lint -- src' 2>/dev/null || true",
			[]string{"3", "?┌─ Allow more… ", "?> npm run lint", "?in this session", "+", "Enter"}, 0, false},
		{"run-session", "sbx trust >/dev/null 2>&1; sbx run -c 'echo hi > new.txt' && rm new.txt && sbx run -c 'echo hi > " +
			"new.txt'", []string{"s", "?> 2. Allow for this session", "Enter"}, 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := openProject(t, 90, 44, c.line)
			p.Wait("s old")
			settle()
			p.golden(c.name)
			p.steps(c.press...)
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

// R-UX-01: typed before the question, resized while it is open, answered elsewhere: the
// box of sbx run keeps to the same rules.
func TestScreenRunUnsettled(t *testing.T) {
	t.Parallel()
	p := openProject(t, 90, 44, "sleep 1; sbx run -c 'echo hi > new.txt'")
	p.Tmux.Press("y", "Enter", "1")
	p.Wait("s old")
	p.Tmux.Press("1", "y", "Enter")
	settle()
	if p.Wait("> 4. Deny:"); p.exists("new.txt") {
		t.Fatal("what was typed before has answered")
	}
	p.Resize(40, 44)
	p.Wait("(?s)^┌─ sandboxd asks: bash ─{12}┐")
	settle()
	clean := p.approverSocket.clean
	// a terminal that grows narrower folds what was there before
	p.approverSocket.clean = func(s string, cols int) string {
		return clean(s[max(strings.LastIndex(s, "┌─ sandboxd asks"), 0):], cols)
	}
	p.golden("run-resized")
	p.Press("3", "Enter")
	if got := p.Status(); got != 0 || !p.exists("new.txt") {
		t.Errorf("exit status %d, new.txt is there: %v", got, p.exists("new.txt"))
	}
}

// R-UX-01: --plain asks line by line and writes no escape sequence; NO_COLOR writes none
// for colour; a terminal that is not known to be UTF-8 gets ASCII.
//
//   - Row 001-46 yes: the question has the command's time limit
//   - Row 004-45 yes: NO_COLOR and terminals without capabilities
func TestScreenPlain(t *testing.T) {
	t.Parallel()
	h := furnished(t, slow)
	done := h.agent().asks(plain)
	h.waits(1)
	d := h.sit(60, 50, "--plain --once")
	d.Wait(`Allow\? \[`)
	d.golden("plain")
	settle()
	d.Press(`"use pnpm"`, "Enter")
	if e := <-done; e.Note != "use pnpm" {
		t.Errorf("the agent received %+v, want the reason", e)
	}
	done = h.agent().asks(danger)
	h.waits(1)
	for env, want := range map[string]bool{"NO_COLOR=1": false, "X=1": true} {
		d := h.sit(80, 44, "", env)
		d.Wait(waits)
		settle()
		if got := strings.Contains(d.Colors(), "\x1b[91m"); got != want {
			t.Errorf("with %s the frame is red: %v, want %v\n%q", env, got, want, d.Colors())
		}
	}
	a := h.sit(80, 44, "", "LC_ALL=C")
	a.Wait(waits)
	settle()
	a.golden("ascii")
	a.steps("C-c", "?again denies", "C-c")
	<-done
}
