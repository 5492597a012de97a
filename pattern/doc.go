// Package pattern has the two languages in which configurations, rules and profiles name things:
// paths ("~/.ssh", ".git/hooks", "docs/**") and the words of commands ("git commit *"). Every
// room uses these two. It imports no other room and accesses no file.
//
// # Paths
//
//	path    = [ "/" | "~/" ] part { "/" part }
//	part    = "**" | element
//	element = { char | "\" char | "?" | "*" | "[" [ "^" ] { range } "]" }
//	range   = char [ "-" char ]
//
// An element is a pattern of path.Match: ? is one character, * any number, and neither matches a
// slash. The part ** is any number of elements, none included. A leading "~/" is the home
// directory.
//
// A path pattern has two readings. [Path.Covers] is for lists of places: a relative pattern
// matches at any depth, and what is below a match is covered, so ".git/hooks", "**/.git/hooks"
// and ".git/hooks/**" are the same. [Path.Matches] is for lists of files below a root: the whole
// path matches, or the base name if the pattern has one element.
//
// [Element] is the pattern of one name, and [Machine] its automaton, by which package profile
// compares sets of patterns.
//
// # Words of commands
//
//	words = word { " " word } [ " *" ]
//	word  = { char | "\" char | "?" | "*" | "[" set "]" }
//
// A pattern is written as a command in shell syntax; quoted characters are literal. In a word *
// also matches slashes, as in every other text ([Wild]). A last word * permits further words.
//
// A word pattern has two ways of matching. [Words.Permits] is for patterns that allow: every
// word must be literal and at its exact position in the pattern. [Words.Names] is for patterns
// that forbid: it also matches /usr/bin/curl as curl and git -C dir commit as git commit, and
// returns Maybe if a word is unknown before the command runs, or may be the value of an option.
package pattern
