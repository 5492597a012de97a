package main

import (
	"reflect"
	"strings"
	"testing"

	"sandboxd/ipc"
)

// The permission manager's answers, each typed as a word and Enter at the plain prompt of
// sbx approve, in a terminal, with the real daemon behind it. R-UX-01 R-AP-10
//
//   - Row 001-52 yes (plain yes): y or yes
//   - Row 001-53 yes (plain Enter): N, no, or Enter alone, which is the default
//   - Row 001-57 yes (plain v): v shows all of it, and asks again
//   - Row 000-25 yes (plain s): [s] approves for the session
func TestPlainAnswers(t *testing.T) {
	soft := ipc.Decided{Mode: "soft"}
	for _, c := range []struct {
		name, call string
		typed      []string
		want       ipc.Decided
	}{
		{"plain y", "touch y.txt", []string{"y"}, ipc.Decided{Allowed: true, Scope: "once"}},
		{"plain yes", "touch yes.txt", []string{"yes"}, ipc.Decided{Allowed: true, Scope: "once"}},
		{"plain s", "touch s.txt", []string{"s"}, ipc.Decided{Allowed: true, Scope: "session"}},
		{"plain N", "touch n.txt", []string{"N"}, soft},
		{"plain no", "touch no.txt", []string{"no"}, soft},
		{"plain Enter", "touch enter.txt", []string{""}, soft},
		{"plain q", "touch q.txt", []string{"q"}, ipc.Decided{Mode: "hard"}},
		{"plain v", "touch v.txt", []string{"v", "y"}, ipc.Decided{Allowed: true, Scope: "once"}},
		{"plain a", "touch a.txt", []string{"a", ""}, soft}, // not on offer without a batch: it asks again
		{"plain reason", "touch reason.txt", []string{"use pnpm"}, ipc.Decided{Mode: "soft", Note: "use pnpm"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := furnished(t, slow)
			done := h.agent().asks(line(c.call))
			h.waits(1)
			d := h.sit(80, 60, "--plain --once")
			d.answers(c.typed)
			got, end := h.decided(), <-done
			decision := ipc.Decided{Allowed: got.Allowed, Mode: got.Mode, Note: got.Note}
			if got.Allowed {
				decision.Scope = got.Scope
			}
			if !reflect.DeepEqual(decision, c.want) || end.err != nil {
				t.Errorf("decided %+v, want %+v; the agent received %+v\n%s", got, c.want, end, d.Screen())
			}
			if name := strings.TrimPrefix(c.call, "touch "); h.exists(name) != c.want.Allowed {
				t.Errorf("%s is there: %t", name, h.exists(name))
			}
		})
	}
}

// answers types each line when the prompt waits for it.
func (d *approverSocket) answers(lines []string) {
	d.t.Helper()
	for i, text := range lines {
		d.Wait(strings.Repeat(`(?s:Allow\? \[.*)`, i+1))
		settle()
		if text != "" {
			d.Press(`"` + text + `"`)
		}
		d.Press("Enter")
	}
}

// A batch at the plain prompt: a takes the rest, q cancels it. R-AP-10
//
//   - Row 001-47 yes (plain all): Operation N of M
//   - Row 001-59 yes (plain all): the state of a batch ends with it
func TestPlainBatch(t *testing.T) {
	for _, c := range []struct {
		name  string
		typed string
		ran   int
	}{
		{"plain all", "a", 3}, {"plain quit", "q", 0}, {"plain quit in capitals", "Q", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := furnished(t, slow)
			a := h.agent()
			done := a.asksAll(batch...)
			h.waits(1)
			d := h.sit(80, 60, "--plain --once")
			d.Wait(`1 of 3`)
			d.answers([]string{c.typed})
			end := <-done
			if end.err != nil || end.Batch.Ran != c.ran {
				t.Errorf("the agent received %+v, %v", end.Batch, end.err)
			}
			for _, name := range []string{"one.txt", "two.ini", "three.txt"} {
				if h.exists(name) != (c.ran == 3) {
					t.Errorf("%s is there: %t", name, h.exists(name))
				}
			}
			if c.ran == 0 {
				return
			}
			a.asksAll(line("echo four > four.txt"), line("echo five > five.txt"))
			if h.waits(1); h.exists("four.txt") || h.exists("five.txt") {
				t.Error("the approval of a batch reached the next one")
			}
		})
	}
}

// The same answers at the plain prompt of the very command that asks.
func TestPlainRun(t *testing.T) {
	for _, c := range []struct {
		name  string
		typed []string
		made  bool
	}{
		{"run y", []string{"y"}, true}, {"run yes", []string{"yes"}, true},
		{"run v", []string{"v", "y"}, true}, {"run s", []string{"s"}, true},
		{"run N", []string{"N"}, false}, {"run no", []string{"no"}, false},
		{"run Enter", []string{""}, false}, {"run q", []string{"q"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := openProject(t, 90, 60, "sbx trust >/dev/null 2>&1; sbx run --plain -c 'echo hi > new.txt'")
			p.answers(c.typed)
			want := 126
			if c.made {
				want = 0
			}
			if got, made := p.Status(), p.exists("new.txt"); got != want || made != c.made {
				t.Errorf("exit status %d, new.txt is there: %t, want %d, %t\n%s", got, made, want, c.made, p.Screen())
			}
		})
	}
}
