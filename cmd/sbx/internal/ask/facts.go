package ask

import (
	"fmt"
	"slices"
	"strings"

	"sandboxd/display"
)

// A card has at most cardRows rows where the terminal has cardWidth columns and at most tallRows rows (R-UX-10),
// unless it shows a change of contents.
const (
	cardRows  = 10
	cardWidth = 80
	tallRows  = 30
)

// changes names the facts that show a change of a file's contents.
var changes = []string{"Diff", "Content"}

// facts arranges names and values in rows. A value is indented and never begins in the column of names.
type facts struct {
	look  look
	width int
	limit int // lines of one value that a card shows; 0: all
	out   []shown
	last  string
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
	if most := one.mostRows(f.width - labelWidth); limit > 0 && most > 0 && (len(lines) > most || more > 0) {
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

// fit takes lines off the longest facts until most are left. Where that is not enough, it leaves out facts.
func (f *facts) fit(most int) {
	for f.count() > most {
		long := 0
		for i, one := range f.out {
			if len(one.lines) >= len(f.out[long].lines) {
				long = i
			}
		}
		one := &f.out[long]
		if n := len(one.lines) - 1; n > 0 {
			one.lines = append(slices.Clone(one.lines[:n-1]), f.shorten(one.lines[n-1]))
			f.cut = f.cut || !one.spare
			continue
		}
		f.leaveOut(most)
		return
	}
}

func (f *facts) count() int {
	n := 0
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

// leaveOut leaves most facts of one line, one of which says how many others there are.
func (f *facts) leaveOut(most int) {
	all, needed := len(f.out), 0
	for _, one := range f.out {
		if !one.spare {
			needed++
		}
	}
	for _, name := range leastNeeded {
		for i := len(f.out) - 1; i >= 0 && len(f.out) >= most; i-- {
			if f.out[i].name == name {
				f.out = slices.Delete(f.out, i, i+1)
			}
		}
	}
	f.out = f.out[:min(len(f.out), most-1)]
	for _, one := range f.out {
		if !one.spare {
			needed--
		}
	}
	more := f.lay("", []row{{{red, fmt.Sprintf("%d more facts: v shows them", all-len(f.out))}}})
	f.out, f.cut = append(f.out, shown{lines: more}), f.cut || needed > 0
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
