package shell

import (
	"path"
	"slices"
	"strings"

	"sandboxd/pattern"
	"sandboxd/shell/analysis"
	"sandboxd/shell/carried"
	"sandboxd/shell/safelist"
)

// spellings returns a command as patterns that forbid match it: as it is written, and as other words by which the same
// program does the same.
func spellings(args []analysis.Word) []pattern.Command {
	out := safelist.Spellings(args)
	if len(args) < 2 || !args[0].Known() {
		return out
	}
	if inner := moduleOf(args); inner != nil {
		out = append(out, spellings(inner)...)
	}
	name := strings.ToLower(path.Base(args[0].Text))
	if plain := plainName(name); plain != name {
		out = append(out, pattern.Command{Words: analysis.Plain(renamed(args, 0, plain))})
	}
	for _, other := range subcommandSpellings(name, args) {
		out = append(out, pattern.Command{Words: analysis.Plain(other)})
	}
	for _, other := range goalSpellings(args) {
		out = append(out, pattern.Command{Words: analysis.Plain(other)})
	}
	if other := optionSpellings(name, args); other != nil {
		out = append(out, pattern.Command{Words: analysis.Plain(other), Sub: out[0].Sub})
	}
	return out
}

// startsAs reports whether one of the spellings may begin with the name of a program.
func startsAs(name string, args []analysis.Word) bool {
	if len(args) == 0 || !args[0].Known() {
		return true
	}
	own := strings.ToLower(path.Base(args[0].Text))
	return strings.EqualFold(own, path.Base(name)) || strings.HasPrefix(own, "git") ||
		carried.Base(own) == "python" || plainName(own) == path.Base(name)
}

// plainName returns a program's name without a version (pip3, python3.12), or the usual one of its names.
func plainName(name string) string {
	switch name {
	case "gmake":
		return "make"
	case "yarnpkg":
		return "yarn"
	}
	if plain := strings.TrimRight(name, "0123456789."); plain != "" {
		return plain
	}
	return name
}

func renamed(args []analysis.Word, at int, text string) []analysis.Word {
	args = slices.Clone(args)
	args[at].Text, args[at].Kind = text, analysis.Literal
	return args
}

// moduleOf returns the command that "python -m NAME …" runs as NAME; nil for all others.
func moduleOf(args []analysis.Word) []analysis.Word {
	if carried.Base(args[0].Text) != "python" {
		return nil
	}
	for at := 1; at < len(args) && strings.HasPrefix(args[at].Text, "-"); at++ {
		switch module, joined := strings.CutPrefix(args[at].Text, "-m"); {
		case joined && module != "":
			return renamed(args[at:], 0, module)
		case joined && at+1 < len(args):
			return args[at+1:]
		}
	}
	return nil
}

// npmNames are npm's commands of more than one name (lib/utils/cmd-list.js of npm 11), each with its names.
var npmNames = [][]string{
	strings.Fields("run run-script rum urn"), strings.Fields("exec x"), strings.Fields("config c"),
	strings.Fields("install add i in ins inst insta instal isnt isnta isntal isntall"),
	strings.Fields("uninstall unlink remove rm r un"), strings.Fields("update u up upgrade udpate"),
	strings.Fields("ci clean-install ic install-clean isntall-clean"), strings.Fields("test tst t"),
	strings.Fields("install-test it"), strings.Fields("install-ci-test cit clean-install-test sit"),
	strings.Fields("owner author"), strings.Fields("docs home"), strings.Fields("bugs issues"), strings.Fields("org ogr"),
	strings.Fields("view info show v"), strings.Fields("search find s se"), strings.Fields("rebuild rb"),
	strings.Fields("ls list"), strings.Fields("link ln"), strings.Fields("init create innit"),
	strings.Fields("dedupe ddp"), strings.Fields("explain why"), strings.Fields("ll la"),
	strings.Fields("version verison"), strings.Fields("help hlep"), strings.Fields("dist-tag dist-tags"),
	strings.Fields("adduser add-user"),
}

// npmOthers are the commands of npm that have one name.
var npmOthers = strings.Fields(`access approve-scripts audit cache completion deny-scripts deprecate diff doctor edit
	explore find-dupes fund get help-search install-scripts login logout outdated pack ping pkg prefix profile prune
	publish query repo restart root sbom set shrinkwrap stage star stars start stop team token trust undeprecate
	unpublish unstar whoami`)

// npmCommand returns all names of the command of npm that a word means, in whatever case or abbreviation; nil: none.
func npmCommand(word string) []string {
	var spelled strings.Builder // installTest is install-test
	for _, c := range word {
		if c >= 'A' && c <= 'Z' {
			spelled.WriteByte('-')
			c += 'a' - 'A'
		}
		spelled.WriteRune(c)
	}
	word = spelled.String()
	groups := slices.Clone(npmNames)
	for _, name := range npmOthers {
		groups = append(groups, []string{name})
	}
	var begins [][]string
	for _, names := range groups {
		if slices.Contains(names, word) {
			return names
		}
		if word != "" && slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, word) }) {
			begins = append(begins, names)
		}
	}
	if len(begins) == 1 {
		return begins[0]
	}
	return nil
}

// otherNames are the sub-commands of other programs that have more than one name.
var otherNames = map[string][][]string{
	"pnpm": {strings.Fields("install i"), strings.Fields("remove rm uninstall un"), strings.Fields("update up upgrade"),
		strings.Fields("run run-script"), strings.Fields("test t tst"), strings.Fields("link ln")},
	"bun": {strings.Fields("install i"), strings.Fields("add a"), strings.Fields("remove rm")},
	"cargo": {strings.Fields("build b"), strings.Fields("check c"), strings.Fields("test t"), strings.Fields("run r"),
		strings.Fields("remove rm"), strings.Fields("doc d")},
}

// subcommandNames returns a sub-command of a program with the other names that it has.
func subcommandNames(program, word string) []string {
	names := []string{word}
	if program == "npm" {
		names = append(names, npmCommand(word)...)
	}
	for _, group := range otherNames[program] {
		if slices.Contains(group, word) {
			names = append(names, group...)
		}
	}
	return names
}

// subcommandSpellings returns a command with the other names of its sub-command, which is one of the first words: it
// may follow options with values.
func subcommandSpellings(name string, args []analysis.Word) (out [][]analysis.Word) {
	for at, operands := 1, 0; at < len(args) && operands < 3; at++ {
		w := args[at]
		if !w.Known() || strings.HasPrefix(w.Text, "-") {
			continue
		}
		operands++
		for _, other := range subcommandNames(name, w.Text) {
			if other != w.Text {
				out = append(out, renamed(args, at, other))
			}
		}
	}
	return out
}

// builders are the programs whose operands are goals: each is made, wherever it is.
var builders = strings.Fields("make just task rake ninja gradle mvn ant invoke inv")

// goalSpellings returns a command of these with each of its later goals as the first one.
func goalSpellings(args []analysis.Word) (out [][]analysis.Word) {
	if !slices.Contains(builders, carried.Base(args[0].Text)) {
		return nil
	}
	for at := 2; at < len(args) && at < maxCalls; at++ {
		if w := args[at]; w.Known() && !strings.HasPrefix(w.Text, "-") && !strings.Contains(w.Text, "=") {
			out = append(out, append(args[:1:1], args[at:]...))
		}
	}
	return out
}

// longOptions are the long options of programs whose letters rules are written with: "r recursive" is -r and
// --recursive. R means r as well.
var longOptions = map[string]string{
	"rm": "r recursive R recursive f force d dir", "cp": "r recursive R recursive a archive f force",
	"mv": "f force n no-clobber", "ln": "s symbolic f force", "mkdir": "p parents",
	"chmod": "R recursive", "chown": "R recursive", "chgrp": "R recursive", "git": "f force d delete",
	"docker": "f force", "podman": "f force", "npm": "g global f force", "pip": "U upgrade",
}

// optionSpellings returns a command with both forms of its options; nil where it has none of them.
func optionSpellings(name string, args []analysis.Word) []analysis.Word {
	pairs := strings.Fields(longOptions[strings.TrimRight(name, "0123456789.")])
	out := args[:1:1]
	for i, w := range args[1:] {
		out = append(out, w)
		if w.Text == "--" {
			out = append(out, args[i+2:]...)
			break
		}
		if !w.Known() || len(w.Text) < 2 || w.Text[0] != '-' {
			continue
		}
		given, _, _ := strings.Cut(w.Text, "=")
		for p := 0; p+1 < len(pairs); p += 2 {
			letter, long := pairs[p], "--"+pairs[p+1]
			if len(given) > 2 && strings.HasPrefix(long, given) || given[1] != '-' && strings.Contains(given, letter) {
				out = append(out, option(long))
				for q := 0; q < len(pairs); q += 2 {
					if pairs[q+1] == pairs[p+1] {
						out = append(out, option("-"+pairs[q]))
					}
				}
			}
		}
	}
	if len(out) == len(args) {
		return nil
	}
	return out
}

func option(text string) analysis.Word { return analysis.Word{Kind: analysis.Literal, Text: text} }
