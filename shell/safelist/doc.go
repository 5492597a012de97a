// Package safelist knows which commands only read, and with which words.
//
//	use, refusal := safelist.Match(call.Args)
//	if refusal != nil { … } // refusal.Why: "sort -o writes its result to a file"
//	for _, p := range use.Paths { … } // what the command would read
//
// There is one [Entry] per command, written as data and reviewed against the
// command's manual: the options that do nothing but read or print, which of
// them take a value and of what class, and the classes of the operands. An
// option that is not listed is refused, and so is an abbreviation of one that
// is. Every entry has examples that must pass and examples that must not; a
// test runs them all.
//
// What an entry permits is harmless as to what the command does. Which files
// it may do it to is judged by the caller, who gets every path among the words.
//
// # Limitations
//
// An entry describes the GNU, util-linux and git programs of current Linux
// distributions. Where another system's command of the same name gives an
// option a meaning that writes, the entry leaves that option out.
package safelist
