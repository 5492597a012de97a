package seatbelt

import (
	"fmt"
	"strconv"
	"strings"
)

// expr is a list or an atom of SBPL.
type expr struct {
	atom   string
	quoted bool
	list   []expr
}

func (e expr) head() string {
	if len(e.list) == 0 {
		return ""
	}
	return e.list[0].atom
}

// read reads a whole text: the reader of TinyScheme as far as profiles use it. Strings have the escapes of C, and
// #"…" has none.
func read(text string) ([]expr, error) {
	r := reader{text}
	var all []expr
	for {
		r.space()
		if r.rest == "" {
			return all, nil
		}
		e, err := r.expr()
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
}

type reader struct{ rest string }

func (r *reader) space() {
	for r.rest != "" {
		switch r.rest[0] {
		case ' ', '\n', '\t', '\r':
			r.rest = r.rest[1:]
		case ';':
			_, r.rest, _ = strings.Cut(r.rest, "\n")
		default:
			return
		}
	}
}

func (r *reader) expr() (expr, error) {
	r.space()
	switch {
	case r.rest == "":
		return expr{}, fmt.Errorf("the text ends in a list")
	case r.rest[0] == '(':
		r.rest = r.rest[1:]
		e := expr{list: []expr{}}
		for {
			if r.space(); strings.HasPrefix(r.rest, ")") {
				r.rest = r.rest[1:]
				return e, nil
			}
			item, err := r.expr()
			if err != nil {
				return expr{}, err
			}
			e.list = append(e.list, item)
		}
	case r.rest[0] == ')':
		return expr{}, fmt.Errorf("a parenthesis too many")
	case strings.HasPrefix(r.rest, `#"`):
		raw, rest, ok := strings.Cut(r.rest[2:], `"`)
		if !ok {
			return expr{}, fmt.Errorf("a string without an end")
		}
		r.rest = rest
		return expr{atom: raw, quoted: true}, nil
	case r.rest[0] == '"':
		prefix, err := strconv.QuotedPrefix(r.rest)
		if err != nil {
			return expr{}, fmt.Errorf("a string without an end")
		}
		r.rest = r.rest[len(prefix):]
		value, err := strconv.Unquote(prefix)
		return expr{atom: value, quoted: true}, err
	}
	n := strings.IndexAny(r.rest, " \n\t\r();\"")
	if n < 0 {
		n = len(r.rest)
	}
	atom := r.rest[:n]
	r.rest = r.rest[n:]
	return expr{atom: atom}, nil
}
