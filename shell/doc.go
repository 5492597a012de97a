// Package shell judges command lines before they run: run unasked, ask a
// person, or never.
//
// A line is read as shell syntax, never matched as text. Every simple command
// that it could run, in whatever construct and behind whatever wrapper, is
// looked at with its words, redirections, assignments and the directory in
// which it would run; all of them must be permitted, or the whole line asks,
// and one blocked command blocks the line. What is not understood asks.
//
//	tool, err := shell.New(shell.Config{})
//	verdict := tool.Judge(shell.Command{Line: "git status | head", Cwd: dir, Project: dir}, facts)
//	switch verdict.Decision {
//	case shell.Auto: // run verdict.Run, never the line itself
//	case shell.Ask: // show verdict.Description, verdict.Reasons; run the line as shown after a yes
//	case shell.Block: // hand verdict.Refusal() to the agent
//	}
//
// Judging is pure: what must be known of the world (where a symbolic link
// leads, which programs a repository's git configuration names, which file a
// command name is) comes in [Facts]. A verdict that lacks one lists it in
// [Verdict.NeedsFacts] and asks; package sandboxd/shell/facts gathers them.
//
// # What Auto means
//
// The parser is not bash, and texts exist that the two read differently. So a
// verdict of [Auto] carries, in [Verdict.Run], our own writing of the words that were
// analysed: an argv without a shell, or a script of single-quoted words joined
// by |, &&, ||, ;, !, grouping and redirections that open no file for writing.
// That runs, and the original text does not. A line whose words are not all
// literal is never Auto, but for those that follow from the line and its place
// alone: ~, $HOME and $PWD, and the variable of a loop over literal words, which is
// written as its body, once for each. Where the command's entry allows it, a word
// may be an unquoted glob, or hold $? or another value that is only printed.
//
// # Limitations
//
// The judgement is about the words. What a permitted program does with a file
// it is given is the sandbox's business, and so is a symbolic link that changes
// after the facts were read: hidden paths are hidden by the kernel as well.
package shell
