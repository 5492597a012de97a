package display

import (
	"strconv"
	"strings"
)

// EmptyLines is how many empty lines in a row [Block] shows; more become a count.
const EmptyLines = 2

// MaxLines is how many lines of a text a prompt shows before it says how many
// more there are.
const MaxLines = 50

// Block neutralises a text of several lines and returns them. Tabs become
// blanks, "\r\n" ends a line like "\n", and many empty lines become one line
// that counts them. The caller draws its own margin in front of every line, so
// that no line of a stranger's text stands where the product's own text stands.
func Block(s string) []string {
	s = strings.TrimSuffix(strings.ReplaceAll(s, "\r\n", "\n"), "\n")
	var (
		out   []string
		empty int
	)
	flush := func() {
		if empty > EmptyLines {
			out = append(out, "["+strconv.Itoa(empty)+" empty lines]")
		} else {
			out = append(out, make([]string, empty)...)
		}
		empty = 0
	}
	for line := range strings.SplitSeq(s, "\n") {
		if strings.Trim(line, " \t") == "" {
			empty++
			continue
		}
		flush()
		out = append(out, join(scan(line, style{block: true})))
	}
	flush()
	return out
}

// Clip returns the first limit of lines and how many it left out. A caller says
// so in its own words, and offers the rest. limit <= 0 leaves nothing out.
func Clip(lines []string, limit int) (shown []string, more int) {
	if limit <= 0 || len(lines) <= limit {
		return lines, 0
	}
	return lines[:limit], len(lines) - limit
}
