package ask

import (
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"sandboxd/cmd/sbx/internal/reply"
	"sandboxd/ipc"
)

// hand is the grammar of answers once more (R-UX-09), from the keys alone. It shares no code with reply.
type hand struct {
	options []option
	first   int
	slow    bool // a digit takes no effect by itself
	text    string
	high    int
	reason  bool // a digit that another key followed
	digit   time.Time
}

func (h *hand) clear() { h.text, h.high, h.reason, h.digit = "", h.first, false, time.Time{} }

// option is the one that the text names: -1 for none, -2 for a reason.
func (h *hand) option() int {
	word := strings.ToLower(strings.TrimSpace(h.text))
	if word == "" {
		return -1
	}
	if h.reason || len(word) > 1 && word != "yes" && word != "no" {
		return -2
	}
	for i, o := range h.options {
		if len(o.verb) == 1 && !o.spare && string(o.verb) == word[:1] {
			return i
		}
	}
	if n := strings.Index("123456789", word[:1]); n >= 0 && n < len(h.options) {
		return n
	}
	return -2
}

func (h *hand) key(name, text string, now time.Time) {
	switch name {
	case "up", "down":
		at := h.option()
		word := strings.ToLower(strings.TrimSpace(h.text))
		switch {
		case at == -2 && (h.reason || len(word) != 1 || !strings.Contains("ynsaqvp", word)):
			return
		case at == -2:
			at = slices.IndexFunc(h.options, func(o option) bool { return o.verb == verbNo })
		case at == -1:
			at = h.high
		}
		h.clear()
		n := len(h.options)
		switch {
		case name == "down":
			h.high = (at + 1) % n
		case at < 0:
			h.high = n - 1
		default:
			h.high = (at + n - 1) % n
		}
	case "pgup", "pgdown":
		h.reason = h.reason || !h.digit.IsZero()
		h.digit = time.Time{}
	case "backspace":
		r := []rune(h.text)
		if h.text = string(r[:max(len(r)-1, 0)]); h.text == "" {
			h.clear()
		}
		h.digit = time.Time{}
	case "esc":
		h.clear()
	case "text":
		if h.text == "" && text == " " {
			return
		}
		h.text += text
		h.reason = h.reason || len([]rune(h.text)) > 1 && strings.ContainsAny(h.text[:1], "0123456789")
		h.digit = time.Time{}
		if h.text == text && !h.slow && strings.ContainsAny(text, "123456789") && h.option() >= 0 {
			h.digit = now
		}
	}
}

// approves reports whether an option allows the request.
func (h *hand) approves(i int) bool {
	return i >= 0 && slices.Contains([]verb{verbYes, verbSession, verbAll, verbContained, verbEach}, h.options[i].verb)
}

// yes reports whether a key, or a pause, is an approval now.
func (h *hand) yes(name string, now time.Time) bool {
	at := h.option()
	switch {
	case name == "enter" && at == -1:
		return h.approves(h.high)
	case name == "enter":
		return h.approves(at)
	}
	return name == "pause" && !h.digit.IsZero() && now.Sub(h.digit) >= 800*time.Millisecond && h.approves(at)
}

// form is one way to show a question, and to press keys at it: "pause" is none.
type form func() (d *dialog, press func(name, text string, now time.Time) act)

// Only an explicit yes approves, by random keys and pauses, in each form of a question: box, one line,
// a box that is to be scrolled, and queue. KEYSTROKES is how many sequences each of them takes.
func TestKeystrokes(t *testing.T) { // R-UX-09
	sequences, err := strconv.Atoi(first(os.Getenv("KEYSTROKES"), "1000"))
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	all, ordinary := questions(), ordinaryQuestions()
	inTerminal := func(q ipc.Approval, rows int, inline bool) form {
		return func() (*dialog, func(string, string, time.Time) act) {
			d := newDialog(q, look{Width: 80, UTF8: true}, rows, inline, start)
			return d, func(name, text string, now time.Time) act {
				if name == "pause" {
					return d.due(now)
				}
				return d.key(name, text, now)
			}
		}
	}
	person, long := somebody(t), ordinary["write"]
	long.Presentation = &ipc.Presentation{Kind: "diff", Content: strings.Repeat("+ one\n", 9)}
	files := ordinary["write"]
	files.Paths = []string{"a", "b"}
	forms := map[string]form{
		"box": inTerminal(ordinary["write"], 40, true), "one line": inTerminal(all["low"], 40, true),
		"first": inTerminal(ordinary["first"], 24, true), "batch": inTerminal(ordinary["batch"], 24, false),
		"danger": inTerminal(all["danger"], 24, false), "danger here": inTerminal(all["danger"], 24, true),
		"scrolled": inTerminal(long, 18, true), "files": inTerminal(files, 24, false),
		"queue": inQueue(person, ordinary["write"], start),
	}
	for name, form := range forms {
		t.Run(name, func(t *testing.T) {
			seed := uint64(time.Now().UnixNano())
			random, yes := rand.New(rand.NewPCG(seed, 1)), 0
			for range sequences {
				if play(t, random, form, start) {
					yes++
				}
			}
			t.Logf("seed %d: %d of %d are a yes", seed, yes, sequences)
			if never := name == "danger here"; never != (yes == 0) {
				t.Errorf("%d of %d sequences are a yes", yes, sequences)
			}
		})
	}
	t.Run("plain", func(t *testing.T) { readLines(t, ordinary["write"], sequences) })
}

// inQueue is a question in the queue of sbx approve.
func inQueue(p Person, q ipc.Approval, start time.Time) form {
	return func() (*dialog, func(string, string, time.Time) act) {
		s := &sitting{Queue: Queue{Person: p}, look: look{Width: 80, UTF8: true}, rows: 24}
		s.open = map[string]ipc.Approval{}
		s.add(q)
		s.next()
		s.d.since = start
		return s.d, func(name, text string, now time.Time) act {
			codes := map[string]rune{"up": tea.KeyUp, "down": tea.KeyDown, "enter": tea.KeyEnter, "esc": tea.KeyEscape,
				"backspace": tea.KeyBackspace, "pgdown": tea.KeyPgDown, "pgup": tea.KeyPgUp}
			switch {
			case name == "pause":
				return s.d.due(now)
			case name == "text":
				s.key(tea.KeyPressMsg{Code: []rune(text)[0], Text: text}, now)
			default:
				s.key(tea.KeyPressMsg{Code: codes[name]}, now)
			}
			if s.d == nil || s.d.stage != stageSending {
				return act{}
			}
			return act{answer: &s.d.first}
		}
	}
}

// keystrokes are what play presses; all but names of keys are characters.
var keystrokes = strings.Fields("y Y e s n o a q v 1 2 3 4 7 0 x é 日 " +
	"up down backspace esc pgdown pgup enter enter pause pause")

// play presses up to ten keys at a question, and reports whether they approved it.
func play(t *testing.T, random *rand.Rand, form form, now time.Time) bool {
	t.Helper()
	d, press := form()
	h := &hand{options: d.options, first: d.line.First, slow: d.line.Slow}
	h.clear()
	appeared, typed := now, []string(nil)
	for range 1 + random.IntN(10) {
		name, text := keystrokes[random.IntN(len(keystrokes))], ""
		if d.stage == stagePick && name == "x" {
			name = "space"
		}
		if strings.Trim(name, "abcdefghijklmnopqrstuvwxyz") != "" || len(name) == 1 {
			name, text = "text", name
		}
		step := time.Duration(random.Int64N(int64(700 * time.Millisecond)))
		if name == "pause" {
			step = 900 * time.Millisecond
		}
		now = now.Add(step)
		d.view(now)
		stage, seen := d.stage, d.viewed
		settled := now.Sub(appeared) >= 500*time.Millisecond
		want := stage == stageOptions && settled && seen && h.yes(name, now)
		typed = append(typed, first(text, name)+" "+step.String())
		picked := strings.Contains(strings.Join(d.view(now), "\n"), "[x]")
		got := press(name, text, now)
		if settled && stage == stageOptions {
			h.key(name, text, now)
		}
		switch stage {
		case stageChoose:
			want = settled && name == "enter" // the chooser's Enter
		case stagePick:
			want = settled && name == "enter" && picked
		}
		if allowed := got.answer != nil && got.answer.Allow; allowed != want {
			t.Fatalf("%q: a yes is %v, want %v (stage %d, text %q)", typed, allowed, want, stage, h.text)
		} else if allowed || got.answer != nil {
			return allowed
		}
		if d.stage != stage {
			appeared = now
		}
		if d.stage != stage || d.note != "" {
			h.clear()
		}
	}
	return false
}

// readLines has the plain form read lines.
func readLines(t *testing.T, q ipc.Approval, sequences int) {
	random, yes := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 2)), 0
	h := &hand{options: newCard(q, look{Width: 80, Whole: true}, false).options, first: -1, slow: true}
	for range sequences {
		h.clear()
		for range random.IntN(4) {
			h.key("text", keystrokes[random.IntN(18)], time.Time{})
		}
		kind, n := reply.Read(h.text, lettersOf(h.options))
		got := kind == reply.Option && h.approves(n)
		if want := h.yes("enter", time.Time{}) && !h.reason; got != want {
			t.Fatalf("%q: a yes is %v, want %v", h.text, got, want)
		}
		if got {
			yes++
		}
	}
	if yes == 0 {
		t.Error("no sequence is a yes")
	}
}
