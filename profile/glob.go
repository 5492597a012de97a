package profile

import "unicode/utf8"

// glob is a pattern of path.Match as a row of tokens: the form in which
// patterns are reasoned about. Matching a name is path.Match's work.
type glob []token

type token struct {
	star   bool
	negate bool
	ranges []runeRange // the runes that the token matches; any rune but '/' if negated and empty
}

type runeRange struct{ lo, hi rune }

// parseGlob reads a pattern that path.Match has accepted.
func parseGlob(text string) glob {
	var g glob
	for text != "" {
		var tok token
		switch text[0] {
		case '*':
			tok, text = token{star: true}, text[1:]
			if len(g) > 0 && g[len(g)-1].star {
				continue
			}
		case '?':
			tok, text = token{negate: true}, text[1:]
		case '[':
			tok, text = parseClass(text[1:])
		default:
			var r rune
			r, text = parseRune(text)
			tok.ranges = []runeRange{{r, r}}
		}
		g = append(g, tok)
	}
	return g
}

func parseClass(text string) (token, string) {
	var tok token
	if text != "" && text[0] == '^' {
		tok.negate, text = true, text[1:]
	}
	for first := true; text != "" && (first || text[0] != ']'); first = false {
		var lo, hi rune
		lo, text = parseRune(text)
		hi = lo
		if len(text) > 1 && text[0] == '-' {
			hi, text = parseRune(text[1:])
		}
		tok.ranges = append(tok.ranges, runeRange{lo, hi})
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

func (t token) match(r rune) bool {
	in := false
	for _, rg := range t.ranges {
		in = in || rg.lo <= r && r <= rg.hi
	}
	return in != t.negate
}

// start returns the positions before the first rune, as bits.
func (g glob) start() uint64 { return g.closure(1) }

// closure adds the positions that follow a star.
func (g glob) closure(at uint64) uint64 {
	for i, tok := range g {
		if tok.star && at&(1<<i) != 0 {
			at |= 1 << (i + 1)
		}
	}
	return at
}

func (g glob) step(at uint64, r rune) uint64 {
	var next uint64
	for i, tok := range g {
		switch {
		case at&(1<<i) == 0:
		case tok.star:
			next |= 1 << i
		case tok.match(r):
			next |= 1 << (i + 1)
		}
	}
	return g.closure(next)
}

func (g glob) accepts(at uint64) bool { return at&(1<<len(g)) != 0 }
