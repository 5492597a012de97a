package ask

import (
	"strconv"
	"strings"

	"sandboxd/display"
	"sandboxd/ipc"
)

// Colours of a command line.
const (
	yellow  = "\x1b[33m"   // quoted text
	magenta = "\x1b[35m"   // what the shell reads
	alarm   = "\x1b[1;91m" // the pieces that it is asked about
	green   = "\x1b[1;32m"
)

// highlight is a command in colour, one row a line. Marks are "FROM-TO" pairs of
// bytes: the pieces that did not run unasked.
func highlight(command, marks string, l look) []row {
	colors := lex(command)
	for _, m := range strings.Fields(marks) {
		a, b, _ := strings.Cut(m, "-")
		from, err := strconv.Atoi(a)
		to, err2 := strconv.Atoi(b)
		if err != nil || err2 != nil || from < 0 || to > len(command) {
			continue
		}
		for i := from; i < to; i++ {
			colors[i] = alarm
		}
	}
	return colored(command, colors, l)
}

// colored returns the rows of a text whose bytes have colors, one row a line. A text that cannot
// be shown verbatim has no colours: escapes and colours would contradict each other.
func colored(text string, colors []string, l look) []row {
	lines := l.block(text)
	if strings.Join(lines, "\n") != strings.TrimSuffix(text, "\n") {
		return rowsOf(lines)
	}
	var out []row
	at := 0
	for _, line := range lines {
		var r row
		for i := 0; i < len(line); i++ {
			c := colors[at+i]
			if n := len(r); n > 0 && r[n-1].color == c {
				r[n-1].text += line[i : i+1]
			} else {
				r = append(r, span{c, line[i : i+1]})
			}
		}
		out = append(out, r)
		at += len(line) + 1
	}
	return out
}

// lex gives every byte of a command line a colour. It is a guess for the eye;
// nothing is decided by it.
func lex(s string) []string {
	out := make([]string, len(s))
	quote := byte(0)
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case quote != 0:
			out[i] = yellow
			if c == '\\' && quote == '"' && i+1 < len(s) {
				i++
				out[i] = yellow
			} else if c == quote {
				quote = 0
			}
		case c == '\\' && i+1 < len(s):
			i++
		case c == '\'' || c == '"':
			quote, out[i] = c, yellow
		case strings.IndexByte("|&;<>()`$", c) >= 0:
			out[i] = magenta
		case c == '#' && (i == 0 || s[i-1] == ' ' || s[i-1] == '\n'):
			for ; i < len(s) && s[i] != '\n'; i++ {
				out[i] = gray
			}
		}
	}
	return out
}

// diffRow colours a line of a unified diff.
func diffRow(line string) row {
	switch {
	case strings.HasPrefix(line, "+"):
		return row{{"\x1b[32m", line}}
	case strings.HasPrefix(line, "-"):
		return row{{"\x1b[31m", line}}
	case strings.HasPrefix(line, "@@"):
		return row{{cyan, line}}
	}
	return plainRow(line)
}

// content is the part of a question besides its command: a diff, a file, text.
func content(p *ipc.Presentation, l look) []row {
	text := p.Content
	if k, binary := display.Binary([]byte(text)); binary {
		return []row{plainRow(k)}
	}
	switch p.Kind {
	case "file_content":
		return colored(text, lexCode(text, p.Language), l)
	case "diff":
		var out []row
		for _, line := range l.block(text) {
			out = append(out, diffRow(line))
		}
		return out
	}
	return rowsOf(l.block(text))
}
