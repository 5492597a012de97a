package approvaltest

import "sandboxd/approval"

// WebApproval walks through web-based approval: priority order, rejection
// modes, chains, parameters, scopes.
func WebApproval() []Scenario {
	const seed = "web tool approval"
	install, build := bash("install", "npm install"), bash("build", "npm run build")
	write := Call{Name: "write", Tool: "write", Args: args{"file_path": "config.json", "content": "{}"}}
	const config = `[tools]
[[tools.rules]]
tool = "read_file"
decision = "allow"
[[tools.rules]]
tool = "write"
when = { file_path = "*.md" }
decision = "allow"
`
	return []Scenario{
		{Name: "lifecycle", Seed: seed, Section: "Lifecycle", Differs: "R-AP-05: session scope grants the payload, not the whole of bash", Steps: steps(
			made("bash asks, with two calls remaining", at(install, "r1", 1, 3, write, build), Want{Call: "install", State: Open, Remaining: pointer(2)}),
			said("approved for session", yes("install", approval.ScopeSession), runs("install", person, "")),
			made("write asks, with one call remaining", at(write, "r1", 2, 3, build), Want{Call: "write", State: Open, Remaining: pointer(1)}),
			said("reject_soft", no("write", "Don't write that file", soft), Want{Call: "write", State: Denied, Reject: soft, Text: "User rejected tool 'write'. Feedback: Don't write that file\n\n[System reminder: Ask the user"}),
			made("another bash command asks: session meant npm install", at(build, "r1", 3, 3), asks("build")),
			said("approved", yes("build", once), runs("build", person, "")),
			made("npm install itself runs", named("install2", install), runs("install2", auto, approval.ReasonGrant)),
		)},
		{Name: "reject-hard", Seed: seed, Section: "Rejection modes: reject_hard", Steps: steps(
			made("first of two", at(install, "r1", 1, 2, build), asks("install")),
			said("reject_hard", no("install", "stop", hard), Want{Call: "install", State: Denied, Reject: hard, Text: "wait for the user"}),
			made("what remains is rejected", at(build, "r1", 2, 2), refused("build", approval.ReasonStopped, "")),
			made("even a safe tool", Call{Name: "list", Tool: "list_files", Args: args{}}, refused("list", approval.ReasonStopped, "")),
			Step{Say: "the user sends a new message", Turn: "main"},
			made("it continues", named("build2", build), asks("build2")),
		)},
		{Name: "reject-default", Seed: seed, Section: "Rejection modes: default if mode is not provided", Steps: steps(
			made("asks", install, asks("install")),
			said("rejected, no mode", no("install", "", ""), Want{Call: "install", State: Denied, Reject: hard}),
			made("stopped", build, refused("build", approval.ReasonStopped, "")),
		)},
		{Name: "reject-soft", Seed: seed, Section: "Rejection modes: reject_soft", Steps: steps(
			made("asks", at(install, "r1", 1, 2, build), asks("install")),
			said("rejected softly", no("install", "use pnpm", soft), Want{Call: "install", State: Denied, Reject: soft, Text: "use pnpm"}),
			made("the next tool in the batch proceeds normally", at(build, "r1", 2, 2), asks("build")),
		)},
		{Name: "classification", Seed: seed, Section: "Tool classification", Differs: "R-AP-24: unknown tools ask", Steps: steps(
			made("list_files is safe", Call{Name: "s1", Tool: "list_files", Args: args{"path": "."}}, runs("s1", auto, approval.ReasonSafe)),
			made("ask_user is safe", Call{Name: "s2", Tool: "ask_user", Args: args{"question": "?"}}, runs("s2", auto, approval.ReasonSafe)),
			made("exit_plan_mode is safe", Call{Name: "s3", Tool: "exit_plan_mode", Args: args{}}, runs("s3", auto, approval.ReasonSafe)),
			made("send_email is dangerous", Call{Name: "d1", Tool: "send_email", Args: args{"to": "a"}}, asks("d1")),
			made("run_background is dangerous", Call{Name: "d2", Tool: "run_background", Args: args{"command": "x"}}, asks("d2")),
			made("an unknown tool", Call{Name: "u", Tool: "frobnicate", Args: args{}}, asks("u")),
		)},
		{Name: "unknown-allowed", Seed: seed, Section: "Tool classification: unknown tools are treated as safe", Config: "[tools]\nunknown = \"allow\"\n", Differs: "R-AP-24: only where configured", Steps: steps(
			made("an unknown tool runs", Call{Name: "u", Tool: "frobnicate", Args: args{}}, runs("u", auto, approval.ReasonConfigured)),
			made("an MCP tool still asks", Call{Name: "m", Tool: "mcp__x__frobnicate", Args: args{}}, asks("m")),
		)},
		{Name: "config", Seed: seed, Section: "Config-based auto-approval: simple name, parameters", Config: config, Steps: steps(
			made("a simple tool name", Call{Name: "r", Tool: "read_file", Args: args{"path": "x"}}, runs("r", auto, approval.ReasonConfigured)),
			made("when file_path = *.md", Call{Name: "w", Tool: "write", Args: args{"file_path": "docs/a.md", "content": "x"}}, runs("w", auto, approval.ReasonConfigured)),
			made("another file asks", Call{Name: "w2", Tool: "write", Args: args{"file_path": "a.py", "content": "x"}}, asks("w2")),
			made("a path that climbs asks", Call{Name: "w3", Tool: "write", Args: args{"file_path": "sub/../x.md", "content": "x"}}, asks("w3")),
		)},
		{Name: "priority", Seed: seed, Section: "Priority order: safe, config, skill, session, ask", Config: config, Steps: steps(
			made("1 safe", Call{Name: "p1", Tool: "task", Args: args{}}, runs("p1", auto, approval.ReasonSafe)),
			made("2 config", Call{Name: "p2", Tool: "read_file", Args: args{"path": "x"}}, runs("p2", auto, approval.ReasonConfigured)),
			made("5 ask", Call{Name: "p5", Tool: "post", Args: args{"to": "x"}}, asks("p5")),
			said("for the turn", yes("p5", approval.ScopeTurn), runs("p5", person, "")),
			made("3 what holds for the turn", Call{Name: "p3", Tool: "post", Args: args{"to": "x"}}, runs("p3", auto, approval.ReasonGrant)),
			Step{Say: "the turn ends", Turn: "main"},
			made("and it asks again", Call{Name: "p6", Tool: "post", Args: args{"to": "x"}}, asks("p6")),
			said("for the session", yes("p6", approval.ScopeSession), runs("p6", person, "")),
			Step{Say: "the turn ends", Turn: "main"},
			made("4 session", Call{Name: "p4", Tool: "post", Args: args{"to": "x"}}, runs("p4", auto, approval.ReasonGrant)),
		)},
		{Name: "chains", Seed: seed, Section: "Bash command chain permissions", Steps: steps(
			made("pwd && ls: all permitted", safe("ok", "pwd && ls"), runs("ok", auto, approval.ReasonSafe)),
			made("pwd && rm -rf /: one dangerous command, whole chain", dangerous("bad", "pwd && rm -rf /"), asks("bad")),
			made("cat file | grep test", safe("pipe", "cat README.md | grep test"), runs("pipe", auto, approval.ReasonSafe)),
		)},
	}
}
