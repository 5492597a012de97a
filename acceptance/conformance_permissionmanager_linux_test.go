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
func TestConformancePermissionManager(t *testing.T) {
	protected := command("touch .git/hooks/post-commit")
	conform(t, approvaltest.PermissionManager, map[string]func(*approvaltest.Scenario){
		"unit/safe": func(s *approvaltest.Scenario) {
			s.Config = "[[tools.rules]]\ntool = \"file_edit\"\nwhen = { file = \"docs/*.md\" }\ndecision = \"allow\"\n"
			eachWant(s, "doc", func(w *approvaltest.Want) { w.Reason = approval.ReasonConfigured })
		},
		"unit/asks": func(s *approvaltest.Scenario) { eachCall(s, []string{"app", "app2"}, protected) },
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
