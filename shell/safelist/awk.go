package safelist

import "strings"

// checkAWK judges the words of awk: options, the program, then files and assignments. It does
// not parse the program. It refuses a program with any text that awk could use to run a
// program, or to read or write a file that is not an operand.
func checkAWK(u *Use) string {
	ops := u.Operands
	i := 0
	for ; i < len(ops); i++ {
		t := ops[i].Text
		if len(t) < 2 || t[0] != '-' {
			break
		}
		if t == "--" {
			i++
			break
		}
		switch {
		case t == "-F" || t == "-v":
			if i++; i >= len(ops) {
				return "the option " + t + " lacks its value"
			}
			if t == "-v" && !awkAssign(ops[i].Text) {
				return "an assignment that is not understood"
			}
		case strings.HasPrefix(t, "-F"):
		case strings.HasPrefix(t, "-v"):
			if !awkAssign(t[2:]) {
				return "an assignment that is not understood"
			}
		default:
			return "the option " + t + " is not on its list of harmless ones"
		}
	}
	if i >= len(ops) {
		return "it needs a program"
	}
	if why := awkProgram(ops[i].Text); why != "" {
		return why
	}
	for _, op := range ops[i+1:] {
		if strings.Contains(op.Text, "=") && awkAssign(op.Text) {
			continue
		}
		if op.Text != "-" {
			u.path(op.Text, op.Index, op.Glob)
		}
	}
	return ""
}

func awkAssign(s string) bool {
	name, _, ok := strings.Cut(s, "=")
	if !ok || name == "" || name == "ARGV" || name == "ARGC" || name == "PROCINFO" {
		return false
	}
	for i := 0; i < len(name); i++ {
		c := name[i]
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9' || i == 0) {
			return false
		}
	}
	return true
}

// awkWords lists names that dangerous programs need and harmless ones do not: they run
// programs, read and write files, change the operands, or reach another name by its spelling.
var awkWords = []string{
	"system", "getline", "ARGV", "ARGC", "SYMTAB", "FUNCTAB", "PROCINFO", "ENVIRON", "@", "close", "fflush",
	"extension",
}

func awkProgram(s string) string {
	for _, w := range awkWords {
		if strings.Contains(s, w) {
			return "its program holds " + w
		}
	}
	if strings.Contains(s, "\\\n") {
		return "its program continues a line"
	}
	// Outside strings, > and | after print write to files and programs. If a regular expression
	// may contain a quote, the strings cannot be determined; then > and | are refused everywhere.
	outside, ambiguous := awkOutside(s)
	if ambiguous {
		outside = s
	}
	plain := strings.NewReplacer("||", "  ", ">=", "  ").Replace(outside)
	if strings.Contains(plain, "|") {
		return "its program may pipe to a program"
	}
	if at := strings.Index(plain, ">"); at >= 0 {
		if ambiguous || strings.Contains(outside[:strings.LastIndex(outside, ">")], "print") ||
			strings.Contains(plain, ">>") {
			return "its program may write to a file"
		}
	}
	return ""
}

// awkOutside returns the program with the insides of its strings blanked. ambiguous is true if
// a regular expression and a string may have been confused.
func awkOutside(s string) (outside string, ambiguous bool) {
	if strings.Contains(s, "/") && strings.Contains(s, `"`) {
		// A slash that opens a regular expression could hide a quote. The program is unambiguous if
		// no quote is between the first and the last slash.
		first, last := strings.Index(s, "/"), strings.LastIndex(s, "/")
		if strings.Contains(s[first:last+1], `"`) {
			return s, true
		}
	}
	var b strings.Builder
	in := false
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case in && c == '\\':
			i++
			b.WriteString("  ")
			continue
		case c == '"':
			in = !in
			b.WriteByte(c)
			continue
		case in && c != '\n':
			b.WriteByte(' ')
			continue
		case c == '#':
			return s, true
		}
		b.WriteByte(c)
	}
	return b.String(), in
}
