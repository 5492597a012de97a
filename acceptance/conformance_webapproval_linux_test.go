package acceptance

import (
	"testing"

	"sandboxd/approval"
	"sandboxd/approval/approvaltest"
)

// The web tool approval, through the socket: priority order, soft and hard
// rejection, permissions with parameters and wildcards, chains.
//
// Other than the specification: "session" grants the payload and never the
// whole of bash (R-AP-05); unknown tools ask (R-AP-24). R-AP-09 R-AP-12 R-SH-02
// R-SH-05
//
//   - Row 003-01 yes (lifecycle): approval_needed with tool and arguments
//   - Row 003-02 yes (lifecycle): batch_remaining with tool and arguments as JSON text
//   - Row 003-03 yes (lifecycle): {"approved": true, "scope": "session"} without an id
//   - Row 003-04 yes (lifecycle): {"approved": true, "scope": "once"}
//   - Row 003-05 yes (reject-soft): reject_soft with feedback: the agent continues with the next call
//   - Row 003-06 yes (lifecycle): the text of reject_soft for the model
//   - Row 003-07 yes (reject-hard): reject_hard rejects the rest
//   - Row 003-08 yes (reject-default): a rejection without a mode is hard
//   - Row 003-09 yes (reject-hard): after the stop signal every call is refused
//   - Row 003-10 yes (reject-hard): a new user message continues
//   - Row 003-11 different (reject-hard): the agent gets no further turn | the loop is the agent's; its calls
//     are refused until the user's next message (R-AP-12)
//   - Row 003-12 different (lifecycle): session scope saves "bash" as a whole | it saves the command (R-AP-05)
//   - Row 003-13 yes (lifecycle): the same command is not asked about again in the session
//   - Row 003-14 yes (tables): safe tools list_files, get_file_info, task
//   - Row 003-15 yes (tables): safe tools load_guide, enter_plan_mode, exit_plan_mode, write_plan
//   - Row 003-16 yes (tables): safe tools task_output, ask_user
//   - Row 003-17 yes (tables): dangerous tools write, edit, multi_edit
//   - Row 003-18 yes (tables): dangerous tools run_background, kill_task
//   - Row 003-19 yes (tables): dangerous tools send_email, post
//   - Row 003-20 yes (tables): dangerous tools delete, remove
//   - Row 003-21 different (unknown-allowed): unknown tools are safe | only with [tools] unknown = "allow"
//     (R-AP-24)
//   - Row 003-22 yes (permissions): a simple tool name
//   - Row 003-23 yes (permissions): an exact command, Bash(git status)
//   - Row 003-24 yes (permissions): a wildcard, Bash(git diff *)
//   - Row 003-25 yes (permissions): when {file_path: "*.md"}
//   - Row 003-26 different (permissions): configuration in host.yaml | one TOML file (DESIGN 10)
//   - Row 003-27 yes (permissions): configured permissions never expire and hold in all sessions
//   - Row 003-30 yes (priority): safe, configuration, skill, session, question
//   - Row 003-31 yes (permissions): a chain by &&
//   - Row 003-32 yes (permissions): a chain by two bars
//   - Row 003-33 yes (chains): a pipe
//   - Row 003-34 yes (permissions): a chain by ;
//   - Row 003-35 yes (permissions): one command that is not permitted has the chain ask
//   - Row 003-36 yes (permissions): a line that can't be parsed is not approved
//   - Row 003-37 yes (permissions): subshells and loops
//   - Row 003-39 yes (lifecycle): questions come live over the WebSocket
func TestConformanceWebApproval(t *testing.T) {
	t.Parallel()
	conform(t, webApproval, nil, false, newSocket)
}

// webApproval are the scenarios, and the permission syntax of the
// specification, which is the shell tool's and so only the daemon's.
func webApproval() []approvaltest.Scenario {
	const config = `[permissions]
allow = ["read_file", "Bash(touch exactly)", "Bash(mkdir *)", "Bash(touch a:*)", { tool = "edit", when = { file_path = "*.md" } }]
ask = ["Bash(mkdir asked)"]
deny = ["Bash(curl *)"]
`
	var steps []approvaltest.Step
	add := func(say, tool string, args map[string]any, w approvaltest.Want) {
		w.Call = say
		steps = append(steps, approvaltest.Step{Say: say, Call: &approvaltest.Call{Name: say, Tool: tool, Args: args},
			Want: []approvaltest.Want{w}})
	}
	bash := func(line string, w approvaltest.Want) { add(line, "bash", map[string]any{"command": line}, w) }
	runs := approvaltest.Want{State: approvaltest.Approved, How: approval.HowAuto, Reason: approval.ReasonConfigured}
	asks := approvaltest.Want{State: approvaltest.Open}
	never := approvaltest.Want{State: approvaltest.Denied, Reason: approval.ReasonBlocked}

	add("a simple tool name", "read_file", map[string]any{"path": "x"}, runs)
	add("a parameter that matches", "edit", map[string]any{"file_path": "a.md", "new_string": "x"}, runs)
	add("a parameter that does not", "edit", map[string]any{"file_path": "a.py", "new_string": "x"}, asks)
	bash("touch exactly", runs)
	bash("touch exactly this", asks)
	bash("mkdir anything", runs)
	bash("mkdir -p any/thing", runs)
	bash("touch a b", runs)
	bash("mkdir asked", asks)
	bash("curl https://example.org", never)
	bash("mkdir x && touch exactly", runs)
	bash("mkdir x && touch other", asks)
	bash("mkdir x; curl https://example.org", never)
	bash("mkdir $(curl https://example.org)", never)
	for _, line := range []string{"test -f README || echo no", "cat README | grep hello", "echo a; echo b", "pwd && ls"} {
		bash(line, approvaltest.Want{State: approvaltest.Approved, How: approval.HowAuto, Reason: approval.ReasonSafe})
	}
	bash("pwd && rm -rf /", asks)
	bash(`mkdir "unterminated`, asks)
	bash("(mkdir x)", runs)
	bash("for f in a b; do mkdir x; done", runs)
	// Neither a turn nor a session ends them.
	steps = append(steps, approvaltest.Step{Say: "the user's next message", Turn: "main"})
	again := func(name, session string) {
		bash(name, runs)
		s := &steps[len(steps)-1]
		s.Call.Session, s.Call.Args = session, map[string]any{"command": "touch exactly"}
	}
	again("in the next turn", "main")
	again("in a second session", "second")
	steps = append(steps, approvaltest.Step{Say: "the first session ends", Close: "main"})
	again("in a third session", "third")
	return append(approvaltest.WebApproval(), tables(),
		approvaltest.Scenario{Name: "permissions", Seed: "web tool approval",
			Section: "Pattern types; Bash command chain permissions", Config: config, Steps: steps})
}

// tables are the specification's lists of safe and dangerous tools, whole.
func tables() approvaltest.Scenario {
	s := approvaltest.Scenario{Name: "tables", Seed: "web tool approval", Section: "Tool classification"}
	add := func(w approvaltest.Want, tools ...string) {
		for _, tool := range tools {
			w.Call = tool
			call := approvaltest.Call{Name: tool, Tool: tool, Args: map[string]any{"argument": "x"}}
			s.Steps = append(s.Steps, approvaltest.Step{Say: tool, Call: &call, Want: []approvaltest.Want{w}})
		}
	}
	add(approvaltest.Want{State: approvaltest.Approved, How: approval.HowAuto, Reason: approval.ReasonSafe},
		"list_files", "get_file_info", "task", "load_guide", "enter_plan_mode", "exit_plan_mode", "write_plan", "task_output",
		"ask_user")
	add(approvaltest.Want{State: approvaltest.Open},
		"write", "edit", "multi_edit", "run_background", "kill_task", "send_email", "post", "delete", "remove")
	return s
}
