package pattern

import "unicode/utf8"

// Machine is an Element as an automaton over characters. It accepts the names that the Element
// matches. Its states are sets of positions, one bit each, so only an Element of at most
// [MaxMachine] characters has one.
type Machine []Token

// MaxMachine is the number of characters for which the positions fit in 64 bits.
const MaxMachine = 60

// Token is one step of a Machine.
type Token struct {
	Star   bool // any number of characters; the rest is empty
	Negate bool
	Ranges []Range // the characters that match; any character but '/' if negated and empty
}

// Range is the characters from Lo to Hi.
type Range struct{ Lo, Hi rune }

// Machine returns the automaton of e.
func (e Element) Machine() Machine {
	var m Machine
	for text := e.text; text != ""; {
		var tok Token
		switch text[0] {
		case '*':
			tok, text = Token{Star: true}, text[1:]
			if len(m) > 0 && m[len(m)-1].Star {
				continue
			}
		case '?':
			tok, text = Token{Negate: true}, text[1:]
		case '[':
			tok, text = parseClass(text[1:])
		default:
			var r rune
			r, text = parseRune(text)
			tok.Ranges = []Range{{r, r}}
		}
		m = append(m, tok)
	}
	return m
}

func parseClass(text string) (Token, string) {
	var tok Token
	if text != "" && text[0] == '^' {
		tok.Negate, text = true, text[1:]
	}
	for first := true; text != "" && (first || text[0] != ']'); first = false {
		var lo, hi rune
		lo, text = parseRune(text)
		hi = lo
		if len(text) > 1 && text[0] == '-' {
			hi, text = parseRune(text[1:])
		}
		tok.Ranges = append(tok.Ranges, Range{lo, hi})
	}
	if text != "" {
		text = text[1:]
	}
	return tok, text
}

func parseRune(text string) (rune, string) {
	if text[0] == '\\' && len(text) > 1 {
		text = text[1:]
	}
	r, n := utf8.DecodeRuneInString(text)
	return r, text[n:]
}

// Has reports whether the token, which is no star, matches a character.
func (t Token) Has(r rune) bool {
	in := false
	for _, rg := range t.Ranges {
		in = in || rg.Lo <= r && r <= rg.Hi
	}
	return in != t.Negate
}

// Literal returns the character that the token spells out.
func (t Token) Literal() (rune, bool) {
	if t.Star || t.Negate || len(t.Ranges) != 1 || t.Ranges[0].Lo != t.Ranges[0].Hi {
		return 0, false
	}
	return t.Ranges[0].Lo, true
}

// Start returns the positions before the first character.
func (m Machine) Start() uint64 { return m.closure(1) }

// Step returns the positions after a character.
func (m Machine) Step(at uint64, r rune) uint64 {
	var next uint64
	for i, tok := range m {
		switch {
		case at&(1<<i) == 0:
		case tok.Star:
			next |= 1 << i
		case tok.Has(r):
			next |= 1 << (i + 1)
		}
	}
	return m.closure(next)
}

// Accepts reports whether a name may end at these positions.
func (m Machine) Accepts(at uint64) bool { return at&(1<<len(m)) != 0 }

// closure adds the positions that follow a star.
func (m Machine) closure(at uint64) uint64 {
	for i, tok := range m {
		if tok.Star && at&(1<<i) != 0 {
			at |= 1 << (i + 1)
		}
	}
	return at
}

// overlap reports whether the machines may accept the same name. A set counts as any character,
// since its members depend on the locale, and a character beyond ASCII as any text, since the
// shell may take its bytes for characters.
func overlap(a, b Machine) bool {
	// row[j]: the tokens of a so far and b[:j] have a text in common.
	row := make([]bool, len(b)+1)
	row[0] = true
	for j, y := range b {
		row[j+1] = row[j] && y.many()
	}
	for _, x := range a {
		next := make([]bool, len(b)+1)
		next[0] = row[0] && x.many()
		for j, y := range b {
			switch {
			case x.many():
				next[j+1] = row[j+1] || next[j] || row[j]
			case y.many():
				next[j+1] = next[j] || row[j+1] || row[j]
			default:
				next[j+1] = row[j] && x.meets(y)
			}
		}
		row = next
	}
	return row[len(b)]
}

func (t Token) many() bool {
	r, literal := t.Literal()
	return t.Star || literal && r >= utf8.RuneSelf
}

func (t Token) meets(u Token) bool {
	a, one := t.Literal()
	b, two := u.Literal()
	return !one || !two || a == b
}
