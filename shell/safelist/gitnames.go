package safelist

import (
	"slices"
	"strings"
)

// gitNames adds the paths that the words of a git command can refer to indirectly: in revisions
// (gitrevisions(7)), pathspecs (gitglossary(7)) and values of options.
func gitNames(u *Use) string {
	for _, op := range u.Operands {
		if op.Class == ClassText && u.Entry.Name == "git grep" {
			continue // the expression
		}
		if why := u.spell(op.Text, op.Index); why != "" {
			return why
		}
	}
	for _, o := range u.Options {
		switch o.Name {
		case "-L":
			if why := u.spell(o.Value, o.Index); why != "" {
				return why
			}
		case "--skip-to", "--rotate-to", "--relative":
			u.Paths = append(u.Paths, PathArg{Text: o.Value, Index: o.Index, Top: true})
		}
	}
	return ""
}

// spell adds the paths that one word can refer to: the whole word, and each part after a colon,
// up to the end of a range.
func (u *Use) spell(text string, index int) string {
	text, fold, why := pathspec(text)
	if why != "" || text == "" {
		return why
	}
	rest := text
	for {
		for _, name := range []string{rest, strings.SplitN(rest, "..", 2)[0]} {
			u.spelled(strings.TrimPrefix(name, "/"), index, fold)
		}
		_, after, more := strings.Cut(rest, ":")
		if !more {
			return ""
		}
		rest = after
	}
}

func (u *Use) spelled(name string, index int, fold bool) {
	if fold {
		name = strings.ToLower(name)
	}
	arg := PathArg{Text: name, Index: index, Top: true, Spec: strings.ContainsAny(name, `*?[\`)}
	if name != "" && !slices.Contains(u.Paths, arg) {
		u.Paths = append(u.Paths, arg)
	}
}

// pathspec strips the magic from a pathspec. text is "" for a pathspec that excludes.
func pathspec(word string) (text string, fold bool, why string) {
	if long, ok := strings.CutPrefix(word, ":("); ok {
		magic, rest, _ := strings.Cut(long, ")")
		for m := range strings.SplitSeq(magic, ",") {
			switch m = strings.TrimSpace(m); {
			case m == "exclude":
				return "", false, ""
			case m == "icase":
				fold = true
			case strings.HasPrefix(m, "attr"):
				return "", false, "a pathspec that selects by attributes, whose files are not known"
			}
		}
		return rest, fold, ""
	}
	if len(word) < 2 || word[0] != ':' {
		return word, false, ""
	}
	signs := word[1 : len(word)-len(strings.TrimLeft(word[1:], "/!^"))]
	if strings.ContainsAny(signs, "!^") {
		return "", false, ""
	}
	return word, false, ""
}
