package main

import "unicode/utf8"

// object writes one JSON object, a member after the other.
type object struct {
	text []byte
	bad  bool // a text was not UTF-8
}

func (o *object) name(name string) {
	if len(o.text) == 0 {
		o.text = append(o.text, '{')
	} else {
		o.text = append(o.text, ',')
	}
	o.quote(name)
	o.text = append(o.text, ':')
}

// element writes one text of an array that text begins.
func (o *object) element(value string) {
	if len(o.text) > 1 {
		o.text = append(o.text, ',')
	}
	o.quote(value)
}

// set writes a member with a text; the empty one is left out.
func (o *object) set(name, value string) {
	if value != "" {
		o.name(name)
		o.quote(value)
	}
}

// raw writes a member with JSON; the empty one is left out.
func (o *object) raw(name string, value []byte) {
	if len(value) > 0 {
		o.name(name)
		o.text = append(o.text, value...)
	}
}

func (o *object) end() []byte { return append(o.text, '}') }

const hexDigits = "0123456789abcdef"

func (o *object) quote(s string) {
	o.bad = o.bad || !utf8.ValidString(s)
	o.text = append(o.text, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			o.text = append(o.text, '\\', c)
		case c < ' ':
			o.text = append(o.text, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		default:
			o.text = append(o.text, c)
		}
	}
	o.text = append(o.text, '"')
}

// members calls f for each member of a JSON object, with its value's text. It
// reads the answer of a server that is known to write JSON, without white space;
// it gives up other texts, and names with escapes.
func members(text []byte, f func(name string, value []byte)) bool {
	if len(text) < 2 || text[0] != '{' || text[len(text)-1] != '}' {
		return false
	}
	for rest := text[1:]; ; {
		if len(rest) == 1 {
			return rest[0] == '}'
		}
		n := valueEnd(rest)
		if n < 2 || rest[0] != '"' || n >= len(rest) || rest[n] != ':' {
			return false
		}
		name := rest[1 : n-1]
		for _, c := range name {
			if c == '\\' {
				return false
			}
		}
		rest = rest[n+1:]
		if n = valueEnd(rest); n == 0 || n >= len(rest) {
			return false
		}
		f(string(name), rest[:n])
		if rest = rest[n:]; rest[0] == ',' {
			rest = rest[1:]
		} else if len(rest) != 1 {
			return false
		}
	}
}

// elements is members for an array.
func elements(text []byte, f func(value []byte)) bool {
	if len(text) < 2 || text[0] != '[' || text[len(text)-1] != ']' {
		return false
	}
	for rest := text[1:]; len(rest) > 1; {
		n := valueEnd(rest)
		if n == 0 || n >= len(rest) {
			return false
		}
		f(rest[:n])
		if rest = rest[n:]; rest[0] == ',' {
			rest = rest[1:]
		}
	}
	return true
}

// valueEnd is where the value at the beginning of text ends; 0: it does not.
func valueEnd(text []byte) int {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quoted && c == '\\':
			i++
		case quoted && c == '"':
			if quoted = false; depth == 0 {
				return i + 1
			}
		case quoted:
		case c == '"':
			quoted = true
		case c == '{' || c == '[':
			depth++
		case (c == '}' || c == ']') && depth == 0, c == ',' && depth == 0, c == ':' && depth == 0:
			return i
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}
