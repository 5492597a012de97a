package analysis

import (
	"strconv"
	"strings"
)

// ansiC decodes the inside of $'…' as bash does (bash(1), QUOTING). simple is true if the text
// has only the escapes \n, \t and quoted punctuation. ok is false for an invalid escape.
func ansiC(s string) (out string, simple, ok bool) {
	var b strings.Builder
	simple = true
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		i++
		if i == len(s) {
			return "", false, false
		}
		switch c := s[i]; c {
		case 'n':
			b.WriteByte('\n')
		case 't':
			b.WriteByte('\t')
		case '\\', '\'', '"', '?':
			b.WriteByte(c)
		default:
			simple = false
			n, used := ansiEscape(s[i:])
			if used == 0 {
				return "", false, false
			}
			if n == 0 {
				return "", false, false // bash ends the string at a NUL
			}
			if c == 'u' || c == 'U' {
				b.WriteRune(rune(n))
			} else {
				b.WriteByte(byte(n))
			}
			i += used - 1
		}
	}
	return b.String(), simple, true
}

// ansiEscape decodes the escape after the backslash. used is 0 if it is invalid.
func ansiEscape(s string) (n uint64, used int) {
	switch s[0] {
	case 'a':
		return 7, 1
	case 'b':
		return 8, 1
	case 'e', 'E':
		return 27, 1
	case 'f':
		return 12, 1
	case 'r':
		return 13, 1
	case 'v':
		return 11, 1
	case 'x':
		return digits(s, 1, 2, 16)
	case 'u':
		return digits(s, 1, 4, 16)
	case 'U':
		return digits(s, 1, 8, 16)
	case '0', '1', '2', '3', '4', '5', '6', '7':
		return digits(s, 0, 3, 8)
	}
	return 0, 0
}

func digits(s string, from, most, base int) (n uint64, used int) {
	end := from
	for end < len(s) && end-from < most && strings.IndexByte("0123456789abcdefABCDEF", s[end]) >= 0 {
		if base == 8 && s[end] > '7' {
			break
		}
		end++
	}
	n, err := strconv.ParseUint(s[from:end], base, 32)
	if err != nil {
		return 0, 0
	}
	return n, end
}
