// Package facts gathers the state of the host that the shell tool needs: targets of paths,
// matches of globs, files of command names, and the programs that a repository's git
// configuration would make git run.
//
//	verdict, known := facts.Judge(ctx, tool, command, facts.Options{})
//
// The package never runs a program. It reads git's configuration itself, because git, started
// outside the sandbox, could run programs that the agent configured. The reader treats every
// conditional include as included, so it reads at least as much as git. If a fact cannot be
// determined, its Err is set, and the command asks.
//
// # Limitations
//
// A fact is true at the moment it was read. The supervisor reads the facts again before the
// effect, and the sandbox hides hidden paths in between.
package facts
