package acceptance

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sandboxd/approval"
	"sandboxd/approval/approvaltest"
	"sandboxd/ipc"
)

// skillful is a session whose agent uses a skill.
type skillful struct {
	*performance
	o   *opened
	ctx context.Context
	n   int // calls made
}

func newSkillful(t *testing.T, a *actor) *skillful {
	st := newStage(a, "")
	p := &performance{t: t, st: st, open: map[[2]string]*opened{}, calls: map[string]*made{}, confirm: map[string]bool{}}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	o, err := p.session("main", "")
	if err != nil {
		t.Fatal(err)
	}
	a.sh("mkdir -p skills && echo 'Build it.' > skills/build.md")
	return &skillful{performance: p, o: o, ctx: ctx}
}

// turn begins a turn with that list of the skill.
func (s *skillful) turn(allow ...string) error {
	r := ipc.TurnRequest{Session: s.o.id}
	if len(allow) > 0 {
		r.Skills = []ipc.Skill{{Path: filepath.Join(s.st.project, "skills/build.md"), Allow: allow}}
	}
	_, err := s.o.client.Turn(s.ctx, r)
	return err
}

// asked is the open question about the skill.
func (s *skillful) asked() ipc.Approval {
	s.t.Helper()
	list, err := s.st.person().Approvals(s.ctx)
	i := slices.IndexFunc(list.Approvals, func(q ipc.Approval) bool { return q.Tool == "skill" })
	if err != nil || i < 0 {
		s.t.Fatal("no question about a skill: ", err)
	}
	return list.Approvals[i]
}

// yes approves the skill, which its agent can't.
func (s *skillful) yes(scope approval.Scope) {
	s.t.Helper()
	q := s.asked()
	answer := ipc.Answer{ID: q.ID, Rev: q.Rev, Hash: q.Hash, Allow: true}
	if _, err := s.st.agent("").approver.Decide(s.ctx, answer); ipc.CodeOf(err) != ipc.CodeSelfApproval {
		s.t.Errorf("the agent answered for its skill: %v", err)
	}
	answer.Scope = string(scope)
	if d, err := s.st.person().Decide(s.ctx, answer); err != nil || !d.Allowed {
		s.t.Fatalf("%+v, %v", d, err)
	}
}

// try has the agent ask about a command, and returns the open question, if there is one.
func (s *skillful) try(line string, want approvaltest.State) ipc.Approval {
	s.t.Helper()
	s.n++
	name := fmt.Sprintf("%d %s", s.n, line)
	err := s.make(approvaltest.Call{Name: name, Tool: "bash", Args: map[string]any{"command": line}})
	if err == nil {
		err = s.check(approvaltest.Want{Call: name, State: want})
	}
	if err != nil {
		s.t.Error(err)
	}
	q, _ := s.question(s.calls[name])
	return q
}

// granted waits for the grants that a yes makes.
func (s *skillful) granted(want int) {
	s.t.Helper()
	for range 500 {
		list, err := s.st.person().Grants(s.ctx)
		if err != nil {
			s.t.Fatal(err)
		}
		got := slices.DeleteFunc(list.Grants, func(g ipc.Grant) bool { return g.Scope != "turn" })
		if len(got) == want {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	s.t.Fatalf("there are never %d grants of the turn", want)
}

// begin begins a turn, which must work.
func (s *skillful) begin(allow ...string) {
	s.t.Helper()
	if err := s.turn(allow...); err != nil {
		s.t.Fatal(err)
	}
}

// Skill permissions: temporary, turn-scoped. Other than the specification, a
// skill's list is a question to a person, unless they trusted this very file
// before (R-SH-05).
//
//   - Row 003-29 different: a skill's list is trusted | a person approves the list first (R-SH-05)
func TestConformanceSkills(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		s := newSkillful(t, a)
		defer s.clear()
		list := []string{"Bash(make build *)", "Bash(make exactly)", "send_email"}
		s.begin(list...)
		s.try("make build", approvaltest.Open)
		s.yes(approval.ScopeOnce)
		s.granted(3)
		s.try("make build all", approvaltest.Approved)
		s.try("make exactly", approvaltest.Approved)
		s.try("make exactly this", approvaltest.Open)
		s.begin()
		s.granted(0)
		s.try("make build all", approvaltest.Open)
		s.begin(list...)
		s.yes(approval.ScopeSession)
		s.granted(3)
		s.begin(list...) // the same file with the same list: trusted
		s.try("make build all", approvaltest.Approved)
		a.sh("echo 'And more.' >> skills/build.md")
		s.begin(list...)
		s.try("make build all", approvaltest.Open)
		for _, bad := range []string{"Bash", "Bash(*)", "Bash(make $X)", "edit(x)"} {
			if err := s.turn(bad); ipc.CodeOf(err) != ipc.CodeBadRequest {
				t.Errorf("%s: %v", bad, err)
			}
		}
	})
}

// What a skill's list names may execute files of the project: the yes covers them as
// they were at the question, which says so. R-SH-05 R-AP-05
//
//   - Row 003-28 yes: permissions of a skill, for the turn, also where the command executes project files
func TestConformanceSkillFiles(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		s := newSkillful(t, a)
		defer s.clear()
		says := func(q ipc.Approval, want ...string) {
			t.Helper()
			for _, w := range want {
				if !strings.Contains(strings.Join(q.Reasons, "\n"), w) {
					t.Errorf("the question about %s says %q, want %q", q.Description, q.Reasons, w)
				}
			}
		}
		a.sh("echo 'build all:' > Makefile && echo '{}' > package.json && mkdir build")
		list := []string{"Bash(make build *)", "Bash(npm run *)", "Bash(bash *)"}
		s.begin(list...)
		says(s.asked(), `"make build": with Makefile as now`, `"npm run": with package.json as now`,
			`"bash" asks in spite of a yes`)
		s.yes(approval.ScopeSession)
		s.granted(3)
		s.try("make build", approvaltest.Approved)
		s.try("make build all", approvaltest.Approved)
		s.try("npm run lint", approvaltest.Approved)
		s.try("bash -c 'echo x > y'", approvaltest.Open)
		s.try("make build -f other.mk", approvaltest.Approved) // there is none
		a.sh("echo x > other.mk")
		says(s.try("make build -f other.mk", approvaltest.Open), "approved before this content of other.mk")
		a.sh("echo '\techo changed' >> Makefile")
		says(s.try("make build all", approvaltest.Open), "approved before this content of Makefile")
		s.try("npm run lint", approvaltest.Approved)
		s.begin(list...) // other content: the same list is a question again
		says(s.asked(), `"make build": with Makefile as now`)
	})
}
