package ask

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"sandboxd/display"
	"sandboxd/ipc"
)

// The smallest terminal that a dialog fits on.
const (
	minCols = 24
	minRows = 10
)

// view is the dialog as lines, each no wider than the terminal, and no more of them
// than it has: the terminal would leave out the last, where the options stand.
func (d *dialog) view(now time.Time) []string {
	d.small = d.look.Width < minCols || d.rows < minRows
	need := minRows
	if !d.small {
		out := d.draw(now)
		if d.small = len(out) > d.rows && !d.bare; !d.small {
			return out
		}
		need = len(out)
	}
	return d.cramped(need)
}

func (d *dialog) draw(now time.Time) []string {
	switch {
	case d.stage == stageView:
		return d.drawAll(now)
	case d.stage == stageChoose:
		out := d.drawChooser(true)
		if len(out) > d.rows {
			out = d.drawChooser(false)
		}
		return out
	case short(d.a, d.look) && !special(d.a):
		return d.drawLine(now)
	}
	return d.drawBox(now)
}

// special reports a question that has more to show than its command.
func special(a ipc.Approval) bool {
	p := a.Presentation
	return p != nil && p.Content != "" && p.Content != subjectOf(a)
}

// cramped is what a terminal shows that is too small to answer at; rows is how many lines
// the dialog takes at least, beside the one that it leaves free.
func (d *dialog) cramped(rows int) []string {
	d.viewed, d.top, d.seen = false, 0, 0
	text := fmt.Sprintf("sandboxd asks. This terminal is too small to show it: %d columns and %d lines are needed. Ctrl+C denies.", minCols, rows+1)
	out := display.Wrap(text, max(d.look.Width, 1))
	for i := range out {
		out[i] = strings.TrimRight(out[i], " ")
	}
	return out[:min(len(out), max(d.rows, 1))]
}

// boxWidth: 90 % of the terminal, at least 24 and, but for diffs, at most 60
// cells (R-UX-01).
func (d *dialog) boxWidth() int {
	w := max(d.look.Width*9/10, minCols)
	if p := d.a.Presentation; p != nil && p.Kind == "diff" {
		return w
	}
	return min(w, 60)
}

func (d *dialog) frame() string {
	if d.a.Outside || d.a.Dangerous || d.a.Risk == "high" {
		return red
	}
	return cyan
}

// drawBox is the card: what, and the selector.
func (d *dialog) drawBox(now time.Time) []string {
	b := &box{look: d.look, width: d.boxWidth(), color: d.frame()}
	text, cut := d.body(b.inner(), maxLines)
	low := d.selector(b.inner())
	if d.stage == stageCode {
		low = d.codeRows(b.inner())
	}
	below := d.below(now)
	alarms := alarmsOf(d.a)
	frame := 3 + len(alarms)
	height := d.rows - frame - len(low) - len(below)
	if height < 3 && len(below) > 1 {
		height, below = height+len(below)-1, below[:1]
	}
	if height < len(text) {
		height-- // for the line that says so
	}
	if height < 1 { // the hints go first
		cut := min(1-height, len(below))
		height, below = height+cut, below[:len(below)-cut]
	}
	b.top("sandboxd asks")
	for _, s := range alarms {
		b.center(red, s)
	}
	b.rows(d.window(text, height, cut))
	if d.height < d.length {
		end, key := min(d.top+d.height, d.length), "PgDn"
		if end == d.length {
			key = "PgUp"
		}
		b.row(row{{red, fmt.Sprintf("%d-%d of %d, %s", d.top+1, end, d.length, key)}})
	}
	b.rule()
	b.rows(low)
	b.bottom()
	return append(b.out, below...)
}

// drawLine is the form of a question of low risk.
func (d *dialog) drawLine(now time.Time) []string {
	d.viewed = true
	l := d.look
	rest := append(row{{"", l.line(tool(d.a)) + ": "}}, joined(highlight(subjectOf(d.a), "", l))...)
	if len(d.a.Reasons) > 0 {
		rest = append(rest, span{gray, " (" + l.line(d.a.Reasons[0]) + ")"})
	}
	var out []string
	for _, r := range hang(row{{cyan, "sandboxd asks: "}}, rest, l.Width) {
		out = append(out, r.string(l))
	}
	var options row
	for i, o := range d.options {
		if i > 0 {
			options = append(options, span{gray, l.sign(" · ", " , ")})
		}
		text, color := fmt.Sprintf("%d %s", i+1, strings.TrimSuffix(o.label, ":")), ""
		if o.verb == verbNo && d.reason() {
			text += ": " + d.visible(d.line.Text())
		}
		if i == d.line.At() {
			text, color = ">"+text, green
		}
		options = append(options, span{color, text})
	}
	for _, r := range hang(plainRow("  "), options, l.Width) {
		out = append(out, r.string(l))
	}
	return append(out, d.below(now)...)
}

func joined(rows []row) row {
	var out row
	for i, r := range rows {
		if i > 0 {
			out = append(out, span{"", " "})
		}
		out = append(out, r...)
	}
	return out
}

// below is what stands under the box: hints, time, a note.
func (d *dialog) below(now time.Time) []string {
	l := d.look
	var out []string
	if d.bare {
		return nil
	}
	add := func(color, text string) {
		for _, r := range (row{{color, text}}).wrap(l.Width) {
			out = append(out, r.string(l))
		}
	}
	if d.note != "" {
		add(red, d.note)
	}
	switch {
	case d.stage == stageSending:
		add(gray, l.sign("sending…", "sending..."))
	case d.stage == stageCode:
		add(gray, "Enter confirm, Ctrl+C cancel"+d.clock(now))
	case !d.line.Due().IsZero():
		at := d.line.At()
		label := strings.TrimSuffix(d.options[at].label, ":")
		add(green, fmt.Sprintf("%d: %s, in a moment. Any other key makes it a reason, Esc clears it", at+1, label))
	case d.reason():
		add(gray, "Enter denies with this reason, Esc clears it, Ctrl+C cancel"+d.clock(now))
	default:
		arrows := l.sign("↑/↓", "Up/Down")
		digits := "quick"
		if slices.Contains(d.a.Trusts, trustOnce) {
			digits = "select"
		}
		add(gray, fmt.Sprintf("%s navigate, Enter confirm, 1-%d %s, Ctrl+C cancel%s", arrows, len(d.options), digits, d.clock(now)))
		if d.onlyNo {
			add(red, "The risk is high: a yes has to come from another terminal (sbx approve).")
		}
	}
	return out
}

// clock is how long it has waited, and how long it can.
func (d *dialog) clock(now time.Time) string {
	s := d.look.sign(" · ", ", ") + age(now.Sub(d.a.Created)) + " old"
	if d.a.Deadline != nil {
		s += ", " + age(max(d.a.Deadline.Sub(now), 0)) + " left"
	}
	return s
}

func age(d time.Duration) string {
	if d >= 2*time.Minute {
		return fmt.Sprintf("%d min", int(d.Minutes()))
	}
	return fmt.Sprintf("%d s", max(int(d.Seconds()), 0))
}

// body is what the card tells.
func (d *dialog) body(width, limit int) (text []row, cut bool) {
	a, l := d.a, d.look
	f := &facts{look: l, width: width, limit: limit}
	f.add("Tool", plainRow(l.line(tool(a))))
	if subject := commandOf(a); subject != "" {
		marks := ""
		if a.Presentation != nil && a.Command != "" {
			marks = a.Presentation.Metadata["marks"]
		}
		f.add("Command", highlight(subject, marks, l)...)
		if set := Variables(a); set != "" {
			f.add("With", rowsOf(l.block(set))...)
		}
	} else {
		f.line("What", a.Description)
		if len(a.Input) > 0 && !special(a) {
			f.add("Input", rowsOf(l.block(input(a.Input)))...)
		}
	}
	if p := a.Presentation; p != nil && p.Content != "" && p.Content != a.Command && p.Content != commandOf(a) {
		f.add(title(p.Kind), content(p, l)...)
	}
	f.line("In", a.Cwd)
	if commandOf(a) == "" { // a command shows it
		f.line("Path", a.BlockedPath)
	}
	for _, n := range a.Notes {
		f.line("Note", n)
	}
	for _, r := range reasons(a) {
		f.line("Why", r)
	}
	f.line("Rule", a.Rule)
	f.line("Agent", agent(a))
	f.line("It says", a.Claim)
	if b := a.Batch; b != nil {
		f.line("Batch", fmt.Sprintf("%d of %d", b.Index+1, b.Total))
		var next []row
		for _, c := range b.Remaining {
			next = append(next, plainRow(l.line(nextCall(c))))
		}
		f.add("Then", next...)
	}
	if len(a.Sandbox) > 0 {
		var list []row
		for _, s := range a.Sandbox {
			list = append(list, plainRow(l.line(s)))
		}
		f.add("Sandbox", list...)
	}
	f.line("Held by", enforcement(a.Enforcement))
	for _, w := range a.Widenings {
		f.line("Offers", first(w.Label, w.Access+" "+w.Object))
	}
	for _, w := range a.Warnings {
		if !slices.ContainsFunc(alarmsOf(a), func(s string) bool { return strings.Contains(s, w.Message) && w.Hint == "" }) {
			f.line("Warning", strings.TrimSpace(w.Message+" "+w.Hint))
		}
	}
	if found := inspect(a); found != 0 {
		f.add("Careful", row{{red, "the text holds " + found.String()}})
	}
	return f.out, f.cut
}

func title(kind string) string {
	switch kind {
	case "diff":
		return "Diff"
	case "file_content":
		return "Content"
	}
	return "Details"
}

func rowsOf(lines []string) []row {
	out := make([]row, len(lines))
	for i, s := range lines {
		out[i] = plainRow(s)
	}
	return out
}

// facts lays out names and values. Values never stand where names do.
type facts struct {
	look  look
	width int
	limit int // lines of one value that a card shows; 0: all
	out   []row
	last  string
	cut   bool // something was left out
}

const labelWidth = 9

func (f *facts) line(name, value string) {
	if strings.TrimSpace(value) != "" {
		f.add(name, plainRow(f.look.line(value)))
	}
}

func (f *facts) add(name string, values ...row) {
	if len(values) == 0 {
		return
	}
	head := row{{gray, fmt.Sprintf("%-*s", labelWidth, name+":")}}
	if f.last == name {
		head = plainRow(strings.Repeat(" ", labelWidth))
	}
	f.last = name
	if f.limit > 0 && len(values) > f.limit {
		more := len(values) - f.limit
		values = append(slices.Clone(values[:f.limit]), row{{red, fmt.Sprintf("%d more lines: v shows them", more)}})
		f.cut = true
	}
	for i, v := range values {
		if i > 0 {
			head = plainRow(strings.Repeat(" ", labelWidth))
		}
		if f.width < 32 { // the name on a line of its own
			if strings.TrimSpace(head.text()) != "" {
				f.out = append(f.out, row{{gray, name + ":"}})
			}
			for _, r := range v.wrap(f.width - 2) {
				f.out = append(f.out, append(plainRow("  "), r...))
			}
			continue
		}
		f.out = append(f.out, hang(head, v, f.width)...)
	}
}

// selector is the options, the letter of each at the right.
func (d *dialog) selector(width int) []row {
	var out []row
	for i, o := range d.options {
		mark, color := "  ", ""
		if o.verb == verbNo {
			color = gray
		}
		if i == d.line.At() {
			mark, color = "> ", green
		}
		label := o.label
		if o.verb == verbNo && d.reason() {
			label += " " + d.visible(d.line.Text())
		}
		head := row{{color, fmt.Sprintf("%s%d. ", mark, i+1)}}
		rows := hang(head, row{{color, label}}, width-2)
		if letter := o.letter(); letter != "" {
			gap := width - 1 - rows[0].width()
			rows[0] = append(rows[0], span{gray, strings.Repeat(" ", gap) + letter})
		}
		out = append(out, rows...)
	}
	return out
}

// codeRows ask for the second yes.
func (d *dialog) codeRows(width int) []row {
	what := "It is dangerous."
	switch {
	case d.a.Delete:
		what = "It deletes something."
	case d.a.Protected:
		what = "It reaches something protected."
	}
	out := (row{{red, what + " To really allow it, type these two words:"}}).wrap(width)
	out = append(out, row{{"", "  "}, {bold, string(d.code)}})
	return append(out, hang(plainRow("> "), row{{green, d.visible(string(d.words)) + "_"}}, width)...)
}

// drawAll is the full view.
func (d *dialog) drawAll(now time.Time) []string {
	b := &box{look: d.look, width: max(d.look.Width*9/10, minCols), color: d.frame()}
	text, _ := d.body(b.inner(), 0)
	hint := (row{{gray, d.look.sign("↑/↓", "Up/Down") + " PgUp PgDn Home End scroll, q back" + d.clock(now)}}).wrap(d.look.Width)
	b.top("sandboxd asks: all of it")
	b.rows(d.window(text, d.rows-3-len(hint), false))
	b.row(row{{gray, fmt.Sprintf("lines %d-%d of %d", d.top+1, min(d.top+d.height, d.length), d.length)}})
	b.bottom()
	for _, r := range hint {
		b.out = append(b.out, r.string(d.look))
	}
	return b.out
}

// drawChooser is "Always allow…", with or without examples of what would have been
// covered. The question itself has been on the screen.
func (d *dialog) drawChooser(examples bool) []string {
	l, c := d.look, d.choice
	b := &box{look: l, width: d.boxWidth(), color: d.frame()}
	b.top(l.sign("Always allow…", "Always allow..."))
	b.rows(hang(row{{gray, "for "}}, plainRow(l.clip(l.line(subjectOf(d.a)), 2*(b.inner()-4))), b.inner()))
	b.rule()
	for i, s := range c.what {
		mark, color := "  ", ""
		if i == c.row {
			mark, color = "> ", green
		}
		b.rows(hang(row{{color, mark}}, row{{color, l.line(s.Label)}}, b.inner()))
		b.rows(hang(plainRow("    "), row{{gray, pastWords(s.Past)}}, b.inner()))
		if examples && i == c.row && s.Past != nil {
			for _, e := range s.Past.Examples {
				b.rows(hang(row{{gray, "    " + l.sign("│", "|") + " "}}, plainRow(l.line(e)), b.inner()))
			}
		}
	}
	b.rule()
	_, reach, life := c.words()
	b.rows(hang(row{{gray, l.sign("←/→", "</>") + "  "}}, plainRow("reach: "+reach), b.inner()))
	b.rows(hang(row{{gray, "Tab  "}}, plainRow("life:  "+life), b.inner()))
	b.rule()
	what := "exactly this request"
	if c.row > 0 {
		what = "“" + l.line(c.what[c.row].Label) + "”"
	}
	b.rows((row{{bold, "Allows " + what + " without asking, " + reach + ", " + life + "."}}).wrap(b.inner()))
	b.bottom()
	hint := row{{gray, l.sign("↑/↓", "Up/Down") + " what, Enter grants it, Esc goes back, Ctrl+C denies"}}
	for _, r := range hint.wrap(l.Width) {
		b.out = append(b.out, r.string(l))
	}
	return b.out
}

// alarmsOf are the warnings on top of the box.
func alarmsOf(a ipc.Approval) []string {
	var out []string
	for _, f := range []struct {
		on   bool
		text string
	}{{a.Outside, "OUTSIDE PROJECT"}, {a.Dangerous, "DANGEROUS"}, {a.Delete, "DELETES"}, {a.Protected, "PROTECTED"}} {
		if f.on {
			out = append(out, "!! "+f.text+" !!")
		}
	}
	if a.Risk == "high" && len(out) == 0 {
		out = append(out, "!! HIGH RISK !!")
	}
	return out
}
