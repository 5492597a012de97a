// Package display makes untrusted text safe to show to a person.
//
// The promise: for any input, the output has only printable characters, moves no cursor,
// reverses no text, hides no part of itself and stays on its line. Nothing is dropped. An
// invisible or misleading character is written as an escape (\x1b, \u202e, \n). A run of blanks
// that would push the rest off the screen is replaced by its count.
//
//	display.Line("touch x #\x1b[2K\rls")   // touch x #\x1b[2K\rls, all of it visible
//	display.Block("a\n\n\n\n\nb")           // "a", "[4 empty lines]", "b"
//
// The daemon, the command line and every front end call the same functions, so a command looks
// the same in each of them. A front end with its own syntax (HTML, Markdown) must still escape
// for that syntax.
//
// Applying a function to its own output changes nothing.
//
// # Limitations
//
// Words of one foreign script are shown unchanged (a person who writes Russian file names can
// read them), unless every letter of the word resembles a Latin letter. Right-to-left letters
// are shown too. A terminal that reorders them may show a line in another order than it runs,
// so [Inspect] reports them and a prompt should warn. A literal backslash is not doubled: the
// five characters \x1b in a command look like the escape of one character. [Spans]
// distinguishes them for front ends with colour.
package display

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// BlankRun is the longest run of blanks inside a line that is shown unchanged. A longer run is
// replaced by its count.
const BlankRun = 16

// indentRun is the longest run of blanks at the start of a line that [Block] shows unchanged.
const indentRun = 40

// tabWidth is the number of blanks that [Block] shows for a tab.
const tabWidth = 4

// Span is a piece of neutralised text. The Text of all spans, joined, equals the result of
// [Line].
type Span struct {
	// Text is safe to print.
	Text string
	// Marked is true if this package wrote Text in place of a character that cannot be shown. A
	// front end can highlight it.
	Marked bool
}

// Line neutralises s for a single line: commands, paths, names. Line breaks and tabs become \n,
// \r and \t.
func Line(s string) string {
	if plain(s) {
		return s
	}
	return join(scan(s, style{}))
}

// Prose neutralises s like [Line] but keeps typographic quotation marks, dashes and full-width
// punctuation. They are common and harmless in sentences; in a command they resemble the
// shell's own syntax.
func Prose(s string) string {
	if plain(s) {
		return s
	}
	return join(scan(s, style{prose: true}))
}

// ASCII neutralises s like [Line] and escapes every character outside ASCII. It is for
// terminals whose encoding is not known to be UTF-8, where a byte of a harmless letter can be a
// control character.
func ASCII(s string) string {
	if plain(s) {
		return s
	}
	return join(scan(s, style{ascii: true}))
}

// Spans neutralises s like [Line] and reports which parts are escapes.
func Spans(s string) []Span {
	return scan(s, style{})
}

// style selects the characters that a caller can show.
type style struct {
	prose bool // keep typographic punctuation
	ascii bool // show ASCII only
	block bool // s is one of several lines: tabs are blanks, indents may be long
}

// plain reports whether s is ASCII that needs no escape, so that the caller can skip scan.
func plain(s string) bool {
	blanks := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c < 0x20 || c >= 0x7f {
			return false
		}
		if c != ' ' {
			blanks = 0
			continue
		}
		if blanks++; blanks > BlankRun {
			return false
		}
	}
	return true
}

func join(spans []Span) string {
	var b strings.Builder
	for _, s := range spans {
		b.WriteString(s.Text)
	}
	return b.String()
}

// builder collects spans and merges adjacent ones of the same kind.
type builder struct {
	spans  []Span
	text   strings.Builder
	marked bool
}

func (b *builder) add(text string, marked bool) {
	if marked != b.marked {
		b.flush()
		b.marked = marked
	}
	b.text.WriteString(text)
}

func (b *builder) flush() []Span {
	if b.text.Len() > 0 {
		b.spans = append(b.spans, Span{Text: b.text.String(), Marked: b.marked})
		b.text.Reset()
	}
	return b.spans
}

// escape returns the visible form of a character that is not shown as itself.
func escape(r rune) string {
	switch {
	case r == '\n':
		return `\n`
	case r == '\r':
		return `\r`
	case r == '\t':
		return `\t`
	case r < 0x80:
		return hex(`\x`, uint64(r), 2)
	case r < 0x10000:
		return hex(`\u`, uint64(r), 4)
	default:
		return hex(`\U`, uint64(r), 8)
	}
}

func hex(prefix string, v uint64, digits int) string {
	s := strconv.FormatUint(v, 16)
	return prefix + strings.Repeat("0", max(0, digits-len(s))) + s
}

// unit is one character of a string, one byte of invalid UTF-8, or a run of blanks.
type unit struct {
	at, end int
	r       rune
	blank   bool
	why     Finding // if not 0, the unit is written as an escape
}

// scan neutralises s. Every exported function is built on it.
func scan(s string, st style) []Span {
	var out builder
	for _, u := range judge(units(s, st.block), s, st.prose) {
		switch {
		case u.blank:
			writeBlanks(&out, s[u.at:u.end], u.at == 0, st)
		case u.why == Encoding:
			out.add(hex(`\x`, uint64(s[u.at]), 2), true)
		case u.why != 0, st.ascii && u.r >= 0x80:
			out.add(escape(u.r), true)
		default:
			out.add(s[u.at:u.end], false)
		}
	}
	return out.flush()
}

// units splits s into units.
func units(s string, block bool) []unit {
	out := make([]unit, 0, len(s))
	for i := 0; i < len(s); {
		if n := blanks(s[i:], block); n > 0 {
			out = append(out, unit{at: i, end: i + n, r: ' ', blank: true})
			i += n
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		u := unit{at: i, end: i + size, r: r}
		if r == utf8.RuneError && size == 1 {
			u.why = Encoding
		}
		out = append(out, u)
		i += size
	}
	return out
}

// judge sets the reason why a unit is escaped. It checks the character itself, then the word
// around it, then the character that a mark is drawn onto.
func judge(list []unit, s string, prose bool) []unit {
	for i := range list {
		if list[i].why == 0 && !list[i].blank {
			list[i].why = classify(list[i].r, prose)
		}
	}
	limitMarks(list)
	markLookalikes(list, s)
	limitMarks(list)
	return list
}

// limitMarks escapes marks that follow no letter, and marks beyond markable on one letter.
func limitMarks(list []unit) {
	marks := markable // no letter yet: a mark here would change the caller's own text
	for i := range list {
		switch u := &list[i]; {
		case u.blank, u.why != 0:
			marks = markable
		case !isMark(u.r):
			marks = 0
		case marks >= markable:
			u.why = Marks
		default:
			marks++
		}
	}
}

// blanks returns the number of leading bytes of s that are blanks.
func blanks(s string, block bool) int {
	n := 0
	for n < len(s) && (s[n] == ' ' || block && s[n] == '\t') {
		n++
	}
	return n
}

// writeBlanks writes a run of blanks, or its count if the run is too long.
func writeBlanks(out *builder, run string, first bool, st style) {
	width, limit := len(run), BlankRun
	if st.block {
		width += strings.Count(run, "\t") * (tabWidth - 1)
		if first {
			limit = indentRun
		}
	}
	if width <= limit {
		out.add(strings.Repeat(" ", width), false)
		return
	}
	if !first {
		out.add(" ", false)
	}
	out.add("["+strconv.Itoa(len(run))+" blanks]", true)
	out.add(" ", false)
}
