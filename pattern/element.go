package pattern

import (
	"path"
	"strings"
)

// Element is a pattern of one path element. The zero value matches nothing.
type Element struct {
	text    string
	literal string // if not other: the name, its beginning or its end
	kind    kind
}

type kind uint8

const (
	other kind = iota // decided by path.Match
	exact
	prefix // literal and a *
	suffix // a * and literal
)

// ParseElement parses a pattern of path.Match. It returns path.ErrBadPattern for a malformed one.
func ParseElement(text string) (Element, error) {
	if _, err := path.Match(text, ""); err != nil {
		return Element{}, err
	}
	if literal, ok := unescape(text); ok {
		return Element{escape(literal), literal, exact}, nil
	}
	if literal, ok := unescape(strings.TrimSuffix(text, "*")); ok && !strings.HasSuffix(text, `\*`) {
		return Element{text, literal, prefix}, nil
	}
	if literal, ok := unescape(strings.TrimPrefix(text, "*")); ok {
		return Element{text, literal, suffix}, nil
	}
	return Element{text: text}, nil
}

// Match reports whether an element matches a name. A malformed element matches nothing.
func Match(element, name string) bool {
	e, err := ParseElement(element)
	return err == nil && e.Match(name)
}

// String returns the pattern in its plainest spelling.
func (e Element) String() string { return e.text }

// Literal returns the only name that e matches. It returns false if the spelling permits more.
func (e Element) Literal() (string, bool) { return e.literal, e.kind == exact }

// Match reports whether e matches a name, which has no slash.
func (e Element) Match(name string) bool {
	switch e.kind {
	case exact:
		return e.literal == name
	case prefix:
		return strings.HasPrefix(name, e.literal)
	case suffix:
		return strings.HasSuffix(name, e.literal)
	}
	ok, err := path.Match(e.text, name)
	return err == nil && ok
}

// Covers reports whether e surely matches every name that f matches.
func (e Element) Covers(f Element) bool {
	return e.text == f.text || f.kind == exact && e.Match(f.literal)
}

// unescape returns the only string that text matches, if it has no wildcard.
func unescape(text string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '*', '?', '[':
			return "", false
		case '\\':
			i++
		}
		b.WriteByte(text[i])
	}
	return b.String(), true
}

func escape(literal string) string {
	if !strings.ContainsAny(literal, `*?[\`) {
		return literal
	}
	var b strings.Builder
	for i := 0; i < len(literal); i++ {
		if strings.IndexByte(`*?[\`, literal[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(literal[i])
	}
	return b.String()
}
