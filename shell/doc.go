// Package shell judges command lines before they run: run unasked, ask a person, or never run.
//
// The package parses a line as shell syntax and never matches it as text. It judges every
// simple command that the line could run, in any construct and behind any wrapper, with its
// words, redirections, assignments and working directory. If one command needs a question, the
// whole line asks; one blocked command blocks the line. Text that cannot be parsed asks.
//
//	tool, err := shell.New(shell.Config{})
//	verdict := tool.Judge(shell.Command{Line: "git status | head", Cwd: dir, Project: dir}, facts)
//	switch verdict.Decision {
//	case shell.Auto: // run verdict.Run, never the line itself
//	case shell.Ask: // show verdict.Description, verdict.Reasons; run the line as shown after a yes
//	case shell.Block: // return verdict.Refusal() to the agent
//	}
//
// Judging is pure. [Facts] carries the state of the host: targets of symbolic links, programs
// that a repository's git configuration names, the files of command names. A verdict that lacks
// a fact lists it in [Verdict.NeedsFacts] and asks; package sandboxd/shell/facts gathers facts.
//
// # Auto
//
// The parser is not bash, and some texts mean something else to each. A verdict of [Auto]
// therefore carries, in [Verdict.Run], a rewritten form of the analysed words: an argv without
// a shell, or a script of single-quoted words joined by |, &&, ||, ;, !, grouping and
// redirections that open no file for writing. The caller runs that form and not the original
// text. A line with a word that is not literal is never Auto. Exceptions are values that follow
// from the line and its directory alone: ~, $HOME and $PWD, and the variable of a loop over
// literal words, which is unrolled. An entry of the safe list may also permit a word to be an
// unquoted glob, or to contain $? or another value that is only printed.
//
// # Limitations
//
// The judgement covers the words. The sandbox restricts a permitted program's use of its files.
// It also hides hidden paths in the kernel, because a symbolic link can change after the facts
// were read.
package shell
