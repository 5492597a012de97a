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
	case d.stage == stagePick:
		return d.drawPicker()
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

// cramped is the text at a terminal that is too small to answer at; rows is the least number of lines
// of the dialog, beside the one that it leaves free.
func (d *dialog) cramped(rows int) []string {
	d.viewed, d.top, d.seen = false, 0, 0
	text := fmt.Sprintf("sandboxd asks. This terminal is too small to show it: %d columns and %d lines are needed. "+
		"Ctrl+C denies.", minCols, rows+1)
	out := display.Wrap(text, max(d.look.Width, 1))
	for i := range out {
		out[i] = strings.TrimRight(out[i], " ")
	}
	return out[:min(len(out), max(d.rows, 1))]
}

// boxWidth is 90 % of the terminal, at least 24 cells (R-UX-01) and, but for diffs, at most 120: a line that is
// longer is hard to read.
func (d *dialog) boxWidth() int {
	w := max(d.look.Width*9/10, minCols)
	if p := d.a.Presentation; p != nil && p.Kind == "diff" {
		return w
	}
	return min(w, 120)
}

func (d *dialog) frame() string {
	if d.a.Outside || d.a.Dangerous || d.a.Risk == "high" {
		return red
	}
	return cyan
}

// drawBox is the card: the request, and the selector.
func (d *dialog) drawBox(now time.Time) []string {
	b := &box{look: d.look, width: d.boxWidth(), color: d.frame()}
	low := d.selector(b.inner())
	if d.stage == stageCode {
		low = d.codeRows(b.inner())
	}
	hint := d.hint(d.clock(now))
	if short := d.hint(d.left(now)); display.Width(hint.text)+6 > b.width && display.Width(short.text)+6 <= b.width {
		hint = short
	}
	framed := !d.bare && display.Width(hint.text)+6 <= b.width
	below := d.below(now, !framed)
	if !framed {
		hint.text = ""
	}
	heading := "sandboxd asks"
	if named(d.a) {
		heading += ": " + d.a.Tool
	}
	if batch := d.a.Batch; batch != nil && batch.Total > 1 && b.width >= 60 {
		heading += fmt.Sprintf(" (%d of %d)", batch.Index+1, batch.Total)
	}
	alarms := strings.Join(alarmsOf(d.a), " ")
	if alarms != "" && display.Width(heading+alarms)+8 <= b.width {
		heading, alarms = heading+" "+b.look.sign("─", "-")+" "+alarms, ""
	}
	frame := 2
	if alarms != "" {
		frame += len(plainRow(alarms).wrap(b.inner()))
	}
	text, cut := d.body(b.inner(), maxLines, d.rows-roomAround-frame-len(low)-len(below))
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
	b.top(heading)
	if alarms != "" {
		b.center(red, alarms)
	}
	b.rows(d.window(text, height, cut))
	if d.height < d.length {
		end, key := min(d.top+d.height, d.length), "PgDn"
		if end == d.length {
			key = "PgUp"
		}
		b.row(row{{red, fmt.Sprintf("%d-%d of %d, %s", d.top+1, end, d.length, key)}})
	}
	b.rows(low)
	b.hinted(hint)
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
	return append(out, d.below(now, true)...)
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

// below is the text under the box: a note, a warning, and the hint where the frame has no room for it.
func (d *dialog) below(now time.Time, hinted bool) []string {
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
	if hinted {
		h := d.hint(d.clock(now))
		add(h.color, h.text)
	}
	if d.onlyNo && d.stage == stageOptions && d.line.Due().IsZero() && !d.reason() {
		add(red, "The risk is high: a yes has to come from another terminal (sbx approve).")
	}
	return out
}

// hint names the keys; clock follows them.
func (d *dialog) hint(clock string) span {
	l := d.look
	switch {
	case d.stage == stageSending:
		return span{gray, l.sign("sending…", "sending...")}
	case d.stage == stageCode:
		return span{gray, "Enter confirm, Ctrl+C cancel" + clock}
	case !d.line.Due().IsZero():
		at := d.line.At()
		label := strings.TrimSuffix(d.options[at].label, ":")
		return span{green, fmt.Sprintf("%d: %s, in a moment. Any other key makes it a reason, Esc clears it", at+1, label)}
	case d.reason():
		return span{gray, "Enter denies with this reason, Esc clears it, Ctrl+C cancel" + clock}
	}
	digits := "quick"
	if slices.Contains(d.a.Trusts, trustOnce) {
		digits = "select"
	}
	return span{gray, fmt.Sprintf("%s Enter confirm, 1-%d %s, Ctrl+C cancel%s", l.sign("↑/↓", "Up/Down"), len(d.options),
		digits, clock)}
}

// clock is how long the question has waited, and how long it can.
func (d *dialog) clock(now time.Time) string {
	s := d.look.sign(" · ", ", ") + age(now.Sub(d.a.Created)) + " old"
	if left := d.left(now); left != "" {
		s += ", " + strings.TrimLeft(left, " ·,")
	}
	return s
}

// left is how long the question can wait.
func (d *dialog) left(now time.Time) string {
	if d.a.Deadline == nil {
		return ""
	}
	return d.look.sign(" · ", ", ") + age(max(d.a.Deadline.Sub(now), 0)) + " left"
}

func age(d time.Duration) string {
	if d >= 2*time.Minute {
		return fmt.Sprintf("%d min", int(d.Minutes()))
	}
	return fmt.Sprintf("%d s", max(int(d.Seconds()), 0))
}

// body is the text of the card, in at most most rows where it is shortened; limit 0 is the full view's.
func (d *dialog) body(width, limit, most int) (text []row, cut bool) {
	list := cardFacts(d.a, d.look)
	if limit == 0 {
		list = allFacts(d.a, d.look)
	}
	lay := func(brief bool) *facts {
		f := &facts{look: d.look, width: width, limit: limit, brief: brief}
		for _, one := range list {
			f.add(one)
		}
		return f
	}
	f := lay(false)
	diff := slices.ContainsFunc(list, func(one fact) bool { return slices.Contains(changes, one.name) })
	switch {
	case limit == 0 || f.count() <= most && !f.cut:
	case d.look.Width >= cardWidth && d.rows <= tallRows && !diff:
		f.fit(max(most, 4))
	default:
		f = lay(true)
	}
	for _, one := range f.out {
		text = append(text, one.lines...)
	}
	return text, f.cut
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

// selector is the options, the letter of each at the right: two in a row where both fit.
func (d *dialog) selector(width int) []row {
	var out []row
	half := (width - 2) / 2
	fits := func(i int) bool {
		return half >= 28 && i < len(d.options) && d.options[i].widening == "" && !d.reason() && len(d.option(i, half)) == 1
	}
	for i := 0; i < len(d.options); i++ {
		if !fits(i) || !fits(i+1) {
			out = append(out, d.option(i, width)...)
			continue
		}
		left, right := d.option(i, half)[0], d.option(i+1, width-half-2)[0]
		gap := strings.Repeat(" ", half+2-left.width())
		out = append(out, append(append(left, span{"", gap}), right...))
		i++
	}
	return out
}

// option is one option, wrapped to width.
func (d *dialog) option(i, width int) []row {
	o, mark, color := d.options[i], "  ", ""
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
	rows := hang(row{{color, fmt.Sprintf("%s%d. ", mark, i+1)}}, row{{color, label}}, width-2)
	if letter := o.letter(); letter != "" {
		gap := width - 1 - rows[0].width()
		rows[0] = append(rows[0], span{gray, strings.Repeat(" ", gap) + letter})
	}
	return rows
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
	text, _ := d.body(b.inner(), 0, 0)
	hint := (row{{gray, d.look.sign("↑/↓", "Up/Down") + " PgUp PgDn Home End scroll, q back" +
		d.clock(now)}}).wrap(d.look.Width)
	b.top("sandboxd asks: all of it")
	b.rows(d.window(text, d.rows-3-len(hint), false))
	b.row(row{{gray, fmt.Sprintf("lines %d-%d of %d", d.top+1, min(d.top+d.height, d.length), d.length)}})
	b.bottom()
	for _, r := range hint {
		b.out = append(b.out, r.string(d.look))
	}
	return b.out
}

// drawChooser draws the chooser, with or without examples of covered
// calls. The question itself has been on the screen.
func (d *dialog) drawChooser(examples bool) []string {
	l, c := d.look, d.choice
	b := &box{look: l, width: d.boxWidth(), color: d.frame()}
	b.top(strings.ReplaceAll(c.title(), "…", l.sign("…", "...")))
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
	if len(c.scopes) > 1 {
		b.rows(hang(row{{gray, l.sign("←/→", "</>") + "  "}}, plainRow("where: "+reach), b.inner()))
	}
	b.rows(hang(row{{gray, "Tab  "}}, plainRow("how long: "+life), b.inner()))
	b.rule()
	what := "exactly this request"
	if c.what[c.row].ID != "" {
		what = "“" + l.line(c.what[c.row].Label) + "”"
	}
	b.rows((row{{bold, "Allows " + what + " without asking, " + reach + ", " + life + "."}}).wrap(b.inner()))
	b.bottom()
	hint := "Enter allows, Esc goes back, Ctrl+C denies"
	if len(c.what) > 1 {
		hint = l.sign("↑/↓", "Up/Down") + " what, " + hint
	}
	if d.inline {
		hint += ". For longer than this session: sbx approve, in another terminal"
	}
	for _, r := range (row{{gray, hint}}).wrap(l.Width) {
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
