// Package analysis parses a command line as bash would and lists every command that it could
// run.
//
//	s := analysis.Line("cd src && grep -rn foo . | head", analysis.Place{Cwd: "/home/eve/app"})
//	for _, call := range s.Calls { … }  // cd, grep (in /home/eve/app/src), head
//	for _, doubt := range s.Doubts { … } // text that cannot be analysed
//
// Every simple command of the text is a [Call]: in lists, pipelines, loops, functions,
// substitutions, and behind wrappers such as env, sudo, xargs, find -exec or bash -c. A call
// has its words after quote removal, its assignments and redirections, and the directories in
// which it may run, which follow cd. The value of a word may be unknown before the line runs;
// its Kind says so.
//
// A [Doubt] marks text that may mean something else than it seems to. The package never guesses
// the meaning of a doubt or an unknown word: a caller that permits a line without asking must
// find neither.
//
// # Writing
//
// The parser (mvdan.cc/sh) is not bash. A line that runs without a person's approval therefore
// runs as [Script.Write] writes it: the analysed words in single quotes, joined by a few
// operators.
//
// # Limitations
//
// The variant is bash without extended globbing, as bash -c starts it. Aliases and functions of
// the environment are unknown, so the caller must start bash without them. The package reads at
// most maxBytes of text and maxDepth nestings.
package analysis
