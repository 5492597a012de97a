package acceptance

import (
	"fmt"
	"strings"
	"testing"

	"sandboxd/approval"
	"sandboxd/approval/approvaltest"
	"sandboxd/ipc"
)

// Who may answer, and which answer counts, through the sockets.
//
//   - Row 001-70 yes (first-wins): a second answer to a decided question is harmless
//   - Row card-02 yes (first-wins): a call is checked, and its question is put to approvers
func TestConformanceAnswers(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		st := newStage(a, "")
		asked := func(t *testing.T, call approvaltest.Call) (*performance, *made, ipc.Answer) {
			p := &performance{t: t, st: st, open: map[[2]string]*opened{}, calls: map[string]*made{}}
			t.Cleanup(p.clear)
			if err := p.make(call); err != nil {
				t.Fatal(err)
			}
			m := p.calls[call.Name]
			q, err := p.question(m)
			if err != nil {
				t.Fatal(err)
			}
			return p, m, ipc.Answer{ID: q.ID, Rev: q.Rev, Hash: q.Hash, Allow: true}
		}
		post := approvaltest.Call{Name: "post", Tool: "post", Args: map[string]any{"to": "x"}}
		build := approvaltest.Call{Name: "make", Tool: "bash", Args: map[string]any{"command": "make"}}

		// R-IP-01: a process that asks can't answer, neither about a tool that it
		// runs itself nor about a command.
		for _, call := range []approvaltest.Call{post, build} {
			t.Run("not-by-the-asker/"+call.Name, func(t *testing.T) {
				p, m, yes := asked(t, call)
				_, err := st.agent("").approver.Decide(t.Context(), yes)
				if ipc.CodeOf(err) != ipc.CodeSelfApproval {
					t.Errorf("the asker's own yes: %v", err)
				}
				if err := p.check(approvaltest.Want{Call: m.call.Name, State: approvaltest.Open}); err != nil {
					t.Error(err)
				}
			})
		}

		// R-AP-15: the first answer wins, its repetition gets the same receipt,
		// and any other hears who was first.
		t.Run("first-wins", func(t *testing.T) {
			p, m, yes := asked(t, post)
			first, err := st.person().Decide(t.Context(), yes)
			if err != nil || !first.Allowed {
				t.Fatalf("%+v, %v", first, err)
			}
			again, err := st.person().Decide(t.Context(), yes)
			if err != nil || again.By != first.By || !again.Allowed || !again.Time.Equal(first.Time) {
				t.Errorf("the repetition got %+v, %v; want %+v", again, err, first)
			}
			no := yes
			no.Allow = false
			if _, err := st.persons[approval.ViaRemote].approver.Decide(t.Context(), no); ipc.CodeOf(err) != ipc.CodeAlreadyDecided {
				t.Errorf("the second answer: %v", err)
			}
			if err := p.check(approvaltest.Want{Call: m.call.Name, State: approvaltest.Approved, How: approval.HowPerson}); err != nil {
				t.Error(err)
			}
		})

		// R-AP-10, R-AP-14: a yes to something else than what is pending is none.
		t.Run("bound", func(t *testing.T) {
			p, m, yes := asked(t, post)
			for name, answer := range map[string]ipc.Answer{
				"another hash":     {ID: yes.ID, Rev: yes.Rev, Hash: "0", Allow: true},
				"another revision": {ID: yes.ID, Rev: yes.Rev + 1, Hash: yes.Hash, Allow: true},
			} {
				if _, err := st.person().Decide(t.Context(), answer); ipc.CodeOf(err) != ipc.CodeStale {
					t.Errorf("%s: %v", name, err)
				}
			}
			if err := p.check(approvaltest.Want{Call: m.call.Name, State: approvaltest.Open}); err != nil {
				t.Error(err)
			}
		})

		// R-AP-13: the second yes comes from who gave the first.
		t.Run("second-yes", func(t *testing.T) {
			p, m, yes := asked(t, approvaltest.Call{Name: "delete", Tool: "delete", Args: map[string]any{"file": "x"}})
			second := yes
			second.Confirm = true
			if _, err := st.person().Decide(t.Context(), second); ipc.CodeOf(err) != ipc.CodeConfirm {
				t.Errorf("a second yes without a first: %v", err)
			}
			if d, err := st.person().Decide(t.Context(), yes); err != nil || !d.ConfirmAgain {
				t.Errorf("the first yes: %+v, %v", d, err)
			}
			if _, err := st.persons[approval.ViaRemote].approver.Decide(t.Context(), second); ipc.CodeOf(err) != ipc.CodeConfirm {
				t.Errorf("somebody else's second yes: %v", err)
			}
			if err := p.check(approvaltest.Want{Call: m.call.Name, State: approvaltest.Open}); err != nil {
				t.Error(err)
			}
		})

		// R-AP-12: a turn wants the session's secret; another session's is none.
		t.Run("turn-wants-the-secret", func(t *testing.T) {
			p, m, _ := asked(t, post)
			other, err := p.session("second", "")
			if err != nil {
				t.Fatal(err)
			}
			for name, c := range map[string]*ipc.Client{"no secret": &st.agent("").agent, "another's secret": other.client} {
				if _, err := c.Turn(t.Context(), ipc.TurnRequest{Session: m.session.id}); ipc.CodeOf(err) != ipc.CodeSecret {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	})
}

// R-AP-16, R-AP-17, R-AP-20, R-AP-21: what an approver can see of it all.
//
//   - Row 001-63 yes: PERMISSION_REQUEST with tool data, index, total, timeout
//   - Row 001-64 yes: PERMISSION_GRANTED / DENIED
//   - Row 001-72 yes: reset_stats
//   - Row 001-85 yes: dry run
func TestConformanceWatching(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		st := newStage(a, "")
		p := &performance{t: t, st: st, open: map[[2]string]*opened{}, calls: map[string]*made{}, confirm: map[string]bool{}}
		defer p.clear()
		news, err := st.persons[approval.ViaRemote].approver.News(t.Context(), ipc.NewsRequest{})
		if err != nil {
			t.Fatal(err)
		}
		defer news.Close()
		ctx, cancel := within(t)
		defer cancel()
		next := func(kind string) ipc.News {
			t.Helper()
			for {
				n, err := news.Next(ctx)
				if err != nil {
					t.Fatalf("wait for %q: %v", kind, err)
				}
				if n.Type == kind {
					return n
				}
			}
		}
		do := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		post := func(name, to string) approvaltest.Call {
			return approvaltest.Call{Name: name, Tool: "post", Args: map[string]any{"to": to, "api_key": "hunter2"}}
		}

		o, err := p.session("main", "")
		do(err)
		dry, err := o.client.Check(ctx, ipc.CheckRequest{Session: o.id, Tool: "post", Args: arguments(post("", "x").Args), DryRun: true})
		if err != nil || dry.Decision != ipc.DecisionAsk || dry.Allowed {
			t.Errorf("dry run: %+v, %v", dry, err)
		}
		do(p.make(post("first", "x")))
		asked := next(ipc.NewsRequested)
		if q := asked.Approval; q == nil || q.CallID != "first" || q.Session != o.id || !q.Claimed || strings.Contains(string(q.Input)+q.Description, "hunter2") {
			t.Errorf("requested: %+v", asked.Approval)
		}
		do(p.answer(approvaltest.Answer{To: "first", Verb: approval.VerbAllow, Scope: approval.ScopeSession, Note: "for today"}))
		granted := next(ipc.NewsGranted)
		if d := granted.Decision; d == nil || d.ID != asked.Approval.ID || d.How != "person" || !strings.Contains(d.By, "terminal") || d.Note != "for today" || d.Grant == "" {
			t.Errorf("granted: %+v", granted.Decision)
		}
		do(p.make(post("second", "x")))
		if d := next(ipc.NewsGranted).Decision; d == nil || d.How != "auto" || d.Grant != granted.Decision.Grant {
			t.Errorf("granted by the grant: %+v", d)
		}
		g, err := st.person().Grant(ctx, ipc.GrantRequest{ID: granted.Decision.Grant})
		if err != nil || !g.Allow || g.Scope != "session" || g.Session != o.id || g.By != granted.Decision.By || g.Note != "for today" || g.Uses != 1 || len(g.Explain) == 0 {
			t.Errorf("the grant: %+v, %v", g, err)
		}
		do(st.person().Revoke(ctx, ipc.GrantRequest{ID: g.ID}))
		if r := next(ipc.NewsRevoked).Grant; r == nil || r.ID != g.ID {
			t.Errorf("revoked: %+v", r)
		}
		do(p.make(post("third", "x")))
		do(p.answer(approvaltest.Answer{To: "third", Verb: approval.VerbDeny, Mode: approval.RejectSoft}))
		if d := next(ipc.NewsDenied).Decision; d == nil || d.Mode != "soft" || d.Allowed {
			t.Errorf("denied: %+v", d)
		}
		stats, err := p.stats("main")
		if want := (approval.Stats{Total: 3, Approved: 1, AutoApproved: 1, Denied: 1}); err != nil || stats != want {
			t.Errorf("statistics %+v, %v; want %+v", stats, err, want)
		}
		do(st.person().ResetStats(ctx))
		if all, err := st.person().Stats(ctx); err != nil || all.Overall.Total != 0 {
			t.Errorf("after the reset: %+v, %v", all, err)
		}
	})
}

// What news say of a grant is what the grant is. R-AP-16
func TestNewsOfGrants(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.start()
		ctx, cancel := within(t)
		defer cancel()
		person := a.personPeer("ann", true)
		news, err := person.approver.News(ctx, ipc.NewsRequest{})
		if err != nil {
			t.Fatal(err)
		}
		defer news.Close()
		reported := func(kind string) *ipc.Grant {
			t.Helper()
			for {
				n, err := news.Next(ctx)
				if err != nil {
					t.Fatalf("no news of type %q: %v", kind, err)
				}
				if n.Type == kind && n.Grant != nil {
					return n.Grant
				}
			}
		}
		a.trust(ctx, person)
		agent := a.fileAgent(a.agentPeer("editor"), ipc.KindAPI)
		for i, allow := range []bool{true, false} {
			call := fmt.Sprint("grant-", i)
			if _, err := agent.StartExec(ctx, ipc.ExecRequest{Session: agent.session, CallID: call, Command: "touch " + call,
				Keep: true}); err != nil {
				t.Fatal(err)
			}
			answer := ipc.Answer{Allow: allow, Scope: "session"}
			if !allow {
				answer.Mode = "soft"
			}
			decide(ctx, t, &person.approver, question(ctx, t, &person.approver, call), answer)
			made := reported("remembered")
			if made.Allow != allow || made.Scope != "session" || made.Session != agent.session || made.What == "" {
				t.Errorf("allow %v: made: %+v", allow, made)
			}
			if err := person.approver.Revoke(ctx, ipc.GrantRequest{ID: made.ID}); err != nil {
				t.Fatal(err)
			}
			if revoked := reported("revoked"); revoked.Allow != allow || revoked.Scope != "session" || revoked.ID != made.ID ||
				revoked.What != made.What {
				t.Errorf("allow %v: withdrawn: %+v", allow, revoked)
			}
		}
	})
}
