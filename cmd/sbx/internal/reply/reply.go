// Package reply is the grammar of answers to a question (R-UX-09). Every form of a
// question reads the keys of a person with it: box, line, plain prompt and queue.
//
// The promise: a letter of an option by itself, or yes or no, and Enter is that
// answer. Any other text and Enter is a no with that text as the reason. An arrow
// only highlights. A digit selects, and takes effect after [Pause] without another
// key; another key makes it the beginning of a reason.
//
//	line := reply.Line{Options: []string{"y", "s", "n"}, First: 2}
//	line.Type("y", time.Now())
//	kind, option := line.Enter() // reply.Option, 0
//
// Read is the same grammar for a whole line of a plain prompt.
package reply

import (
	"slices"
	"strings"
	"time"
)

// Pause is the time without another key after which a digit takes effect.
const Pause = 800 * time.Millisecond

// maxRunes bounds a reason; further characters are ignored.
const maxRunes = 500

// Kind is the meaning of a line with Enter.
type Kind int

const (
	Empty      Kind = iota // nothing was typed
	Option                 // the answer of one option
	NotOffered             // the letter of an answer that this question does not offer
	Reason                 // a no with the text as its reason
)

// letters are those that have a meaning in some question.
const letters = "ynsaqvp"

var words = map[string]string{"yes": "y", "no": "n"}

// Read returns the meaning of a typed line. options holds the letter of each
// option by its number, "" for an option without one. The option is -1 unless the
// kind is Option.
func Read(text string, options []string) (Kind, int) {
	word := strings.ToLower(strings.TrimSpace(text))
	if long, ok := words[word]; ok {
		word = long
	}
	switch {
	case word == "":
		return Empty, -1
	case len(word) > 1:
		return Reason, -1
	}
	if i := slices.Index(options, word); i >= 0 {
		return Option, i
	}
	if n := int(word[0]) - '1'; n >= 0 && n < len(options) {
		return Option, n
	}
	if strings.Contains(letters, word) {
		return NotOffered, -1
	}
	return Reason, -1
}

// Line is an answer in the making.
type Line struct {
	// Options holds the letter of each option by its number, "" for none.
	Options []string
	// First is the option that is highlighted before any key; -1: none.
	First int
	// Slow has a digit only highlight, as an arrow does: Enter gives the answer.
	Slow bool

	typed   []rune
	at      int // highlighted by an arrow, where moved
	moved   bool
	spoiled bool      // the digit at the beginning belongs to a reason
	due     time.Time // when the digit takes effect; zero: it does not
}

// Clear forgets the text and the highlight.
func (l *Line) Clear() { *l = Line{Options: l.Options, First: l.First, Slow: l.Slow} }

// Move highlights the next option, or with -1 the one before. A reason stays: only
// Clear takes it back.
func (l *Line) Move(step int) {
	if l.Kind() == Reason {
		return
	}
	at, n := l.At(), len(l.Options)
	l.Clear()
	if at < 0 && step < 0 {
		at = n
	}
	l.at, l.moved = (at+step+n)%n, true
}

// Type takes the characters of a key; a key without any is still another key.
func (l *Line) Type(text string, now time.Time) {
	if !l.due.IsZero() {
		l.due, l.spoiled = time.Time{}, true
	}
	for _, r := range text {
		if r < 0x20 || r == 0x7f || len(l.typed) >= maxRunes || r == ' ' && len(l.typed) == 0 {
			continue
		}
		l.typed = append(l.typed, r)
		digit := len(l.typed) == 1 && r >= '1' && r <= '9'
		l.spoiled = l.spoiled || len(l.typed) > 1 && l.typed[0] >= '0' && l.typed[0] <= '9'
		if digit && !l.Slow && l.Kind() == Option {
			l.due = now.Add(Pause)
		}
	}
}

// Erase takes the last character back.
func (l *Line) Erase() {
	if len(l.typed) > 0 {
		l.typed, l.due = l.typed[:len(l.typed)-1], time.Time{}
	}
	if len(l.typed) == 0 {
		l.Clear()
	}
}

// Kind returns the meaning of the text alone.
func (l *Line) Kind() Kind {
	kind, _ := l.read()
	return kind
}

func (l *Line) read() (Kind, int) {
	if l.spoiled {
		return Reason, -1
	}
	return Read(string(l.typed), l.Options)
}

// Enter returns the meaning of the line; with nothing typed it is the highlighted
// option's.
func (l *Line) Enter() (Kind, int) {
	kind, option := l.read()
	if kind != Empty {
		return kind, option
	}
	if option = l.At(); option < 0 {
		return Empty, -1
	}
	return Option, option
}

// At returns the highlighted option, -1 for none.
func (l *Line) At() int {
	kind, option := l.read()
	switch {
	case kind == Option:
		return option
	case kind != Empty:
		return slices.Index(l.Options, "n")
	case l.moved:
		return l.at
	}
	return l.First
}

// Due returns when the digit takes effect; zero: none waits.
func (l *Line) Due() time.Time { return l.due }

// Text returns the text without blanks around it.
func (l *Line) Text() string { return strings.TrimSpace(string(l.typed)) }
