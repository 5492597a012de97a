package safelist

import (
	"slices"
	"strings"

	"sandboxd/shell/analysis"
)

// getopt parses options and operands like getopt_long(3): options may follow operands, "--"
// ends them. It returns the reason for a refusal, or "".
func (e *Entry) getopt(u *Use, skip int) string {
	args := u.Args
	for i := skip; i < len(args); i++ {
		w := args[i]
		t := w.Text
		switch {
		case w.Kind == analysis.Derived:
			u.Operands = append(u.Operands, Operand{Text: t, Index: i, Derived: true})
		case w.Kind == analysis.Glob && e.globValue(t):
			name, value, _ := strings.Cut(t, "=")
			u.Options = append(u.Options, Option{Name: name, Value: value, Index: i})
			u.LastOption = i
		case w.Kind == analysis.Glob, len(t) < 2, t[0] != '-', u.EndsOptions >= 0:
			u.Operands = append(u.Operands, Operand{Text: t, Index: i, Glob: w.Kind == analysis.Glob})
		case t == "--":
			u.EndsOptions = i
		case strings.HasPrefix(t, "--"):
			used, why := e.long(u, i)
			if why != "" {
				return why
			}
			i += used
			u.LastOption = i
		default:
			used, why := e.short(u, i)
			if why != "" {
				return why
			}
			i += used
			u.LastOption = i
		}
	}
	return e.classify(u)
}

// globValue reports whether a glob is the value of an option that takes any text. Its matches
// have the option's name too.
func (e *Entry) globValue(text string) bool {
	name, value, ok := strings.Cut(text, "=")
	o := e.options[name]
	return ok && strings.HasPrefix(name, "--") && o.takes && o.class == ClassText && !strings.Contains(value, "/")
}

func (e *Entry) unknown(name string) string {
	for names, why := range e.Never {
		for n := range strings.SplitSeq(names, ",") {
			if n == name {
				return name + " " + why
			}
		}
	}
	return "the option " + name + " is not on its list of harmless ones"
}

func (e *Entry) long(u *Use, i int) (used int, why string) {
	name, value, attached := strings.Cut(u.Args[i].Text, "=")
	o, ok := e.options[name]
	switch {
	case !ok:
		return 0, e.unknown(name)
	case !o.takes && attached:
		return 0, "the option " + name + " takes no value"
	case !o.takes, o.optional && !attached:
		u.Options = append(u.Options, Option{Name: name, Index: i})
		return 0, ""
	case attached:
		return 0, e.value(u, name, o, value, i)
	}
	return 1, e.nextValue(u, name, o, i)
}

func (e *Entry) short(u *Use, i int) (used int, why string) {
	t := u.Args[i].Text
	if _, ok := e.options["-NUM"]; ok && digits(t[1:]) {
		u.Options = append(u.Options, Option{Name: "-NUM", Value: t[1:], Index: i})
		return 0, ""
	}
	if o, ok := e.options[t]; ok && len(t) > 2 && !o.takes { // -version and similar
		u.Options = append(u.Options, Option{Name: t, Index: i})
		return 0, ""
	}
	for j := 1; j < len(t); j++ {
		name := "-" + t[j:j+1]
		o, ok := e.options[name]
		if !ok {
			return 0, e.unknown(name)
		}
		if !o.takes {
			u.Options = append(u.Options, Option{Name: name, Index: i})
			continue
		}
		if rest := t[j+1:]; rest != "" || o.optional {
			return 0, e.value(u, name, o, rest, i)
		}
		return 1, e.nextValue(u, name, o, i)
	}
	return 0, ""
}

func (e *Entry) nextValue(u *Use, name string, o option, i int) string {
	if i+1 >= len(u.Args) {
		return "the option " + name + " lacks its value"
	}
	if !u.Args[i+1].Fixed() {
		return "the value of " + name + " is not literal"
	}
	value := u.Args[i+1].Text
	if e.ownParser() && !slices.Contains([]string{"--sort", "-e", "--regexp"}, name) && len(value) > 1 &&
		value[0] == '-' &&
		o.class != ClassNum {
		return "the value of " + name + " could be read as an option: " + value
	}
	return e.value(u, name, o, value, i+1)
}

// ownParser reports whether the command does not parse its options by getopt(3). Such commands
// accept some values only after "=", depending on sub-command and version (git log --format,
// --engine of ripgrep 13). They then read the next word as an option.
func (e *Entry) ownParser() bool {
	return strings.HasPrefix(e.Name, "git ") || slices.Contains([]string{"rg", "fd", "fdfind", "tree", "xxd"}, e.Name)
}

func (e *Entry) value(u *Use, name string, o option, value string, i int) string {
	switch o.class {
	case ClassNum:
		if !number(value) && !(o.optional && value == "") {
			return "the value of " + name + " is not a number"
		}
	case ClassPath, ClassDir:
		if value == "" {
			return "the value of " + name + " is empty"
		}
		u.path(value, i, false)
	}
	u.Options = append(u.Options, Option{Name: name, Value: value, Index: i})
	return ""
}

// classify assigns the classes of the entry to the operands. It returns the reason for a
// refusal, or "".
func (e *Entry) classify(u *Use) string {
	classes := strings.Fields(e.Operands)
	if e.Unless != "" && len(classes) > 0 {
		for n := range strings.FieldsSeq(e.Unless) {
			if u.Has(n) {
				classes = classes[1:]
				break
			}
		}
	}
	if len(u.Operands) < e.Least {
		return "it needs more operands"
	}
	for i := range u.Operands {
		op := &u.Operands[i]
		if len(classes) == 0 {
			return "an operand it is not known to only read: " + u.Args[op.Index].Source
		}
		class := classes[0]
		repeats := strings.HasSuffix(class, "...")
		if !repeats {
			classes = classes[1:]
		}
		op.Class = classNames[strings.TrimSuffix(class, "...")]
		if op.Derived && (op.Class != ClassText || !u.oneWord(op.Index)) {
			u.Derived = append(u.Derived, op.Index)
			continue
		}
		switch op.Class {
		case ClassPath, ClassDir:
			if op.Text != "-" && op.Text != "" {
				u.path(op.Text, op.Index, op.Glob)
			}
		case ClassNum:
			if !number(op.Text) {
				return "not a number: " + op.Text
			}
		case ClassText:
			if op.Glob {
				return "an unquoted glob where text belongs: " + u.Args[op.Index].Source
			}
		}
	}
	return ""
}

// oneWord reports whether a word remains one word, and no option, when its value is known.
func (u *Use) oneWord(at int) bool {
	parts := u.Args[at].Parts()
	return parts[0].Text != "" && parts[0].Text[0] != '-' &&
		!slices.ContainsFunc(parts, func(p analysis.Part) bool { return p.Text == "" && !p.Quoted })
}

func (e *Entry) globs(u *Use) string {
	for _, op := range u.Operands {
		if !op.Glob {
			continue
		}
		switch {
		case e.Globs == globNone:
			return "an unquoted glob, whose matches could be options or outputs: " + u.Args[op.Index].Source
		case e.Globs == globRooted && !rooted(op.Text):
			return "a glob whose matches could be options: " + u.Args[op.Index].Source
		case strings.HasPrefix(op.Text, "-"):
			return "a glob whose matches could be options: " + u.Args[op.Index].Source
		}
	}
	return ""
}

// rooted reports whether a glob begins with text that cannot begin an option.
func rooted(pattern string) bool {
	return pattern != "" && strings.IndexByte(`*?[\-`, pattern[0]) < 0
}

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// number reports whether s is a number in a form that options accept: +5, -1, 10k, 0.5, 10,20.
func number(s string) bool {
	if s == "" || len(s) > 32 {
		return false
	}
	some := false
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c >= '0' && c <= '9':
			some = true
		case strings.IndexByte("+-.,:%^~KkMmGgTtPpEebBcwsiDdhy", c) >= 0:
		default:
			return false
		}
	}
	return some
}
