package safelist

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"sandboxd/shell/analysis"
)

// Use is a command line that an entry permits.
type Use struct {
	Entry *Entry
	// Args are the words that were matched. Words are those after the name.
	Args, Words []analysis.Word
	// Options are the given options, in order, with their values.
	Options []Option
	// Operands are the other words.
	Operands []Operand
	// Paths are the files that the command would open or list.
	Paths []PathArg
	// Derived are the indexes in Args of the words by which the command reads files and that are
	// known only when the line runs.
	Derived []int
	// Runs are the commands that find runs (-exec). Their entries are Open.
	Runs [][]analysis.Word
	// Sandboxed is true if the command may follow links to paths that its words do not name. It is
	// then harmless only inside the sandbox, which restricts reading.
	Sandboxed bool
	// Follows is Sandboxed for the case that one of the paths is a directory.
	Follows bool
	// Dir is the directory that the command changes to first (git -C).
	Dir string
	// EndsOptions is the index in Args of a "--", or -1.
	EndsOptions int
	// LastOption is the index in Args of the last option or option's value, or 0.
	LastOption int
}

// Option is one given option.
type Option struct {
	Name  string // as listed: "-n", "--max-count"
	Value string
	Index int
}

// Operand is one operand.
type Operand struct {
	Text  string
	Class Class
	Index int
	Glob  bool
	// Derived is true if the value is known only when the line runs.
	Derived bool
}

// PathArg is a path among the words.
type PathArg struct {
	Text  string
	Glob  bool
	Index int
	// Top paths may be relative to the top of git's work tree, besides the directory.
	Top bool
	// Spec paths contain the wildcards of a git pathspec.
	Spec bool
}

// Refusal is the reason why a command line is not permitted. Known is true if the command has
// an entry.
type Refusal struct {
	Why   string
	Known bool
	Name  string
}

// Has reports whether one of the options was given.
func (u *Use) Has(names ...string) bool {
	for _, o := range u.Options {
		for _, n := range names {
			if o.Name == n {
				return true
			}
		}
	}
	return false
}

// value returns the value of the last of the named options, and whether there is one.
func (u *Use) value(names ...string) (string, bool) {
	for i := len(u.Options) - 1; i >= 0; i-- {
		for _, n := range names {
			if u.Options[i].Name == n {
				return u.Options[i].Value, true
			}
		}
	}
	return "", false
}

func (u *Use) path(text string, index int, glob bool) {
	u.Paths = append(u.Paths, PathArg{Text: text, Index: index, Glob: glob})
}

var index = sync.OnceValue(func() map[string]*Entry {
	m := make(map[string]*Entry, len(entries))
	for i := range entries {
		e := &entries[i]
		if err := e.compile(); err != nil {
			panic(err) // an error in the data; the tests find it
		}
		if m[e.Name] != nil {
			panic("safelist: two entries for " + e.Name)
		}
		m[e.Name] = e
	}
	return m
})

func (e *Entry) compile() error {
	e.options = map[string]option{}
	for field := range strings.FieldsSeq(e.Options) {
		var o option
		names := field
		if at := strings.Index(field, "[="); at >= 0 {
			class, ok := classNames[strings.TrimSuffix(field[at+2:], "]")]
			if !ok {
				return fmt.Errorf("safelist entry %q: option %q: unknown class", e.Name, field)
			}
			names, o = field[:at], option{takes: true, optional: true, class: class}
		} else if name, value, ok := strings.Cut(field, "="); ok {
			class, known := classNames[value]
			if !known {
				return fmt.Errorf("safelist entry %q: option %q: unknown class", e.Name, field)
			}
			names, o = name, option{takes: true, class: class}
		}
		for n := range strings.SplitSeq(names, ",") {
			if len(n) < 2 || n[0] != '-' || strings.ContainsAny(n, "[]") {
				return fmt.Errorf("safelist entry %q: option %q has no dash", e.Name, field)
			}
			if _, twice := e.options[n]; twice {
				return fmt.Errorf("safelist entry %q: option %q twice", e.Name, n)
			}
			e.options[n] = o
		}
	}
	return nil
}

// Match finds the entry of a command and judges its words. It returns either a Use or a
// Refusal; the other is nil.
func Match(args []analysis.Word) (*Use, *Refusal) {
	if len(args) == 0 {
		return nil, &Refusal{Why: "there is no command"}
	}
	if !args[0].Known() || args[0].Kind != analysis.Literal {
		return nil, &Refusal{Why: "the command's name is not literal"}
	}
	name := args[0].Text
	if name == "git" {
		return matchGit(args)
	}
	if e, ok := index()[name]; ok && !subcommands[name] {
		u, refusal := e.match(args, 1)
		if u != nil && !u.runsReaders() {
			return nil, e.refuse("-exec runs a program that may do more than read")
		}
		return u, refusal
	}
	if len(args) > 1 && args[1].Kind == analysis.Literal {
		if e, ok := index()[name+" "+args[1].Text]; ok {
			return e.match(args, 2)
		}
	}
	if subcommands[name] {
		return nil, &Refusal{Why: "this use of " + name + " is not on the safe list", Known: true, Name: name}
	}
	return nil, &Refusal{Why: name + " is not on the safe list", Name: name}
}

// runsReaders reports whether everything that the command runs only reads.
func (u *Use) runsReaders() bool {
	return !slices.ContainsFunc(u.Runs, func(args []analysis.Word) bool {
		inner, _ := Match(args)
		return inner == nil || !inner.Entry.Open
	})
}

// match judges the words after the name, which is the first skip words of args.
func (e *Entry) match(args []analysis.Word, skip int) (*Use, *Refusal) {
	u := &Use{Entry: e, Args: args, Words: args[skip:], EndsOptions: -1}
	for _, w := range u.Words {
		if !w.Fixed() && w.Kind != analysis.Glob && !e.shows(w) {
			return nil, e.refuse("a word that is not literal: " + w.Source)
		}
	}
	if e.Raw {
		for i, w := range u.Words {
			if w.Kind == analysis.Glob && e.Globs == globNone {
				return nil, e.refuse("an unquoted glob: " + w.Source)
			}
			text := w.Text
			if w.Kind == analysis.Shown || w.Kind == analysis.Derived {
				text, _ = w.Sample()
			}
			u.Operands = append(
				u.Operands,
				Operand{
					Text:    text,
					Index:   skip + i,
					Glob:    w.Kind == analysis.Glob,
					Derived: w.Kind == analysis.Derived,
				},
			)
		}
	} else if why := e.getopt(u, skip); why != "" {
		return nil, e.refuse(why)
	}
	if why := e.globs(u); why != "" {
		return nil, e.refuse(why)
	}
	if e.Check != nil {
		if why := e.Check(u); why != "" {
			return nil, e.refuse(why)
		}
	}
	if e.Here && len(u.Paths) == 0 {
		u.path(".", 0, false)
	}
	return u, nil
}

// shows reports whether a word may contain values that are known only when the command runs.
func (e *Entry) shows(w analysis.Word) bool {
	if w.Kind == analysis.Derived {
		parts := w.Parts()
		switch {
		case e.Open || e.Raw && e.Shows == showValues:
			return true
		case e.Raw: // a test compares it as one word
			return e.Shows == showStatus &&
				!slices.ContainsFunc(parts, func(p analysis.Part) bool { return p.Text == "" && !p.Quoted })
		}
		return len(parts) == 1 && parts[0].Process
	}
	_, status := w.Sample()
	return w.Kind == analysis.Shown && e.Raw && (e.Shows == showValues || e.Shows == showStatus && status)
}

func (e *Entry) refuse(why string) *Refusal {
	return &Refusal{Why: e.Name + ": " + why, Known: true, Name: e.Name}
}
