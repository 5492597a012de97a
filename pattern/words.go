package pattern

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Kind says how much of a word is known before the command runs.
type Kind uint8

// The kinds of words. The zero value is Unknown.
const (
	Unknown Kind = iota // Text has the known prefix
	Glob                // Text is the glob; backslashes escape its quoted characters
	Known               // Text is the value, which an expansion makes
	Literal             // exactly Text
)

// Word is one word of a command after quote removal.
type Word struct {
	Text string
	Kind Kind
}

func (w Word) known() bool { return w.Kind >= Known }

// Command is a simple command.
type Command struct {
	Words []Word
	// Sub is the index of the sub-command if the program takes options before it, as in git -C
	// dir commit; else 0.
	Sub int
}

// Words is a pattern over the words of one simple command. The zero value matches nothing.
type Words struct {
	words []word
	// more is true if further words may follow.
	more bool
	// only is true if no further words may follow, even for a forbidding pattern of one word.
	only bool
	text string
}

type word struct {
	text string
	wild bool // text has * or ?
}

// NewWords returns the pattern of the words of text, a command in shell syntax. Unquoted * and ?
// match any text within a word; a last word * permits further words. If more is true, further
// words are always permitted. NewWords returns an error if a word is not literal.
func NewWords(text string, args []Word, more bool) (Words, error) {
	w := Words{more: more, text: text}
	for i, a := range args {
		switch {
		case a.Kind == Glob && a.Text == "*" && i == len(args)-1 && i > 0:
			w.more = true
		case a.Kind == Glob:
			w.words = append(w.words, word{text: a.Text, wild: true})
		case a.Kind == Literal:
			w.words = append(w.words, word{text: a.Text})
		default:
			return Words{}, fmt.Errorf("pattern %q: the word %q is not literal", text, a.Text)
		}
	}
	if len(w.words) == 0 || w.words[0].text == "" {
		return Words{}, fmt.Errorf("pattern %q: it names no command", text)
	}
	return w, nil
}

// String returns the pattern as written.
func (w Words) String() string { return w.text }

// First returns the literal words at the start of the pattern.
func (w Words) First() []string {
	var out []string
	for _, x := range w.words {
		if x.wild {
			break
		}
		out = append(out, x.text)
	}
	return out
}

// Permits reports whether an allowing pattern covers a command.
func (w Words) Permits(args []Word) bool {
	if len(w.words) == 0 || len(args) < len(w.words) || len(args) > len(w.words) && !w.more {
		return false
	}
	for i, p := range w.words {
		a := args[i]
		if a.Kind != Literal {
			return false
		}
		if p.wild && !p.permits(a.Text, i == 0) || !p.wild && a.Text != p.text {
			return false
		}
	}
	return true
}

// permits reports whether a pattern with wildcards covers a word: not a path outside the pattern's
// directory, not a command by a path that the pattern has not, and not an option.
func (p word) permits(text string, command bool) bool {
	switch {
	case optional(p.text, text), slices.Contains(strings.Split(text, "/"), ".."):
		return false
	case command && strings.Contains(text, "/") && !strings.Contains(p.text, "/"):
		return false
	}
	return Wild(p.text, text)
}

// optional reports whether word is an option and the pattern begins with a wildcard: "*.py" is
// for files, and -cCODE#.py is not a file.
func optional(pattern, word string) bool {
	return strings.HasPrefix(word, "-") && !strings.HasPrefix(pattern, "-")
}

// Spells reports whether the pattern covers a command word for word: every word of the command
// is a literal word of the pattern.
func (w Words) Spells(args []Word) bool {
	if len(w.words) != len(args) {
		return false
	}
	for i, p := range w.words {
		if p.wild || args[i].Kind != Literal || args[i].Text != p.text {
			return false
		}
	}
	return true
}

// Spelled reports whether the pattern spells out the word of a command at an index. It does if
// its own word there is literal, or is an option or a variable with any value ("--output=*").
func (w Words) Spelled(at int) bool {
	if at >= len(w.words) {
		return false
	}
	known, _, wild := strings.Cut(w.words[at].text, "*")
	if before, _, found := strings.Cut(known, "?"); found {
		known, wild = before, true
	}
	short := len(known) == 2 && known[0] == '-' && known[1] != '-'
	return !w.words[at].wild || wild && (short || strings.Contains(known, "="))
}

// Bare reports whether the pattern is a command's name alone, with any words behind it.
func (w Words) Bare() bool { return len(w.words) == 1 || len(w.words) == 2 && w.words[1].text == "*" }

// Only returns the pattern without further words: it names and permits only commands of exactly
// its words.
func (w Words) Only() Words {
	w.more, w.only = false, true
	return w
}

// Answer is the result of matching a forbidding pattern.
type Answer uint8

// The answers. Maybe: an unknown word, or one that is the value of an option, could make the pattern match.
const (
	No Answer = iota
	Maybe
	Yes
)

// Names reports whether a forbidding pattern names a command.
func (w Words) Names(c Command) Answer {
	if len(w.words) == 0 || len(c.Words) == 0 {
		return No
	}
	best := w.names(c.Words)
	if c.Sub > 1 {
		best = max(best, w.names(append(c.Words[:1:1], c.Words[c.Sub:]...)))
	}
	// Options before the sub-command: without them an exact pattern would cover too much.
	if best != Yes && (w.more || len(w.words) == 1 && !w.only) {
		best = max(best, w.names(withoutOptions(c.Words)))
	}
	if best != Yes && w.scattered(c) {
		best = Yes
	}
	if best == No && c.Sub == 0 && w.more && w.behind(c.Words) {
		best = Maybe
	}
	return best
}

// behind reports whether a command has the pattern's words in order with nothing before and between them but options
// and what may be their values: "yarn add" in yarn --cwd x add y. Whether a word is a value only the program knows.
func (w Words) behind(args []Word) bool {
	if len(args) == 0 || (Words{words: w.words[:1], more: true}).names(args[:1]) != Yes {
		return false
	}
	// at are the indexes in the pattern up to which the words so far may match it.
	at := map[int]bool{1: true}
	option := func(i int) bool { return i > 0 && args[i].known() && len(args[i].Text) > 1 && args[i].Text[0] == '-' }
	for i := 1; i < len(args); i++ {
		next := map[int]bool{}
		for p := range at {
			if p == len(w.words) {
				return true
			}
			if option(i) || option(i-1) {
				next[p] = true
			}
			if word := w.words[p]; args[i].known() && (word.wild && WildForbids(word.text, args[i].Text) ||
				word.text == args[i].Text) {
				next[p+1] = true
			}
		}
		if at = next; len(at) == 0 {
			return false
		}
	}
	return at[len(w.words)]
}

func withoutOptions(args []Word) []Word {
	plain := args[:1:1]
	for _, a := range args[1:] {
		if !a.known() || !strings.HasPrefix(a.Text, "-") {
			plain = append(plain, a)
		}
	}
	return plain
}

// scattered reports whether a command has the pattern's words in order and its options in any
// position, as most programs accept them: "rm -rf" also names rm -fr x, rm -r -f x and rm x
// -rf. It applies only if further words may follow.
func (w Words) scattered(c Command) bool {
	rest, options := Words{more: true}, []string(nil)
	for _, p := range w.words {
		if p.wild || len(p.text) < 2 || p.text[0] != '-' || p.text == "--" {
			rest.words = append(rest.words, p)
			continue
		}
		options = append(options, p.text)
	}
	if !w.more || len(options) == 0 || len(rest.words) == 0 {
		return false
	}
	plain := c.Words[:1:1]
	var given []string
	for i, a := range c.Words[1:] {
		switch {
		case !a.known() || len(a.Text) < 2 || a.Text[0] != '-':
			if i+1 >= c.Sub { // not the value of an option before the sub-command
				plain = append(plain, a)
			}
			continue
		case a.Text != "--":
			given = append(given, a.Text)
			continue
		}
		plain = append(plain, c.Words[i+2:]...)
		break
	}
	for _, o := range options {
		if !has(given, o) {
			return false
		}
	}
	return rest.names(plain) == Yes
}

// has reports whether an option of a pattern is among those of a command: itself, or
// abbreviated if it is long, or letter by letter if it is a cluster.
func has(given []string, option string) bool {
	long, letters := strings.HasPrefix(option, "--"), ""
	for _, g := range given {
		name, _, _ := strings.Cut(g, "=")
		switch {
		case g == option || name == option, long && len(name) > 3 && strings.HasPrefix(option, name):
			return true
		case len(g) <= 5 && g[1] != '-':
			letters += g[1:]
		}
	}
	return !long && len(option) <= 4 &&
		!strings.ContainsFunc(option[1:], func(r rune) bool { return !strings.ContainsRune(letters, r) })
}

func (w Words) names(args []Word) Answer {
	more := w.more || len(w.words) == 1 && !w.only // a rule that forbids rm forbids it with operands too
	if len(args) < len(w.words) || len(args) > len(w.words) && !more {
		return No
	}
	answer := Yes
	for i, p := range w.words {
		a := args[i]
		text := a.Text
		if !a.known() {
			if a.Kind == Glob && !strings.HasPrefix(p.text, globRoot(text)) && !p.wild {
				return No
			}
			answer = Maybe
			continue
		}
		if i == 0 && !strings.Contains(p.text, "/") {
			if text = path.Base(text); strings.EqualFold(text, p.text) {
				text = p.text // on file systems without case, GIT is git
			}
		}
		if p.wild && !WildForbids(p.text, text) || !p.wild && p.text != text {
			return No
		}
	}
	return answer
}

func globRoot(s string) string {
	if at := strings.IndexAny(s, `*?[\`); at >= 0 {
		return s[:at]
	}
	return s
}

// Wild reports whether text matches a pattern of *, ? and [ ] in the syntax of package
// analysis. Unlike path.Match, * also matches slashes. Wild backtracks only to the last *, so
// it takes at most quadratic time.
func Wild(pattern, text string) bool {
	p, i, behind, mark := 0, 0, -1, 0
	for i < len(text) {
		if p < len(pattern) && pattern[p] == '*' {
			p++
			behind, mark = p, i
			continue
		}
		if n := one(pattern[p:], text[i]); n > 0 {
			p, i = p+n, i+1
			continue
		}
		if behind < 0 {
			return false
		}
		mark++
		p, i = behind, mark
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// WildForbids is Wild for patterns that forbid. It also reads [ ] and \ as the characters
// themselves, because "app/[id]/*" can mean either and a rule must not stop forbidding.
func WildForbids(pattern, text string) bool {
	return Wild(pattern, text) || strings.ContainsAny(pattern, `[\`) && Wild(literalSets.Replace(pattern), text)
}

var literalSets = strings.NewReplacer(`[`, `\[`, `\`, `\\`)

// one returns the length of the pattern's first element if it matches the byte c, else 0.
func one(pattern string, c byte) int {
	if pattern == "" {
		return 0
	}
	switch pattern[0] {
	case '?':
		return 1
	case '[':
		if end := strings.IndexByte(pattern, ']'); end >= 0 {
			if ok, err := path.Match(pattern[:end+1], string(rune(c))); err == nil && ok {
				return end + 1
			}
			return 0
		}
	case '\\':
		if len(pattern) > 1 && pattern[1] == c {
			return 2
		}
		if len(pattern) > 1 {
			return 0
		}
	}
	if pattern[0] == c {
		return 1
	}
	return 0
}
