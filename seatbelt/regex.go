package seatbelt

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The regular expressions of the sandbox know ^ and $ at the ends, groups, alternatives, *, + and ?, and bracketed
// sets. They know no (?i), and silently match nothing with (?:…). They match bytes, not characters.

const (
	// dataVolume is where the files of the data volume show a second time, firmlinks aside.
	dataVolume = "(/System/Volumes/Data)?"
	// anyDirs matches any number of directories with any names.
	anyDirs = "([^/]*/)*"
	// wide is a character that is not printable ASCII: one byte, or the two to four of UTF-8. Two short characters
	// match as well, which makes a denial a little wider and never narrower.
	wide = "[^ -~/][^ -~/]?[^ -~/]?[^ -~/]?"
	// longest is where a list of alternatives is split. The reader of the language gives up on
	// strings of 1024 bytes; its handling of longer parameters is not known.
	longest = 900
)

// at matches the path itself, and below its entries, both in any case and by the data volume's
// path, too.
func at(p string) string    { return "^" + dataVolume + folded(p) + "$" }
func below(p string) string { return "^" + dataVolume + folded(p) + "/" }

// folded matches a text in any case.
func folded(text string) string {
	var b strings.Builder
	for text != "" {
		r, n := utf8.DecodeRuneInString(text)
		if r == utf8.RuneError && n == 1 {
			b.WriteString("[^/]") // a byte that is no character
		} else {
			b.WriteString(fold(r))
		}
		text = text[n:]
	}
	return b.String()
}

// fold matches a character in any case: also the long s and the Kelvin sign, which volumes take for s and k.
func fold(r rune) string {
	variants := []string{quote(r)}
	ascii := r < utf8.RuneSelf
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		variants = append(variants, quote(f))
		ascii = ascii && f < utf8.RuneSelf
	}
	switch {
	case len(variants) == 1:
		return variants[0]
	case ascii: // letters only: nothing in the set has a meaning of its own
		return "[" + strings.Join(variants, "") + "]"
	}
	return "(" + strings.Join(variants, "|") + ")"
}

func quote(r rune) string {
	if strings.ContainsRune(`\.[]{}()*+?^$|`, r) {
		return `\` + string(r)
	}
	return string(r)
}

// pattern translates one element of a name, a pattern of path.Match. It matches at least the same
// names as path.Match.
func pattern(element string) string {
	var b strings.Builder
	for element != "" {
		switch element[0] {
		case '*':
			b.WriteString("[^/]*")
			element = element[1:]
		case '?':
			b.WriteString("([^/]|" + wide + ")")
			element = element[1:]
		case '[':
			end := setEnd(element)
			b.WriteString(set(element[:end]))
			element = element[end:]
		default:
			if element[0] == '\\' && len(element) > 1 {
				element = element[1:]
			}
			_, n := utf8.DecodeRuneInString(element)
			b.WriteString(folded(element[:n]))
			element = element[n:]
		}
	}
	return b.String()
}

// setEnd finds the end of the bracketed set that s begins with, as path.Match does.
func setEnd(s string) int {
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\\':
			i++
		case s[i] == ']' && i > 1 && !(i == 2 && s[1] == '^'):
			return i + 1
		}
	}
	return len(s)
}

// set translates a bracketed set by testing every character of ASCII with path.Match; of the others
// it includes all or none. Named characters match in any case; excluded ones in the given case
// only.
func set(s string) string {
	negated := strings.HasPrefix(s, "[^")
	has := func(r rune) bool { ok, _ := path.Match(s, string(r)); return ok }
	var plain strings.Builder
	var others []string
	control := false
	for r := rune(1); r < utf8.RuneSelf; r++ {
		if r == '/' || !has(r) && (negated || !has(unicode.ToLower(r)) && !has(unicode.ToUpper(r))) {
			continue
		}
		switch {
		case r < ' ' || r > '~':
			control = true
		case strings.ContainsRune(`]^-[\`, r): // these mean something inside a set
			others = append(others, quote(r))
		default:
			plain.WriteRune(r)
		}
	}
	if control || negated || strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) >= 0 {
		others = append(others, wide)
	}
	if plain.Len() > 0 {
		others = append(others, "["+plain.String()+"]")
	}
	if len(others) == 0 {
		return "[^ -~]" // matches no name that there is
	}
	return "(" + strings.Join(others, "|") + ")"
}

// names translates alternatives into as few expressions as fit, each between before and after.
func names(before string, alternatives []string, after string) []string {
	var out []string
	var group string
	flush := func() {
		if group != "" {
			out = append(out, before+"("+group+")"+after)
		}
		group = ""
	}
	for _, a := range alternatives {
		if len(before)+len(group)+len(a)+len(after) > longest {
			flush()
		}
		if group != "" {
			group += "|"
		}
		group += a
	}
	flush()
	return out
}
