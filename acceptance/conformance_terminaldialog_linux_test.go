package acceptance

import (
	"testing"

	"sandboxd/approval/approvaltest"
)

// The terminal dialog, through the socket: prefixes, exact commands, deny
// reasons. Its commands are run by the daemon.
//
// Other than the specification: commands that only read run unasked
// (R-SH-03), so here the safe list is told to ask. R-SH-06 R-UX-06
func TestConformanceTerminalDialog(t *testing.T) {
	const asking = "[shell]\nauto_safe = false\n"
	reading := func(s *approvaltest.Scenario) { s.Config = asking }
	conform(t, approvaltest.TerminalDialog, map[string]func(*approvaltest.Scenario){
		"prefix/cat": reading,
		// A bare word is no path to the shell tool unless it has a slash.
		"prefix/head": func(s *approvaltest.Scenario) {
			s.Config = asking
			eachCall(s, []string{"one"}, command("head -n 100 ./README.md"))
			eachCall(s, []string{"two"}, command("head ./LICENSE"))
		},
		"exact": func(s *approvaltest.Scenario) { eachError(s, "not on offer") },
	}, true, nil)
}
