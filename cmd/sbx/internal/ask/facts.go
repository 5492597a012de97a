package ask

import (
	"fmt"
	"slices"
	"strings"

	"sandboxd/display"
)

// A card that the terminal has no room for is shortened where the terminal has cardWidth columns and at most
// tallRows rows, and scrolls elsewhere and where it shows a change of contents. roomAround is the rows of the terminal
// that it leaves free (R-UX-10).
const (
	cardWidth  = 80
	tallRows   = 30
	roomAround = 2
)

// changes names the facts that show a change of a file's contents.
var changes = []string{"Diff", "Content"}

// facts arranges names and values in rows. A value is indented and never begins in the column of names.
type facts struct {
	look  look
	width int
	limit int  // lines of one value that a card shows; 0: all
	brief bool // a fact has at most its mostRows
	out   []shown
	last  string
	less  int  // facts that were left out
	cut   bool // something was left out that an approval depends on
}

// shown is a fact with its lines.
type shown struct {
	fact
	lines []row
}

const labelWidth = 9

func (f *facts) add(one fact) {
	values, limit := one.rows, f.limit
	if limit > 0 && one.clip {
		values = []row{plainRow(f.look.clip(one.rows[0].text(), max(f.width-labelWidth, 8)))}
	}
	more := 0
	if limit > 0 && len(values) > limit {
		values, more = values[:limit], len(values)-limit
	}
	lines := f.lay(one.name, values)
	if most := one.mostRows(f.width - labelWidth); f.brief && most > 0 && (len(lines) > most || more > 0) {
		keep := min(most-1, len(lines))
		more += len(lines) - keep
		lines = lines[:keep]
	}
	if more > 0 {
		lines = append(lines, f.lay("", []row{{{red, fmt.Sprintf("%d more lines: v shows them", more)}}})...)
		f.cut = true
	}
	f.out = append(f.out, shown{one, lines})
}

// leastNeeded names the facts that a card without room leaves out first.
var leastNeeded = []string{"Batch", "It says", "Agent", "Sandbox", "Also", "Why", "Tool"}

// fit has at most most lines left. What an approval does not depend on goes first: lines of the longest of these
// facts, then the least needed of them. A yes has to wait only where the others are too long by themselves.
func (f *facts) fit(most int) {
	for _, spare := range []bool{true, false} {
		for f.count() > most && f.takeLine(spare) {
		}
		for _, name := range leastNeeded {
			for i := len(f.out) - 1; i >= 0 && f.count() > most; i-- {
				if f.out[i].name == name && (f.out[i].spare || !spare) {
					f.leaveOut(i)
				}
			}
		}
	}
	for f.count() > most && len(f.out) > 1 {
		f.leaveOut(len(f.out) - 1)
	}
	if f.less > 0 {
		more := f.lay("", []row{{{red, fmt.Sprintf("%d more facts: v shows them", f.less)}}})
		f.out = append(f.out, shown{lines: more})
	}
}

func (f *facts) leaveOut(i int) {
	f.cut = f.cut || !f.out[i].spare
	f.out, f.less = slices.Delete(f.out, i, i+1), f.less+1
}

// takeLine takes a line off the longest fact that has more than one, of the spare ones or of all. It reports whether
// there was one.
func (f *facts) takeLine(spare bool) bool {
	long := -1
	for i, one := range f.out {
		if (one.spare || !spare) && len(one.lines) > 1 && (long < 0 || len(one.lines) >= len(f.out[long].lines)) {
			long = i
		}
	}
	if long < 0 {
		return false
	}
	one := &f.out[long]
	n := len(one.lines) - 1
	one.lines = append(slices.Clone(one.lines[:n-1]), f.shorten(one.lines[n-1]))
	f.cut = f.cut || !one.spare
	return true
}

// count returns the rows of all, with the one that says how many facts were left out.
func (f *facts) count() int {
	n := min(f.less, 1)
	for _, one := range f.out {
		n += len(one.lines)
	}
	return n
}

// shorten ends a line with a sign that v shows more.
func (f *facts) shorten(line row) row {
	note := f.look.sign(" … v", " ... v")
	if strings.HasSuffix(line.text(), note) {
		return line
	}
	return append(line.wrap(f.width - display.Width(note))[0], span{red, note})
}

// lay returns the rows of values, wrapped, behind their name.
func (f *facts) lay(name string, values []row) []row {
	var out []row
	head := row{{gray, fmt.Sprintf("%-*s", labelWidth, name+":")}}
	if f.last == name || name == "" {
		head = plainRow(strings.Repeat(" ", labelWidth))
	}
	if name != "" {
		f.last = name
	}
	for i, v := range values {
		if i > 0 {
			head = plainRow(strings.Repeat(" ", labelWidth))
		}
		if f.width < 32 { // the name on a line of its own
			if strings.TrimSpace(head.text()) != "" {
				out = append(out, row{{gray, name + ":"}})
			}
			for _, r := range v.wrap(f.width - 2) {
				out = append(out, append(plainRow("  "), r...))
			}
			continue
		}
		out = append(out, hang(head, v, f.width)...)
	}
	return out
}
