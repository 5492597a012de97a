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
func TestConformanceWebApproval(t *testing.T) {
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
		steps = append(steps, approvaltest.Step{Say: say, Call: &approvaltest.Call{Name: say, Tool: tool, Args: args}, Want: []approvaltest.Want{w}})
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
	return append(approvaltest.WebApproval(), approvaltest.Scenario{Name: "permissions", Seed: "web tool approval",
		Section: "Pattern types; Bash command chain permissions", Config: config, Steps: steps})
}
