package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"sandboxd/cmd/sbx/internal/term/termtest"
	"sandboxd/display"
	"sandboxd/display/displaytest"
	"sandboxd/ipc"
	"sandboxd/ipc/ipctest"
)

// R-UX-05: every hostile string of the catalogue (and there are more than
// forty), in every field that a stranger writes, through the real screen:
// nothing leaves the frame, nothing is hidden, and nothing stands where our own
// words stand.
//
// The questions come from a double: the real daemon refuses some of these names
// and makes the rest harmless before it sends them, and the screen must not rely on that.
func TestScreenSpoofing(t *testing.T) {
	if n := len(displaytest.Hostile); n < 40 {
		t.Fatalf("the catalogue has %d strings, want 40", n)
	}
	const desks = 4
	for k := range desks {
		t.Run(fmt.Sprint(k), func(t *testing.T) {
			t.Parallel()
			var list []ipc.Approval
			var cases []displaytest.Case
			for i, c := range displaytest.Hostile {
				if i%desks == k {
					list, cases = append(list, poisoned(len(list), c.In)), append(cases, c)
				}
			}
			o := newOffice(list...)
			d := sitAt(t, o, 110, 90)
			for i, c := range cases {
				d.Wait(fmt.Sprintf(`^│ Rule: +rule %d `, i))
				checkCard(t, c, d.Steady("min old"))
				settle()
				d.Press("Enter")
				if got := o.sent(i + 1); got[i].Allow {
					t.Fatalf("%s was allowed", c.Name)
				}
			}
			if code := d.Status(); code != 0 {
				t.Errorf("exit status %d", code)
			}
			for _, line := range strings.Split(strings.TrimSpace(d.Steady("Denied")), "\n") {
				checkRunes(t, "result", line)
			}
		})
	}
}

// poisoned is a request whose every field that a stranger writes is s.
func poisoned(i int, s string) ipc.Approval {
	input, err := json.Marshal(map[string]string{"arg": s})
	if err != nil {
		panic(err)
	}
	return ipc.Approval{ID: fmt.Sprintf("a-%d", i), Rev: 1, Hash: "h", Tool: s, Command: s, Description: s, Input: input, Cwd: "/" + s, Agent: s, Claimed: true,
		Label: s, Claim: s, Exe: s, PID: 1, BlockedPath: s, Risk: "medium", Reasons: []string{s}, Rule: fmt.Sprintf("rule %d ", i) + s, Scopes: []string{"once", "session"},
		Warnings: []ipc.Warning{{Message: s, Hint: s}}, Widenings: []ipc.Widening{{ID: "1", Label: s}}, Sandbox: []string{s},
		Batch:        &ipc.BatchPlace{Total: 2, Remaining: []ipc.NextCall{{Tool: s, Command: s}}},
		Suggestions:  []ipc.Suggestion{{ID: "1", Label: s}},
		Presentation: &ipc.Presentation{Kind: "diff", Content: "+ " + s, Language: s, Metadata: map[string]string{"marks": "0-1 x 3-99999 -1-2"}},
		Created:      time.Now().Add(-10 * time.Hour)}
}

// position is what a card that is scrolled says.
var position = regexp.MustCompile(`^│ \d+-\d+ of \d+, PgDn +│$`)

// checkCard holds for every card: a frame without a gap, names of ours in the
// first column and nothing else there, and every character fit to be shown.
func checkCard(t *testing.T, c displaytest.Case, screen string) {
	t.Helper()
	lines := strings.Split(strings.TrimRight(screen, "\n"), "\n")
	if !strings.HasPrefix(lines[0], "sbx approve · ") || !strings.HasPrefix(lines[1], "┌─ sandboxd asks ─") {
		t.Errorf("%s: the top is\n%s", c.Name, strings.Join(lines[:2], "\n"))
	}
	names := []string{"Tool:", "Command:", "Diff:", "In:", "Path:", "Why:", "Rule:", "Agent:", "It says:", "Batch:", "Then:", "Sandbox:", "Offers:", "Warning:", "Careful:", ""}
	part := 0 // 0: the card, 1: the selector, 2: below
	for i, line := range lines[2:] {
		checkRunes(t, c.Name, line)
		switch {
		case strings.HasPrefix(line, "├─"):
			part = 1
		case strings.HasPrefix(line, "└─"):
			part = 2
		case part == 2:
			if line != "" && !strings.Contains(line, "navigate") && !strings.HasPrefix(line, "▶ ") && !strings.HasPrefix(line, "Ctrl+Z") && !strings.HasSuffix(line, "…") {
				t.Errorf("%s: line %d below the frame: %q", c.Name, i, line)
			}
		case !strings.HasPrefix(line, "│ ") || !strings.HasSuffix(line, " │"):
			t.Errorf("%s: line %d leaves the frame: %q", c.Name, i, line)
		case part == 0:
			name := strings.TrimSpace(string([]rune(line)[2:11]))
			if !slices.Contains(names, name) && !position.MatchString(line) {
				t.Errorf("%s: line %d has %q where only names stand: %q", c.Name, i, name, line)
			}
		}
	}
	if part != 2 {
		t.Errorf("%s: the frame does not end:\n%s", c.Name, screen)
	}
	// What the sanitiser made of the string is there, whole.
	got := strings.Map(letters, screen)
	var sent string // JSON has no bytes that are not UTF-8
	if raw, err := json.Marshal(c.In); err != nil || json.Unmarshal(raw, &sent) != nil {
		t.Fatal(err)
	}
	want := ""
	for _, r := range display.Line(sent) {
		if unicode.Is(unicode.Mn, r) { // the renderer would drop it
			want += display.ASCII(string(r))
			continue
		}
		want += string(r)
	}
	if want = strings.Map(letters, want); !strings.Contains(got, want) && len(want) < 80 {
		t.Errorf("%s: the screen lacks %q:\n%s", c.Name, c.Line, screen)
	}
}

// letters drops what wrapping adds.
func letters(r rune) rune {
	if r == ' ' || r == '│' || r == '\n' {
		return -1
	}
	return r
}

func checkRunes(t *testing.T, name, line string) {
	t.Helper()
	for _, r := range line {
		if !unicode.IsGraphic(r) || unicode.Is(unicode.Bidi_Control, r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Zs, r) && r != ' ' {
			t.Errorf("%s: the screen shows %U: %q", name, r, line)
		}
	}
}

// A path that is opened together with a yes is on offer where a program that
// embeds the daemon's packages offers it; the daemon itself does not yet, so
// the question is a double's.
func TestScreenWidening(t *testing.T) {
	t.Parallel()
	q := ipc.Approval{ID: "a-1", Rev: 1, Hash: "h1", Tool: "bash", Command: "make", Cwd: "/home/ann/web", Risk: "medium", Reasons: []string{"no rule allows make"},
		Scopes: []string{"once", "session"}, Created: time.Now().Add(-10 * time.Hour),
		Widenings: []ipc.Widening{{ID: "1", Kind: "path", Object: "/home/ann/cache", Access: "write", Label: "write to /home/ann/cache"}}}
	o := newOffice(q)
	d := sitAt(t, o, 120, 40)
	d.Wait("min old")
	for _, cols := range []int{120, 24, 40, 60, 250} {
		d.Resize(cols, 40)
		d.golden("widening-" + strconv.Itoa(cols))
	}
	settle()
	d.Press("2")
	if got := o.sent(1); len(got) != 1 || got[0] != (ipc.Answer{ID: "a-1", Rev: 1, Hash: "h1", Allow: true, Scope: "once", Widening: "1"}) {
		t.Errorf("sent %+v, want a yes with the widening", got)
	}
}

// sitAt starts sbx approve --once at a double's.
func sitAt(t *testing.T, o *office, cols, rows int) *desk {
	t.Helper()
	house := ipctest.Start(t, o, ipc.Limits{})
	env := []string{"SBX_SOCKET_DIR=" + house.Dir, "SBX_STATE_DIR=" + t.TempDir()}
	return &desk{t: t, Tmux: termtest.OpenTmux(t, cols, rows, env, filepath.Join(build(t), "sbx")+" approve --once 2>/dev/null")}
}
