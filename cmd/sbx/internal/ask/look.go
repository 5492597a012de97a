package ask

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"sandboxd/display"
	"sandboxd/ipc"
)

// Colours as in the terminal dialog's specification.
const (
	cyan = "\x1b[36m"
	red  = "\x1b[91m"
	gray = "\x1b[90m"
	bold = "\x1b[1m"
)

func (l look) paint(color, s string) string {
	if !l.Color || s == "" {
		return s
	}
	return color + s + "\x1b[0m"
}

// sign returns s, one of sbx's own characters, or its ASCII substitute if the terminal cannot show it.
func (l look) sign(s, ascii string) string {
	if l.UTF8 {
		return s
	}
	return ascii
}

// line neutralises a stranger's text for one line.
func (l look) line(s string) string { return l.fit(display.Line(s)) }

// fit writes out characters that this terminal does not show as they are.
func (l look) fit(s string) string {
	switch {
	case !l.UTF8:
		return display.ASCII(s)
	case l.Cells:
		return oneCell(s)
	}
	return s
}

// oneCell writes out the characters that the screen's renderer would drop or
// place wrongly: it has a cell for each character, none for the marks on it, and
// its own table of widths.
func oneCell(s string) string {
	var b strings.Builder
	for _, r := range s {
		one := string(r)
		if n := ansi.WcWidth.StringWidth(one); r >= 0x80 && (n == 0 || n != display.Width(one)) {
			one = display.ASCII(one)
		}
		b.WriteString(one)
	}
	return b.String()
}

// block neutralises a stranger's text of several lines.
func (l look) block(s string) []string {
	lines := display.Block(s)
	for i := range lines {
		lines[i] = l.fit(lines[i])
	}
	return lines
}

// clip shortens a line and says so.
func (l look) clip(s string, width int) string {
	if display.Width(s) <= width {
		return s
	}
	return strings.TrimRight(display.Wrap(s, width-1)[0], " ") + l.sign("…", "...")
}

// nameWidth is the width of the column of field names.
const nameWidth = 10

// writer formats fields: sbx's own words in the first column, untrusted text behind a
// margin, so that it never begins in the first column.
type writer struct {
	look  look
	out   strings.Builder
	whole bool
}

func (w *writer) title(a ipc.Approval) {
	l := w.look
	title := l.sign("── ", "-- ") + "sandboxd asks"
	alarms := alarmsOf(a)
	lines := append([]string{title}, alarms...)
	if one := title + "  " + strings.Join(alarms, " "); display.Width(one) <= l.Width {
		lines = []string{strings.TrimRight(one, " ")}
	}
	color := cyan
	if len(alarms) > 0 {
		color = red
	}
	for _, line := range lines {
		w.out.WriteString(l.paint(color, line) + "\n")
	}
}

// fact writes one fact, wrapped: on a card no more of it than belongs there.
func (w *writer) fact(f fact) {
	name, card := strings.ToLower(f.name), !w.look.Whole
	var lines []string
	for i, r := range f.rows {
		if card && i == maxLines {
			break
		}
		if card && f.clip {
			r = plainRow(w.look.clip(r.text(), w.width()))
		}
		for _, piece := range r.wrap(w.width()) {
			lines = append(lines, piece.string(w.look))
		}
	}
	more := 0
	if card {
		more = max(len(f.rows)-maxLines, 0)
		if most := f.mostRows(w.width()); most > 0 && (len(lines) > most || more > 0) {
			more += max(len(lines)-most+1, 0)
			lines = lines[:min(most-1, len(lines))]
		}
	}
	for _, line := range lines {
		w.margin(name, line)
		name = ""
	}
	w.omitted(more)
}

// omitted says that lines were left out.
func (w *writer) omitted(more int) {
	if more == 0 {
		return
	}
	w.whole = false
	for _, line := range display.Wrap(fmt.Sprintf("%d more lines: v shows them", more), w.look.Width-1) {
		w.out.WriteString(w.look.paint(red, line) + "\n")
	}
}

// width is how many cells a value has.
func (w *writer) width() int { return max(w.look.Width-nameWidth-3, 8) }

func (w *writer) margin(name, line string) {
	bar := w.look.paint(gray, w.look.sign("│", "|"))
	w.out.WriteString(strings.TrimRight(fmt.Sprintf("%-*s %s %s", nameWidth, name, bar, line), " ") + "\n")
}

func (w *writer) help(text string) {
	for _, line := range display.Wrap(text, max(w.look.Width-1, 20)) {
		line = strings.TrimRight(line, " ")
		if !w.look.UTF8 {
			line = strings.NewReplacer("·", ",", "“", `"`, "”", `"`).Replace(line)
		}
		w.out.WriteString(w.look.paint(gray, line) + "\n")
	}
}
