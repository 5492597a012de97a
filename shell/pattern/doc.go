// Package pattern has the two kinds of patterns that shell rules are written
// in: word patterns over commands ("git commit *") and path patterns over files
// ("~/.ssh", ".git/hooks").
//
// A word pattern is matched in two ways, because rules guess in two directions.
// [Words.Permits] is for what allows: every word must be literal and stand
// exactly where the pattern has it. [Words.Names] is for what forbids: it also
// sees /usr/bin/curl as curl, git -C dir commit as git commit, and says "maybe"
// where a word is not known before the command runs.
package pattern
