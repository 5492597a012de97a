package acceptance

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"sandboxd/ipc"
)

// A yes is to the input that came with the request, too: other input to the same
// command is another question, whose answer is none to this one, and a ticket for the
// command is none for input that nobody saw. R-AP-05
func TestAYesIsToItsInput(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.start()
		ctx, cancel := within(t)
		defer cancel()
		person := a.personPeer("ann", true)
		a.trust(ctx, person)
		agent := a.fileAgent(a.agentPeer("editor"), ipc.KindAPI)
		ask := func(call, code string) string {
			t.Helper()
			x, err := agent.StartExec(ctx, ipc.ExecRequest{Session: agent.session, CallID: call, Command: "sh",
				Stdin: ipc.StdinInline, StdinData: []byte(code), Keep: true})
			if err != nil {
				t.Fatal(err)
			}
			return x.ID
		}
		made := func(name string) bool { _, err := os.Stat(filepath.Join(a.project, name)); return err == nil }

		// Two at once: neither counts as the other.
		one, two := ask("one", "touch one"), ask("two", "touch two")
		q, other := question(ctx, t, &person.approver, "one"), question(ctx, t, &person.approver, "two")
		if q.Count > 1 || other.Count > 1 {
			t.Errorf("other input passes for the same question: %d, %d", q.Count, other.Count)
		}
		decide(ctx, t, &person.approver, q, ipc.Answer{Allow: true, Scope: "group"})
		endOf(t, ctx, agent.Client, one)
		if !made("one") || made("two") {
			t.Errorf("one ran: %v, two ran: %v", made("one"), made("two"))
		}
		decide(ctx, t, &person.approver, question(ctx, t, &person.approver, "two"), ipc.Answer{Mode: "soft"})
		if exit := endOf(t, ctx, agent.Client, two); exit.Denied == nil || made("two") {
			t.Errorf("what was refused ran: %+v", exit)
		}
		// Afterwards it is asked again.
		three := ask("three", "touch three")
		decide(ctx, t, &person.approver, question(ctx, t, &person.approver, "three"), ipc.Answer{Mode: "soft"})
		if exit := endOf(t, ctx, agent.Client, three); exit.Denied == nil || made("three") {
			t.Errorf("an earlier yes ran other input: %+v", exit)
		}

		// A ticket for the command without input.
		go func() {
			for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
				list, err := person.approver.Approvals(ctx)
				if err == nil && len(list.Approvals) > 0 {
					q := list.Approvals[0]
					person.approver.Decide(ctx, ipc.Answer{ID: q.ID, Rev: q.Rev, Hash: q.Hash, Allow: true})
					return
				}
			}
		}()
		v, err := agent.Check(ctx, ipc.CheckRequest{Session: agent.session, Command: "sh", Cwd: a.project, TicketMS: 60000})
		if err != nil || !v.Allowed || v.Ticket == "" {
			t.Fatalf("%+v, %v", v, err)
		}
		x, err := agent.StartExec(ctx, ipc.ExecRequest{Ticket: v.Ticket, CallID: "redeemed", Command: "sh", Cwd: a.project,
			Stdin: ipc.StdinInline, StdinData: []byte("touch four"), Keep: true})
		if err != nil {
			t.Fatal(err)
		}
		decide(ctx, t, &person.approver, question(ctx, t, &person.approver, "redeemed"), ipc.Answer{Mode: "soft"})
		if exit := endOf(t, ctx, agent.Client, x.ID); exit.Denied == nil || made("four") {
			t.Errorf("a ticket ran input that nobody saw: %+v", exit)
		}
	})
}
