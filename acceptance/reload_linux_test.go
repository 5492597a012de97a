package acceptance

import (
	"testing"

	"sandboxd/approval/approvaltest"
	"sandboxd/ipc"
)

// R-AP-09, R-OP-06: a person's yes does not allow a call that the configuration forbids by then, not
// even one that the agent executes itself, which the daemon does not check again at its start. The
// question about an untrusted project says that a yes trusts the project, and the yes does so.
func TestReloadWhileAsked(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		st := newStage(a, "")
		p := &performance{t: t, st: st, open: map[[2]string]*opened{}, calls: map[string]*made{}}
		defer p.clear()
		yes := func(call approvaltest.Call, then string) *made {
			t.Helper()
			if err := p.make(call); err != nil {
				t.Fatal(err)
			}
			m := p.calls[call.Name]
			q, err := p.question(m)
			if err != nil {
				t.Fatal(err)
			}
			if then != "" {
				st.configure(t, then)
			}
			if _, err := st.person().Decide(t.Context(),
				ipc.Answer{ID: q.ID, Rev: q.Rev, Hash: q.Hash, Allow: true}); err != nil {
				t.Fatal(err)
			}
			<-m.done
			if m.err != nil {
				t.Fatal(m.err)
			}
			return m
		}
		if m := yes(approvaltest.Call{Name: "make", Tool: "bash", Args: map[string]any{"command": "make all"}},
			"[permissions]\ndeny = [\"Bash(make *)\"]\n"); m.allowed {
			t.Error("a command that is forbidden by now was allowed")
		}
		if m := yes(approvaltest.Call{Name: "post", Tool: "post", Args: map[string]any{"to": "x"}},
			"[permissions]\ndeny = [\"post\"]\n"); m.allowed {
			t.Error("a tool that is forbidden by now was allowed")
		}
		st.configure(t, "[approval]\ntimeout = \"60s\"\n")
		if err := st.person().Distrust(t.Context(), ipc.TrustRequest{Dir: a.project}); err != nil {
			t.Fatal(err)
		}
		if m := yes(approvaltest.Call{Name: "build", Tool: "bash", Args: map[string]any{"command": "make build"}},
			""); !m.allowed {
			t.Errorf("it was not allowed: %s", m.message)
		}
		if list, err := st.person().Trusted(t.Context()); err != nil || len(list.Trusted) != 1 {
			t.Errorf("trusted are %+v, %v; the question said that a yes does so", list, err)
		}
	})
}
