package document

import (
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"
)

// place is a line and a column, both from 1, and the offset of both.
type place struct{ line, col, offset int }

func at(text string, offset int) place {
	before := text[:offset]
	return place{strings.Count(before, "\n") + 1, offset - strings.LastIndexByte(before, '\n'), offset}
}

// element moves to the first place after p where the string is spelled out.
func (p place) element(text, s string) place {
	if p.line == 0 || s == "" {
		return p
	}
	for _, quote := range []string{`"`, `'`} {
		if i := strings.Index(text[p.offset:], quote+s+quote); i >= 0 {
			return at(text, p.offset+i)
		}
	}
	return p
}

// locate finds the positions of the keys of a text that the TOML library has decoded without an
// error: tables, and keys outside of inline tables. The library does not export them.
func locate(text string) map[string]place {
	s := scanner{text: text}
	places := map[string]place{}
	mark := func(key toml.Key, offset int) {
		if _, ok := places[key.String()]; !ok {
			places[key.String()] = at(text, offset)
		}
	}
	var table toml.Key
	for s.skip(" \t\r\n\ufeff"); s.pos < len(text); s.skip(" \t\r\n") {
		start := s.pos
		switch text[start] {
		case '#':
			s.line()
		case '[':
			s.skip("[ \t")
			table = s.key()
			mark(table, start)
			s.line()
		default:
			key := append(append(toml.Key{}, table...), s.key()...)
			for i := len(table) + 1; i <= len(key); i++ {
				mark(key[:i], start)
			}
			s.skip("= \t")
			s.value()
		}
		if s.pos == start {
			s.pos++ // not TOML after all: continue
		}
	}
	return places
}

// scanner walks over TOML that is known to be well-formed.
type scanner struct {
	text string
	pos  int
}

func (s *scanner) skip(set string) {
	rest := s.text[s.pos:]
	s.pos += len(rest) - len(strings.TrimLeft(rest, set))
}

func (s *scanner) line() {
	if i := strings.IndexByte(s.text[s.pos:], '\n'); i >= 0 {
		s.pos += i + 1
	} else {
		s.pos = len(s.text)
	}
}

// key reads a dotted key.
func (s *scanner) key() toml.Key {
	var key toml.Key
	for {
		start := s.pos
		if s.pos < len(s.text) && strings.IndexByte(`"'`, s.text[s.pos]) >= 0 {
			s.quoted(s.text[s.pos : s.pos+1])
			key = append(key, unquote(s.text[start:s.pos]))
		} else {
			s.pos += len(s.text[start:]) - len(strings.TrimLeftFunc(s.text[start:], bare))
			key = append(key, s.text[start:s.pos])
		}
		s.skip(" \t")
		if s.pos >= len(s.text) || s.text[s.pos] != '.' {
			return key
		}
		s.skip(". \t")
	}
}

func bare(r rune) bool { return !strings.ContainsRune(" \t\r\n.=]#\"'", r) }

func unquote(s string) string {
	if plain, err := strconv.Unquote(s); err == nil && s[0] == '"' {
		return plain
	}
	return strings.Trim(s, `"'`)
}

// value skips a value, with all lists and tables inside it.
func (s *scanner) value() {
	for depth := 0; s.pos < len(s.text); {
		rest := s.text[s.pos:]
		switch {
		case strings.HasPrefix(rest, `"""`), strings.HasPrefix(rest, `'''`):
			s.quoted(rest[:3])
		case rest[0] == '"', rest[0] == '\'':
			s.quoted(rest[:1])
		case rest[0] == '#':
			s.line()
			if depth == 0 {
				return
			}
		case rest[0] == '\n' && depth == 0:
			return
		default:
			depth += strings.Count("[{", rest[:1]) - strings.Count("]}", rest[:1])
			s.pos++
		}
	}
}

// quoted skips a string; up to two more quotes may precede the three that end one (TOML 1.0,
// "String").
func (s *scanner) quoted(quote string) {
	for s.pos += len(quote); s.pos < len(s.text); s.pos++ {
		switch {
		case s.text[s.pos] == '\\' && quote[0] == '"':
			s.pos++
		case strings.HasPrefix(s.text[s.pos:], quote):
			s.pos += len(quote)
			for n := 0; n < 2 && len(quote) == 3 && strings.HasPrefix(s.text[s.pos:], quote[:1]); n++ {
				s.pos++
			}
			return
		}
	}
	s.pos = len(s.text)
}
