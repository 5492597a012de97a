package display

import (
	"strings"
	"unicode"
)

// markLookalikes escapes letters that pass for Latin ones because of the word
// they stand in: words that mix Latin letters with letters of a script that has
// the same shapes (gіt with a Cyrillic і), and words of such a script in which
// every letter has a Latin twin.
func markLookalikes(list []unit, s string) {
	for i := 0; i < len(list); {
		end, w := word(list, i)
		if end == i {
			i += max(1, written(list, i, s))
			continue
		}
		for ; i < end; i++ {
			if w.suspicious() && similarScript(list[i].r) {
				list[i].why = Lookalike
			}
		}
	}
}

// written returns how many units at list[i:] are an escape that stands in the
// text itself. It ends a word, as the escapes written by this package do;
// else neutralising a text twice would find words that are not there.
func written(list []unit, i int, s string) int {
	if i >= len(list) || list[i].r != '\\' || i+1 >= len(list) {
		return 0
	}
	digits := 0
	switch list[i+1].r {
	case 'n', 'r', 't':
	case 'x':
		digits = 2
	case 'u':
		digits = 4
	case 'U':
		digits = 8
	default:
		return 0
	}
	at := list[i+1].end
	if at+digits > len(s) || strings.Trim(s[at:at+digits], "0123456789abcdef") != "" {
		return 0
	}
	return 2 + digits
}

// composition counts the letters of one word.
type composition struct{ latin, similar, twins int }

func (c composition) suspicious() bool {
	return c.similar > 0 && (c.latin > 0 || c.similar >= 2 && c.twins == c.similar)
}

// word returns the end of the word at list[i:], i if there is none, and what it
// consists of.
func word(list []unit, i int) (end int, c composition) {
	for ; i < len(list) && list[i].why == 0 && wordRune(list[i].r); i++ {
		switch r := list[i].r; {
		case similarScript(r):
			c.similar++
			if twin(r) {
				c.twins++
			}
		case r < 0x80 && unicode.IsLetter(r), r >= 0x80 && unicode.Is(unicode.Latin, r):
			c.latin++
		}
	}
	return i, c
}

func wordRune(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || r == '_'
}

// similarScript reports letters of the scripts that share shapes with Latin.
func similarScript(r rune) bool {
	return r >= 0x370 && unicode.IsLetter(r) && unicode.In(r, unicode.Cyrillic, unicode.Greek, unicode.Armenian,
		unicode.Cherokee, unicode.Coptic, unicode.Lisu, unicode.Georgian, unicode.Deseret, unicode.Osage)
}

// twin reports letters that are drawn like a Latin one.
func twin(r rune) bool {
	switch r {
	case 'а', 'е', 'о', 'р', 'с', 'у', 'х', 'і', 'ј', 'ѕ', 'һ', 'ԁ', 'ԛ', 'ԝ', 'ӏ', 'ԍ', 'ѵ', 'ҽ',
		'А', 'В', 'Е', 'К', 'М', 'Н', 'О', 'Р', 'С', 'Т', 'У', 'Х', 'Ѕ', 'І', 'Ј', 'Ԛ', 'Ԝ', 'Ӏ', 'Ԍ', 'Ѵ',
		'ο', 'α', 'ν', 'ρ', 'υ', 'ι', 'κ', 'γ', 'ω', 'χ', 'ϲ', 'ϳ', 'τ',
		'Α', 'Β', 'Ε', 'Ζ', 'Η', 'Ι', 'Κ', 'Μ', 'Ν', 'Ο', 'Ρ', 'Τ', 'Υ', 'Χ', 'Ϲ',
		'օ', 'ս', 'հ', 'ց', 'զ', 'ո', 'ք', 'ա', 'Օ', 'Տ', 'Ս', 'Լ':
		return true
	}
	return unicode.In(r, unicode.Cherokee, unicode.Lisu, unicode.Deseret)
}
