// Package external lets an operator's own program take part in decisions: an
// approval.Rule that runs a program, writes one JSON object to its standard
// input and reads one from its standard output.
//
// # Promise
//
// A program that fails in any way (it cannot be started, exits with another
// status than 0, could be exchanged by others or has other names (links), takes too
// long, says something that is not exactly one valid
// answer, says too much) counts as "ask". It can make a call ask or block it,
// and it can let a call run that would have asked; it cannot lift a block, a deny
// grant, or the question about something dangerous or protected.
//
//	rule := &external.Program{Path: "/usr/local/libexec/our-policy", Timeout: time.Second}
//	c, err := approval.New(approval.Options{Rules: []approval.Rule{rule}})
//
// # Input and output
//
// The input is an Input as JSON, one line. The output is
//
//	{"decision": "run" | "ask" | "block" | "none", "reason": "…"}
//
// with nothing but white space after it. Unknown keys make it invalid.
//
// # Limitations
//
// The program runs as the user that the caller runs as, outside any sandbox:
// it is the operator's. It gets an environment of PATH and LANG only, the
// root directory as its working directory, and is killed with its whole
// process group when its time is up; a child that leaves the group (setsid)
// is left alone, but no longer waited for.
package external
