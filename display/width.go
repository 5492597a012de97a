package display

import (
	"strings"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
)

// Width returns the number of terminal cells of s, counted rune by rune. Terminals differ in
// how they join runes to one character; the sum is the maximum of all. s must be neutralised.
func Width(s string) int {
	n := 0
	for _, r := range s {
		n += displaywidth.Rune(r)
	}
	return n
}

// Wrap cuts s into pieces of at most width cells. It cuts after a blank if the second half of
// the piece has one; a blank at the end of a piece may exceed width. The pieces, joined, equal
// s. A character wider than width is a piece of its own.
func Wrap(s string, width int) []string {
	width = max(width, 1)
	var out []string
	for Width(s) > width {
		n := cut(s, width)
		out = append(out, s[:n])
		s = s[n:]
	}
	return append(out, s)
}

// cut returns the number of bytes of s that fit on one line.
func cut(s string, width int) int {
	used, n := 0, 0
	for i, r := range s {
		w := displaywidth.Rune(r)
		if used+w > width && i > 0 {
			break
		}
		used += w
		n = i + utf8.RuneLen(r)
	}
	if n < len(s) && s[n] == ' ' {
		return n + 1
	}
	if blank := strings.LastIndexByte(s[:n], ' '); blank >= n/2 && n < len(s) && blank+1 < len(s) {
		return blank + 1
	}
	return n
}
