package edit

import (
	"fmt"
	"strings"
)

// Near is the place of a text that resembles the searched one.
type Near struct {
	// Line is where it begins, from 1; 0: there is nothing like it.
	Line int
	// Text is that place, as many lines as were searched, up to a bound.
	Text string
	// Hint names the difference, where it is a known one.
	Hint string
}

func (n Near) explain() string {
	if n.Line == 0 {
		return ""
	}
	if n.Hint != "" {
		return fmt.Sprintf("; line %d is like it: %s", n.Line, n.Hint)
	}
	return fmt.Sprintf("; line %d is most like it", n.Line)
}

// Bounds of the search, so that a large file costs no more than a moment.
const (
	maxNearText  = 2 << 20
	maxNearLines = 12
	maxNearLine  = 200
)

// nearest finds the run of lines most similar to find.
func nearest(text, find string) Near {
	if len(text) > maxNearText {
		return Near{}
	}
	lines := strings.Split(text, "\n")
	want := strings.Split(strings.Trim(find, "\n"), "\n")
	key := mostTelling(want)
	telling := newProbe(want[key])
	best, bestScore := -1, 0.0
	for i, line := range lines {
		score := telling.likeness(line)
		if score <= bestScore || score < 0.5 && len(want) == 1 {
			continue
		}
		start := i - key
		if total := blockLikeness(lines, start, want); start >= 0 && total > bestScore {
			best, bestScore = start, total
		}
	}
	if best < 0 || bestScore < 0.4 {
		return Near{}
	}
	end := min(best+min(len(want), maxNearLines), len(lines))
	found := lines[best:end]
	return Near{Line: best + 1, Text: clip(strings.Join(found, "\n")), Hint: difference(found, want)}
}

// mostTelling is the longest line: the one that is found nowhere else.
func mostTelling(lines []string) int {
	best := 0
	for i, l := range lines {
		if len(strings.TrimSpace(l)) > len(strings.TrimSpace(lines[best])) {
			best = i
		}
	}
	return best
}

func blockLikeness(lines []string, start int, want []string) float64 {
	sum := 0.0
	for i, w := range want {
		if at := start + i; at >= 0 && at < len(lines) {
			sum += newProbe(w).likeness(lines[at])
		}
	}
	return sum / float64(len(want))
}

// probe is a line that others are compared with.
type probe struct {
	line  string
	pairs map[[2]byte]bool
}

func newProbe(line string) probe {
	p := probe{line: squeeze(line), pairs: map[[2]byte]bool{}}
	for i := 0; i+1 < len(p.line); i++ {
		p.pairs[[2]byte{p.line[i], p.line[i+1]}] = true
	}
	return p
}

// likeness is between 0 and 1: the share of pairs of neighbouring characters
// that two lines have in common (Dice), white space and case aside.
func (p probe) likeness(line string) float64 {
	if len(line) > 8*maxNearLine || len(p.line) > 8*maxNearLine {
		return 0
	}
	line = squeeze(line)
	n := len(line) + len(p.line) - 2
	switch {
	case line == p.line:
		return 1
	case len(line) < 2 || len(p.line) < 2, len(line) > 3*len(p.line), len(p.line) > 3*len(line):
		return 0
	}
	common := 0
	for i := 0; i+1 < len(line); i++ {
		if p.pairs[[2]byte{line[i], line[i+1]}] {
			common++
		}
	}
	return min(1, 2*float64(min(common, len(p.line)-1))/float64(n))
}

func squeeze(s string) string { return strings.ToLower(strings.Join(strings.Fields(s), " ")) }

// difference names the difference of two runs of lines, if it is one of the common slips.
func difference(found, want []string) string {
	same := func(change func(string) string) bool {
		if len(found) != len(want) {
			return false
		}
		for i := range found {
			if change(found[i]) != change(want[i]) {
				return false
			}
		}
		return true
	}
	trimEnd := func(s string) string { return strings.TrimRight(s, " \t\r") }
	switch {
	case same(func(s string) string { return strings.TrimSuffix(s, "\r") }):
		return "only the line ends differ"
	case same(trimEnd):
		return "only white space at the end of lines differs"
	case same(func(s string) string { return strings.TrimLeft(trimEnd(s), " \t") }):
		return "only the indentation differs" + tabs(found, want)
	case same(func(s string) string { return strings.Join(strings.Fields(s), " ") }):
		return "only white space differs"
	case same(func(s string) string { return strings.ToLower(trimEnd(s)) }):
		return "only upper and lower case differ"
	case same(straight):
		return "only the kind of quotation marks or dashes differs"
	}
	return ""
}

func tabs(found, want []string) string {
	f, w := strings.Join(found, "\n"), strings.Join(want, "\n")
	switch {
	case strings.Contains(f, "\t") && !strings.Contains(w, "\t"):
		return " (the file has tabs)"
	case !strings.Contains(f, "\t") && strings.Contains(w, "\t"):
		return " (the file has blanks)"
	}
	return ""
}

// straight makes typographic marks plain.
var straight = strings.NewReplacer("“", `"`, "”", `"`, "‘", "'", "’", "'", "–", "-", "—", "-", "\u00a0", " ").Replace

func clip(s string) string {
	if len(s) <= maxNearLines*maxNearLine {
		return s
	}
	return strings.ToValidUTF8(s[:maxNearLines*maxNearLine], "") + "…"
}
