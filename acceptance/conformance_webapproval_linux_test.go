package acceptance

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"sandboxd/approval"
	"sandboxd/approval/approvaltest"
	"sandboxd/ipc"
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

// Skill permissions: temporary, turn-scoped. Other than the specification, a
// skill's list is a question to a person, unless they trusted this very file
// before (R-SH-05).
func TestConformanceSkills(t *testing.T) {
	eachUser(t, func(t *testing.T, a *actor) {
		st := newStage(a, "")
		p := &performance{t: t, st: st, open: map[[2]string]*opened{}, calls: map[string]*made{}, confirm: map[string]bool{}}
		defer p.clear()
		ctx, cancel := within(t)
		defer cancel()
		do := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		o, err := p.session("main", "")
		do(err)
		a.sh("mkdir -p skills && echo 'Build it.' > skills/build.md")
		turn := func(allow ...string) error {
			r := ipc.TurnRequest{Session: o.id}
			if len(allow) > 0 {
				r.Skills = []ipc.Skill{{Path: filepath.Join(a.project, "skills/build.md"), Allow: allow}}
			}
			_, err := o.client.Turn(ctx, r)
			return err
		}
		answer := func(scope approval.Scope, allow bool) {
			t.Helper()
			list, err := st.person().Approvals(ctx)
			do(err)
			for _, q := range list.Approvals {
				if q.Tool == "skill" {
					if _, err := st.agent("").approver.Decide(ctx, ipc.Answer{ID: q.ID, Rev: q.Rev, Hash: q.Hash, Allow: true}); ipc.CodeOf(err) != ipc.CodeSelfApproval {
						t.Errorf("the agent answered for its skill: %v", err)
					}
					d, err := st.person().Decide(ctx, ipc.Answer{ID: q.ID, Rev: q.Rev, Hash: q.Hash, Allow: allow, Scope: string(scope)})
					if err != nil || d.Allowed != allow {
						t.Fatalf("%+v, %v", d, err)
					}
					return
				}
			}
			t.Fatal("no question about a skill")
		}
		n := 0
		try := func(line string, want approvaltest.State) {
			t.Helper()
			n++
			name := fmt.Sprintf("%d %s", n, line)
			do(p.make(approvaltest.Call{Name: name, Tool: "bash", Args: map[string]any{"command": line}}))
			if err := p.check(approvaltest.Want{Call: name, State: want}); err != nil {
				t.Error(err)
			}
		}
		// granted waits for the grants that a yes makes.
		granted := func(want int) {
			t.Helper()
			for range 200 {
				list, err := st.person().Grants(ctx)
				do(err)
				if got := slices.DeleteFunc(list.Grants, func(g ipc.Grant) bool { return g.Scope != "turn" }); len(got) == want {
					return
				}
				time.Sleep(10 * time.Millisecond)
			}
			t.Fatalf("there are never %d grants of the turn", want)
		}
		list := []string{"Bash(make build *)", "Bash(make exactly)", "send_email"}
		do(turn(list...))
		try("make build", approvaltest.Open)
		answer(approval.ScopeOnce, true)
		granted(3)
		try("make build all", approvaltest.Approved)
		try("make exactly", approvaltest.Approved)
		try("make exactly this", approvaltest.Open)
		do(turn())
		granted(0)
		try("make build all", approvaltest.Open)
		do(turn(list...))
		answer(approval.ScopeSession, true)
		granted(3)
		do(turn(list...)) // the same file with the same list: trusted
		try("make build all", approvaltest.Approved)
		a.sh("echo 'And more.' >> skills/build.md")
		do(turn(list...))
		try("make build all", approvaltest.Open)
		for _, bad := range []string{"Bash", "Bash(*)", "Bash(make $X)", "edit(x)"} {
			if err := turn(bad); ipc.CodeOf(err) != ipc.CodeBadRequest {
				t.Errorf("%s: %v", bad, err)
			}
		}
	})
}
