// Package usual identifies partial protections and warnings that need no report after
// every command. Both programs that end a run use it, front and sbx-verbs, so that
// they report the same ones.
package usual

import "strings"

// Partial reports whether a protection of that name may be partial. Its gaps are inherent
// and covered by other means: a check of names after the run, and the watching of limits.
func Partial(protection string) bool { return protection == "protected" || protection == "limits" }

// Repeats reports whether a warning's text only says that such a protection is partial,
// which the enforcement of every command says.
func Repeats(text string) bool {
	name, _, ok := strings.Cut(text, " partial")
	return ok && Partial(name)
}

// Warning reports whether a warning from there only says what the host lacks for every
// command, for which none fails.
func Warning(where string) bool { return where == "this host" || where == "journal" }

// Project reports whether a warning's text is about a statement of the project's own file that is not in force. It is
// reported after every command: the statement may be a misspelled protection. So is a change that undo no longer has.
func Project(text string) bool {
	return strings.Contains(text, "/.sandboxd.toml:") || strings.Contains(text, " can't be undone any more (")
}
