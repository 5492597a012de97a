package shell

import (
	"regexp"
	"slices"
	"strings"

	"sandboxd/git"
	"sandboxd/shell/analysis"
	"sandboxd/shell/carried"
	"sandboxd/shell/danger"
)

var (
	// oneWord is a value of a variable that is one program or file at most.
	oneWord = regexp.MustCompile(`^[\w./:@=+,%~-]*$`)
	// evaluated is text that bash runs if it evaluates a variable with it: in arithmetic, in an index, by "${x@P}".
	evaluated = regexp.MustCompile("\\$[({]|`|@P\\}")
)

// runsText are commands whose words are, or name, code that the analysis does not read.
var runsText = []string{"bind", "fc", "enable", "expect", "newgrp"}

// carriesCode reports whether a call runs, or makes a later one run, commands that are not among those of the line:
// from its input, by a variable, by git's configuration, or in a text that bash evaluates again.
func (j *judging) carriesCode(c *analysis.Call) bool {
	name := base(c.Name())
	if danger.CodeFromInput(c) && !inputInLine(c) || slices.Contains(runsText, name) || j.evaluates(c) {
		return true
	}
	for _, a := range c.Assigns {
		if loadsCode(a.Name, a.Value) {
			return true
		}
	}
	_, known := danger.Scripts(c)
	for _, w := range c.Args {
		process := slices.ContainsFunc(w.Parts(), func(p analysis.Part) bool { return p.Process })
		key, value, _ := strings.Cut(w.Text, "=")
		w.Text = value
		s, ok := git.ParseKey(key)
		if process && !known || loadsCode(key, w) || name == "git" && ok && git.KindOf(s) == git.Program {
			return true
		}
	}
	return false
}

// loadsCode reports whether a variable changes which code runs, by more than the name of a program or the places in
// which programs are.
func loadsCode(name string, value analysis.Word) bool {
	return carried.Loads(name) && !strings.HasSuffix(name, "PATH") && !(value.Known() && oneWord.MatchString(value.Text))
}

// evaluates reports whether bash has a text of a call with an expansion in it that is quoted there.
func (j *judging) evaluates(c *analysis.Call) bool {
	if len(c.Args) > 0 && !slices.Contains(evaluators, c.Name()) && !slices.Contains(j.script.Funcs, c.Name()) {
		return false // another program has it
	}
	words := slices.Clone(c.Args)
	for _, a := range c.Assigns {
		words = append(words, a.Value)
	}
	for _, r := range c.Redirs {
		if r.Kind == analysis.RedirText {
			words = append(words, r.Target)
		}
	}
	return slices.ContainsFunc(words, func(w analysis.Word) bool { return evaluated.MatchString(w.Text) })
}

// evaluators are the builtins that assign to variables, or evaluate their words.
var evaluators = strings.Fields(`test [ [[ (( let read printf unset declare typeset local export readonly wait mapfile
	readarray getopts set echo : shift return exit`)
