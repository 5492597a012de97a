package shell

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"sandboxd/shell/analysis"
	"sandboxd/shell/danger"
	"sandboxd/shell/safelist"
)

var (
	// contentless lists the commands that print or change nothing of the content of the files that they name, find
	// among them: what it runs is judged by what it finds.
	contentless = strings.Fields(`test [ ls stat file readlink realpath basename dirname rm unlink rmdir shred trash chmod
		chown chgrp touch mkdir truncate tee which type find echo printf true false cd pushd`)
	// contentlessGit lists such sub-commands of git, and those that write files from its objects.
	contentlessGit = strings.Fields("rm check-ignore check-attr update-index ls-files restore checkout")
	// inputNames lists the commands whose input may be names of files.
	inputNames = strings.Fields("xargs read mapfile readarray cpio")
	// declarers lists the builtins whose words assign.
	declarers = strings.Fields("declare typeset local export readonly")
	// copiers lists the commands whose last operand is written.
	copiers = strings.Fields("cp mv install ln")

	// written matches options whose value is a file to write, unread one whose value is a name to leave out, and
	// message one whose value is text for people.
	written = regexp.MustCompile(`^(-[oO]|--?(out(put)?(-?(file|File|document|dir))?|keyout|` +
		`(cover|cpu|mem|block|mutex)profile))$`)
	unread  = regexp.MustCompile(`^--?[a-z-]*(exclude|ignore)[a-z-]*$`)
	message = regexp.MustCompile(`^(--message|-[a-zA-Z]*m)$`)
	// gitText matches the other options of git with such a text, or a pattern, and both with the text behind.
	gitText = regexp.MustCompile(`^(--(message|grep|author|committer|format|pretty|trailer|date|since|until|after|` +
		`before|subject-prefix|description)(=|$)|-[a-zA-Z]*m|-[SGL])`)

	// remoteURL matches URLs but for those of local files.
	remoteURL = regexp.MustCompile(`\b([a-eg-z][a-z0-9+.-]*|f[a-hj-z][a-z0-9+.-]*)://[^\s'"]*`)
	// nameInCode matches the names of files that code may have.
	nameInCode = regexp.MustCompile(`[\w.~/+-]+`)
)

// maxNames bounds the names that are looked for in one text.
const maxNames = 4000

// showsNothing reports whether a command, such as "ls" or "git rm", prints nothing of the content of what it names.
func showsNothing(name string) bool {
	sub, git := strings.CutPrefix(name, "git ")
	return git && slices.Contains(contentlessGit, sub) || slices.Contains(contentless, name)
}

// credentials asks where the words of a call name files of credentials, whatever program reads these. A command of the
// safe list, whose words are understood, is judged by the files that it reads instead, and one that a rule of the
// configuration permits by that rule.
func (j *judging) credentials(c *analysis.Call, state *callState, f *finding) {
	n := naming{judging: j, dirs: c.Dirs}
	switch use := state.use; {
	case f.decision == Block:
	case use != nil && !state.preset && !showsNothing(use.Entry.Name):
		for _, i := range use.Derived {
			n.word(c.Args[i], 0)
		}
	case use == nil && f.decision == Ask, state.preset, state.transparent, f.rule == "default":
		n.call(c)
	}
	state.named = len(n.found) > 0
	n.ask(f)
}

// namedBy is credentials for the target of a redirection that is no literal.
func (j *judging) namedBy(dirs analysis.Dirs, f *finding, target analysis.Word) {
	n := naming{judging: j, dirs: dirs}
	n.word(target, 0)
	n.ask(f)
}

// ask makes a finding ask for what was found.
func (n *naming) ask(f *finding) {
	for _, at := range n.found {
		why := n.cmd.show(at.path) + " usually holds credentials (" + at.sensitive + ")"
		switch {
		case at.path == n.cmd.project():
			n.noteBlockedPath(blockGuarded, at.path)
			why = "what `" + at.hidden + "` finds usually holds credentials"
		case at.hidden != "":
			n.verdict.Hidden = true
			n.noteBlockedPath(blockGuarded, at.path)
			why = n.cmd.show(at.path) + " holds secrets (" + at.hidden + "), whatever the command"
		default:
			n.noteCredential(at.path)
		}
		if f.decision == Auto {
			f.ask(RiskHigh, why)
			continue
		}
		n.add(finding{decision: Ask, why: why, rule: "credentials", risk: RiskHigh, offset: f.offset, end: f.end,
			text: f.text})
	}
}

// noteCredential records a file of credentials that the line reads.
func (j *judging) noteCredential(abs string) {
	j.noteBlockedPath(blockCredential, abs)
	if !slices.Contains(j.credential, abs) {
		j.credential = append(j.credential, abs)
	}
}

// naming looks for the names of credentials in the words of a call.
type naming struct {
	*judging
	dirs  analysis.Dirs
	prose bool // words with blanks are no code
	found []place
}

// call looks at the words of a call that it gives a meaning of its own, and at the code in its input.
func (n *naming) call(c *analysis.Call) {
	name := base(c.Name())
	if name == "git" {
		sub, _ := safelist.GitSubcommand(c.Args)
		name += " " + sub
	}
	if showsNothing(name) && !(name == "printf" && anyWord(c.Args, "-v")) {
		return
	}
	for _, a := range c.Assigns {
		n.word(a.Value, 0)
		n.name(a.Value.Text, true) // a glob is one where the program uses the variable
		if a.Odd {
			n.code(n.source(c.Offset, c.End)) // f=(NAME)
		}
	}
	for _, r := range c.Redirs {
		if r.Kind == analysis.RedirText && (danger.CodeFromInput(c) || slices.Contains(inputNames, name)) {
			n.code(orElse(r.Target.Text, r.Target.Source))
		}
	}
	words := c.Args
	switch {
	case slices.Contains(declarers, name):
		n.code(n.source(c.Offset, c.End)) // declare -a f=(NAME)
	case c.Transparent:
		words = c.Args[:c.WrappedAt]
	case len(c.Wrapped) > 0 && c.Wrapped[0].At > 0:
		words = c.Args[:c.Wrapped[0].At]
	}
	n.prose = n.prose || c.Script != nil // whose calls are judged
	if use := editInPlace(c.Args); use != nil {
		for _, p := range use.Paths {
			n.name(p.Text, p.Glob)
		}
		return
	}
	n.words(name, words)
}

// words looks at the words of a command that are read: not those that are written, left out, or a message.
func (n *naming) words(name string, words []analysis.Word) {
	last := len(words)
	if slices.Contains(copiers, name) && !slices.ContainsFunc(words, func(w analysis.Word) bool {
		return strings.HasPrefix(w.Text, "-t") || strings.HasPrefix(w.Text, "--target")
	}) {
		for last--; last > 0 && strings.HasPrefix(words[last].Text, "-"); last-- {
		}
	}
	for i, w := range words {
		option, _, joined := strings.Cut(w.Text, "=")
		before := ""
		if i > 0 {
			before = words[i-1].Text
		}
		switch {
		case i == last, strings.HasPrefix(w.Text, "!"), name == "dd" && option == "of",
			joined && (written.MatchString(option) || unread.MatchString(option)),
			written.MatchString(before), unread.MatchString(before),
			strings.HasPrefix(name, "git ") && message.MatchString(before), name == "zip" && before == "-x":
		case strings.HasPrefix(name, "git ") && (gitText.MatchString(w.Text) || gitText.MatchString(before)):
			was := n.prose
			n.prose = true
			n.word(w, 0)
			n.prose = was
		default:
			n.word(w, 0)
		}
	}
}

// word looks at all values that the line gives a word.
func (n *naming) word(w analysis.Word, depth int) {
	if depth > maxDerived {
		return
	}
	list, known := texts(w)
	switch {
	case w.Kind == analysis.Glob:
		for _, piece := range pieces(w.Text) {
			n.name(piece, true)
		}
		return
	case known:
		for _, text := range list {
			n.text(text)
		}
		return
	case w.Kind == analysis.Unknown:
		n.code(w.Source) // ${f:=NAME}, "$D/NAME"
		return
	}
	sample, _ := w.Sample()
	list, _ = values(w, depth)
	for _, text := range append(list, sample) {
		n.text(text)
	}
	for _, p := range w.Parts() {
		if p.Var != nil {
			for _, value := range p.Var.Words {
				n.word(value, depth+1)
			}
			for _, calls := range p.Var.Reads {
				n.printed(calls, depth)
			}
		}
		n.printed(p.Calls, depth)
	}
}

// printed looks at what calls may print: their words, and the names that they choose.
func (n *naming) printed(calls []*analysis.Call, depth int) {
	for _, c := range calls {
		if len(c.Args) == 0 || base(c.Name()) == "test" || base(c.Name()) == "[" {
			continue
		}
		use, _ := safelist.Match(c.Args)
		filters := use != nil && strings.HasSuffix(use.Entry.Name, "grep") && len(use.Paths) == 0
		if base(c.Name()) == "find" && n.findsSecret(c.Args) || filters && !n.passesLines(use) {
			n.found = append(n.found, place{path: n.cmd.project(), hidden: callText(c)})
		}
		if filters {
			continue
		}
		for _, w := range c.Args[1:] {
			n.word(w, depth+1)
		}
	}
}

// pieces returns a word, and its parts behind what joins a value to an option or a name.
func pieces(word string) []string {
	list := append(strings.FieldsFunc(word, func(r rune) bool { return strings.ContainsRune("=@<:,;", r) }), word)
	if len(word) > 2 && word[0] == '-' && word[1] != '-' {
		for at := 2; at < min(len(word), 12); at++ { // -sT.env
			list = append(list, word[at:])
		}
	}
	return list
}

// text looks at a word: a name, a name joined to others, or code.
func (n *naming) text(text string) {
	text = remoteURL.ReplaceAllString(text, "")
	if !strings.ContainsAny(text, " \t\n(){}'\"|") {
		for _, piece := range pieces(text) {
			n.name(piece, false)
		}
		return
	}
	if n.name(text, false); !n.prose {
		n.code(text)
	}
}

// code looks at the names in a program. One behind a backslash is a pattern, and one behind a bracket a field.
func (n *naming) code(text string) {
	text = remoteURL.ReplaceAllString(text, "")
	for _, at := range nameInCode.FindAllStringIndex(text, maxNames) {
		if name := text[at[0]:at[1]]; at[0] == 0 || !strings.ContainsRune(`\)]}?`, rune(text[at[0]-1])) {
			n.name(name, false)
		}
	}
}

// name looks at one name. A file counts by its own, not by those of the directories above it, unless it is hidden.
func (n *naming) name(name string, glob bool) {
	if name == "" || len(name) > 4096 || strings.HasSuffix(name, "/") || strings.ContainsAny(name, "\n\x00") {
		return
	}
	paths, ok := n.dirs.Resolve(name)
	if !ok && len(paths) == 0 {
		paths = []string{path.Join(n.cmd.project(), name)}
	}
	for _, abs := range paths {
		if !glob {
			n.see(abs)
			continue
		}
		like := analysis.PathPattern(abs)
		p := n.tool.places
		if p.sensitive.MayCover(like, n.cmd.Home) == "" && p.hidden.MayCover(like, n.cmd.Home) == "" {
			continue
		}
		matches, _ := n.matches(abs)
		for _, real := range matches {
			n.see(real)
		}
	}
}

func (n *naming) see(abs string) {
	at := n.tool.places.at(abs, false, n.cmd)
	own := n.tool.places.sensitive.Covers(path.Join("/", path.Base(abs)), n.cmd.Home) != ""
	if at.hidden == "" && (at.sensitive == "" || !own) ||
		slices.ContainsFunc(n.found, func(p place) bool { return p.path == at.path }) {
		return
	}
	n.found = append(n.found, at)
}
