package acceptance

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"sandboxd/ipc"
)

// changeEvents reads the events of an agent and of a person about the change sets of the agent's commands.
type changeEvents struct {
	t     *testing.T
	agent fileAgent
	other fileAgent
	human *ipc.Client
	news  ipc.Stream[ipc.News]
}

func (a *actor) changeEvents() *changeEvents {
	a.t.Helper()
	k := &changeEvents{t: a.t, human: &a.personPeer("events", false).approver}
	k.agent = a.fileAgent(a.agentPeer("coder"), ipc.KindAPI)
	k.other = a.fileAgent(a.agentPeer("other"), ipc.KindAPI)
	var err error
	if k.news, err = k.human.News(a.t.Context(), ipc.NewsRequest{}); err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(func() { k.news.Close() })
	return k
}

// text is an event in short.
func (k *changeEvents) text(kind string, c *ipc.ChangeSet) string {
	k.t.Helper()
	direct := c.State == "direct" || c.State == "undone"
	if c.Session != k.agent.session || c.Project == "" || c.Exec == "" || c.ID == "" ||
		(c.Digest == "") != direct || (c.UndoID == "") != (kind == "changes" && !direct) {
		k.t.Errorf("%s: %+v", kind, c)
	}
	return fmt.Sprintf("%s %s %d+%d-%d left %d", kind, c.State, c.Created, c.Modified, c.Deleted, c.Left)
}

// expect reads as many events about change sets as are wanted from the person's stream, and answers the questions
// between them with a yes or no.
func (k *changeEvents) expect(yes bool, want ...string) {
	k.t.Helper()
	ctx, cancel := within(k.t)
	defer cancel()
	var got []string
	for len(got) < len(want) {
		n, err := k.news.Next(ctx)
		switch {
		case err != nil:
			k.t.Fatalf("%v after %q, want %q", err, got, want)
		case n.Change != nil:
			got = append(got, k.text(n.Type, n.Change))
		case n.Type == ipc.NewsRequested && n.Approval != nil:
			k.answer(ctx, *n.Approval, yes)
		}
	}
	if !slices.Equal(got, want) {
		k.t.Errorf("the person got the events %q, want %q", got, want)
	}
}

// answer answers a question, if need be twice. One that has changed meanwhile comes again.
func (k *changeEvents) answer(ctx context.Context, q ipc.Approval, yes bool) {
	k.t.Helper()
	answer := ipc.Answer{ID: q.ID, Rev: q.Rev, Hash: q.Hash, Allow: yes}
	if !yes {
		answer.Mode = "soft"
	}
	d, err := k.human.Decide(ctx, answer)
	if err == nil && d.ConfirmAgain {
		answer.Confirm, answer.Rev = true, d.Rev
		_, err = k.human.Decide(ctx, answer)
	}
	if code := ipc.CodeOf(err); err != nil && code != ipc.CodeStale && code != ipc.CodeAlreadyDecided {
		k.t.Error(err)
	}
}

// run runs a line and returns the change set's events among its own, and its end.
func (k *changeEvents) run(r ipc.ExecRequest) (id string, seen chan []string, end chan *ipc.Exit) {
	k.t.Helper()
	r.Session = k.agent.session
	started, events, err := k.agent.RunExec(k.t.Context(), r)
	if err != nil {
		k.t.Fatal(err)
	}
	seen, end = make(chan []string, 1), make(chan *ipc.Exit, 1)
	go func() {
		defer events.Close()
		var list []string
		for {
			e, err := events.Next(k.t.Context())
			if err != nil {
				k.t.Error(err)
			}
			if e.Change != nil {
				list = append(list, k.text(string(e.Type), e.Change))
			}
			if err != nil || e.Exit != nil {
				seen <- list
				end <- e.Exit
				return
			}
		}
	}()
	return started.ID, seen, end
}

// R-LY-05: an approver's events, and the agent's own in those of its command, say that a change set waits for an
// answer, is held, has landed, whole or in part, was dropped, or was undone; no other session sees them.
func TestLayersEvents(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		a.containedLayers("")
		a.repository()
		k := a.changeEvents()
		asks := plant("sub/.envrc", "x") + "; echo y > plain.md"
		for _, c := range []struct {
			what string
			r    ipc.ExecRequest
			yes  bool
			want []string
			code int
		}{
			{"landed", ipc.ExecRequest{Command: "echo x > new.md; echo y >> src/one.txt"}, true,
				[]string{"landed landed 1+1-0 left 0"}, 0},
			{"direct", ipc.ExecRequest{Command: "rm new.md", Direct: true}, true,
				[]string{"changes direct 0+0-1 left 0"}, 0},
			{"allowed", ipc.ExecRequest{Command: asks}, true,
				[]string{"changes asked 3+0-0 left 0", "landed landed 3+0-0 left 0"}, 0},
			{"refused", ipc.ExecRequest{Command: plant("more/.envrc", "z")}, false,
				[]string{"changes asked 2+0-0 left 0", "changes held 2+0-0 left 0"}, 126},
			{"by choice", ipc.ExecRequest{Command: "echo 1 > 1; echo 2 > 2; echo 3 > 3", Hold: true}, true,
				[]string{"changes held 3+0-0 left 0"}, 0},
		} {
			id, seen, end := k.run(c.r)
			k.expect(c.yes, c.want...)
			if got := <-seen; !slices.Equal(got, c.want) {
				t.Errorf("%s: the agent got the events %q, want %q", c.what, got, c.want)
			}
			x := <-end
			if x == nil || x.Code != c.code {
				t.Fatalf("%s: the end is %+v", c.what, x)
			}
			if s, err := k.other.ExecEvents(t.Context(), ipc.EventsRequest{ID: id}); err == nil {
				s.Close()
				t.Errorf("%s: another session follows it", c.what)
			}
			if id = x.Changes.HeldID; c.what == "by choice" {
				k.settle(ipc.LandRequest{ID: id, Paths: []string{"1"}}, "landed landed 1+0-0 left 2")
				k.settle(ipc.LandRequest{ID: id, Drop: true}, "changes dropped 2+0-0 left 0")
			}
		}
		go k.agent.do(t.Context(), ipc.FileRequest{Op: "undo", UndoID: "last"})
		k.expect(true, "changes undone 0+0-0 left 0")
		if s, err := k.agent.News(t.Context(), ipc.NewsRequest{}); err == nil {
			s.Close()
			t.Error("an agent follows the approvers' events")
		}
	})
}

// settle lands or drops a held change set.
func (k *changeEvents) settle(r ipc.LandRequest, want string) {
	k.t.Helper()
	r.Session = k.agent.session
	failed := make(chan error, 1)
	go func() {
		_, err := k.agent.Land(context.WithoutCancel(k.t.Context()), r)
		failed <- err
	}()
	k.expect(true, want)
	if err := <-failed; err != nil {
		k.t.Error(err)
	}
}
