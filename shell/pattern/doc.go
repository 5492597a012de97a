// Package pattern has the two kinds of patterns of shell rules: word patterns over commands
// ("git commit *") and path patterns over files ("~/.ssh", ".git/hooks").
//
// A word pattern has two ways of matching. [Words.Permits] is for patterns that allow: every
// word must be literal and at its exact position in the pattern. [Words.Names] is for patterns
// that forbid: it also matches /usr/bin/curl as curl and git -C dir commit as git commit, and
// returns Maybe if a word is unknown before the command runs.
package pattern
