package acceptance

import (
	"testing"

	"sandboxd/approval"
	"sandboxd/approval/approvaltest"
)

// The permission manager, through the socket: what runs unasked, batches, quit,
// time, double confirmation, yolo, the lists, statistics. Its commands are run
// by the daemon.
//
// Other than the specification: approve all covers what was listed (R-AP-10);
// yolo is switched on by a person, for a session and a time (R-AP-18); a safe
// path is a rule of [[tools.rules]] where the agent edits the file itself, so
// the reason is "configured" (R-AP-24). R-AP-09 R-AP-10 R-AP-13 R-AP-14
// R-AP-17 R-AP-18 R-AP-19 R-SH-04
//
//   - Row 001-05 yes (yolo): yolo bypasses even rm -rf
//   - Row 001-15 yes (safe-commands-only): safe_commands_only
//   - Row 001-24 yes (dangerous/mkfs): dangerous always needs confirmation: mkfs, dd, chmod 777, a fork bomb
//   - Row 001-44 yes (unit/protected-beats-safe): protected beats safe
//   - Row 001-54 yes (batch/all): a/all approves the rest
//   - Row 001-55 yes (batch/all): all does not cover deletes (decision 3)
//   - Row 001-56 yes (batch/quit): q/quit cancels the rest
//   - Row 001-58 different (timeout): timeout 30 s → deny | 10 min, 30 s by `approval.timeout` (R-UX-11)
//   - Row 001-60 yes (mcp): MCP always asks; tool, server, arguments shown
//   - Row 001-71 yes (stats): statistics total/approved/denied/auto/double/quit
//   - Row 001-79 yes (whitelist): whitelist mode
//   - Row 001-80 yes (blacklist): blacklist mode
//   - Row 001-81 yes (time-based): time-based approval
//   - Row 001-73 yes (stats): show_approval_stats: the end of a session returns the counts
func TestConformancePermissionManager(t *testing.T) {
	t.Parallel()
	protected := command("touch .git/hooks/post-commit")
	conform(t, approvaltest.PermissionManager, map[string]func(*approvaltest.Scenario){
		"unit/safe": func(s *approvaltest.Scenario) {
			s.Config = "[[tools.rules]]\ntool = \"file_edit\"\nwhen = { file = \"docs/*.md\" }\ndecision = \"allow\"\n"
			eachWant(s, "doc", func(w *approvaltest.Want) { w.Reason = approval.ReasonConfigured })
		},
		"unit/asks": func(s *approvaltest.Scenario) {
			s.Config += "[sandbox]\nlayers = \"off\"\n" // a layer would ask again, at the landing
			eachCall(s, []string{"app", "app2"}, protected)
		},
		"unit/protected-beats-safe": func(s *approvaltest.Scenario) {
			s.Config = "[permissions]\nallow = [\"Bash(touch *)\"]\n"
			eachCall(s, []string{"env"}, command("touch .env.md"))
		},
		"whitelist": func(s *approvaltest.Scenario) {
			s.Config += "[permissions]\nallow = [\"Bash(mkdir -p build)\"]\n"
			eachCall(s, []string{"test"}, command("mkdir -p build"))
		},
		"blacklist": func(s *approvaltest.Scenario) {
			s.Config += "[permissions]\ndeny = [\"Bash(mkfs.ext4 *)\"]\n"
		},
	}, true, nil)
}
