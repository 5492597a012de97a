package display

import "unicode"

// Finding is the set of reasons why a string is not shown unchanged.
type Finding uint16

const (
	// Control: C0 and C1 control characters, including those of escape sequences.
	Control Finding = 1 << iota
	// Bidi: characters that change the direction of the text around them.
	Bidi
	// Invisible: zero-width, tag, filler, private-use and unassigned characters.
	Invisible
	// Lookalike: characters that resemble an ASCII letter, blank or sign.
	Lookalike
	// Blanks: a run of blanks or empty lines long enough to hide the text after it.
	Blanks
	// Encoding: bytes that are not UTF-8.
	Encoding
	// Marks: marks stacked on, or drawn across, a letter.
	Marks
	// RightToLeft: letters that a terminal may reorder. They are shown.
	RightToLeft
)

var findingNames = []string{
	"control characters", "direction overrides", "invisible characters", "look-alike characters",
	"long runs of blanks", "bytes that are not UTF-8", "stacked marks", "right-to-left letters",
}

// String lists the reasons in words, for a warning line. It returns "" if there are none.
func (f Finding) String() string {
	out := ""
	for i, name := range findingNames {
		if f&(1<<i) == 0 {
			continue
		}
		if out != "" {
			out += ", "
		}
		out += name
	}
	return out
}

// markable is the maximum number of marks on one base character.
const markable = 2

// isMark reports whether r is drawn onto the character before it.
func isMark(r rune) bool { return r >= 0x300 && unicode.Is(unicode.M, r) }

// classify returns the reason why r is not shown as itself in any context, or 0. prose permits
// typographic punctuation.
func classify(r rune, prose bool) Finding {
	switch {
	case r >= 0x20 && r < 0x7f:
		return 0
	case r < 0xa0:
		return Control
	case unicode.Is(unicode.Bidi_Control, r):
		return Bidi
	case unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r), unicode.Is(unicode.Variation_Selector, r),
		unicode.Is(unicode.Cf, r), unicode.Is(unicode.Zl, r), unicode.Is(unicode.Zp, r), r == 0x2800, r == 0xfffd:
		return Invisible
	case unicode.Is(unicode.Zs, r):
		return Lookalike
	case !unicode.IsGraphic(r):
		return Invisible
	case overlay(r):
		return Marks
	case latinLike(r):
		return Lookalike
	case !prose && typographic(r):
		return Lookalike
	}
	return 0
}

// overlay reports whether r is a mark that strikes a letter out or encloses it.
func overlay(r rune) bool {
	return r >= 0x334 && r <= 0x338 || unicode.Is(unicode.Me, r) ||
		r >= 0x20d2 && r <= 0x20d3 || r >= 0x20d8 && r <= 0x20da || r >= 0x20e5 && r <= 0x20eb
}

// typographic reports whether r is punctuation that is common in sentences and resembles the
// syntax of a shell.
func typographic(r rune) bool {
	return r >= 0x2010 && r <= 0x2013 || // hyphens, figure dash, en dash
		r >= 0x2018 && r <= 0x201f || // quotation marks
		r >= 0x2032 && r <= 0x2037 || // primes
		r >= 0xff01 && r <= 0xff0f || r >= 0xff1a && r <= 0xff20 || r >= 0xff3b && r <= 0xff40 || r >= 0xff5b && r <= 0xff5e
}

// latinLike reports whether r is a variant drawing of an ASCII character, or cannot be
// distinguished from one.
func latinLike(r rune) bool {
	switch {
	case r >= 0x1d400 && r <= 0x1d7ff, // mathematical alphabets
		r >= 0xff10 && r <= 0xff19, r >= 0xff21 && r <= 0xff3a, r >= 0xff41 && r <= 0xff5a, // full-width
		r >= 0x1fbf0 && r <= 0x1fbf9: // segmented digits
		return true
	}
	switch r {
	case 0x0131, 0x0251, 0x0261, 0x0269, 0x0280, 0x028f, // ı ɑ ɡ ɩ ʀ ʏ
		0x01c0, 0x01c3, 0x02bc, 0x02b9, 0x02c8, 0x02cb, 0x02d0, // ǀ ǃ and modifier marks
		0x037e, 0x0387, 0x2024, 0x2025, 0x201a, 0x2044, 0x2215, 0x2216, 0x2217, 0x2223, 0x2236, 0x223c, 0x2212,
		0x29f5, 0x29f8, 0x29f9, 0xa789, 0xa78c, 0xa4f8, 0xa4fa, 0xa60e, 0x2039, 0x203a, 0x2768, 0x2769,
		0x212f, 0x210e, 0x2113, 0x2110, 0x212a, 0x212b, 0xfe52, 0xfe54, 0xfe55, 0xfe63, 0xfe68, 0xfe69, 0x0589, 0x05c3,
		0x06d4,
		0x1427, 0x16eb, 0x2cf9, 0x2cfe, 0x30a0, 0x3003:
		return true
	}
	return false
}
