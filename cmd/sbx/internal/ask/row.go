package ask

import (
	"strings"

	"sandboxd/display"
)

// span is text of one colour; "" is none.
type span struct{ color, text string }

// row is one line of a screen.
type row []span

func plainRow(text string) row { return row{{"", text}} }

// width is how many cells the row takes.
func (r row) width() int {
	n := 0
	for _, s := range r {
		n += display.Width(s.text)
	}
	return n
}

// string is the row as a terminal of that look is sent it.
func (r row) string(l look) string {
	var b strings.Builder
	for _, s := range r {
		b.WriteString(l.paint(s.color, s.text))
	}
	return b.String()
}

// cut takes the bytes from up to to out of the row's text.
func (r row) cut(from, to int) row {
	var out row
	at := 0
	for _, s := range r {
		a, b := max(from, at), min(to, at+len(s.text))
		if a < b {
			out = append(out, span{s.color, s.text[a-at : b-at]})
		}
		at += len(s.text)
	}
	return out
}

func (r row) text() string {
	var b strings.Builder
	for _, s := range r {
		b.WriteString(s.text)
	}
	return b.String()
}

// wrap cuts the row into rows of at most width cells.
func (r row) wrap(width int) []row {
	var out []row
	at := 0
	for _, piece := range display.Wrap(r.text(), width) {
		end := at + len(piece)
		out = append(out, r.cut(at, at+len(strings.TrimRight(piece, " "))))
		at = end
	}
	return out
}

// hang wraps rest behind head. Further lines begin under the first letter of rest, so
// that untrusted text never begins in the first column.
func hang(head row, rest row, width int) []row {
	indent := head.width()
	if width-indent < 8 || indent > width/2 { // no room beside it
		out := []row{head}
		for _, r := range rest.wrap(max(width-2, 4)) {
			out = append(out, append(plainRow("  "), r...))
		}
		return out
	}
	var out []row
	for i, r := range rest.wrap(width - indent) {
		if i == 0 {
			out = append(out, append(append(row{}, head...), r...))
			continue
		}
		out = append(out, append(plainRow(strings.Repeat(" ", indent)), r...))
	}
	return out
}

// box frames rows.
type box struct {
	look  look
	width int // cells, frame included
	color string
	out   []string
}

func (b *box) inner() int { return b.width - 4 }

func (b *box) top(title string) {
	h := b.look.sign("─", "-")
	line := b.look.sign("┌", "+")
	if title != "" {
		line += h + " " + title + " "
	}
	line += strings.Repeat(h, max(b.width-1-display.Width(line), 0)) + b.look.sign("┐", "+")
	b.out = append(b.out, b.look.paint(b.color, line))
}

func (b *box) rule() { b.edge("├", "┤") }

func (b *box) bottom() { b.edge("└", "┘") }

// hinted is the bottom with a hint in it; an empty one is none.
func (b *box) hinted(hint span) {
	if hint.text == "" {
		b.bottom()
		return
	}
	h := b.look.sign("─", "-")
	rest := strings.Repeat(h, max(b.width-5-display.Width(hint.text), 0)) + b.look.sign("┘", "+")
	b.out = append(b.out, b.look.paint(b.color, b.look.sign("└", "+")+h+" ")+b.look.paint(hint.color, hint.text)+
		" "+b.look.paint(b.color, rest))
}

func (b *box) edge(left, right string) {
	b.out = append(b.out, b.look.paint(b.color, b.look.sign(left, "+")+strings.Repeat(b.look.sign("─", "-"), b.width-2)+
		b.look.sign(right, "+")))
}

// row is one framed line; r is at most inner cells wide.
func (b *box) row(r row) {
	side := b.look.paint(b.color, b.look.sign("│", "|"))
	b.out = append(b.out, side+" "+r.string(b.look)+strings.Repeat(" ", max(b.inner()-r.width(), 0))+" "+side)
}

func (b *box) rows(list []row) {
	for _, r := range list {
		b.row(r)
	}
}

// center puts a line into the middle.
func (b *box) center(color, text string) {
	for _, r := range (row{{color, text}}).wrap(b.inner()) {
		b.row(append(plainRow(strings.Repeat(" ", (b.inner()-r.width())/2)), r...))
	}
}
