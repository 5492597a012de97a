package display

import (
	"strconv"
	"strings"
)

// emptyLines is the number of consecutive empty lines that [Block] shows. A longer run becomes
// a count.
const emptyLines = 2

// MaxLines is the number of lines of a text that a prompt shows before it counts the rest.
const MaxLines = 50

// Block neutralises a text of several lines and returns the lines. Tabs become blanks, "\r\n"
// ends a line like "\n", and a long run of empty lines becomes one line with their count. The
// caller must draw its own margin in front of every line, because a line of the text could
// imitate a line of the prompt.
func Block(s string) []string {
	s = strings.TrimSuffix(strings.ReplaceAll(s, "\r\n", "\n"), "\n")
	var (
		out   []string
		empty int
	)
	flush := func() {
		if empty > emptyLines {
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

// Clip returns the first limit lines and the number of lines that it omitted. The caller
// reports that number and offers the rest. If limit <= 0, Clip omits nothing.
func Clip(lines []string, limit int) (shown []string, more int) {
	if limit <= 0 || len(lines) <= limit {
		return lines, 0
	}
	return lines[:limit], len(lines) - limit
}
