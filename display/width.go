package display

import (
	"strings"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
)

// Width returns the number of terminal cells that s takes, rune by rune: terminals differ in how they join runes to one
// character, and the sum is the most that any of them uses. s must be neutralised.
func Width(s string) int {
	n := 0
	for _, r := range s {
		n += displaywidth.Rune(r)
	}
	return n
}

// Wrap cuts s into pieces of at most width cells, behind a blank where there is
// one in the second half of the piece; a blank at the very end of a piece may
// hang over. Joined, the pieces are s again: nothing is lost. A character wider
// than width stands alone.
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

// cut returns how many bytes of s go on one line.
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
