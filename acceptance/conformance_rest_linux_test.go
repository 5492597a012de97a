package acceptance

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"sandboxd/approval"
	"sandboxd/approval/approvaltest"
	"sandboxd/ipc"
)

// begin returns a performance on the stage for calls that no scenario has.
func (st *stage) begin(t *testing.T) *performance {
	return &performance{t: t, st: st, open: map[[2]string]*opened{}, calls: map[string]*made{},
		confirm: map[string]bool{}}
}

// R-AP-16: the events that end a question otherwise than by a yes or a no to it alone.
//
//   - Row 001-65 yes: PERMISSION_TIMEOUT
//   - Row 001-66 yes: PERMISSION_APPROVE_ALL and PERMISSION_QUIT
func TestConformanceEvents(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		st := newStage(a, "")
		p := st.begin(t)
		defer p.clear()
		news, err := st.person().News(t.Context(), ipc.NewsRequest{})
		if err != nil {
			t.Fatal(err)
		}
		defer news.Close()
		next := func(kind string) ipc.News {
			ctx, cancel := within(t)
			defer cancel()
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
		later := []approvaltest.Later{{Tool: "post", Args: map[string]any{"to": "later"}}}
		call := func(name string) approvaltest.Call {
			return approvaltest.Call{Name: name, Tool: "post", Args: map[string]any{"to": name}, Session: name,
				Batch: name, Index: 1, Total: 2, Later: later}
		}
		for _, step := range []struct {
			call approvaltest.Call
			verb approval.Verb
			kind string
		}{
			{call("all"), approval.VerbAllowAll, ipc.NewsApproveAll}, {call("quit"), approval.VerbQuit, ipc.NewsQuit},
		} {
			if err := p.make(step.call); err != nil {
				t.Fatal(err)
			}
			if err := p.answer(approvaltest.Answer{To: step.call.Name, Verb: step.verb}); err != nil {
				t.Fatal(err)
			}
			if n := next(step.kind); n.Decision == nil && n.Session == nil && n.Approval == nil {
				t.Errorf("%s says nothing: %+v", step.kind, n)
			}
		}
		st.configure(t, shortTimes)
		if err := p.make(call("late")); err != nil {
			t.Fatal(err)
		}
		if d := next(ipc.NewsTimedOut).Decision; d == nil || d.Allowed || d.Reason != string(approval.ReasonTimeout) {
			t.Errorf("timed out: %+v", d)
		}
	})
}

// R-AU-01: each decision is on record with its time, tool, call, operation and verdict, and
// whether a person made it.
//
//   - Row 001-74 yes: audit: timestamp, tool, id, operation, decision, auto
func TestConformanceRecord(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		st := newStage(a, "")
		p := st.begin(t)
		defer p.clear()
		for name, tool := range map[string]string{"auto": "list_files", "asked": "post"} {
			if err := p.make(approvaltest.Call{Name: name, Tool: tool, Args: map[string]any{"to": "x"}}); err != nil {
				t.Fatal(err)
			}
		}
		if err := p.answer(approvaltest.Answer{To: "asked", Verb: approval.VerbDeny, Mode: approval.RejectSoft}); err != nil {
			t.Fatal(err)
		}
		page, err := st.person().Audit(t.Context(), ipc.AuditRequest{Category: "decision", Limit: 100})
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]map[string]string{
			"auto":  {"tool": "list_files", "decision": "approved", "how": "auto"},
			"asked": {"tool": "post", "decision": "denied", "how": "person"},
		}
		for _, raw := range page.Records {
			var r map[string]any
			if err := json.Unmarshal(raw, &r); err != nil {
				t.Fatal(err)
			}
			id, _ := r["call_id"].(string)
			for key, value := range want[id] {
				if r[key] != value {
					t.Errorf("%s: %s is %v, want %s: %s", id, key, r[key], value, raw)
				}
			}
			if want[id] != nil && (r["time"] == nil || r["operation"] == nil) {
				t.Errorf("%s: no time or operation: %s", id, raw)
			}
			delete(want, id)
		}
		if len(want) > 0 {
			t.Errorf("not on record: %v", want)
		}
	})
}

// R-AP-05 R-AP-24 R-SH-03: the binding of a command's approval, and the lists of commands and
// tools.
//
//   - Row 000-50 different: payload {"command", "rule"} | the payload is finer: the directory and
//     the files that are executed count, too (R-AP-05)
//   - Row 001-13 yes: auto_approve_safe_commands
//   - Row 001-14 yes: safe_commands, a list of one's own
//   - Row 001-38 different: file_* names as tools in /v1/check | a tool that the agent runs itself
//     is in the tables or asks (R-AP-24); the daemon's own file tool is POST /v1/files
func TestConformanceLists(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		st := newStage(a, "")
		a.sh("mkdir -p sub")
		agent := a.fileAgent(st.agent(""), ipc.KindAPI)
		judge := func(r ipc.CheckRequest) ipc.Verdict {
			t.Helper()
			r.Session, r.DryRun = agent.session, true
			v, err := agent.Check(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		wants := func(what string, v ipc.Verdict, decision string) {
			t.Helper()
			if v.Decision != decision {
				t.Errorf("%s: %s (%v), want %s", what, v.Decision, v.Reasons, decision)
			}
		}
		v := judge(ipc.CheckRequest{Tool: "file_read", Args: json.RawMessage(`{"file":"README"}`)})
		wants("file_read", v, ipc.DecisionAsk)

		sub := a.project + "/sub"
		bound := ipc.CheckRequest{Session: agent.session, CallID: "bound", Command: "touch x", Cwd: sub}
		given := make(chan ipc.Verdict, 1)
		go func() {
			v, err := agent.Check(context.WithoutCancel(t.Context()), bound)
			if err != nil {
				t.Error(err)
			}
			given <- v
		}()
		ctx, cancel := within(t)
		defer cancel()
		q := question(ctx, t, st.person(), "bound")
		var payload map[string]any
		if err := json.Unmarshal(q.Input, &payload); err != nil || payload["line"] != "touch x" || payload["cwd"] != sub {
			t.Errorf("the payload is %s, %v", q.Input, err)
		}
		decide(ctx, t, st.person(), q, ipc.Answer{Allow: true, Scope: "session"})
		if v := <-given; !v.Allowed {
			t.Errorf("it was approved: %+v", v)
		}
		bound.CallID = "same"
		if v, err := agent.Check(ctx, bound); err != nil || !v.Allowed || v.Decision != ipc.DecisionAuto {
			t.Errorf("the same: %+v, %v", v, err)
		}
		wants("another directory", judge(ipc.CheckRequest{Command: "touch x", Cwd: a.project}), ipc.DecisionAsk)
		wants("another line", judge(ipc.CheckRequest{Command: "touch y", Cwd: sub}), ipc.DecisionAsk)

		wants("ls", judge(ipc.CheckRequest{Command: "ls"}), ipc.DecisionAuto)
		wants("mytool", judge(ipc.CheckRequest{Command: "mytool x"}), ipc.DecisionAsk)
		st.configure(t, "[shell]\nsafe_commands = [\"mytool\"]\n")
		wants("mytool on the list", judge(ipc.CheckRequest{Command: "mytool x"}), ipc.DecisionAuto)
		wants("another tool", judge(ipc.CheckRequest{Command: "mytools x"}), ipc.DecisionAsk)
		st.configure(t, "[shell]\nauto_safe = false\n")
		v = judge(ipc.CheckRequest{Command: "ls"})
		wants("ls, with auto_safe = false", v, ipc.DecisionAsk)
		if !slices.ContainsFunc(v.Reasons, func(s string) bool { return strings.Contains(s, "safe list") }) {
			t.Errorf("it does not say why: %v", v.Reasons)
		}
	})
}
