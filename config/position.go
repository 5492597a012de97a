package config

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// place is a line and a column, both from 1.
type place struct{ line, column int }

// span is the offset of the first byte of a value and the offset after its last.
type span struct{ start, end int }

// locate returns the position of each key, and of each element of a list, in a TOML document.
// The decoder does not export them.
//
// For a text that is not TOML, locate terminates, and the positions are meaningless. Keys are
// the paths of join: "files.paths.notes.root", elements "shell.rules[2]".
//
// deep is the position at which keys or values are nested deeper than maxDepth; the decoder
// would use memory in the square of the depth. If deep is not nil, places is incomplete.
func locate(text string) (places map[string]place, deep *place) {
	l := newLocator(text)
	l.document()
	return l.places, l.deep
}

func newLocator(text string) *locator {
	return &locator{text: text, places: map[string]place{}, spans: map[string]span{}, arrays: map[string]int{}}
}

func (l *locator) document() {
	for l.pos < len(l.text) && l.deep == nil {
		l.space()
		switch {
		case l.pos >= len(l.text):
		case l.text[l.pos] == '[':
			l.header()
		default:
			l.keyValue(l.prefix)
		}
		l.line()
	}
}

const maxDepth = 32

// enter counts one level of nesting. Beyond maxDepth it stops the locator.
func (l *locator) enter(level int) bool {
	if level > maxDepth && l.deep == nil {
		at := l.place(l.pos)
		l.deep, l.pos = &at, len(l.text)
	}
	return l.deep == nil
}

type locator struct {
	text   string
	pos    int
	prefix string // path of the current table
	places map[string]place
	spans  map[string]span // of values
	arrays map[string]int  // number of [[name]] headers so far
	depth  int             // of the value being read
	deep   *place

	counted, lineNo, lineStart int // cache of the method place
}

// join appends a key to a path. It quotes a key that contains characters of the notation, so
// that two different keys never have the same path.
func join(prefix, key string) string {
	if key == "" || strings.ContainsAny(key, ".[]\"\\") {
		key = strconv.Quote(key)
	}
	if prefix == "" {
		return key
	}
	return prefix + "." + key
}

func element(prefix string, i int) string {
	return prefix + "[" + strconv.Itoa(i) + "]"
}

func (l *locator) place(at int) place {
	if at < l.counted {
		l.counted, l.lineNo, l.lineStart = 0, 0, 0
	}
	for ; l.counted < at && l.counted < len(l.text); l.counted++ {
		if l.text[l.counted] == '\n' {
			l.lineNo++
			l.lineStart = l.counted + 1
		}
	}
	return place{l.lineNo + 1, at - l.lineStart + 1}
}

func (l *locator) mark(path string, at int) {
	if _, seen := l.places[path]; !seen {
		l.places[path] = l.place(at)
	}
}

// space skips blanks, line ends and comments.
func (l *locator) space() {
	for l.pos < len(l.text) {
		switch l.text[l.pos] {
		case ' ', '\t', '\r', '\n':
			l.pos++
		case '#':
			l.line()
		default:
			if l.pos == 0 && strings.HasPrefix(l.text, "\ufeff") {
				l.pos = len("\ufeff")
				continue
			}
			return
		}
	}
}

func (l *locator) blank() {
	for l.pos < len(l.text) && (l.text[l.pos] == ' ' || l.text[l.pos] == '\t') {
		l.pos++
	}
}

// line skips to the start of the next line.
func (l *locator) line() {
	if l.pos >= len(l.text) {
		return
	}
	if i := strings.IndexByte(l.text[l.pos:], '\n'); i >= 0 {
		l.pos += i + 1
		return
	}
	l.pos = len(l.text)
}

func (l *locator) eat(c byte) bool {
	if l.pos < len(l.text) && l.text[l.pos] == c {
		l.pos++
		return true
	}
	return false
}

// header reads [a.b] or [[a.b]]. A part that names a list of tables refers to its last element.
func (l *locator) header() {
	l.eat('[')
	list := l.eat('[')
	l.blank()
	path := ""
	start := l.pos
	for parts := 1; l.enter(parts); parts++ {
		at := l.pos
		path = join(path, l.key())
		l.blank()
		if l.eat('.') {
			if n, ok := l.arrays[path]; ok {
				path = element(path, n-1)
			}
			l.mark(path, at)
			l.blank()
			continue
		}
		break
	}
	l.mark(path, start)
	if list {
		l.arrays[path]++
		path = element(path, l.arrays[path]-1)
		l.mark(path, start)
	}
	l.prefix = path
}

// keyValue reads a.b = value below prefix.
func (l *locator) keyValue(prefix string) {
	path := prefix
	for parts := 1; l.enter(parts); parts++ {
		at := l.pos
		path = join(path, l.key())
		l.mark(path, at)
		l.blank()
		if !l.eat('.') {
			break
		}
		l.blank()
	}
	l.eat('=')
	l.blank()
	l.value(path)
}

// key reads one part of a key, bare or quoted.
func (l *locator) key() string {
	if l.pos >= len(l.text) {
		return ""
	}
	switch l.text[l.pos] {
	case '"':
		return l.basicString()
	case '\'':
		return l.literalString()
	}
	start := l.pos
	for l.pos < len(l.text) && !strings.ContainsRune(" \t\r\n.=]#", rune(l.text[l.pos])) {
		l.pos++
	}
	if l.pos == start {
		l.pos++ // not TOML; move on
	}
	return l.text[start:min(l.pos, len(l.text))]
}

func (l *locator) value(path string) {
	l.depth++
	start := l.pos
	defer func() {
		l.depth--
		if _, seen := l.spans[path]; !seen {
			l.spans[path] = span{start, min(l.pos, len(l.text))}
		}
	}()
	if !l.enter(l.depth) || l.pos >= len(l.text) {
		return
	}
	rest := l.text[l.pos:]
	switch {
	case strings.HasPrefix(rest, `"""`):
		l.multiline(`"""`)
	case strings.HasPrefix(rest, `'''`):
		l.multiline(`'''`)
	case rest[0] == '"':
		l.basicString()
	case rest[0] == '\'':
		l.literalString()
	case rest[0] == '[':
		l.list(path)
	case rest[0] == '{':
		l.inlineTable(path)
	default:
		for l.pos < len(l.text) && !strings.ContainsRune(",]}#\n", rune(l.text[l.pos])) {
			l.pos++
		}
	}
}

func (l *locator) list(path string) {
	l.eat('[')
	for i := 0; l.pos < len(l.text); i++ {
		l.space()
		if l.eat(']') {
			return
		}
		before := l.pos
		item := element(path, i)
		l.mark(item, l.pos)
		l.value(item)
		l.space()
		l.eat(',')
		if l.pos == before {
			l.pos++ // not TOML; move on
		}
	}
}

func (l *locator) inlineTable(path string) {
	l.eat('{')
	for l.pos < len(l.text) {
		l.space()
		if l.eat('}') {
			return
		}
		before := l.pos
		l.keyValue(path)
		l.space()
		l.eat(',')
		if l.pos == before {
			l.pos++
		}
	}
}

// multiline skips a text between three quotes. The text may end in one or two quotes directly
// before the closing three (TOML 1.0, "String").
func (l *locator) multiline(quote string) {
	l.pos += 3
	defer func() { l.pos = min(l.pos, len(l.text)) }()
	for l.pos < len(l.text) {
		switch {
		case l.text[l.pos] == '\\' && quote == `"""`:
			l.pos += 2
		case strings.HasPrefix(l.text[l.pos:], quote):
			l.pos += 3
			for n := 0; n < 2 && l.eat(quote[0]); n++ {
			}
			return
		default:
			l.pos++
		}
	}
}

func (l *locator) literalString() string {
	l.pos++
	start := l.pos
	for l.pos < len(l.text) && l.text[l.pos] != '\'' && l.text[l.pos] != '\n' {
		l.pos++
	}
	s := l.text[start:l.pos]
	l.eat('\'')
	return s
}

func (l *locator) basicString() string {
	l.pos++
	var b strings.Builder
	for l.pos < len(l.text) && l.text[l.pos] != '"' && l.text[l.pos] != '\n' {
		if l.text[l.pos] != '\\' || l.pos+1 >= len(l.text) {
			b.WriteByte(l.text[l.pos])
			l.pos++
			continue
		}
		l.pos++
		b.WriteString(l.escape())
	}
	l.eat('"')
	return b.String()
}

// escape decodes the escape after a backslash in a basic string (TOML 1.0 and 1.1).
func (l *locator) escape() string {
	c := l.text[l.pos]
	l.pos++
	digits := map[byte]int{'u': 4, 'U': 8, 'x': 2}[c]
	if digits > 0 && l.pos+digits <= len(l.text) {
		n, err := strconv.ParseUint(l.text[l.pos:l.pos+digits], 16, 32)
		if err == nil {
			l.pos += digits
			return string(utf8.AppendRune(nil, rune(n)))
		}
	}
	switch c {
	case 'b':
		return "\b"
	case 't':
		return "\t"
	case 'n':
		return "\n"
	case 'f':
		return "\f"
	case 'r':
		return "\r"
	case 'e':
		return "\x1b"
	}
	return string(rune(c))
}
