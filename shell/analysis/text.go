package analysis

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// textDoubts checks the bytes of a text before it is parsed. fatal is true if the text must not
// be parsed.
func textDoubts(s string) (doubts []Doubt, fatal bool) {
	switch {
	case strings.TrimLeft(s, " \t\n") == "":
		return []Doubt{{Why: "there is no command", End: len(s)}}, true
	case len(s) > maxBytes:
		return []Doubt{
			{Why: fmt.Sprintf("the text is longer than %d bytes, so it was not read", maxBytes), End: len(s), Deceptive: true},
		}, true
	}
	doubts, fatal = characterDoubts(s)
	if d, found := continuationDoubt(s); found {
		doubts = append(doubts, d)
	}
	return doubts, fatal
}

// characterDoubts finds characters that a terminal shows as something else or not at all.
func characterDoubts(s string) (doubts []Doubt, fatal bool) {
	seen := map[string]bool{}
	add := func(why string, at, size int) {
		if !seen[why] {
			seen[why] = true
			doubts = append(doubts, Doubt{Why: why, Offset: at, End: at + size, Deceptive: true})
		}
	}
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			switch {
			case c == 0:
				add("a NUL byte, after which text may be lost", i, 1)
				fatal = true
			case c == '\r':
				add("a carriage return, which bash takes as part of a word", i, 1)
			case c < 0x20 && c != '\n' && c != '\t', c == 0x7f:
				add(fmt.Sprintf("the control character \\x%02x", c), i, 1)
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			add("bytes that are not UTF-8", i, 1)
			fatal = true
		case unicode.Is(unicode.Cf, r):
			add(fmt.Sprintf("the invisible character U+%04X", r), i, size)
		case unicode.IsControl(r):
			add(fmt.Sprintf("the control character U+%04X", r), i, size)
		case unicode.IsSpace(r), blank(r):
			add(fmt.Sprintf("the character U+%04X, which looks like a blank and is none", r), i, size)
		}
		i += size
	}
	return doubts, fatal
}

// blank reports whether r is invisible but not a space in Unicode.
func blank(r rune) bool {
	switch {
	case r == 0x115f, r == 0x1160, r == 0x3164, r == 0xffa0, r == 0x2800:
		return true
	case r >= 0xe0000 && r <= 0xe0fff:
		return true
	}
	return false
}

// continuationDoubt finds a backslash at the end of a line on which the parser and bash
// disagree. In a comment, bash ends the comment at the line's end. In double quotes and
// here-documents, bash joins the lines before it looks for $(. Any other continuation is
// harmless.
func continuationDoubt(s string) (Doubt, bool) {
	first := strings.Index(s, "\\\n")
	if first < 0 {
		return Doubt{}, false
	}
	if strings.ContainsAny(s, "$`") || strings.Contains(s, "<<") {
		return Doubt{Why: "a line continued by a backslash, among expansions", Offset: first, End: first + 2}, true
	}
	const (
		unquoted = iota
		single
		double
		comment
	)
	state, wordStart := unquoted, true
	for i := 0; i < len(s); i++ {
		c := s[i]
		next := i+1 < len(s) && s[i+1] == '\n'
		switch state {
		case single:
			if c == '\'' {
				state = unquoted
			}
			continue
		case comment:
			if c == '\\' && next {
				return Doubt{
					Why:       "a comment that ends in a backslash: bash runs the next line",
					Offset:    i,
					End:       i + 2,
					Deceptive: true,
				}, true
			}
			if c == '\n' {
				state, wordStart = unquoted, true
			}
			continue
		case double:
			switch {
			case c == '\\' && next:
				return Doubt{Why: "a line continued by a backslash inside quotes", Offset: i, End: i + 2, Deceptive: true}, true
			case c == '\\':
				i++
			case c == '"':
				state = unquoted
			}
			continue
		}
		switch c {
		case '\\':
			i++
			if !next {
				wordStart = false
			}
			continue
		case '\'':
			state = single
		case '"':
			state = double
		case '#':
			if wordStart {
				state = comment
				continue
			}
		}
		wordStart = strings.IndexByte(" \t\n;|&()<>", c) >= 0
	}
	return Doubt{}, false
}

// tooDeep reports whether brackets or compound commands may be nested more than maxDepth times.
// It counts without parsing, so it may also return true for less.
func tooDeep(s string) bool {
	depth, most, words := 0, 0, 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '(', '{', '[':
			depth++
			most = max(most, depth)
		case ')', '}', ']':
			depth = max(depth-1, 0)
		case '`':
			if i > 0 && s[i-1] == '\\' {
				words++ // a nested substitution
			}
		}
	}
	if most > maxDepth {
		return true
	}
	for field := range strings.FieldsSeq(s) {
		switch field {
		case "if", "while", "until", "for", "select", "case", "function", "coproc", "time", "!", "elif":
			words++
		case "fi", "done", "esac":
			words--
		}
		if words > maxDepth*2 {
			return true
		}
	}
	return false
}
