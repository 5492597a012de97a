package ask

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"sandboxd/cmd/sbx/internal/term"
	"sandboxd/cmd/sbx/internal/term/termtest"
	"sandboxd/display/displaytest"
	"sandboxd/ipc"
)

// poisoned is a question whose every field that a stranger writes is s.
func poisoned(s string) ipc.Approval {
	input, err := json.Marshal(map[string]string{"arg": s})
	if err != nil {
		panic(err)
	}
	return ipc.Approval{ID: "a1", Rev: 3, Hash: "h", Tool: s, Command: s, Description: s, Input: input, Cwd: "/" + s,
		Agent: s, Claimed: true,
		Label: s, Claim: s, Exe: s, PID: 1, BlockedPath: s, Risk: "medium", Reasons: []string{s},
		Scopes:   []string{"once", "session"},
		Warnings: []ipc.Warning{{Message: s, Hint: s}}, Widenings: []ipc.Widening{{Label: s}},
		Batch:        &ipc.BatchPlace{Total: 2, Remaining: []ipc.NextCall{{Tool: s, Command: s}}},
		Presentation: &ipc.Presentation{Kind: "diff", Content: "+ " + s, Language: s}}
}

// R-UX-05, issue 8 acceptance 2: through the real screen, in the card, in the
// full view and as the note of an answer, no hostile string moves the cursor,
// hides a part of itself or begins in the columns of sbx's own words.
func TestSpoofing(t *testing.T) {
	for _, c := range displaytest.Hostile {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			s := termtest.Open(t)
			tty, err := term.New(s.File, func(k string) string { return map[string]string{"TERM": "dumb"}[k] })
			if err != nil {
				t.Fatal(err)
			}
			q := poisoned(c.In)
			p := Person{Terminal: tty, Approver: &approver{question: q}, Settle: time.Millisecond}
			done := make(chan error, 1)
			go func() {
				_, err := p.Ask(context.Background(), q)
				done <- err
			}()
			s.Wait("Allow? [")
			time.Sleep(5 * time.Millisecond)
			s.Press("v\r")
			for strings.Count(s.Shown(), "Allow? [") < 2 {
				time.Sleep(time.Millisecond)
			}
			s.Press("n\r")
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			w := writer{look: look{Width: 80, UTF8: true}}
			w.help(newCard(q, look{Width: 80, UTF8: true}, false).help)
			checkScreen(t, s.Shown(), strings.Split(w.out.String(), "\n"))
		})
	}
}

// checkScreen holds for whatever a terminal was sent; help is our own text.
func checkScreen(t *testing.T, shown string, help []string) {
	t.Helper()
	// Our own sequences: brackets around pasted text, and the prompt's line.
	for _, ours := range []string{"\x1b[?2004h", "\x1b[?2004l", "\x1b[K"} {
		shown = strings.ReplaceAll(shown, ours, "")
	}
	shown = strings.ReplaceAll(shown, "\r\n", "\n")
	shown = strings.ReplaceAll(shown, "\rAllow? [", "\nAllow? [")
	for i, line := range strings.Split(shown, "\n") {
		for _, r := range line {
			if !unicode.IsGraphic(r) || unicode.Is(unicode.Bidi_Control, r) || unicode.Is(unicode.Zs, r) && r != ' ' {
				t.Errorf("line %d shows %U: %q", i, r, line)
			}
		}
		ours := line == "" || strings.HasPrefix(line, "Allow? [") || strings.HasPrefix(line, "── sandboxd asks") ||
			strings.HasPrefix(line, "▶ ") || slices.Contains(help, line)
		if !ours && !strings.Contains(line, " │") {
			t.Errorf("line %d is neither ours nor behind the margin: %q", i, line)
		}
	}
}
