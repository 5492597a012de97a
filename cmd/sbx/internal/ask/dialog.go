package ask

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"sandboxd/cmd/sbx/internal/reply"
	"sandboxd/display"
	"sandboxd/ipc"
)

// settleTime is how long a change must have been on the screen
// before a key counts.
const settleTime = 500 * time.Millisecond

// stage is the step of a dialog.
type stage int

const (
	stageOptions stage = iota // the selector
	stageCode                 // the second yes: two words
	stageView                 // all of it, to scroll through
	stageChoose               // the chooser
	stagePick                 // the picker
	stageSending              // an answer is on its way
)

// dialog is one question at a full terminal: the highlighted option, the text
// typed, the rows seen. It knows no terminal: keys come by name, and it returns
// the act.
type dialog struct {
	a       ipc.Approval
	onlyNo  bool
	inline  bool
	look    look // Width is the terminal's
	rows    int  // of the terminal that are this dialog's
	settle  time.Duration
	options []option
	line    reply.Line // the answer that is being typed
	words   []rune     // the second yes that is being typed
	stage   stage
	since   time.Time // when the screen last changed
	code    code
	first   ipc.Answer // that the second yes is for
	note    string     // a line of ours below the box
	top     int        // the first line of the text that is shown
	seen    int        // how many lines of it were shown so far, from the first
	height  int        // lines of it that fit
	length  int        // lines that there are
	viewed  bool       // all of it was on the screen
	bare    bool       // without hints: it is over
	small   bool       // the terminal is too small for it, and shows that instead
	kept    time.Time  // the daemon has heard of a key then
	queued  bool       // the dialog is the queue's: Ctrl+C denies at the second press
	warned  bool       // Ctrl+C was the last key, and denies now
	choice  chooser
	picks   picker
}

// act is the effect of a key.
type act struct {
	answer *ipc.Answer
	fetch  bool // read the question again from the daemon
}

func newDialog(a ipc.Approval, look look, rows int, inline bool, now time.Time) *dialog {
	d := &dialog{look: look, rows: rows, inline: inline, settle: settleTime}
	d.show(a, now)
	return d
}

// show puts a question, or a changed one, on the screen.
func (d *dialog) show(a ipc.Approval, now time.Time) {
	d.a, d.onlyNo = a, d.inline && a.Risk == "high"
	if d.inline { // R-IP-01: more than that is not granted where it was asked
		d.a.Scopes = slices.DeleteFunc(slices.Clone(a.Scopes), func(s string) bool { return s != "once" && s != "session" })
	}
	d.options = optionsOf(d.a, d.onlyNo, d.look)
	d.stage, d.note, d.top, d.seen, d.viewed = stageOptions, "", 0, 0, false
	d.clear()
	d.appeared(now)
}

// know adds the details that only the whole question contains, and its current count
// of equal requests. If that changes the card, its settle time starts again.
func (d *dialog) know(a ipc.Approval, now time.Time) {
	if a.Rev != d.a.Rev || a.Hash != d.a.Hash {
		early := now.Sub(d.since) < d.settle // nobody has read it yet
		d.show(a, now)
		if !early {
			d.note = "The request has changed meanwhile. Look at it again."
		}
		return
	}
	d.a.Deadline = a.Deadline
	before, viewed := strings.Join(d.view(now), "\n"), d.viewed
	d.a.Presentation, d.a.Past, d.a.Count = a.Presentation, a.Past, a.Count
	for i := range d.a.Suggestions {
		if i < len(a.Suggestions) {
			d.a.Suggestions[i].Past = a.Suggestions[i].Past
		}
	}
	if d.stage == stageChoose {
		d.choice.what = newChooser(d.a).what
	}
	if strings.Join(d.view(now), "\n") != before {
		d.top, d.seen, d.viewed = 0, 0, false
		d.appeared(now)
		return
	}
	d.viewed = viewed
}

// appeared has no key count for a while, nor a digit that waits.
func (d *dialog) appeared(now time.Time) {
	if d.since = now; !d.line.Due().IsZero() {
		d.clear()
	}
}

func (d *dialog) resize(look look, rows int, now time.Time) {
	if look == d.look && rows == d.rows {
		return
	}
	d.look, d.rows = look, rows
	d.top, d.seen = 0, 0
	d.appeared(now)
}

// clear drops the text typed; the highlight returns to its start (R-UX-01): on
// the first option at low risk, nowhere at high risk, else on Deny. An answer that trusts a project
// takes Enter.
func (d *dialog) clear() {
	first := slices.Contains(d.a.Trusts, trustOnce)
	d.words, d.line = nil, reply.Line{Options: lettersOf(d.options), First: -1, Slow: first || d.a.Risk == "high"}
	switch {
	case d.a.Risk == "low" && !first:
		d.line.First = 0
	case d.a.Risk != "high":
		d.line.First = slices.Index(d.line.Options, string(verbNo))
	}
}

// due gives the answer that a digit has selected, once its time has come.
func (d *dialog) due(now time.Time) act {
	if at := d.line.Due(); d.stage != stageOptions || at.IsZero() || now.Before(at) {
		return act{}
	}
	n := d.line.At()
	return d.take(n, strconv.Itoa(n+1), now)
}

// key takes one key: its name ("up", "enter", "ctrl+c"), and the text that it
// types, if any.
func (d *dialog) key(name, text string, now time.Time) act {
	if now.Sub(d.since) < d.settle {
		return act{}
	}
	switch name {
	case "ctrl+c", "ctrl+d", `ctrl+\`:
		switch {
		case d.stage == stageSending:
			return act{}
		case d.queued && !d.warned && !d.small:
			d.warned, d.note = true, keyName(name)+" again denies, Ctrl+Q leaves."
			return act{}
		}
		return d.deny("cancelled", keyName(name))
	}
	d.note, d.warned = "", false
	switch d.stage {
	case stageOptions:
		return d.selectKey(name, text, now)
	case stageCode:
		return d.codeKey(name, text)
	case stageView:
		d.viewKey(name, now)
	case stageChoose:
		return d.chooseKey(name, now)
	case stagePick:
		return d.pickKey(name, now)
	}
	return act{}
}

func (d *dialog) selectKey(name, text string, now time.Time) act {
	switch name {
	case "up":
		d.line.Move(-1)
	case "down":
		d.line.Move(1)
	case "pgup", "pgdown", "home", "end":
		d.line.Type("", now)
		d.scroll(name)
	case "esc", "ctrl+u":
		d.clear()
	case "backspace":
		d.line.Erase()
	case "enter":
		key := "Enter"
		switch kind, n := d.line.Enter(); kind {
		case reply.Option:
			if word := d.line.Text(); word != "" {
				key = word + " Enter"
			}
			return d.take(n, key, now)
		case reply.NotOffered:
			d.note = notOffered(d.line.Text())
			d.clear()
		default:
			return d.deny(d.line.Text(), key)
		}
	default:
		d.line.Type(text, now)
	}
	return act{}
}

// notOffered says that an answer exists, though not for this question.
func notOffered(word string) string {
	return strconv.Quote(word) + " is not on offer here; nothing is decided."
}

// take carries out an option; key is the key pressed for it.
func (d *dialog) take(i int, key string, now time.Time) act {
	o := d.options[i]
	switch o.verb {
	case verbNo:
		return d.deny("", key)
	case verbQuit:
		answer := d.blank()
		answer.Mode, answer.Key = "hard", key
		if d.a.Batch != nil {
			answer.Scope = "batch"
		}
		return d.send(answer)
	case verbPresets:
		answer := d.blank()
		answer.Presets, answer.Key = true, key
		return d.send(answer)
	case verbView:
		d.clear()
		d.stage, d.top, d.seen = stageView, 0, 0
		d.appeared(now)
		return act{fetch: d.a.Presentation == nil}
	case verbAlways:
		if !d.whole() {
			return act{}
		}
		d.stage, d.choice = stageChoose, newChooser(d.a)
		d.appeared(now)
		return act{fetch: d.a.Past == nil}
	case verbSome:
		if !d.whole() {
			return act{}
		}
		d.stage, d.picks = stagePick, picker{paths: d.a.Paths, picked: map[int]bool{}}
		d.appeared(now)
		return act{}
	}
	if !d.whole() {
		return act{}
	}
	answer := d.blank()
	answer.Allow, answer.Scope, answer.Widening, answer.Key = true, o.verb.scope(), o.widening, key
	answer.Trust = o.verb.trust(d.a)
	return d.send(answer)
}

// whole reports whether all of it was on the screen; else it shows the remedy.
func (d *dialog) whole() bool {
	if d.viewed {
		return true
	}
	d.note = "Part of this question is hidden. v and Enter, scroll to its end, q; then answer."
	if d.seen < d.length { // else the card leaves something out, and has nothing to scroll
		d.note = "Part of this question is hidden. PgDn, to its end; then answer."
	}
	d.clear()
	return false
}

func (d *dialog) blank() ipc.Answer { return ipc.Answer{ID: d.a.ID, Rev: d.a.Rev, Hash: d.a.Hash} }

func (d *dialog) deny(reason, key string) act {
	answer := d.blank()
	answer.Note, answer.Mode, answer.Key = reason, "soft", key
	return d.send(answer)
}

func (d *dialog) send(answer ipc.Answer) act {
	answer = together(d.a, answer)
	d.stage, d.first = stageSending, answer
	return act{answer: &answer}
}

// confirm asks for the second yes: two words that are on the screen.
func (d *dialog) confirm(rev int, c code, now time.Time) {
	if rev != 0 {
		d.first.Rev, d.a.Rev = rev, rev
	}
	d.stage, d.code, d.words = stageCode, c, nil
	d.appeared(now)
}

func (d *dialog) codeKey(name, text string) act {
	switch name {
	case "enter":
		if !d.code.matches(string(d.words)) {
			return d.deny("not confirmed", "Enter")
		}
		d.first.Confirm = true
		return d.send(d.first)
	case "esc", "ctrl+u":
		d.words = nil
	case "backspace":
		if n := len(d.words); n > 0 {
			d.words = d.words[:n-1]
		}
	default:
		for _, r := range text {
			if r >= 0x20 && len(d.words) < 40 {
				d.words = append(d.words, r)
			}
		}
	}
	return act{}
}

func (d *dialog) viewKey(name string, now time.Time) {
	switch name {
	case "q", "esc", "v", "enter":
		d.stage, d.top = stageOptions, 0
		if !d.viewed {
			d.seen = 0
		}
		d.clear()
		d.appeared(now)
	default:
		d.scroll(name)
	}
}

// scroll moves the text. Lines count as seen when no line before them was left out.
func (d *dialog) scroll(name string) {
	page := max(d.height-1, 1)
	switch name {
	case "up", "k":
		d.top--
	case "down", "j":
		d.top++
	case "pgup", "b":
		d.top -= page
	case "pgdown", "space", "f":
		d.top += page
	case "home", "g":
		d.top = 0
	case "end", "G":
		d.top = d.length
	}
	d.top = max(min(d.top, d.length-d.height), 0)
}

// window is the visible part of the text, and notes the rows seen.
func (d *dialog) window(list []row, height int, cut bool) []row {
	d.length, d.height = len(list), max(height, 1)
	d.top = max(min(d.top, d.length-d.height), 0)
	end := min(d.top+d.height, d.length)
	if d.top <= d.seen {
		d.seen = max(d.seen, end)
	}
	if d.seen >= d.length && !cut {
		d.viewed = true
	}
	return list[d.top:end]
}

// reason reports whether the text is the reason for a no.
func (d *dialog) reason() bool { return d.line.Kind() == reply.Reason }

// visible is the text typed, made safe to show.
func (d *dialog) visible(typed string) string { return d.look.fit(display.Prose(typed)) }
