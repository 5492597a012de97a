package analysis

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// plain reports whether an unquoted literal has no special meaning.
func plain(s string) bool {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		case c == '-', c == '_', c == '.', c == '/', c == ',', c == '+', c == '@', c == '%':
		case c == '=' || c == ':':
			if i+1 < len(s) && s[i+1] == '~' {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// unquoted reads literal text outside quotes: backslash escapes, globs, tildes.
func (r *wordReader) unquoted(lit *syntax.Lit, first bool) {
	s := lit.Value
	start := 0
	flush := func(end int) {
		if end > start {
			r.add(s[start:end], false)
		}
	}
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			flush(i)
			if i+1 == len(s) {
				// A backslash before a quote or the end of the text.
				r.p.doubt("a backslash that escapes nothing", lit.Pos(), lit.End())
				r.unknown()
				return
			}
			i++
			r.add(s[i:i+1], false)
			start = i + 1
		case '*', '?', '[':
			if r.assign || s[i] == '[' && !r.closed {
				continue
			}
			flush(i)
			if n := namedSet(s[i:]); n != 0 && r.openBracket() {
				if n < 0 {
					r.add(s[i:], false)
					r.unknown()
					return
				}
				r.class(s[i : i+n])
				i += n - 1
				start = i + 1
				continue
			}
			r.lower(Glob)
			r.add(s[i:i+1], true)
			start = i + 1
		case '{':
			r.brace = !r.assign
		case ']', '!', '-', '^':
			// These are syntax inside [ ] and literal outside. They remain part of the glob, so that
			// [a-z] stays one bracket expression.
			if r.openBracket() {
				flush(i)
				r.add(s[i:i+1], true)
				start = i + 1
			}
		case '~':
			if (i == 0 && first) || (i > 0 && (s[i-1] == '=' || s[i-1] == ':')) {
				flush(i)
				i = r.tilde(s, i)
				start = i + 1
			}
		}
	}
	flush(len(s))
}

// class adds a character class to a glob, as a piece of its own.
func (r *wordReader) class(s string) {
	r.lower(Glob)
	if r.kind != Unknown && !r.cut {
		r.text.WriteString(s)
	}
	r.pieces = append(r.pieces, piece{text: s, glob: true, class: true})
}

// openBracket reports whether the glob so far ends inside a bracket expression.
func (r *wordReader) openBracket() bool {
	open := false
	for _, p := range r.pieces {
		if !p.glob || p.class {
			continue
		}
		for i := 0; i < len(p.text); i++ {
			switch p.text[i] {
			case '[':
				open = true
			case ']':
				open = false
			}
		}
	}
	return open
}

// tilde reads a ~ that expands, at s[i], and returns the index of its last byte.
func (r *wordReader) tilde(s string, i int) int {
	end := i + 1
	for end < len(s) && s[end] != '/' && s[end] != ':' {
		end++
	}
	if home := r.p.place.Home; end == i+1 && home != "" {
		r.lower(Computed)
		r.loose = r.loose || i > 0 || len(r.pieces) > 0 // bash expands it there in some words only
		r.add(home, false)
		return i
	}
	if end == i+1 {
		r.p.needHome = true
	}
	r.add("~", false)
	r.unknown()
	return end - 1
}

func hasLit(w *syntax.Word, c byte) bool {
	for _, part := range w.Parts {
		if lit, ok := part.(*syntax.Lit); ok && strings.IndexByte(lit.Value, c) >= 0 {
			return true
		}
	}
	return false
}

// braceLike reports whether an unquoted { of the word could start a brace expansion.
func braceLike(w *syntax.Word) bool {
	comma, dots, open := false, false, false
	for _, part := range w.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok {
			continue
		}
		for i := 0; i < len(lit.Value); i++ {
			switch lit.Value[i] {
			case '\\':
				i++
			case '{':
				open = true
			case ',':
				comma = comma || open
			case '.':
				dots = dots || open && i+1 < len(lit.Value) && lit.Value[i+1] == '.'
			}
		}
	}
	return comma || dots
}

// classes lists the character classes of POSIX (IEEE Std 1003.1, 9.3.5), and bash's own word.
var classes = []string{
	"alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph",
	"lower", "print", "punct", "space", "upper", "word", "xdigit",
}

// namedSet returns the length of the character class at the start of s, such as "[:upper:]", or
// 0 if there is none. It returns a negative number for a set that is not supported: a collating
// symbol, an equivalence class, an unknown or partly quoted name.
func namedSet(s string) int {
	if len(s) < 2 || s[1] != ':' && s[1] != '.' && s[1] != '=' {
		return 0
	}
	name, _, found := strings.Cut(s[2:], ":]")
	if s[1] != ':' || !found || !slices.Contains(classes, name) {
		return -1
	}
	return len("[:") + len(name) + len(":]")
}

// bracketEnd returns the index after the bracket expression of a glob that begins at s[i], a
// '[', or -1 if it has no end. plain is false if it has a character class. Backslashes escape,
// as [Word.Text] writes them.
func bracketEnd(s string, i int) (end int, plain bool) {
	plain = true
	for i++; i < len(s); i++ {
		switch {
		case s[i] == '\\':
			i++
		case s[i] == ']':
			return i + 1, plain
		case s[i] == '[':
			if n := namedSet(s[i:]); n > 0 {
				i, plain = i+n-1, false
			}
		}
	}
	return -1, plain
}
