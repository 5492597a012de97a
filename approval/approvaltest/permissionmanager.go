package approvaltest

import (
	"time"

	"sandboxd/approval"
)

// PermissionManager walks through the permission manager with its batches,
// timeouts, double confirmation and statistics.
func PermissionManager() []Scenario {
	const seed = "permission manager"
	edit := file("edit", "file_edit", "core/config/service.py", approval.Class{})
	create := file("create", "file_create", "core/new.py", approval.Class{})
	remove := file("delete", "file_delete", "plugins/old_plugin.py", approval.Class{Delete: true})
	rm := dangerous("rm", "rm -rf node_modules")
	return append(dangers(seed), []Scenario{
		{Name: "unit/safe", Seed: seed, Section: "13.1: safe commands and reads auto-approve", Steps: steps(
			made("ls -la", safe("ls", "ls -la"), runs("ls", auto, approval.ReasonSafe)),
			made("file_read of any file", Call{Name: "read", Tool: "file_read", Args: args{"file": "any_file.py"}, Word: Word{Run: true}}, runs("read", auto, approval.ReasonNoCheck)),
			made("a safe path pattern: docs/README.md", file("doc", "file_edit", "docs/README.md", approval.Class{Safe: true}), runs("doc", auto, approval.ReasonSafe)),
		)},
		{Name: "unit/asks", Seed: seed, Section: "13.1: dangerous commands and protected paths require approval", Steps: steps(
			made("rm -rf node_modules", rm, asks("rm")),
			made("core/application.py is protected", file("app", "file_edit", "core/application.py", approval.Class{Protected: true}), asks("app")),
			twice("protected", "app", approval.VerbAllow, runs("app", person, "")),
			made("and asks again, whatever was allowed", named("app2", file("app", "file_edit", "core/application.py", approval.Class{Protected: true})), asks("app2")),
			said("it cannot be allowed for the session", Answer{To: "app2", Verb: approval.VerbAllow, Scope: approval.ScopeSession, WantError: "not on offer"}, asks("app2")),
		)},
		{Name: "unit/protected-beats-safe", Seed: seed, Section: "8.2: protected even where a safe pattern matches", Steps: steps(
			made(".env.md", file("env", "file_edit", ".env.md", approval.Class{Safe: true, Protected: true}), asks("env")),
		)},
		{Name: "batch/all", Seed: seed, Section: "4, 13 and decision 3: approve all, deletes still ask", Steps: steps(
			made("operation 1 of 3 asks and lists the rest", at(edit, "b1", 1, 3, create, remove), Want{Call: "edit", State: Open, Remaining: pointer(2)}),
			said("approve all remaining", Answer{To: "edit", Verb: approval.VerbAllowAll}, runs("edit", person, "")),
			made("operation 2 runs", at(create, "b1", 2, 3, remove), runs("create", auto, approval.ReasonBatch)),
			made("operation 3 is a delete and asks", at(remove, "b1", 3, 3), asks("delete")),
			twice("delete", "delete", approval.VerbAllow, runs("delete", person, "")),
			made("reset per batch: the same edit asks in the next one", at(named("again", edit), "b2", 1, 1), asks("again")),
		)},
		{Name: "batch/all-covers-only-what-was-listed", Seed: seed, Section: "9.4", Differs: "R-AP-10: approve all covers the digests that were listed", Steps: steps(
			made("operation 1 of 3", at(edit, "b1", 1, 3, create, bash("build", "make")), asks("edit")),
			said("approve all remaining", Answer{To: "edit", Verb: approval.VerbAllowAll}, runs("edit", person, "")),
			made("what was listed runs", at(create, "b1", 2, 3, bash("build", "make")), runs("create", auto, approval.ReasonBatch)),
			made("something else in its place asks", at(bash("build", "make install"), "b1", 3, 3), asks("build")),
		)},
		{Name: "batch/no", Seed: seed, Section: "4: N skips this one and continues", Steps: steps(
			made("operation 1 of 2", at(edit, "b1", 1, 2, create), asks("edit")),
			said("no", no("edit", "", soft), Want{Call: "edit", State: Denied, Reject: soft}),
			made("operation 2 still asks", at(create, "b1", 2, 2), asks("create")),
			said("yes", yes("create", once), runs("create", person, "")),
		)},
		{Name: "batch/quit", Seed: seed, Section: "9.5: quit cancels the rest and says how many ran", Steps: steps(
			made("operation 1 of 3", at(edit, "b1", 1, 3, create, remove), asks("edit")),
			said("yes", yes("edit", once), runs("edit", person, "")),
			made("operation 2 of 3", at(create, "b1", 2, 3, remove), asks("create")),
			said("quit", Answer{To: "create", Verb: approval.VerbQuit}, Want{Call: "create", State: Denied, Reason: approval.ReasonQuit, Reject: hard, Text: "completed 1 of 3 operations, cancelled 2"}),
			made("operation 3 is cancelled", at(remove, "b1", 3, 3), refused("delete", approval.ReasonStopped, "stopped")),
		)},
		{Name: "timeout", Seed: seed, Section: "8.4 and 12.1: 30 seconds, then no", Config: SpecifiedTime, Steps: steps(
			Step{Say: "a terminal is there", Connect: approval.ViaTerminal},
			made("it asks", edit, asks("edit")),
			Step{Say: "29 seconds", Sleep: halfMinute - time.Second, Want: []Want{asks("edit")}},
			Step{Say: "30 seconds", Sleep: time.Second, Want: []Want{{Call: "edit", State: Denied, Reason: approval.ReasonTimeout, Reject: soft, Text: "no person answered"}}},
			made("the batch continues", create, asks("create")),
		)},
		{Name: "double-confirm", Seed: seed, Section: "6.6.7: a delete takes two yes", Steps: steps(
			made("a delete asks", remove, asks("delete")),
			said("first yes", Answer{To: "delete", Verb: approval.VerbAllow, WantConfirm: true}, asks("delete")),
			said("any other answer cancels it", no("delete", "", soft), Want{Call: "delete", State: Denied}),
			made("again", named("delete2", remove), asks("delete2")),
			twice("delete", "delete2", approval.VerbAllow, runs("delete2", person, "")),
		)},
		{Name: "yolo", Seed: seed, Section: "6.3 and 13.1: yolo bypasses the questions", Differs: "R-AP-18: for one session and one hour at most, and blocks stay", Steps: steps(
			Step{Say: "a person switches it on", ApproveAll: &ApproveAll{"main", time.Hour}},
			made("rm -rf, unasked", rm, runs("rm", auto, approval.ReasonApproveAll)),
			made("a delete, unasked and unconfirmed", remove, runs("delete", auto, approval.ReasonApproveAll)),
			made("another session still asks", in("other", named("edit2", edit)), asks("edit2")),
		)},
		{Name: "safe-commands-only", Seed: seed, Section: "7: safe_commands_only", Config: "[approval]\nsafe_commands_only = true\n", Steps: steps(
			made("a safe command runs", safe("ls", "ls"), runs("ls", auto, approval.ReasonSafe)),
			made("anything else is refused unasked", bash("make", "make"), refused("make", approval.ReasonSafeOnly, "safe list")),
		)},
		{Name: "whitelist", Seed: seed, Section: "13: whitelist mode", Config: "[approval]\npolicy = \"whitelist\"\n", Steps: steps(
			made("what is not permitted is refused unasked", bash("make", "make"), refused("make", approval.ReasonWhitelist, "explicitly permitted")),
			made("what a rule allows runs", allowed(bash("test", "go test ./...")), runs("test", auto, approval.ReasonConfigured)),
		)},
		{Name: "blacklist", Seed: seed, Section: "13: blacklist mode", Config: "[approval]\npolicy = \"blacklist\"\n", Steps: steps(
			made("what no list names runs", bash("make", "make"), runs("make", auto, approval.ReasonBlacklist)),
			made("what is dangerous asks", rm, asks("rm")),
			made("what is blocked is blocked", Call{Name: "mkfs", Tool: "bash", Args: args{"command": "mkfs.ext4 /dev/sda"}, Word: Word{Block: "mkfs is never allowed"}}, refused("mkfs", approval.ReasonBlocked, "never allowed")),
		)},
		{Name: "time-based", Seed: seed, Section: "13: approve operations for N minutes", Steps: steps(
			made("it asks", edit, asks("edit")),
			said("for 10 minutes", Answer{To: "edit", Verb: approval.VerbAllow, Scope: approval.ScopeSession, For: 10 * time.Minute}, runs("edit", person, "")),
			Step{Say: "9 minutes later", Sleep: 9 * time.Minute},
			made("it runs", named("edit2", edit), runs("edit2", auto, approval.ReasonGrant)),
			Step{Say: "10 minutes later", Sleep: time.Minute},
			made("it asks again", named("edit3", edit), asks("edit3")),
		)},
		{Name: "mcp", Seed: seed, Section: "3.3 and decision 4: MCP tools always ask", Steps: steps(
			made("filesystem.write_file", Call{Name: "mcp", Tool: "mcp__filesystem__write_file", Args: args{"path": "config.json"}}, asks("mcp")),
		)},
		{Name: "stats", Seed: seed, Section: "6.1: statistics", Config: SpecifiedTime, Steps: steps(
			made("auto", safe("ls", "ls"), runs("ls", auto, "")),
			made("asks", at(edit, "b1", 1, 3, create), asks("edit")),
			said("yes", yes("edit", once), runs("edit", person, "")),
			made("asks", at(remove, "b1", 2, 3, create), asks("delete")),
			twice("delete", "delete", approval.VerbAllow, runs("delete", person, "")),
			made("asks", bash("slow", "make"), asks("slow")),
			Step{Say: "nobody answers", Sleep: halfMinute, Want: []Want{refused("slow", approval.ReasonTimeout, "")}},
			made("asks", at(create, "b1", 3, 3), asks("create")),
			said("quit", Answer{To: "create", Verb: approval.VerbQuit}, Want{Call: "create", State: Denied}),
			Step{Say: "at the end of the session", Close: "main", WantStats: &approval.Stats{
				Total: 5, Approved: 2, AutoApproved: 1, Denied: 2, TimedOut: 1, Quit: 1, DoubleConfirmed: 1}},
		)},
	}...)
}

// dangers are commands of which each takes two yes.
func dangers(seed string) (all []Scenario) {
	for _, d := range []struct{ name, command string }{
		{"dangerous/mkfs", "mkfs.ext4 /dev/sda1"}, {"dangerous/dd", "dd if=/dev/zero of=/dev/sda"},
		{"dangerous/chmod", "chmod 777 a"}, {"dangerous/fork-bomb", ":(){ :|:& };:"},
	} {
		confirmed := "3.1: dangerous commands need confirmation"
		all = append(all, Scenario{Name: d.name, Seed: seed, Section: confirmed, Steps: steps(
			made(d.command, dangerous("harm", d.command), asks("harm")),
			said("one yes is not enough", Answer{To: "harm", Verb: approval.VerbAllow, WantConfirm: true}, asks("harm")),
			said("no", no("harm", "", soft), Want{Call: "harm", State: Denied, Reject: soft}),
		)})
	}
	return all
}

func allowed(c Call) Call {
	c.Word.Class.Rule = approval.RuleAllow
	return c
}
