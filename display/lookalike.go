package display

import (
	"strings"
	"unicode"
)

// markLookalikes escapes letters that resemble Latin ones, judged by their word. It escapes
// words that mix Latin letters with letters of a script of the same shapes (gіt with a Cyrillic
// і), and words of such a script in which every letter has a Latin twin.
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

// written returns the number of units at list[i:] that form an escape in the text itself. Such
// an escape ends a word, as the escapes of this package do. Otherwise a second pass over the
// output would find other words.
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

// word returns the end of the word at list[i:] and its composition. The end is i if no word
// begins there.
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

// similarScript reports whether r is a letter of a script that shares shapes with Latin.
func similarScript(r rune) bool {
	return r >= 0x370 && unicode.IsLetter(r) && unicode.In(r, unicode.Cyrillic, unicode.Greek, unicode.Armenian,
		unicode.Cherokee, unicode.Coptic, unicode.Lisu, unicode.Georgian, unicode.Deseret, unicode.Osage)
}

// twin reports whether r is drawn like a Latin letter.
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
