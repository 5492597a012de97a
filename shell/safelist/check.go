package safelist

import (
	"slices"
	"strings"
)

func checkNothing(*Use) string { return "" }

// checkRecursive is for commands that walk a tree and follow links out of it with one of the
// named options.
func checkRecursive(follow ...string) func(*Use) string {
	return func(u *Use) string {
		u.Sandboxed = u.Has(follow...)
		return ""
	}
}

// checkDiff is for diff, which compares the targets of links in a directory.
func checkDiff(u *Use) string {
	u.Follows = !u.Has("--no-dereference")
	return ""
}

func checkGrep(u *Use) string {
	pattern := u.Has("-e", "--regexp", "-f", "--file")
	if !pattern && len(u.Operands) == 0 && !u.Has("--help", "-V", "--version") {
		return "it needs a pattern"
	}
	if u.Has("-R", "--dereference-recursive") {
		u.Sandboxed = true
	}
	recursive := u.Has("-r", "--recursive", "-R", "--dereference-recursive")
	if v, ok := u.value("-d", "--directories"); ok && v == "recurse" {
		recursive = true
	}
	if recursive && len(u.Paths) == 0 {
		u.path(".", 0, false)
	}
	return ""
}

// checkPager refuses operands with a plus, which less and more execute as commands.
func checkPager(u *Use) string {
	for _, op := range u.Operands {
		if strings.HasPrefix(op.Text, "+") {
			return "a command for the pager: " + op.Text
		}
	}
	return ""
}

// checkTree refuses values that are joined to a short option: tree takes the next word as the
// value and parses the rest of this one as options.
func checkTree(u *Use) string {
	for _, o := range u.Options {
		if o.Value != "" && len(o.Name) == 2 && u.Args[o.Index].Text != o.Value && !(o.Name == "-L" && digits(o.Value)) {
			return "the value of " + o.Name + " belongs in a word of its own"
		}
	}
	return checkRecursive("-l")(u)
}

// checkXXD refuses several short options in one word: xxd uses the first and drops the others,
// so an apparent value is its input, and an apparent input is the file that it writes.
func checkXXD(u *Use) string {
	for _, o := range u.Options {
		if t := u.Args[o.Index].Text; t != o.Name && t != o.Name+o.Value &&
			(t != o.Value || u.Args[o.Index-1].Text != o.Name) {
			return "several options in one word, of which it takes only the first"
		}
	}
	return ""
}

// checkResponse refuses words that the programs of binutils replace by the contents of a file,
// options included.
func checkResponse(u *Use) string {
	for _, w := range u.Words {
		if strings.HasPrefix(w.Text, "@") {
			return "its words would come from a file: " + w.Text
		}
	}
	return ""
}

// checkZcat requires names with their suffix: for other names, gzip also tries the name with a
// suffix.
func checkZcat(u *Use) string {
	for _, op := range u.Operands {
		if op.Text != "-" &&
			!slices.ContainsFunc(
				[]string{".gz", ".tgz", ".Z", ".taz"},
				func(suffix string) bool { return strings.HasSuffix(op.Text, suffix) },
			) {
			return "which file it reads is not known, as the name lacks its .gz: " + op.Text
		}
	}
	return ""
}

func checkCD(u *Use) string {
	if len(u.Operands) != 1 || u.Operands[0].Text == "-" || u.Operands[0].Text == "" {
		return "where it leads is not known"
	}
	return ""
}

// escapes returns the first backslash escape that is not one of the allowed letters. Other
// escapes may make control characters, which a terminal executes.
func escapes(s, allowed string) (bad string, found bool) {
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			continue
		}
		if i+1 == len(s) {
			return "", false
		}
		i++
		if strings.IndexByte(allowed, s[i]) < 0 {
			return s[i-1 : i+1], true
		}
	}
	return "", false
}

func checkEcho(u *Use) string {
	interpret := false
	for i, op := range u.Operands {
		interpret = interpret || op.Derived // it may be -e
		if t := op.Text; interpret || len(t) < 2 || t[0] != '-' || strings.Trim(t[1:], "neE") != "" {
			// The options end here.
			for _, rest := range u.Operands[i:] {
				if bad, found := escapes(rest.Text, `nt\"'`); found && interpret {
					return "the escape " + bad + " may make a control character"
				}
				if rest.Glob {
					u.path(rest.Text, rest.Index, true)
				}
			}
			return ""
		}
		if strings.ContainsAny(op.Text[1:], "e") {
			// A later -E would disable it; enabled is the safe assumption.
			interpret = true
			if i+1 < len(u.Operands) {
				for _, rest := range u.Operands[i+1:] {
					if bad, found := escapes(rest.Text, `nt\"'`); found {
						return "the escape " + bad + " may make a control character"
					}
				}
			}
		}
	}
	return ""
}

func checkPrintf(u *Use) string {
	ops := u.Operands
	if len(ops) > 0 && ops[0].Text == "--" {
		ops = ops[1:]
	} else if len(ops) > 0 && strings.HasPrefix(ops[0].Text, "-") {
		return "the option " + ops[0].Text + " is not on its list of harmless ones"
	}
	if len(ops) == 0 {
		return "it needs a format"
	}
	if ops[0].Derived {
		return "its format is not known before it runs"
	}
	for _, op := range ops {
		if bad, found := escapes(op.Text, `nt\"'%`); found {
			return "the escape " + bad + " may make a control character"
		}
	}
	format := strings.ReplaceAll(ops[0].Text, "%%", "")
	for _, spec := range strings.Split(format, "%")[1:] {
		verb := strings.TrimLeft(spec, "-+ #0123456789.*'hlLjzt")
		if verb == "" || strings.IndexByte("sbqQdiouxXeEfFgGcaA(", verb[0]) < 0 {
			return "the conversion %" + spec + " is not one that only prints"
		}
		if verb[0] == 'c' || verb[0] == '(' && !strings.Contains(verb, ")T") {
			continue
		}
	}
	return ""
}

var checkVersion = checkVersionOr("--version")

// checkVersionOr permits a request for the version by the long option or by another.
func checkVersionOr(option string) func(*Use) string {
	return func(u *Use) string {
		if len(u.Operands) == 1 && (u.Operands[0].Text == "--version" || u.Operands[0].Text == option) {
			return ""
		}
		return "only asking for its version is on the safe list"
	}
}

// checkSet permits the options that end a script at its first failure. With them a script runs
// less, never more.
func checkSet(u *Use) string {
	ops := u.Operands
	if len(ops) == 0 {
		return "it shows the shell's variables"
	}
	for i := 0; i < len(ops); i++ {
		switch t := ops[i].Text; t {
		case "-e", "-u", "-eu", "-ue", "+e", "+u":
		case "-o", "-eo", "-uo", "-euo", "-ueo", "+o":
			if i++; i == len(ops) || !slices.Contains([]string{"pipefail", "errexit", "nounset"}, ops[i].Text) {
				return "the option behind " + t + " is not pipefail, errexit or nounset"
			}
		default:
			return "the word " + t + " is not one of -e, -u and -o pipefail"
		}
	}
	return ""
}

func checkExit(u *Use) string {
	if len(u.Operands) > 1 || len(u.Operands) == 1 && !digits(u.Operands[0].Text) {
		return "it takes one number"
	}
	return ""
}

func checkDate(u *Use) string {
	for _, op := range u.Operands {
		if !strings.HasPrefix(op.Text, "+") {
			return "an operand that sets the clock: " + op.Text
		}
	}
	return ""
}

// psFields lists the columns of ps that show no environment (ps(1), STANDARD FORMAT
// SPECIFIERS).
var psFields = strings.Fields(
	"pid ppid pgid pgrp sid sess uid euid ruid user euser ruser gid egid rgid group egroup rgroup comm ucmd cmd args " +
		"command fname %cpu pcpu c %mem pmem rss rsz vsz vsize sz size stat state s time cputime etime etimes lstart start " +
		"start_time bsdstart stime tty tt tname nice ni pri cls class nlwp thcount lwp tid wchan psr",
)

// checkPS judges the words of ps. It refuses to mix words with and without a dash: ps parses
// such words again as BSD options if they are otherwise invalid, and there e shows the
// environment.
func checkPS(u *Use) string {
	ops := u.Operands
	dashed, bare := false, false
	for i := 0; i < len(ops); i++ {
		t := ops[i].Text
		sort, sorts := strings.CutPrefix(t, "--sort=")
		switch {
		case slices.Contains([]string{"aux", "ax", "a", "x", "u", "ux", "au", "axu", "axf", "auxf"}, t):
			bare = true
		case slices.Contains([]string{"-e", "-f", "-ef", "-A", "-a", "-l", "-F", "-eF", "-efl"}, t):
			dashed = true
		case slices.Contains([]string{"-p", "-C", "-u", "--ppid", "-t"}, t):
			dashed = dashed || t != "--ppid"
			if i++; i == len(ops) {
				return "the option " + t + " lacks its value"
			}
		case t == "-o" || t == "-eo" || t == "-Ao":
			dashed = true
			if i++; i == len(ops) || !psColumns(ops[i].Text) {
				return "the columns behind " + t + " are not those that show no environment"
			}
		case t == "--forest" || t == "--no-headers" || sorts &&
			psColumns(strings.NewReplacer("-", "", "+", "").Replace(sort)):
		default:
			return "the word " + t + " is not one of those that show no environment"
		}
	}
	if dashed && bare {
		return "words with a dash and words without, of which ps may make the e that shows the environment"
	}
	return ""
}

// psColumns reports whether all columns of a list show no environment; "pid=" has no title.
func psColumns(list string) bool {
	for name := range strings.SplitSeq(list, ",") {
		if !slices.Contains(psFields, strings.TrimSuffix(name, "=")) {
			return false
		}
	}
	return true
}

// testUnary lists the operators of test(1) with one file operand.
const testUnary = "-b -c -d -e -f -g -G -h -k -L -N -O -p -r -s -S -u -w -x"

func checkTest(u *Use) string {
	ops := u.Operands
	if u.Entry.Name == "[" {
		if len(ops) == 0 || ops[len(ops)-1].Text != "]" {
			return "the closing ] is missing"
		}
		ops = ops[:len(ops)-1]
	}
	unary := strings.Fields(testUnary)
	if slices.ContainsFunc(ops, func(op Operand) bool { return op.Derived }) {
		return checkKnownTest(ops, unary)
	}
	for i := 0; i < len(ops); i++ {
		t := ops[i].Text
		last := i+1 >= len(ops)
		switch {
		case t == "-v" || t == "-R" || t == "-o" && (i == 0 || last):
			return "the operator " + t + " computes"
		case slices.Contains(unary, t):
			if !last {
				u.path(ops[i+1].Text, ops[i+1].Index, ops[i+1].Glob)
			}
		case t == "-nt" || t == "-ot" || t == "-ef":
			if i > 0 {
				u.path(ops[i-1].Text, ops[i-1].Index, false)
			}
			if !last {
				u.path(ops[i+1].Text, ops[i+1].Index, false)
			}
		case t == "-eq" || t == "-ne" || t == "-lt" || t == "-le" || t == "-gt" || t == "-ge":
			if last || i == 0 || !integer(ops[i-1].Text) || !integer(ops[i+1].Text) {
				return "a comparison of something that is not a number"
			}
		}
	}
	return ""
}

// checkKnownTest permits the conditions of at most three operands, whose operator is known whatever the values are.
func checkKnownTest(ops []Operand, unary []string) string {
	if len(ops) > 0 && ops[0].Text == "!" && !ops[0].Derived {
		ops = ops[1:]
	}
	binary := strings.Fields("= == != -eq -ne -lt -le -gt -ge -nt -ot -ef")
	switch {
	case len(ops) == 2 && !ops[0].Derived && slices.Contains(append(unary, "-n", "-z"), ops[0].Text):
		return ""
	case len(ops) == 3 && !ops[1].Derived && slices.Contains(binary, ops[1].Text):
		return ""
	}
	return "a condition whose operators are not known before it runs"
}

func integer(s string) bool {
	s = strings.TrimSpace(s)
	return digits(strings.TrimPrefix(strings.TrimPrefix(s, "-"), "+"))
}

// checkTar permits listing an archive, in its usual spellings.
func checkTar(u *Use) string {
	ops := u.Operands
	if len(ops) == 0 {
		return "it has no operation"
	}
	list, file := false, ""
	for i := 0; i < len(ops); i++ {
		t := ops[i].Text
		switch {
		case t == "--list":
			list = true
		case t == "--verbose":
		case strings.HasPrefix(t, "--file="):
			file = t[len("--file="):]
			u.path(file, ops[i].Index, false)
		case strings.HasPrefix(t, "--"):
			return "the option " + t + " is not on its list of harmless ones"
		case strings.HasPrefix(t, "-") || i == 0:
			letters := strings.TrimPrefix(t, "-")
			if bad := strings.Trim(letters, "tvfzjJ"); bad != "" || letters == "" {
				return "the options " + t + " do more than list"
			}
			list = list || strings.Contains(letters, "t")
			if at := strings.IndexByte(letters, 'f'); at >= 0 {
				if at != len(letters)-1 || i+1 >= len(ops) {
					return "the archive is not named as expected"
				}
				i++
				file = ops[i].Text
				u.path(file, ops[i].Index, false)
			}
		}
	}
	switch {
	case !list:
		return "it does more than list"
	case file == "" || strings.Contains(file, ":"):
		return "the archive is not a file"
	}
	return ""
}

// checkUnzip permits listing and printing.
func checkUnzip(u *Use) string {
	ops := u.Operands
	if len(ops) < 2 {
		return "it unpacks"
	}
	switch ops[0].Text {
	case "-l", "-v", "-Z", "-p", "-t", "-z":
	default:
		return "the option " + ops[0].Text + " is not on its list of harmless ones"
	}
	for _, op := range ops[1:] {
		if strings.HasPrefix(op.Text, "-") {
			return "the option " + op.Text + " is not on its list of harmless ones"
		}
	}
	if strings.ContainsAny(ops[1].Text, `*?[\`) || !strings.HasSuffix(strings.ToLower(ops[1].Text), ".zip") {
		return "which archive it reads is not known, as it completes names and matches patterns itself: " + ops[1].Text
	}
	u.path(ops[1].Text, ops[1].Index, ops[1].Glob)
	return ""
}

// jqOptions maps the options of jq to the number of their values.
var jqOptions = map[string]int{
	"--seq": 0, "--stream": 0, "--slurp": 0, "--raw-input": 0, "--null-input": 0, "--compact-output": 0, "--tab": 0,
	"--color-output":      0,
	"--monochrome-output": 0, "--ascii-output": 0, "--unbuffered": 0, "--sort-keys": 0, "--raw-output": 0,
	"--join-output": 0, "--exit-status": 0,
	"--args": 0, "--jsonargs": 0, "--version": 0, "--help": 0, "--indent": 1, "--arg": 2, "--argjson": 2,
	"--slurpfile": 2, "--rawfile": 2,
}

// jqEnv reports whether a filter may use the function env. The name as a field (.env) or as a
// whole string ("env") does not count.
func jqEnv(filter string) bool {
	part := func(i int) bool {
		return i >= 0 && i < len(filter) &&
			(filter[i] == '_' || filter[i] >= '0' && filter[i] <= '9' || filter[i] >= 'a' && filter[i] <= 'z' ||
				filter[i] >= 'A' && filter[i] <= 'Z')
	}
	for from := 0; ; {
		i := strings.Index(filter[from:], "env")
		if i < 0 {
			return false
		}
		i += from
		from = i + len("env")
		field := i > 0 && filter[i-1] == '.' && !(i > 1 && filter[i-2] == '.')
		text := i > 0 && filter[i-1] == '"' && from < len(filter) && filter[from] == '"'
		if !part(i-1) && !part(from) && !field && !text {
			return true
		}
	}
}

func checkJQ(u *Use) string {
	ops := u.Operands
	filter, values := false, false
	for i := 0; i < len(ops); i++ {
		t := ops[i].Text
		if !strings.HasPrefix(t, "-") || t == "-" {
			switch {
			case !filter:
				filter = true
				// A filter can read other files only through modules.
				if strings.Contains(t, "import") || strings.Contains(t, "include") || strings.Contains(t, "modulemeta") {
					return "a filter that may load a module"
				}
				if strings.Contains(t, "$ENV") || jqEnv(t) {
					return "a filter that shows the environment, which may hold secrets"
				}
			case !values && t != "-":
				u.path(t, ops[i].Index, false)
			}
			continue
		}
		if n, ok := jqOptions[t]; ok {
			if i+n >= len(ops) && n > 0 {
				return "the option " + t + " lacks its values"
			}
			if t == "--slurpfile" || t == "--rawfile" {
				u.path(ops[i+2].Text, ops[i+2].Index, false)
			}
			values = values || t == "--args" || t == "--jsonargs"
			i += n
			continue
		}
		if strings.HasPrefix(t, "--") || strings.Trim(t[1:], "rcnsRSMCaje") != "" {
			return "the option " + t + " is not on its list of harmless ones"
		}
	}
	if !filter && len(ops) == 0 {
		return "it needs a filter"
	}
	return ""
}
