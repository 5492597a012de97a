package aftermath

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"sandboxd/git"
	"sandboxd/profile/abspath"
)

// inProgress are the directories in which git keeps an operation that a person may continue, for example by
// git rebase --continue.
var inProgress = []string{"rebase-merge", "rebase-apply", "sequencer"}

// unfinished reports whether a part of a repository belongs to an operation of git that has begun.
func unfinished(part string) bool {
	return slices.ContainsFunc(inProgress, func(dir string) bool { return abspath.Contains(dir, part) })
}

// progress judges a file of an operation that has begun: continued outside, git executes nothing that a run wrote
// there. The rest of the operation stays.
func (c *check) progress(at, part string, was entry, had bool, e entry) {
	born := had && was.doubtful
	switch name := path.Base(part); {
	case e.directory() && !e.deep:
	case !e.regular() || e.content == nil && (name == "opts" || name == "apply-opt" || todo(name) ||
		strings.HasPrefix(name, "strategy")):
		c.replace(at, e, was, had && !born, "git may continue with it")
	case todo(name):
		c.todo(at, was, had, e)
	case name == "strategy" && !slices.Contains(strategies, strings.TrimSpace(string(e.content))),
		name == "opts" && !safeOpts(e.content),
		name == "apply-opt" && !applyOpts.Match(e.content):
		c.replace(at, e, was, had && !born, "git may continue with a program or file that it names")
	}
}

func todo(name string) bool { return name == "todo" || strings.HasPrefix(name, "git-rebase-todo") }

// strategies are the merge strategies of git itself; another name is that of a program (git-merge(1)).
var strategies = []string{"ort", "recursive", "resolve", "octopus", "ours", "subtree"}

// applyOpts matches the options of git am that git apply takes and that name no file (git-am(1)).
var applyOpts = regexp.MustCompile(`^(\s*'?(--(whitespace|directory|exclude|include)=[^'\n]*|-[Cp][0-9]*|` +
	`--reject|--ignore-(whitespace|space-change)|--3way)'?)*\s*$`)

// safeOpts reports whether the options of git cherry-pick, in the form of a configuration, name no program.
func safeOpts(text []byte) bool {
	settings, err := git.ParseConfig(text)
	return err == nil && !slices.ContainsFunc(settings, func(s git.Setting) bool {
		return s.Section == "options" && s.Name == "strategy" && !slices.Contains(strategies, s.Value)
	})
}

// instructions are the commands of a list of git rebase that execute nothing by themselves (git-rebase(1)).
var instructions = []string{"pick", "p", "revert", "edit", "e", "reword", "r", "fixup", "f", "squash", "s", "label",
	"l", "reset", "t", "merge", "m", "break", "b", "drop", "d", "update-ref", "u", "noop"}

// todo takes out of a list the lines that execute something and that were not in it before.
func (c *check) todo(at string, was entry, had bool, e entry) {
	var before []string
	if had && !was.doubtful {
		before = strings.Split(string(was.content), "\n")
	}
	var kept, taken []string
	for line := range strings.SplitSeq(string(e.content), "\n") {
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") || slices.Contains(instructions, words[0]) ||
			slices.Contains(before, line) {
			kept = append(kept, line)
		} else {
			taken = append(taken, line)
		}
	}
	if len(taken) == 0 {
		return
	}
	const why = "git rebase --continue would execute lines of it"
	if reason := c.notOurs(at, e, had); had && reason != "" {
		c.keep(at, e, reason+"; "+why)
	} else if c.replace(at, e, was, false, why) {
		c.restore(at, entry{stamp: e.stamp, anchor: e.anchor, content: []byte(strings.Join(kept, "\n"))},
			"those lines are taken out")
	}
}
