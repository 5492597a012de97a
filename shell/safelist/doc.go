// Package safelist lists the commands that only read, with the words that keep them harmless.
//
//	use, refusal := safelist.Match(call.Args)
//	if refusal != nil { … } // refusal.Why: "sort -o writes its result to a file"
//	for _, p := range use.Paths { … } // the files that the command would read
//
// There is one [Entry] per command, written as data and reviewed against the command's manual:
// the options that only read or print, the class of their values, and the classes of the
// operands. An option that is not listed is refused, and so is an abbreviation of a listed one.
// Every entry has examples that must pass and examples that must not; a test runs them all.
//
// A permitted command is harmless in its actions. The caller must judge its files; a [Use] has
// every path among the words.
//
// # Limitations
//
// An entry describes the GNU, util-linux and git programs of current Linux distributions. If an
// option of the same name writes on another system, the entry omits it.
package safelist
