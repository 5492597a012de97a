package acceptance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sandboxd/approval"
	"sandboxd/approval/approvaltest"
	"sandboxd/ipc"
)

// conformed runs f at a stage whose persons answer by a front end, with a performance that has no scenario.
func conformed(t *testing.T, front func(*stage) frontEnd, f func(*performance)) {
	bothUsers(t, func(t *testing.T, a *actor) {
		st := newStageAnswering(a, "", front)
		p := &performance{t: t, st: st,
			open: map[[2]string]*opened{}, calls: map[string]*made{}, confirm: map[string]bool{}}
		defer p.clear()
		f(p)
	})
}

// do plays one step.
func (p *performance) do(s approvaltest.Step) {
	p.t.Helper()
	if err := p.step(0, s); err != nil {
		p.t.Fatalf("%s: %v", s.Say, err)
	}
}

func searching(name, session, query string, want approvaltest.Want) approvaltest.Step {
	want.Call = name
	call := approvaltest.Call{Name: name, Session: session, Tool: "WebSearch", Args: map[string]any{"query": query}}
	return approvaltest.Step{Say: name, Call: &call, Want: []approvaltest.Want{want}}
}

// A chat hears of a question that another approver answered, and an answer that comes after it
// changes nothing. R-AP-15
//
//   - Row 002-24 yes: the stream reports a question that another approver answered as resolved
func TestConformanceChatAnswersOutsideTheTerminal(t *testing.T) {
	t.Parallel()
	conformed(t, newChat, func(p *performance) {
		p.do(searching("one", "", "go", approvaltest.Want{State: approvaltest.Open}))
		m, c := p.calls["one"], p.st.front.(*chat)
		q, err := p.question(m)
		if err != nil {
			p.t.Fatal(err)
		}
		no := approvaltest.Answer{Verb: approval.VerbDeny, Note: "not now", Mode: approval.RejectSoft}
		if _, err := p.decide(q, no); err != nil {
			p.t.Fatal(err)
		}
		done, err := c.first(q.ID, "tool_permission_resolved")
		if err != nil || done["behavior"] != "deny" || !strings.Contains(done["by"].(string), "pid ") {
			p.t.Errorf("the chat received %v, %v", done, err)
		}
		late := map[string]any{"conversation_id": m.session.id, "permission_id": q.ID, "behavior": "allow"}
		status, text, _ := c.request("POST", "/v1/agent/tool_permission", late, nil)
		if status < 400 || !strings.Contains(text, string(ipc.CodeAlreadyDecided)) {
			p.t.Errorf("a late answer: %d %s", status, text)
		}
		p.do(approvaltest.Step{Say: "the agent",
			Want: []approvaltest.Want{{Call: "one", State: approvaltest.Denied, Text: "not now"}}})
	})
}

// An answer for the session is in the daemon's memory alone: no file of grants has it, and the next
// daemon asks again, while an answer for all agents is there.
//
//   - Row 003-38 yes: session scope is memory only
func TestConformanceSessionMemory(t *testing.T) {
	t.Parallel()
	conformed(t, newSocket, func(p *performance) {
		asks := approvaltest.Want{State: approvaltest.Open}
		runs := approvaltest.Want{State: approvaltest.Approved, How: approval.HowAuto, Reason: approval.ReasonGrant}
		allow := func(call string, scope approval.Scope) approvaltest.Step {
			yes := approvaltest.Answer{To: call, Verb: approval.VerbAllow, Scope: scope}
			return approvaltest.Step{Say: "allow " + call, Answer: &yes}
		}
		p.do(searching("session", "main", "for-session", asks))
		p.do(allow("session", approval.ScopeSession))
		p.do(searching("global", "main", "for-everyone", asks))
		p.do(allow("global", approval.ScopeGlobal))
		p.do(searching("session again", "main", "for-session", runs))
		stored := p.stored()
		if !strings.Contains(stored, "for-everyone") || strings.Contains(stored, "for-session") {
			p.t.Errorf("the files of grants hold\n%s", stored)
		}
		// The next daemon, with the same files.
		p.clearSessions()
		p.st.start("--config", p.st.configFile())
		p.st.persons[approval.ViaTerminal] = p.st.personPeer("later", true)
		p.st.front = nil
		list := p.st.sbx("grants", "ls").out
		if !strings.Contains(list, "for-everyone") || strings.Contains(list, "for-session") {
			p.t.Errorf("the next daemon's grants:\n%s", list)
		}
		p.do(searching("global later", "later", "for-everyone", runs))
		p.do(searching("session later", "later", "for-session", asks))
	})
}

// clearSessions forgets the sessions of a daemon that ended.
func (p *performance) clearSessions() {
	for key, o := range p.open {
		o.client.Close()
		delete(p.open, key)
	}
}

// stored is everything that the daemon keeps on disk about grants.
func (p *performance) stored() string {
	var all strings.Builder
	err := filepath.WalkDir(p.st.dir, func(path string, e os.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() && strings.Contains(e.Name(), "grants") {
			b, rerr := os.ReadFile(path)
			all.Write(b)
			return rerr
		}
		return nil
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return all.String()
}

// Another tool than the shell asks in the same box, with the same keys.
//
//   - Row 004-44 yes: a web search asks through the same dialog
func TestConformanceDialogTool(t *testing.T) {
	t.Parallel()
	conformed(t, newDialog, func(p *performance) {
		p.do(searching("one", "", "weather in Bonn", approvaltest.Want{State: approvaltest.Open}))
		yes := approvaltest.Answer{To: "one", Verb: approval.VerbAllow, Scope: approval.ScopeOnce}
		p.do(approvaltest.Step{Say: "Allow once", Answer: &yes,
			Want: []approvaltest.Want{{Call: "one", State: approvaltest.Approved, How: approval.HowPerson}}})
		p.do(searching("two", "", "weather in Bonn", approvaltest.Want{State: approvaltest.Open}))
		no := approvaltest.Answer{To: "two", Verb: approval.VerbDeny, Note: "too dangerous"}
		p.do(approvaltest.Step{Say: "Deny", Answer: &no,
			Want: []approvaltest.Want{{Call: "two", State: approvaltest.Denied, Text: "too dangerous"}}})
	})
}
