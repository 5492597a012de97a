package display

import "unicode"

// Inspect returns the reasons why [Line] would not show s unchanged. It ignores line breaks and
// tabs, so ordinary multi-line text has no finding. 0 means that s can be shown unchanged.
func Inspect(s string) Finding {
	if plain(s) {
		return 0
	}
	var (
		found  Finding
		breaks int
		list   = judge(units(s, true), s, false)
	)
	for i, u := range list {
		switch {
		case u.r == '\n':
			if breaks++; breaks > emptyLines+1 {
				found |= Blanks
			}
			continue
		case u.blank:
			indent := i == 0 || list[i-1].r == '\n'
			if n := u.end - u.at; n > indentRun || n > BlankRun && !indent {
				found |= Blanks
			}
			continue
		case rightToLeft(u.r):
			found |= RightToLeft
		}
		breaks = 0
		found |= u.why
	}
	return found
}

// rightToLeft reports whether r is a letter of a right-to-left script.
func rightToLeft(r rune) bool {
	return r >= 0x590 && unicode.IsLetter(r) &&
		unicode.In(r, unicode.Hebrew, unicode.Arabic, unicode.Syriac, unicode.Thaana,
			unicode.Nko, unicode.Samaritan, unicode.Mandaic, unicode.Adlam, unicode.Hanifi_Rohingya, unicode.Mende_Kikakui)
}
