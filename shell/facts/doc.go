// Package facts finds out what the shell tool must know of the world: where
// paths lead, what globs match, which file a command name means, and which
// programs a repository's git configuration would make git run.
//
//	verdict, known := facts.Judge(ctx, tool, command, facts.Options{})
//
// It never runs anything. Git's configuration is read with a reader of our own,
// because git itself, started outside the sandbox in a repository that an agent
// may have written, is a program we would rather not start; the reader takes
// every conditional include for included, so that it sees at least what git
// sees. What cannot be read with certainty is an error in the fact, and asks.
//
// # Limitations
//
// A fact is true at the moment it was read. The supervisor reads the facts
// again before the effect, and what the sandbox hides stays hidden in between.
package facts
