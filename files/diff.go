package files

import (
	"strings"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"
)

// unified is a unified diff with three lines of context.
func unified(path, old, new string) string {
	return udiff.Unified("a"+path, "b"+path, old, new)
}

// mark is a part of a line of a diff that differs from its counterpart.
type mark [3]int

// marks compares each removed line of a diff with the inserted line in its place, where a change
// has as many of both.
func marks(diff string) []mark {
	lines := strings.Split(diff, "\n")
	var out []mark
	for i := 2; i < len(lines); {
		minus := run(lines, i, '-')
		plus := run(lines, i+minus, '+')
		if minus > 0 && minus == plus {
			for j := range minus {
				out = append(out, pairMarks(i+j, i+minus+j, lines[i+j][1:], lines[i+minus+j][1:])...)
			}
		}
		i += max(1, minus+plus)
	}
	return out
}

// run counts the lines from i on that begin with a sign.
func run(lines []string, i int, sign byte) int {
	n := 0
	for i+n < len(lines) && lines[i+n] != "" && lines[i+n][0] == sign {
		n++
	}
	return n
}

// pairMarks marks the part between the common beginning and the common end of two lines; lines with
// nothing in common get none.
func pairMarks(i, j int, a, b string) []mark {
	pre := 0
	for pre < len(a) && pre < len(b) {
		ra, na := utf8.DecodeRuneInString(a[pre:])
		rb, nb := utf8.DecodeRuneInString(b[pre:])
		if ra != rb || na != nb || a[pre:pre+na] != b[pre:pre+nb] {
			break
		}
		pre += na
	}
	post := 0
	for post < len(a)-pre && post < len(b)-pre {
		ra, na := utf8.DecodeLastRuneInString(a[pre : len(a)-post])
		rb, nb := utf8.DecodeLastRuneInString(b[pre : len(b)-post])
		if ra != rb || na != nb || a[len(a)-post-na:len(a)-post] != b[len(b)-post-nb:len(b)-post] {
			break
		}
		post += na
	}
	if strings.TrimSpace(a[:pre]) == "" && strings.TrimSpace(a[len(a)-post:]) == "" {
		return nil
	}
	var out []mark
	if pre < len(a)-post {
		out = append(out, mark{i, pre, len(a) - post})
	}
	if pre < len(b)-post {
		out = append(out, mark{j, pre, len(b) - post})
	}
	return out
}
