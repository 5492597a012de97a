// Package usual says what nobody need be told of after every command. It is for both
// programs that end a run, the small one and the rest of sbx, so that neither is silent
// about what the other tells.
package usual

import "strings"

// Partial reports whether a protection of that name may be partial: its gaps lie in the
// nature of things and are made up for otherwise, by a look at names after the run and by
// watching limits.
func Partial(protection string) bool { return protection == "protected" || protection == "limits" }

// Repeats reports whether a warning's text only says that such a protection is partial,
// which the enforcement of every command says.
func Repeats(text string) bool {
	name, _, ok := strings.Cut(text, " is partial")
	return ok && Partial(name)
}

// Warning reports whether a warning from there only says what the host lacks for every
// command, for which none fails.
func Warning(where string) bool { return where == "this host" || where == "journal" }
