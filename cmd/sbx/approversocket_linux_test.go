package main

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"sandboxd/cmd/sbx/internal/term/termtest"
	"sandboxd/display"
)

// The files of testdata/screen are the screens that tmux shows when the real sbx
// asks. A reviewer reads them; go test ./cmd/sbx -run TestScreen -update regenerates them.
var update = flag.Bool("update", false, "rewrite the golden screens")

// approverSocket is a person at a terminal.
type approverSocket struct {
	*termtest.Tmux
	t     *testing.T
	cols  int                                  // of the terminal
	typed time.Time                            // when the last key was pressed
	clean func(screen string, cols int) string // takes out what differs every time; nil: nothing does
}

// Resize changes the terminal's size.
func (d *approverSocket) Resize(cols, rows int) {
	d.t.Helper()
	d.cols = cols
	d.Tmux.Resize(cols, rows)
}

// shown is the screen without what differs every time.
func (d *approverSocket) shown() string {
	d.t.Helper()
	screen := d.Screen()
	if d.clean == nil {
		return screen
	}
	return d.clean(screen, d.cols)
}

// Press types as a person does: an Enter that comes together with other keys
// is taken for a paste.
func (d *approverSocket) Press(keys ...string) {
	d.t.Helper()
	for _, k := range keys {
		if k == "Enter" {
			time.Sleep(time.Until(d.typed.Add(700 * time.Millisecond)))
		}
		d.Tmux.Press(k)
		d.typed = time.Now()
	}
}

// step presses a key; "?…" waits until the screen matches, "+" until keys count.
func (d *approverSocket) step(k string) {
	d.t.Helper()
	if want, ok := strings.CutPrefix(k, "?"); ok {
		d.Wait(want)
	} else if k == "+" {
		settle()
	} else {
		d.Press(k)
	}
}

func (d *approverSocket) steps(keys ...string) {
	d.t.Helper()
	letter := "" // what the last Enter would confirm
	for i, k := range keys {
		want, waits := "", false
		if i+1 < len(keys) {
			want, waits = strings.CutPrefix(keys[i+1], "?")
		}
		switch {
		case waits && len(k) == 1 && k >= "A":
			letter = k
			d.until(want, k, "Escape") // should the letter have been late only, it is taken back
		case waits && k == "Enter" && letter != "":
			// A card that has grown has forgotten the letter, too.
			d.until(want, k, "Escape", letter)
			letter = ""
		case waits && k == "Enter":
			d.until(want, k)
		default:
			if k != "+" && !strings.HasPrefix(k, "?") {
				letter = ""
			}
			d.step(k)
		}
	}
}

// until presses a key until the screen matches; undo comes before it is pressed
// again. On a loaded machine a card may grow once more after it was first on the
// screen, when the rest of the question has come, and what is typed within half
// a second of that does not count.
func (d *approverSocket) until(want, key string, undo ...string) {
	d.t.Helper()
	for range 4 {
		d.Press(key)
		if _, ok := d.Shows(want, 6*time.Second); ok {
			return
		}
		d.Press(undo...)
		settle()
	}
}

// golden wants the screen to become what the file of that name holds.
func (d *approverSocket) golden(name string) {
	d.t.Helper()
	file := filepath.Join("testdata", "screen", name+".txt")
	if *update {
		screen := d.shown()
		for quiet := 0; quiet < 10; time.Sleep(100 * time.Millisecond) {
			now := d.shown()
			if quiet++; now != screen {
				screen, quiet = now, 0
			}
		}
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			d.t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(screen), 0o644); err != nil {
			d.t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		d.t.Fatal(err)
	}
	screen := ""
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(60 * time.Millisecond) {
		if screen = d.shown(); screen == string(want) {
			return
		}
	}
	d.t.Errorf("%s: the screen is\n%swant\n%s", file, screen, want)
}

// settle waits until keys count.
func settle() { time.Sleep(settleFor) }

// settleFor is more than the half second for which no key counts.
const settleFor = 900 * time.Millisecond

// clean takes out of a screen what differs every time: the directory, processes,
// ids, ages, and what this host's kernel can do. What then has another length
// is wrapped again as it was.
func (h *house) clean(screen string, cols int) string {
	screen = unrelatedLines.ReplaceAllString(screen, "")
	screen = h.anonymous(screen)
	screen = regexp.MustCompile(`\b\d\d(\s*[│|]?\n?[│|]?\s*hidden)`).ReplaceAllString(screen, "00$1")
	screen = regexp.MustCompile(`\b01[0-9A-Z]{24}\b`).ReplaceAllString(screen, "01________________________")
	screen = regexp.MustCompile(`(?m)^\(\d+ (s|min)\) Allow`).ReplaceAllString(screen, "(0 min) Allow")
	screen = regexp.MustCompile(`pid \d+( at pts)?(/\d+)?`).ReplaceAllString(screen, "pid 0000$1")
	screen = regexp.MustCompile(`\buid \d+,`).ReplaceAllString(screen, "uid 0,")
	// lines, among them those of "Held by"
	screen = regexp.MustCompile(`(\d+-\d+ of) \d+(,| )`).ReplaceAllString(screen, "$1 00$2")
	screen = hintedFrame.ReplaceAllStringFunc(screen, func(s string) string { // a clock in the frame
		s = regexp.MustCompile(`\d+ (s|min) old`).ReplaceAllString(s, "0 s old")
		s = regexp.MustCompile(`\d+ (s|min) left`).ReplaceAllString(s, "00 s left")
		return regexp.MustCompile(` [─-]+([┘+])$`).ReplaceAllString(s, " ─$1")
	})
	lines := strings.Split(screen, "\n")
	who := func(s string) string {
		s = regexp.MustCompile(`begins \w+( \w+)?\)`).ReplaceAllString(s, "begins 000000000000)")
		return regexp.MustCompile(`process \d+`).ReplaceAllString(s, "process 0000")
	}
	host := func(string) string { return "(differs from host to host)" }
	lines = reword(lines, framed("Agent"), who)
	lines = reword(lines, framed("Held by"), host)
	lines = reword(lines, margined("agent", cols), who)
	lines = reword(lines, margined("held by", cols), host)
	lines = reword(lines, paragraph(cols), func(s string) string {
		s = regexp.MustCompile(`\d+ (s|min) old`).ReplaceAllString(s, "0 s old")
		return regexp.MustCompile(`\d+ (s|min) left`).ReplaceAllString(s, "00 s left")
	})
	return strings.Join(lines, "\n")
}

// hintedFrame is a box's bottom with a hint.
var hintedFrame = regexp.MustCompile(`(?m)^[└+][─-] .*$`)

// unrelatedLines is what sbx says of a daemon elsewhere, and of what takes over a second.
var unrelatedLines = regexp.MustCompile(`(?m)^sbx: the sockets are in .*\n(place\n)?|^sbx: .*…\n`)

// anonymous replaces the directory's name, however it is wrapped.
func (h *house) anonymous(screen string) string {
	letters := strings.Split(filepath.Base(h.dir), "")
	re := strings.Join(letters, `\s*[│|]?\n?[│|]?\s*`)
	return regexp.MustCompile(re).ReplaceAllStringFunc(screen, func(s string) string {
		out, n := "", 0
		for _, r := range s {
			if r != ' ' && r != '\n' && r != '│' && r != '|' {
				if n++; n > 3 {
					r = '_'
				}
			}
			out += string(r)
		}
		return out
	})
}

// block is a text on a screen: its lines, the characters around it and its maximum width.
type block struct {
	from, to    int
	text        string
	first, next string // in front of its first line and of the others
	width       int
	end         string // behind each, at the frame's right side
}

// framed finds the value of that name on a card.
func framed(name string) func([]string) (block, bool) {
	return func(lines []string) (block, bool) {
		for i, l := range lines {
			side, rest, ok := strings.Cut(l, " ")
			if !ok || side != "│" && side != "|" || !strings.HasPrefix(rest, name+":") {
				continue
			}
			inner := display.Width(l) - 4
			b := block{from: i, to: i + 1, first: side + " " + name + ":", end: " " + side}
			b.first += strings.Repeat(" ", max(9-len(name)-1, 0))
			indent := 9
			if b.next = side + " " + strings.Repeat(" ", 9); inner < 32 { // the name has a line of its own
				indent, b.next = 2, side+"   "
			}
			b.width = inner - indent
			b.text = inside(l, len(name)+1)
			for ; b.to < len(lines) && strings.HasPrefix(lines[b.to], b.next); b.to++ {
				b.text += " " + inside(lines[b.to], indent)
			}
			if inner < 32 {
				b.first = side + " " + name + ":" + strings.Repeat(" ", inner-len(name)-1) + " " + side + "\n" + b.next
			}
			return b, true
		}
		return block{}, false
	}
}

// margined finds the value of that name where a question is lines.
func margined(name string, cols int) func([]string) (block, bool) {
	return func(lines []string) (block, bool) {
		first, next := name+strings.Repeat(" ", 11-len(name))+"│ ", strings.Repeat(" ", 11)+"│ "
		for i, l := range lines {
			text, ok := strings.CutPrefix(l, first)
			if !ok {
				continue
			}
			b := block{from: i, to: i + 1, text: text, first: first, next: next, width: cols - 13}
			for ; b.to < len(lines) && strings.HasPrefix(lines[b.to], next); b.to++ {
				b.text += " " + strings.TrimPrefix(lines[b.to], next)
			}
			return b, true
		}
		return block{}, false
	}
}

// inside is a framed line's text behind an indent.
func inside(l string, indent int) string {
	r := []rune(l)
	return strings.TrimSpace(string(r[2+indent : len(r)-2]))
}

// paragraph finds the hint below a card, which ends with its age.
func paragraph(cols int) func([]string) (block, bool) {
	return func(lines []string) (block, bool) {
		for i, l := range lines {
			if !belowCard.MatchString(l) {
				continue
			}
			b := block{from: i, to: i, width: cols}
			for ; b.to < len(lines) && !strings.Contains(b.text, " old"); b.to++ {
				b.text = strings.TrimSpace(b.text + " " + lines[b.to])
			}
			if strings.HasSuffix(b.text, ",") && b.to < len(lines) || b.to < len(lines) &&
				strings.Contains(lines[b.to], "left") {
				b.text += " " + lines[b.to]
				b.to++
			}
			return b, true
		}
		return block{}, false
	}
}

var belowCard = regexp.MustCompile(`^(↑/↓|Up/Down|Enter (confirm|denies))`)

// reword changes a block's words and wraps it again.
func reword(lines []string, find func([]string) (block, bool), change func(string) string) []string {
	b, ok := find(lines)
	if !ok {
		return lines
	}
	var out []string
	for i, piece := range display.Wrap(change(strings.Join(strings.Fields(b.text), " ")), b.width) {
		piece = strings.TrimRight(piece, " ")
		if b.end != "" {
			piece += strings.Repeat(" ", max(b.width-display.Width(piece), 0)) + b.end
		}
		head := b.next
		if i == 0 {
			head = b.first
		}
		out = append(out, strings.Split(head+piece, "\n")...)
	}
	return append(append(lines[:b.from:b.from], out...), lines[b.to:]...)
}
