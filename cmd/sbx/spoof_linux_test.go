package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"sandboxd/cmd/sbx/internal/term/termtest"
	"sandboxd/display"
	"sandboxd/display/displaytest"
	"sandboxd/ipc"
	"sandboxd/ipc/ipctest"
)

// desks is how many screens share the catalogue.
const desks = 4

// R-UX-05: every hostile string of the catalogue, in every field that an agent
// writes (command, reason, agent name, session label, tool name and arguments, path,
// diff), through the real daemon and on the real screen.
func TestScreenSpoofing(t *testing.T) {
	if n := len(displaytest.Hostile); n < 40 {
		t.Fatalf("the catalogue has %d strings, want 40", n)
	}
	var reached tally
	t.Run("all", func(t *testing.T) {
		for k := range desks {
			t.Run(fmt.Sprint(k), func(t *testing.T) {
				t.Parallel()
				h := openHouse(t, slow)
				d := h.sit(110, 90, "")
				d.Wait("nothing waits")
				for i, c := range displaytest.Hostile {
					if i%desks == k {
						h.spoof(d, c, fmt.Sprintf("n%d", i), &reached)
					}
				}
			})
		}
	})
	for _, field := range []string{"command", "reason", "agent name", "session label", "tool name", "arguments", "path",
		"diff"} {
		t.Logf("%-13s %d strings reached the screen", field, reached.count[field])
		if reached.count[field] < 40 {
			t.Errorf("%s: %d strings reached the screen, want 40", field, reached.count[field])
		}
	}
}

// tally counts, by field, the strings that reached a screen.
type tally struct {
	mu    sync.Mutex
	count map[string]int
}

func (c *tally) add(fields ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.count == nil {
		c.count = map[string]int{}
	}
	for _, f := range fields {
		c.count[f]++
	}
}

// unusable matches the daemon's errors for strings that it rejects: invalid UTF-8 in
// any field, a NUL in a command, characters in a path that cannot be shown.
var unusable = regexp.MustCompile(`not UTF-8|NUL character|not a usable path`)

// spoof has an agent ask in every way with c's string, and looks at each card;
// mark is on it.
func (h *house) spoof(d *approverSocket, c displaytest.Case, mark string, reached *tally) {
	t := h.t
	t.Helper()
	a, fields := h.named(c.In)
	words, call, name, old := mark+"w", mark+"t", mark+"f", mark+"d"
	h.write(old, "here\n")
	inName := strings.NewReplacer("/", "", "\x00", "").Replace(c.In)
	args, err := json.Marshal(map[string]string{"mark": call, "arg": c.In})
	if err != nil {
		t.Fatal(err)
	}
	for _, try := range []struct {
		mark   string
		fields []string
		ask    func(context.Context) error
	}{
		{words, append(fields, "command", "reason"), func(ctx context.Context) error {
			end := a.runs(ctx, ipc.ExecRequest{Command: "touch " + words + " '" + c.In + "'", Description: c.In})
			return cmp.Or(end.err, errors.New(end.Message))
		}},
		{call, []string{"tool name", "arguments"}, func(ctx context.Context) error {
			_, err := a.Check(ctx, ipc.CheckRequest{Session: a.s.ID, Tool: c.In, Args: args})
			return err
		}},
		{name, []string{"path"}, func(ctx context.Context) error {
			_, err := a.File(ctx, ipc.FileRequest{Op: "create", Session: a.s.ID, Path: name + inName, Content: c.In + "\n"})
			return err
		}},
		{old, []string{"diff"}, func(ctx context.Context) error {
			_, err := a.File(ctx, ipc.FileRequest{Op: "edit", Session: a.s.ID, Path: old,
				Edits: []ipc.Edit{{Find: "here", Replace: "there " + c.In}}})
			return err
		}},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		over := make(chan error, 1)
		go func() { over <- try.ask(ctx) }()
		if err := d.untilAsked("^│ .*"+try.mark, over); err != nil {
			cancel()
			if !unusable.MatchString(err.Error()) {
				t.Errorf("%s as %q: %v", c.Name, try.fields, err)
			}
			continue
		}
		checkCard(t, c, d.Steady("old"))
		reached.add(try.fields...)
		cancel()
		<-over
		d.Wait("nothing waits")
	}
}

// untilAsked waits until mark is on the screen; the error says that it won't be.
func (d *approverSocket) untilAsked(mark string, over <-chan error) error {
	d.t.Helper()
	for {
		select {
		case err := <-over:
			return err
		default:
		}
		if _, ok := d.Shows(mark, 100*time.Millisecond); ok {
			return nil
		}
	}
}

// named is an agent with that name and label, where they are taken.
func (h *house) named(s string) (a *agent, fields []string) {
	h.t.Helper()
	a = h.agent()
	r := ipc.SessionRequest{Agent: s, Label: s, Root: h.project()}
	session, err := a.OpenSession(context.Background(), r)
	if err != nil {
		if !unusable.MatchString(err.Error()) {
			h.t.Errorf("%q as agent name and label: %v", s, err)
		}
		return a, nil
	}
	a.s, a.Secret = session, session.Secret
	return a, []string{"agent name", "session label"}
}

// The fields that no agent can write at the real daemon (a rule's name, a
// warning, a widening, what the sandbox grants, the file that was blocked, the
// language of a diff), and strings that the daemon would have made harmless or
// refused: a double sends them raw, for the screen must not rely on the daemon.
func TestScreenSpoofingRaw(t *testing.T) {
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
			o := newFakeAdmin(list...)
			d := sitAt(t, o, 110, 90)
			for i, c := range cases {
				d.Wait(fmt.Sprintf(`^│ Also: +request %d `, i))
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
	return ipc.Approval{ID: fmt.Sprintf("a-%d", i), Rev: 1, Hash: "h", Tool: s, Command: s, Description: s, Input: input,
		Cwd: "/" + s, Agent: s, Claimed: true,
		Label: s, Claim: s, Exe: s, PID: 1, BlockedPath: s, Risk: "medium",
		Reasons: []string{s, fmt.Sprintf("request %d", i)}, Rule: s, Scopes: []string{"once", "session"},
		Warnings: []ipc.Warning{{Message: s, Hint: s}}, Widenings: []ipc.Widening{{ID: "1", Label: s}}, Sandbox: []string{s},
		Batch:       &ipc.BatchPlace{Total: 2, Remaining: []ipc.NextCall{{Tool: s, Command: s}}},
		Suggestions: []ipc.Suggestion{{ID: "1", Label: s}},
		Presentation: &ipc.Presentation{Kind: "diff", Content: "+ " + s, Language: s,
			Metadata: map[string]string{"marks": "0-1 x 3-99999 -1-2"}},
		Created: time.Now().Add(-10 * time.Hour)}
}

// firstAnswer is a line of the selector that begins an answer, and nextAnswer is another one beside it. A label's
// further lines are folded: indented, so that none begins like an answer.
var (
	firstAnswer = regexp.MustCompile(`^│ [ >] (\d)\. (Once, with |Execute once|Allow |Always |Deny:|Quit: |View all)`)
	nextAnswer  = regexp.MustCompile(` [ >] (\d)\. (Allow |Always |Deny:|Quit: |View all)`)
	folded      = regexp.MustCompile(`^│ {6}\S`)
)

// position is what a card that is scrolled says.
var position = regexp.MustCompile(`^│ \d+-\d+ of \d+, PgDn +│$`)

// checkCard holds for every card: a frame without a gap, names of ours in the
// first column and nothing else there, and every character fit to be shown.
func checkCard(t *testing.T, c displaytest.Case, screen string) {
	t.Helper()
	lines := strings.Split(strings.TrimRight(screen, "\n"), "\n")
	if !strings.HasPrefix(lines[0], "sbx approve · ") || !strings.HasPrefix(lines[1], "┌─ sandboxd asks") {
		t.Errorf("%s: the top is\n%s", c.Name, strings.Join(lines[:2], "\n"))
	}
	names := []string{"Tool:", "What:", "Details:", "Command:", "Content:", "Diff:", "Input:", "Held by:", "In:", "Path:",
		"Note:", "Why:", "Rule:", "Agent:", "It says:", "Batch:", "Then:", "Sandbox:", "Offers:", "Warning:", "Careful:",
		"Trust:", "Also:", ""}
	part := 0 // 0: the card, 1: the selector, 2: below
	answers := 0
	for i, line := range lines[2:] {
		checkRunes(t, c.Name, line)
		if m := firstAnswer.FindStringSubmatch(line); m != nil && part == 0 {
			part = 1
		}
		switch {
		case strings.HasPrefix(line, "└─"):
			part = 2
		case part == 2:
			if line != "" && !strings.Contains(line, " quick") && !strings.HasPrefix(line, "▶ ") &&
				!strings.HasPrefix(line, "Ctrl+Z") && !strings.HasSuffix(line, "…") &&
				!strings.HasSuffix(line, "already decided by system") &&
				line != "already decided by the daemon: denied (cancelled)" { // the answer to a look that came later
				t.Errorf("%s: line %d below the frame: %q", c.Name, i, line)
			}
		case !strings.HasPrefix(line, "│ ") || !strings.HasSuffix(line, " │"):
			t.Errorf("%s: line %d leaves the frame: %q", c.Name, i, line)
		case part == 0:
			name := strings.TrimSpace(string([]rune(line)[2:11]))
			if !slices.Contains(names, name) && !position.MatchString(line) {
				t.Errorf("%s: line %d has %q where only names stand: %q", c.Name, i, name, line)
			}
		case folded.MatchString(line):
		default:
			m := firstAnswer.FindStringSubmatch(line)
			if answers++; m == nil || m[1] != strconv.Itoa(answers) {
				t.Errorf("%s: line %d is not answer %d: %q", c.Name, i, answers, line)
			}
			if m = nextAnswer.FindStringSubmatch(string([]rune(line)[6:])); m != nil && m[1] == strconv.Itoa(answers+1) {
				answers++
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
		if !unicode.IsGraphic(r) || unicode.Is(unicode.Bidi_Control, r) || unicode.Is(unicode.Cf, r) ||
			unicode.Is(unicode.Zs, r) && r != ' ' {
			t.Errorf("%s: the screen shows %U: %q", name, r, line)
		}
	}
}

// A path that is opened together with a yes is on offer where a program that
// embeds the daemon's packages offers it; the daemon itself does not yet, so
// the question is a double's.
func TestScreenWidening(t *testing.T) {
	t.Parallel()
	q := ipc.Approval{ID: "a-1", Rev: 1, Hash: "h1", Tool: "bash", Command: "make", Cwd: "/home/ann/web", Risk: "medium",
		Reasons: []string{"no rule allows make"},
		Scopes:  []string{"once", "session"}, Created: time.Now().Add(-10 * time.Hour),
		Widenings: []ipc.Widening{{ID: "1", Kind: "path", Object: "/home/ann/cache", Access: "write",
			Label: "write to /home/ann/cache"}}}
	o := newFakeAdmin(q)
	d := sitAt(t, o, 120, 40)
	d.Wait("min old")
	for _, cols := range []int{120, 24, 40, 60, 250} {
		d.Resize(cols, 40)
		d.golden("widening-" + strconv.Itoa(cols))
	}
	settle()
	d.steps("y", "?> 1. Once, with", "Enter") // without it the command would fail: y was the yes that could not work
	want := ipc.Answer{ID: "a-1", Rev: 1, Hash: "h1", Allow: true, Scope: "once", Key: "y Enter", Widening: "1"}
	if got := o.sent(1); len(got) != 1 || !reflect.DeepEqual(got[0], want) {
		t.Errorf("sent %+v, want a yes with the widening", got)
	}
}

// sitAt starts sbx approve --once at a double's.
func sitAt(t *testing.T, o *fakeAdmin, cols, rows int) *approverSocket {
	t.Helper()
	house := ipctest.Start(t, o, ipc.Limits{})
	env := []string{"SBX_SOCKET_DIR=" + house.Dir, "SBX_STATE_DIR=" + t.TempDir()}
	return &approverSocket{t: t, Tmux: termtest.OpenTmux(t, cols, rows, env, filepath.Join(build(t), "sbx")+
		" approve --once 2>/dev/null")}
}
