// Package carried finds, among the words of a command, those that bring along more than the command's name says: code,
// another program or module to run, a file or directory that it obeys, a file that it writes.
//
// A rule that permits a command by its first words ("make test") also permits further words that name the things to
// work on, and not these: make test SHELL=./x runs another program than the project's tests. Known commands have a list
// of their own, tools.txt; for others, the words count that bring code along for most programs (--exec, -c CODE).
//
// # Limitations
//
// The meaning of a word to an unknown program is a guess, in both directions. A known program's operands
// (pytest tests/test_a.py) are the things it works on, and not searched.
package carried

import (
	"path"
	"slices"
	"strings"
)

// Kind is the kind of thing that a word brings along. Kinds are combined as bits.
type Kind uint8

// The kinds.
const (
	Code    Kind = 1 << iota // text that is run
	Program                  // a program to run, other than the project's own
	Module                   // code of the project, or of a package, by name
	File                     // a file or a directory that is executed or obeyed
	Output                   // a file that is written
	Goal                     // a goal of a build that publishes or installs, besides the one that is named
	Guess                    // also the words of unknown programs, by a guess
	Host                     // a host, registry or proxy that it gets things from, or sends them to

	// Reviewed are the kinds that no preset covers: its commands run the project's own code.
	Reviewed = Code | Program
	// Granted are the kinds that no yes to a prefix covers: it is bound to the files that the command executes.
	Granted = Reviewed | Module | Output | Host
	// All are the kinds that no rule or permission covers by its first words.
	All = Granted | File | Goal | Guess
)

// Word is a word that was found.
type Word struct {
	Kind Kind
	Text string
	// At is its index in the argv.
	At int
	// IfFile is a path, relative to where the command runs, that must be a regular file for the word to count; "" is
	// a word that counts.
	IfFile string
}

// Why says in words what the word does: "make test allows it, but" …
func (w Word) Why() string {
	text := w.Text
	if len(text) > 60 {
		text = text[:60] + "…"
	}
	switch w.Kind {
	case Code:
		return text + " brings code along"
	case Program:
		return text + " names another program to run"
	case Module:
		return text + " names further code to run"
	case File:
		return text + " names another file or directory to obey"
	case Output:
		return text + " names a file to write"
	case Host:
		return text + " names another place to get things from, or to send them to"
	case Goal:
		return text + " is a further goal that publishes or installs"
	}
	return text + " may bring code, a program or a file along"
}

// Find returns the words that bring something of the kinds along, but for those of which spelled says that they are
// spelled out by the pattern that permits the command.
func Find(argv []string, kinds Kind, spelled func(at int) bool) []Word {
	if len(argv) == 0 {
		return nil
	}
	s := scan{argv: argv, kinds: kinds, spelled: spelled}
	s.command(0)
	return s.found
}

// Carries reports whether words that no pattern spells out bring something of the kinds along.
func Carries(argv []string, kinds Kind) bool {
	return len(Find(argv, kinds, func(int) bool { return false })) > 0
}

// scan is one search.
type scan struct {
	argv    []string
	kinds   Kind
	spelled func(at int) bool
	found   []Word
}

func (s *scan) add(kind Kind, at int) { s.addFile(kind, at, "") }

func (s *scan) addFile(kind Kind, at int, ifFile string) {
	if s.kinds&kind != 0 && !s.spelled(at) {
		s.found = append(s.found, Word{Kind: kind, Text: s.argv[at], At: at, IfFile: ifFile})
	}
}

// command looks at the command whose name is at an index.
func (s *scan) command(at int) {
	name := Base(s.argv[at])
	t, known := tools()[name]
	switch {
	case known:
		s.options(t, at+1)
		if t.more != nil {
			t.more(s, at+1)
		}
	case !plain[name]:
		s.guess(at + 1)
	}
}

// Base is the name by which a command's program is known here: python for /usr/bin/python3.11.
func Base(name string) string {
	name = path.Base(name)
	if to, ok := alike[name]; ok {
		return to
	}
	short := strings.TrimRight(name, "0123456789.")
	if to, ok := alike[short]; ok {
		return to
	}
	if _, ok := tools()[short]; ok {
		return short
	}
	return name
}

// options looks at a known command's options, from an index on.
func (s *scan) options(t *tool, from int) {
	ended := false
	for at := from; at < len(s.argv); at++ {
		w := s.argv[at]
		if t.stops && (len(w) < 2 || w[0] != '-' && w[0] != '+') {
			return // the rest is the script's
		}
		if ended = ended || w == "--"; ended {
			return
		}
		if len(w) < 2 || w[0] != '-' || t.fine[cut(w)] {
			continue
		}
		if t.underscores {
			w = strings.Replace(w, cut(w), strings.ReplaceAll(cut(w), "_", "-"), 1)
		}
		for _, l := range t.lists {
			for _, option := range l.options {
				if !Means(w, option, t.values) {
					continue
				}
				if value, ok := s.value(at, option); t.harmless == nil || !ok || !t.harmless(option, value) {
					s.add(l.kind, at)
				}
			}
		}
	}
}

// value is the value of an option at an index: behind its =, joined to it, or the next word.
func (s *scan) value(at int, option string) (string, bool) {
	w := s.argv[at]
	if len(option) == 2 && w[1] != '-' {
		if i := strings.Index(w, option[1:]); i > 0 && i+1 < len(w) {
			return w[i+1:], true
		}
	} else if _, value, ok := strings.Cut(w, "="); ok {
		return value, true
	}
	if at+1 < len(s.argv) {
		return s.argv[at+1], true
	}
	return "", false
}

func cut(w string) string {
	name, _, _ := strings.Cut(w, "=")
	return name
}

// Means reports whether a word is, or may be taken for, an option. A long option is meant in every abbreviation, a
// letter in every cluster up to one of values, behind which the rest of a word is a value.
func Means(word, option, values string) bool {
	if len(word) < 2 || word[0] != '-' || word == "--" {
		return false
	}
	name := cut(word)
	switch {
	case len(option) > 2 && option[1] != '-': // -exec, as Go reads its flags: with one dash or two
		return strings.TrimLeft(name, "-") == option[1:]
	case option[1] == '-': // getopt_long(3) and git take any beginning that is no other's
		return strings.HasPrefix(word, "--") && strings.HasPrefix(option, name)
	case strings.HasPrefix(word, "--"): // Go again
		return name == "-"+option
	}
	for _, letter := range word[1:] {
		if string(letter) == option[1:] {
			return true
		}
		if strings.ContainsRune(values, letter) {
			return false
		}
	}
	return false
}

// holds finds words that have one of the parts in them.
func (s *scan) holds(from int, kind Kind, parts ...string) {
	for at := from; at < len(s.argv); at++ {
		if slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(s.argv[at], p) }) {
			s.add(kind, at)
		}
	}
}

// operand is the index of the first word from an index on that is no option; len(argv) where there is none.
func (s *scan) operand(from int) int {
	for at := from; at < len(s.argv); at++ {
		if w := s.argv[at]; w == "" || w[0] != '-' || w == "-" {
			return at
		}
	}
	return len(s.argv)
}
