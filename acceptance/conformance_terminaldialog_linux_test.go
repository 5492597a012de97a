package acceptance

import (
	"testing"

	"sandboxd/approval/approvaltest"
)

// The terminal dialog, through the socket: prefixes, exact commands, deny
// reasons. Its commands are run by the daemon.
//
// Differently from the specification, commands that only read run unasked
// (R-SH-03), so the configuration here switches auto_safe off. R-SH-06 R-UX-06
//
//   - Row 001-75 yes (execute-once): the record has the person's key, and how long the answer took
//   - Row 004-01 yes (execute-once): a box with tool and command
//   - Row 004-02 yes (exact): options with numbers, > before the selected one
//   - Row 004-08 yes (cancel): Ctrl+C denies with the reason "cancelled", in the queue the second one
//   - Row 004-09 yes (deny-reason): a letter begins a reason and selects Deny
//   - Row 004-12 yes (deny-reason): the option's line shows the reason
//   - Row 004-13 yes (execute-once): the line of hints
//   - Row 004-14 yes (prefix/cat): cat src/main.go saves cat under src/
//   - Row 004-15 yes (prefix/ls): ls -la tools/ saves ls under tools/
//   - Row 004-16 yes (prefix/head): head -n 100 README.md saves head under the project
//   - Row 004-17 yes (prefix/grep): grep -r pattern api/ saves grep under api/
//   - Row 004-18 yes (prefix/find): find . saves find under the project
//   - Row 004-22 yes (exact): a command that does not only read is saved exactly
//   - Row 004-26 yes (prefix/outside): a red box for an absolute path outside the project
//   - Row 004-29 yes (exact): the box is cyan
//   - Row 004-30 yes (prefix/outside): the box of a warning is bright red
//   - Row 004-31 yes (exact): the selected option is green
//   - Row 004-32 yes (exact): Deny is gray where it is not selected
//   - Row 004-33 yes (exact): the hints are gray
//   - Row 004-36 yes (deny-reason): FormatDenyResult: "User denied execution of bash. Reason: too dangerous"
//   - Row 004-37 yes (execute-once): the line of the result, with [Approved] and the sign
//   - Row 004-39 yes (prefix/cat): IsAllowed: a like call runs unasked
//   - Row 004-40 yes (prefix/cat): AddToAllowlist: an answer for the session
//   - Row 004-41 yes (prefix/cat): AllowedTools: the grants are listed
//   - Row 004-42 yes (reset): Reset: the session's grants end with it
//   - Row 004-43 yes (deny-reason): ApprovalResult: the decision and the reason
func TestConformanceTerminalDialog(t *testing.T) {
	t.Parallel()
	const asking = "[shell]\nauto_safe = false\n"
	reading := func(s *approvaltest.Scenario) { s.Config = asking }
	scenarios := func() []approvaltest.Scenario { return append(approvaltest.TerminalDialog(), prefixes()...) }
	conform(t, scenarios, map[string]func(*approvaltest.Scenario){
		"prefix/cat": reading,
		"prefix/head": func(s *approvaltest.Scenario) {
			s.Config = asking
			eachCall(s, []string{"one"}, command("head -n 100 README.md"))
		},
		"deny-reason": func(s *approvaltest.Scenario) {
			eachWant(s, "one", func(w *approvaltest.Want) {
				if w.State == approvaltest.Denied {
					w.Text = "User denied execution of bash. Reason: too dangerous\n"
				}
			})
		},
		"exact": func(s *approvaltest.Scenario) { eachError(s, "not on offer") },
	}, true, newDialog)
}
