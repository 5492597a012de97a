// Package presets holds reviewed rules for commands that run a project's own
// code: builds, tests, linters. Such code can do anything, so none of it is on
// the safe list; inside the OS sandbox it can harm nothing but the project's own
// build output, and asking for every test run teaches people to say yes.
//
// A preset is switched on by name ("sbx preset add go"). Its commands then run
// unasked where the sandbox is in force, and ask elsewhere.
package presets

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"sandboxd/shell/analysis"
	"sandboxd/shell/carried"
	"sandboxd/shell/pattern"
)

// Preset is a set of rules with a name.
type Preset struct {
	Name  string
	Title string // one line for "sbx preset ls"
	Rules []Rule
}

// Rule permits commands that begin with the words of a pattern.
type Rule struct {
	// Pattern is a word pattern; further words may follow.
	Pattern string
	// Why says in a few words what the command does and why it may.
	Why string
	// Never lists options and words with which it asks nevertheless. A long
	// option is meant in every abbreviation, a letter in every cluster (-pm).
	Never []string
	// Values are the letters of short options behind which the rest of a word
	// is a value: -DNAME=x.
	Values string
	// Operands bounds what follows the pattern where that matters; 0 is no bound.
	Operands int
	// Pass and Refuse are examples.
	Pass, Refuse []string

	words pattern.Words
}

// All returns the presets in the order in which they are shown.
func All() []Preset { return compiled() }

// Names returns the presets' names.
func Names() []string {
	var out []string
	for _, p := range compiled() {
		out = append(out, p.Name)
	}
	return out
}

// Lookup returns one preset.
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
			w, err := pattern.Parse(r.Pattern, true)
			if err != nil {
				panic("presets: " + err.Error()) // a mistake in the data; the tests find it
			}
			r.words = w
		}
	}
	return out
})

// Match returns the rule of the preset that permits a command.
func (p Preset) Match(args []analysis.Word) (Rule, bool) {
	for _, r := range p.Rules {
		if r.match(args) {
			return r, true
		}
	}
	return Rule{}, false
}

func (r Rule) match(args []analysis.Word) bool {
	if !r.words.Permits(args) {
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

// refuses says whether one of the words is, or may be taken for, one of Never.
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

// means reports whether word is, or may be taken for, what never says. ended
// says that a -- stands before it.
func (r Rule) means(word, never string, ended bool) bool {
	if never[0] != '-' {
		return word == never
	}
	return !ended && carried.Means(word, never, r.Values)
}
