// Package presets has reviewed rules for commands that run a project's own code: builds, tests,
// linters. Such code can do anything, so the safe list does not have them. Inside the OS
// sandbox the code can damage only the project's own build output, and a question for every
// test run teaches people to say yes.
//
// A preset is enabled by name ("sbx preset add go"). Its commands then run unasked inside the
// sandbox, and ask outside it.
package presets

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"sandboxd/pattern"
	"sandboxd/shell/analysis"
	"sandboxd/shell/carried"
)

// Preset is a named set of rules.
type Preset struct {
	Name  string
	Title string // one line for "sbx preset ls"
	// Files are names in a project's directory of which each shows that the preset fits it.
	Files []string
	Rules []Rule
	// Writes reports that its commands write to the project: where they can't, they fail.
	Writes bool
	// Redirections also permits redirections that write ordinary files of the project.
	Redirections bool
}

// Rule permits commands that begin with the words of a pattern.
type Rule struct {
	// Pattern is a word pattern; further words may follow.
	Pattern string
	// Why describes the command and the reason to permit it.
	Why string
	// Never lists options and words that make the command ask. A long option also matches its
	// abbreviations, and a letter matches in every cluster (-pm).
	Never []string
	// Values are the letters of short options whose value may be the rest of the word: -DNAME=x.
	Values string
	// Edits reports that the command writes its operands: each must be an ordinary file of the project.
	Edits bool
	// Operands is the maximum number of words after the pattern; 0 means no maximum.
	Operands int
	// Pass and Refuse are example commands for the tests.
	Pass, Refuse []string

	words pattern.Words
}

// All returns the presets in display order.
func All() []Preset { return compiled() }

// Names returns the presets' names.
func Names() []string {
	var out []string
	for _, p := range compiled() {
		out = append(out, p.Name)
	}
	return out
}

// Fitting returns the names of the presets that fit a project, of whose directory exists reports names: those of its
// files, and with one of these the presets that edit ordinary files.
func Fitting(exists func(name string) bool) (names []string) {
	for _, p := range compiled() {
		if slices.ContainsFunc(p.Files, exists) || len(names) > 0 && len(p.Files) == 0 {
			names = append(names, p.Name)
		}
	}
	return names
}

// Lookup returns the preset of that name, or an error that lists the known names.
func Lookup(name string) (Preset, error) {
	for _, p := range compiled() {
		if p.Name == name {
			return p, nil
		}
	}
	return Preset{}, fmt.Errorf("preset %q: there is none of that name; known are %s", name, strings.Join(Names(), ", "))
}

var compiled = sync.OnceValue(func() []Preset {
	out := slices.Clone(data)
	for i := range out {
		out[i].Rules = slices.Clone(out[i].Rules)
		for j := range out[i].Rules {
			r := &out[i].Rules[j]
			w, err := analysis.Pattern(r.Pattern, true)
			if err != nil {
				panic("presets: " + err.Error()) // an error in the data; the tests find it
			}
			r.words = w
		}
	}
	return out
})

// Match returns the rule of the preset that permits a command. It returns false if there is
// none.
func (p Preset) Match(args []analysis.Word) (Rule, bool) {
	for _, r := range p.Rules {
		if r.match(args) {
			return r, true
		}
	}
	return Rule{}, false
}

func (r Rule) match(args []analysis.Word) bool {
	if !r.words.Permits(analysis.Plain(args)) {
		return false
	}
	rest := args[len(r.words.First()):]
	if r.Operands > 0 && len(rest) > r.Operands {
		return false
	}
	texts := make([]string, len(rest))
	for i, a := range rest {
		if a.Kind != analysis.Literal && a.Kind != analysis.Glob {
			return false
		}
		texts[i] = a.Text
	}
	whole := make([]string, len(args))
	for i, a := range args {
		whole[i] = a.Text
	}
	return !r.refuses(texts) && !carried.Carries(whole, carried.Reviewed)
}

// refuses reports whether one of the words is, or may be read as, one of Never.
func (r Rule) refuses(words []string) bool {
	ended := false
	for _, w := range words {
		if slices.ContainsFunc(r.Never, func(never string) bool { return r.means(w, never, ended) }) {
			return true
		}
		ended = ended || w == "--"
	}
	return false
}

// means reports whether word is, or may be read as, the word never. ended is true after a --.
func (r Rule) means(word, never string, ended bool) bool {
	if never[0] != '-' {
		return word == never
	}
	return !ended && carried.Means(word, never, r.Values)
}
