// Package displaytest has strings for tests of code that shows text to people: a prompt, a log,
// a page.
//
//	for _, c := range displaytest.Hostile {
//		screen := show(c.In) // must not move the cursor, hide a part, or look like our own text
//	}
package displaytest

import "strings"

// Case is one string and the expected results of package display.
type Case struct {
	Name string
	In   string
	Line string // the result of display.Line
	// Found is the result of display.Inspect in words; "" if there is no finding.
	Found string
}

// Hostile is the spoofing catalogue: strings that would move the cursor, hide a part of
// themselves or imitate other text if they were printed unchanged. It includes the cases
// apb-237 to apb-245 of the approval catalogue.
var Hostile = []Case{
	{"erase line", "touch x #\x1b[2K\x1b[1Gls -la", `touch x #\x1b[2K\x1b[1Gls -la`, "control characters"},
	{"backspaces", "touch x #\b\b\bls", `touch x #\x08\x08\x08ls`, "control characters"},
	{"carriage return", "rm -rf x\rls       ", `rm -rf x\rls       `, "control characters"},
	{"delete", "rm\x7f\x7fls", `rm\x7f\x7fls`, "control characters"},
	{"NUL", "ls\x00rm", `ls\x00rm`, "control characters"},
	{"bell", "ls\a", `ls\x07`, "control characters"},
	{"vertical tab and form feed", "ls\v\frm", `ls\x0b\x0crm`, "control characters"},
	{"shift out", "ls\x0e\x0f", `ls\x0e\x0f`, "control characters"},
	{"line feed", "ls\nrm x", `ls\nrm x`, ""},
	{"tab", "ls\trm", `ls\trm`, ""},
	{"clipboard OSC 52", "\x1b]52;c;cm0=\a", `\x1b]52;c;cm0=\x07`, "control characters"},
	{"window title OSC 0", "\x1b]0;safe\x1b\\", `\x1b]0;safe\x1b\`, "control characters"},
	{
		"hyperlink OSC 8",
		"\x1b]8;;http://x\x1b\\ls\x1b]8;;\x1b\\",
		`\x1b]8;;http://x\x1b\ls\x1b]8;;\x1b\`,
		"control characters",
	},
	{"conceal", "ls \x1b[8m; rm x\x1b[0m", `ls \x1b[8m; rm x\x1b[0m`, "control characters"},
	{"black on black", "ls \x1b[30;40m; rm", `ls \x1b[30;40m; rm`, "control characters"},
	{"alternate screen", "\x1b[?1049hls", `\x1b[?1049hls`, "control characters"},
	{"cursor report", "\x1b[6n", `\x1b[6n`, "control characters"},
	{"DCS", "\x1bPq#0\x1b\\", `\x1bPq#0\x1b\`, "control characters"},
	{"keyboard lock APC", "\x1b_x\x1b\\", `\x1b_x\x1b\`, "control characters"},
	{"C1 CSI as a character", "ls\u009b2K", `ls\u009b2K`, "control characters"},
	{"C1 OSC as a character", "\u009d52;c;x\u009c", `\u009d52;c;x\u009c`, "control characters"},
	{"next line", "ls\u0085rm", `ls\u0085rm`, "control characters"},
	{"C1 CSI as a byte", "ls\x9b2K", `ls\x9b2K`, "bytes that are not UTF-8"},
	{"cut off UTF-8", "ls\xe2\x80", `ls\xe2\x80`, "bytes that are not UTF-8"},
	{"overlong NUL", "ls\xc0\x80", `ls\xc0\x80`, "bytes that are not UTF-8"},
	{"surrogate", "ls\xed\xa0\x80", `ls\xed\xa0\x80`, "bytes that are not UTF-8"},
	{"replacement character", "ls\ufffd", `ls\ufffd`, "invisible characters"},
	{"right-to-left override", "touch x # \u202egpj.elif\u202c", `touch x # \u202egpj.elif\u202c`, "direction overrides"},
	{"left-to-right override", "\u202dls\u202c", `\u202dls\u202c`, "direction overrides"},
	{"embedding", "a\u202bb\u202cc", `a\u202bb\u202cc`, "direction overrides"},
	{"isolates", "\u2066ls\u2069 \u2067rm\u2069 \u2068", `\u2066ls\u2069 \u2067rm\u2069 \u2068`, "direction overrides"},
	{"direction marks", "a\u200eb\u200fc\u061cd", `a\u200eb\u200fc\u061cd`, "direction overrides"},
	{"zero-width space", "r\u200bm", `r\u200bm`, "invisible characters"},
	{"joiners", "r\u200cm\u200d", `r\u200cm\u200d`, "invisible characters"},
	{"word joiner", "r\u2060m", `r\u2060m`, "invisible characters"},
	{"byte order mark", "\ufeffls", `\ufeffls`, "invisible characters"},
	{"soft hyphen", "r\u00adm", `r\u00adm`, "invisible characters"},
	{"tag letters", "ls\U000e0072\U000e006d", `ls\U000e0072\U000e006d`, "invisible characters"},
	{"variation selector smuggling", "ls\ufe01\U000e0101", `ls\ufe01\U000e0101`, "invisible characters"},
	{"grapheme joiner", "r\u034fm", `r\u034fm`, "invisible characters"},
	{"Hangul filler", "ls\u3164\uffa0\u115f", `ls\u3164\uffa0\u115f`, "invisible characters"},
	{"Braille blank", "ls\u2800rm", `ls\u2800rm`, "invisible characters"},
	{"Mongolian vowel separator", "r\u180em", `r\u180em`, "invisible characters"},
	{"invisible operators", "a\u2061b\u2062c\u2063d\u2064", `a\u2061b\u2062c\u2063d\u2064`, "invisible characters"},
	{"interlinear annotation", "\ufff9ls\ufffarm\ufffb", `\ufff9ls\ufffarm\ufffb`, "invisible characters"},
	{"musical invisible", "ls\U0001d173", `ls\U0001d173`, "invisible characters"},
	{"line separator", "ls\u2028rm\u2029", `ls\u2028rm\u2029`, "invisible characters"},
	{"private use", "ls\ue000\U000f0000", `ls\ue000\U000f0000`, "invisible characters"},
	{"not a character", "ls\uffff\U0010ffff", `ls\uffff\U0010ffff`, "invisible characters"},
	{"unassigned", "ls\u0378", `ls\u0378`, "invisible characters"},
	{"no-break space", "rm\u00a0-rf", `rm\u00a0-rf`, "look-alike characters"},
	{"ideographic space", "rm\u3000x", `rm\u3000x`, "look-alike characters"},
	{"thin spaces", "rm\u2009x\u202fy", `rm\u2009x\u202fy`, "look-alike characters"},
	{"Cyrillic letter in git", "g\u0456t status", `g\u0456t status`, "look-alike characters"},
	{"Greek letter in a path", "/h\u03bfme", `/h\u03bfme`, "look-alike characters"},
	{"whole word of twins", "\u0441\u043e\u0440\u0443 a b", `\u0441\u043e\u0440\u0443 a b`, "look-alike characters"},
	{"Cherokee", "\u13a1\u13a2", `\u13a1\u13a2`, "look-alike characters"},
	{"full-width letters", "\uff52\uff4d", `\uff52\uff4d`, "look-alike characters"},
	{"full-width semicolon", "ls\uff1brm", `ls\uff1brm`, "look-alike characters"},
	{"Greek question mark", "ls\u037erm", `ls\u037erm`, "look-alike characters"},
	{"mathematical letters", "\U0001d42b\U0001d426", `\U0001d42b\U0001d426`, "look-alike characters"},
	{"division slash", "a\u2215b\u2044c", `a\u2215b\u2044c`, "look-alike characters"},
	{"hyphens", "rm \u2010rf \u2011x \u2212y \u2013z", `rm \u2010rf \u2011x \u2212y \u2013z`, "look-alike characters"},
	{"quotation marks", "echo \u2019a; rm x\u2019", `echo \u2019a; rm x\u2019`, "look-alike characters"},
	{"dotless i", "g\u0131t", `g\u0131t`, "look-alike characters"},
	{"letter that looks like a bar", "ls \u01c0 x\u01c3", `ls \u01c0 x\u01c3`, "look-alike characters"},
	{"padding", "ls" + strings.Repeat(" ", 4000) + "; touch x", "ls [4000 blanks] ; touch x", "long runs of blanks"},
	{"leading padding", strings.Repeat(" ", 50) + "rm", "[50 blanks] rm", "long runs of blanks"},
	{
		"empty lines",
		"ls" + strings.Repeat("\n", 200) + "rm",
		"ls" + strings.Repeat(`\n`, 200) + "rm",
		"long runs of blanks",
	},
	{"struck out", "r\u0336m\u0336", `r\u0336m\u0336`, "stacked marks"},
	{"enclosed", "ls\u20dd", `ls\u20dd`, "stacked marks"},
	{"stacked marks", "a\u0301\u0302\u0303\u0304", "a\u0301\u0302" + `\u0303\u0304`, "stacked marks"},
	{"mark on our text", "\u0301ls", `\u0301ls`, "stacked marks"},
	{"mark on a blank", "ls \u0301", `ls \u0301`, "stacked marks"},
	{"Hebrew", "\u05d0\u05d1 1", "\u05d0\u05d1 1", "right-to-left letters"},
}

// Honest lists text that display must not change. A sanitiser that mangles ordinary text
// teaches people to ignore it.
var Honest = []string{
	"", "ls -la", "git log --oneline | head -3", `printf '\033[1m'`, "echo 'a  b   c'",
	"größe naïve Zürich łódź", "отчёт за год.txt", "日本語のファイル.txt", "한국어", "ไฟล์", "नमस्ते",
	"Ελληνικά", "a — b …", "λ π Ω ∞ → ≤ ✓ €", "5 µs", "résumé\u0301", "🚀 done", "─── │ ┌",
}
