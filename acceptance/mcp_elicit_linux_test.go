package acceptance

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sandboxd/ipc"
)

// clientAnswers lets the client of `sbx mcp` answer, and makes commands of the
// safe list ask: what is left to ask about at a low risk.
const clientAnswers = "[approval]\nclient_answers = true\ntimeout = \"60s\"\ntimeout_remote = " +
	"\"60s\"\n[shell]\nauto_safe = false\n"

// aPerson answers what the client's user is not asked about, or turns down.
func aPerson(q ipc.Approval) ipc.Answer {
	switch {
	case !q.Client:
		return ipc.Answer{Mode: "soft", Note: "a person said no"}
	case strings.Contains(q.Command, "wc"):
		return ipc.Answer{Allow: true}
	}
	return ipc.Answer{}
}

// The client's own user is asked where the configuration says so: about a low risk,
// once, and the log says through whom. Nothing else is offered to them, and the
// daemon takes nothing else, whatever the program that asks says on the wire.
func TestMCPElicitation(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		st := newStage(a, clientAnswers)
		person := st.persons["terminal"]
		person.answering(t, aPerson)
		other := newActor(t, a.user()) // not trusted
		var seen *safeBuffer
		options := &mcp.ClientOptions{ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			seen.Write([]byte(r.Params.Message + "\x00"))
			switch {
			case strings.Contains(r.Params.Message, "cat README"):
				return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"answer": "yes"}}, nil
			case strings.Contains(r.Params.Message, "ls"):
				return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"answer": "no"}}, nil
			case strings.Contains(r.Params.Message, "pwd"):
				return &mcp.ElicitResult{Action: "decline"}, nil
			case strings.Contains(r.Params.Message, "wc"):
				return &mcp.ElicitResult{Action: "cancel"}, nil
			case strings.Contains(r.Params.Message, "head"):
				return &mcp.ElicitResult{Action: "accept"}, nil // without an answer
			}
			return nil, errors.New("unexpected")
		}}
		times := func(text string) int { return strings.Count(seen.String(), text) }
		for _, version := range []string{"", "2025-11-25", "2025-06-18"} {
			seen = new(safeBuffer)
			s := a.mcpClientWith(options, &mcp.ClientSessionOptions{ProtocolVersion: version})
			call := func(command string, more ...string) (string, map[string]any, bool) {
				args := map[string]any{"command": command}
				if len(more) > 0 {
					args["root"] = more[0]
				}
				return tool(t, s, "exec", args)
			}
			for range 2 { // a yes holds once: the second time it asks again
				if text, out, bad := call("cat README"); bad || out["stdout"] != "hello\n" {
					t.Errorf("%s, allowed: %s", version, text)
				}
			}
			if times("cat README") != 2 || !strings.Contains(seen.String(), a.project) {
				t.Errorf("%s: it was asked %q", version, seen.String())
			}
			for _, command := range []string{"ls", "pwd"} {
				if text, _, bad := call(command); !bad || !strings.Contains(text, "User denied") {
					t.Errorf("%s, %s: %s", version, command, text)
				}
			}
			// Dismissed: it is left to the person at sbx approve.
			if text, out, bad := call("wc -c README"); bad || out["stdout"] != "6 README\n" {
				t.Errorf("%s, dismissed: %s", version, text)
			}
			// An answer that says nothing is none.
			go func() {
				for times("head") == 0 && t.Context().Err() == nil {
					time.Sleep(50 * time.Millisecond)
				}
				for _, q := range pendingOf(t, person) {
					person.approver.Decide(t.Context(), ipc.Answer{ID: q.ID, Rev: q.Rev, Hash: q.Hash, Mode: "soft", Note: "a person said no"})
				}
			}()
			if text, _, _ := call("head README"); !strings.Contains(text, "a person said no") {
				t.Errorf("%s, an empty answer: %s", version, text)
			}
			// Not offered: more than a low risk, a project that a yes would trust, a file.
			before := seen.String()
			for _, c := range [][]string{{"touch made"}, {"rm README"}, {"cat ~/x"}, {"cat README", other.project}, {"git config user.name x"}} {
				if text, _, bad := call(c[0], c[1:]...); !bad || !strings.Contains(text, "a person said no") {
					t.Errorf("%s, %q: %s", version, c, text)
				}
			}
			if text, _, bad := tool(t, s, "write", map[string]any{"path": "new", "content": "x"}); !bad || !strings.Contains(text, "a person said no") {
				t.Errorf("%s, a file: %s", version, text)
			}
			if seen.String() != before {
				t.Errorf("%s: it was asked about more: %s", version, strings.TrimPrefix(seen.String(), before))
			}
		}
		page, err := person.approver.Audit(t.Context(), ipc.AuditRequest{Grep: "through the agent's own client"})
		if err != nil || len(page.Records) < 12 {
			t.Errorf("%d records say who answered, %v", len(page.Records), err)
		}
		// A client that can't, and a configuration that does not say so.
		plain := a.mcpClient()
		go func() {
			for len(pendingOf(t, person)) == 0 && t.Context().Err() == nil {
				time.Sleep(50 * time.Millisecond)
			}
			for _, q := range pendingOf(t, person) {
				if q.Client {
					t.Errorf("offered to a client that can't: %+v", q)
				}
			}
		}()
		if text, _, bad := tool(t, plain, "exec", map[string]any{"command": "cat README"}); !bad || !strings.Contains(text, "a person said no") {
			t.Errorf("a client without elicitation: %s", text)
		}
		st.configure(t, strings.Replace(clientAnswers, "client_answers = true", "", 1))
		seen = new(safeBuffer)
		s := a.mcpClientWith(options, nil)
		if text, _, bad := tool(t, s, "exec", map[string]any{"command": "cat README"}); !bad || !strings.Contains(text, "a person said no") || seen.String() != "" {
			t.Errorf("by default: %s; it was asked %q", text, seen.String())
		}
	})
}

func pendingOf(t *testing.T, person *peer) []ipc.Approval {
	list, err := person.approver.Approvals(t.Context())
	if err != nil && t.Context().Err() == nil {
		t.Error(err)
	}
	return list.Approvals
}

// A program that asks and says that its client can answer: the daemon takes a
// plain yes to a low risk for this once from it, and nothing wider, nothing else,
// and nothing from its neighbours.
func TestMCPElicitationOnTheWire(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		newStage(a, clientAnswers)
		agent, other := a.agentPeer("asks"), a.agentPeer("another")
		ctx := t.Context()
		s, err := agent.agent.OpenSession(ctx, ipc.SessionRequest{Kind: ipc.KindAPI, Root: a.project})
		if err != nil {
			t.Fatal(err)
		}
		c := &ipc.Client{Socket: agent.agent.Socket, Secret: s.Secret}
		defer c.Close()
		ask := func(q ipc.ExecRequest) (ipc.Approval, string) {
			t.Helper()
			q.Session, q.Client, q.Keep = s.ID, true, true
			started, err := c.StartExec(ctx, q)
			if err != nil {
				t.Fatal(err)
			}
			stream, err := c.ExecEvents(ctx, ipc.EventsRequest{ID: started.ID})
			if err != nil {
				t.Fatal(err)
			}
			defer stream.Close()
			for {
				e, err := stream.Next(ctx)
				if err != nil {
					t.Fatal(err)
				}
				if e.Approval != nil {
					return *e.Approval, started.ID
				}
				if e.Type == ipc.EventExit {
					t.Fatalf("%q was not asked about: %+v", q.Command, e.Exit)
				}
			}
		}
		answer := func(p *peer, q ipc.Approval, change func(*ipc.Answer)) error {
			x := ipc.Answer{Rev: q.Rev, Hash: q.Hash, Allow: true, Scope: "once"}
			change(&x)
			x.ID = q.ID
			_, err := p.approver.Decide(ctx, x)
			return err
		}
		plain := func(*ipc.Answer) {}
		q, id := ask(ipc.ExecRequest{Command: "cat README"})
		for name, change := range map[string]func(*ipc.Answer){
			"session":         func(x *ipc.Answer) { x.Scope = "session" },
			"turn":            func(x *ipc.Answer) { x.Scope = "turn" },
			"global":          func(x *ipc.Answer) { x.Scope = "global" },
			"agent":           func(x *ipc.Answer) { x.Scope = "agent" },
			"batch":           func(x *ipc.Answer) { x.Scope = "batch" },
			"no, for good":    func(x *ipc.Answer) { x.Allow, x.Scope = false, "global" },
			"no to the batch": func(x *ipc.Answer) { x.Allow, x.Scope = false, "batch" },
			"another hash":    func(x *ipc.Answer) { x.Hash = strings.Repeat("0", 64) },
		} {
			if err := answer(agent, q, change); err == nil {
				t.Errorf("%s was taken", name)
			}
		}
		if err := answer(agent, q, plain); err != nil {
			t.Errorf("a plain yes: %v", err)
		}
		if exit := endOf(t, ctx, c, id); exit.Code != 0 {
			t.Errorf("%+v", exit)
		}
		for _, r := range []ipc.ExecRequest{{Command: "touch made"}, {Command: "rm -rf .git"}, {Command: "cat ../x"}, {Command: "cat ~/.ssh/id_rsa"}, {Argv: []string{"make"}}} {
			q, id := ask(r)
			if q.Client {
				t.Errorf("%+v is offered", r)
			}
			for _, change := range []func(*ipc.Answer){plain, func(x *ipc.Answer) { x.Allow = false }} {
				if err := answer(agent, q, change); ipc.CodeOf(err) != ipc.CodeSelfApproval {
					t.Errorf("%+v: %v", r, err)
				}
			}
			c.CancelExec(ctx, ipc.CancelRequest{ID: id})
		}
		if _, err := os.Stat(filepath.Join(a.project, "made")); err == nil {
			t.Error("it ran")
		}
		// What it asks without saying so is not its to answer.
		started, err := c.StartExec(ctx, ipc.ExecRequest{Session: s.ID, Command: "cat README", Keep: true})
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, "it is asked", func() bool { return len(pendingOf(t, other)) > 0 })
		for _, q := range pendingOf(t, other) {
			if err := answer(agent, q, plain); ipc.CodeOf(err) != ipc.CodeSelfApproval {
				t.Errorf("%v", err)
			}
		}
		c.CancelExec(ctx, ipc.CancelRequest{ID: started.ID})
		// Nor does a terminal's session, or a ticket, get it.
		if _, err := c.StartExec(ctx, ipc.ExecRequest{Ticket: "x", Client: true, Command: "ls"}); ipc.CodeOf(err) != ipc.CodeBadRequest {
			t.Errorf("a ticket: %v", err)
		}
	})
}

// The client's user answers what they were shown: when somebody else has answered that, and
// the call is asked about again since it is another one by now, their yes is none to that.
// Promise 5
func TestMCPElicitationOutlived(t *testing.T) {
	t.Parallel()
	a := newActor(t, "")
	st := newStage(a, clientAnswers+"[sandbox]\nlayers = \"off\"\n")
	person := st.persons["terminal"]
	var again ipc.Approval
	options := &mcp.ClientOptions{ElicitationHandler: func(ctx context.Context,
		r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		first := pendingOf(t, person)[0]
		a.sh("cd " + a.project + " && mkdir nested && git init -q nested")
		if _, err := person.approver.Decide(ctx, ipc.Answer{ID: first.ID, Rev: first.Rev, Hash: first.Hash,
			Allow: true}); err != nil {
			t.Error(err)
		}
		eventually(t, "it is asked about again", func() bool {
			list := pendingOf(t, person)
			if len(list) > 0 {
				again = list[0]
			}
			return again.ID != "" && again.ID != first.ID
		})
		go func() { // what the yes would have answered is turned down a moment later
			time.Sleep(time.Second)
			person.approver.Decide(t.Context(), ipc.Answer{ID: again.ID, Rev: again.Rev, Hash: again.Hash, Mode: "soft",
				Note: "a person said no"})
		}()
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"answer": "yes"}}, nil
	}}
	s := a.mcpClientWith(options, nil)
	if text, _, bad := tool(t, s, "exec", map[string]any{"command": "cat README"}); !bad ||
		!strings.Contains(text, "a person said no") {
		t.Errorf("%s", text)
	}
	if !again.Client {
		t.Errorf("it was not on offer: %+v", again)
	}
}
