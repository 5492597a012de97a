// Package analysis reads a command line as bash would and lists everything it
// could run.
//
//	s := analysis.Line("cd src && grep -rn foo . | head", analysis.Place{Cwd: "/home/eve/app"})
//	for _, call := range s.Calls { … }  // cd, grep (in /home/eve/app/src), head
//	for _, doubt := range s.Doubts { … } // what could not be understood
//
// Every simple command of the text is a [Call]: in lists, pipelines, loops,
// functions, substitutions, and behind wrappers such as env, sudo, xargs,
// find -exec or bash -c. A call has its words after quote removal, its
// assignments and redirections, and the directories in which it may run, which
// follow cd. What the words are is not always known before the line runs; a
// [Word] says so in its Kind.
//
// A [Doubt] is a piece of text that is not known to mean what it seems to
// mean. Doubts and unknown words are never guessed away: a caller that permits
// something without asking must find neither.
//
// # Writing it again
//
// The parser (mvdan.cc/sh) is not bash. What runs without a person having read
// the text is therefore not the text but [Script.Write]: the analysed words in
// single quotes, joined by a few operators.
//
// # Limitations
//
// The variant is bash without extended globbing, as bash -c starts it. Aliases
// and functions of the environment are not known; the caller starts bash
// without them. At most MaxBytes of text and MaxDepth nestings are read.
package analysis
