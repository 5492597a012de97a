package acceptance

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"sandboxd/ipc"
)

// asking waits for the one question that is open.
func (st *stage) asking(t *testing.T) ipc.Approval {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		l, err := st.person().Approvals(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(l.Approvals) > 0 {
			return l.Approvals[0]
		}
	}
	t.Fatal("nothing is asked")
	return ipc.Approval{}
}

// says answers the open question.
func (st *stage) says(t *testing.T, a ipc.Answer) ipc.Approval {
	t.Helper()
	q := st.asking(t)
	a.ID, a.Rev, a.Hash = q.ID, q.Rev, q.Hash
	d, err := st.person().Decide(t.Context(), a)
	if err == nil && d.ConfirmAgain {
		a.Confirm = true
		d, err = st.person().Decide(t.Context(), a)
	}
	if err != nil || d.Allowed != a.Allow {
		t.Fatalf("answer to %q: %+v, %v", q.Description, d, err)
	}
	return q
}

// session opens one for the agent and returns a client that holds its secret.
func (st *stage) sessionOf(t *testing.T, name string) (*ipc.Client, ipc.Session) {
	t.Helper()
	c := &ipc.Client{Socket: st.agent(name).agent.Socket}
	t.Cleanup(c.Close)
	s, err := c.OpenSession(t.Context(), ipc.SessionRequest{Agent: name, Root: st.project})
	if err != nil {
		t.Fatal(err)
	}
	c.Secret = s.Secret
	t.Cleanup(func() { c.CloseSession(context.Background(), ipc.CloseRequest{Session: s.ID}) })
	return c, s
}

// R-AP-10, R-IP-04: the calls of one model response in one request. Approve
// all covers what was listed, and deletes still ask; a quit gives up the rest and says
// how many ran.
func TestBatch(t *testing.T) {
	eachUser(t, func(t *testing.T, a *actor) {
		st := newStage(a, "")
		type answer struct {
			result ipc.BatchResult
			err    error
		}
		batch := func(ctx context.Context, c *ipc.Client, r ipc.BatchRequest) chan answer {
			done := make(chan answer, 1)
			go func() {
				result, err := c.Batch(ctx, r)
				done <- answer{result, err}
			}()
			return done
		}
		run := func(line string) ipc.BatchCall { return ipc.BatchCall{Exec: &ipc.ExecRequest{Command: line}} }
		write := func(path string) ipc.BatchCall {
			return ipc.BatchCall{File: &ipc.FileCall{Op: "write", FileRequest: ipc.FileRequest{Path: path, Content: "written\n"}}}
		}

		t.Run("approve-all", func(t *testing.T) {
			c, s := st.sessionOf(t, "batch")
			done := batch(t.Context(), c, ipc.BatchRequest{Session: s.ID, Calls: []ipc.BatchCall{
				run("cat README"),
				run("echo one > one"),
				{CallID: "second", Exec: &ipc.ExecRequest{Command: "echo $TWO > two; echo err >&2", Env: map[string]string{"TWO": "zwei"}}},
				write("three"),
				run("rm -r one"),
				{Check: &ipc.CheckRequest{Tool: "deploy", Args: []byte(`{"to":"x"}`)}},
			}})
			q := st.says(t, ipc.Answer{Allow: true, Scope: "batch"})
			if q.Command != "echo one > one" || q.Batch == nil || q.Batch.Index != 1 || q.Batch.Total != 6 || len(q.Batch.Remaining) != 4 {
				t.Fatalf("got the question %+v, %+v, want one about echo one, call 1 of 6, 4 later", q, q.Batch)
			}
			var asks []string
			for _, n := range q.Batch.Remaining {
				asks = append(asks, n.Tool+":"+n.Asks)
			}
			if got := strings.Join(asks, " | "); !strings.HasPrefix(got, "bash: | file_") || !strings.Contains(got, ": | bash:it deletes | deploy:") || !strings.HasSuffix(got, "deploy:") {
				t.Errorf("got the later calls %s, want bash, file, bash that deletes, deploy", got)
			}
			if q := st.says(t, ipc.Answer{Mode: "soft", Note: "keep it"}); q.Command != "rm -r one" {
				t.Errorf("got a question about %q after approve all, want rm -r one", q.Description)
			}
			got := <-done
			if got.err != nil || got.result.Ran != 5 || got.result.Cancelled != 0 || len(got.result.Results) != 6 {
				t.Fatalf("got %+v, %v, want 5 of 6 run, none cancelled", got.result, got.err)
			}
			r := got.result.Results
			if string(r[0].Exec.Stdout) != "hello\n" || r[1].Exec.Exit.Code != 0 || r[2].CallID != "second" || string(r[2].Exec.Stderr) != "err\n" || r[3].File == nil || r[3].File.UndoID == "" {
				t.Errorf("got %+v, want the reading, both commands and the written file", r)
			}
			if d := r[4].Exec.Exit.Denied; d == nil || d.Note != "keep it" || !r[5].Verdict.Allowed {
				t.Errorf("got %+v, %+v, want rm denied (keep it) and deploy allowed", r[4].Exec, r[5].Verdict)
			}
			if got, want := a.sh("cat one two three"), "one\nzwei\nwritten\n"; got != want {
				t.Errorf("on disk: got %q, want %q", got, want)
			}
		})
		t.Run("quit", func(t *testing.T) {
			c, s := st.sessionOf(t, "batch")
			done := batch(t.Context(), c, ipc.BatchRequest{Session: s.ID, Calls: []ipc.BatchCall{
				run("cat README"), run("echo x > quit-1"), write("quit-2"), run("cat README")}})
			st.says(t, ipc.Answer{Scope: "batch"})
			got := <-done
			if got.err != nil || got.result.Ran != 1 || got.result.Cancelled != 2 || got.result.Stopped == "" {
				t.Fatalf("got %+v, %v, want 1 run, 2 cancelled, stopped", got.result, got.err)
			}
			for _, r := range got.result.Results[2:] {
				if r.Error == nil || r.Error.Code != ipc.CodeStopped {
					t.Errorf("after the quit: got %+v, want the error %s", r, ipc.CodeStopped)
				}
			}
			if d := got.result.Results[1].Exec.Exit.Denied; d == nil || !strings.Contains(d.Message, "completed 1 of 4 operations, cancelled 3") {
				t.Errorf("got %+v, want a denial that counts 1 of 4 completed, 3 cancelled", got.result.Results[1].Exec.Exit)
			}
			if _, err := os.Stat(filepath.Join(a.project, "quit-2")); err == nil {
				t.Error("got quit-2 written after the quit, want it absent")
			}
		})
		// R-AP-11, R-AP-15: an answer for a group, sent again, gets the same receipt;
		// sent for another of the group's questions it comes too late.
		t.Run("group-again", func(t *testing.T) {
			c, s := st.sessionOf(t, "batch")
			verdicts := make(chan bool, 2)
			for i := range 2 {
				go func() {
					v, err := c.Check(t.Context(), ipc.CheckRequest{Session: s.ID, Tool: "post", Args: fmt.Appendf(nil, `{"n":%d}`, i),
						Batch: &ipc.BatchPlace{ID: "g", Index: i, Total: 2, GroupID: "both"}})
					verdicts <- err == nil && v.Allowed
				}()
			}
			var open []ipc.Approval
			for deadline := time.Now().Add(30 * time.Second); len(open) < 2 && time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
				l, err := st.person().Approvals(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				open = l.Approvals
			}
			yes := ipc.Answer{ID: open[0].ID, Rev: open[0].Rev, Hash: open[0].Hash, Allow: true, Scope: "group"}
			first, err := st.person().Decide(t.Context(), yes)
			if err != nil || !first.Allowed || !<-verdicts || !<-verdicts {
				t.Fatalf("got %+v, %v, want both calls allowed", first, err)
			}
			if again, err := st.person().Decide(t.Context(), yes); err != nil || !again.Time.Equal(first.Time) || again.By != first.By {
				t.Errorf("the repetition: got %+v, %v, want %+v", again, err, first)
			}
			yes.ID, yes.Rev, yes.Hash = open[1].ID, open[1].Rev, open[1].Hash
			if _, err := st.person().Decide(t.Context(), yes); ipc.CodeOf(err) != ipc.CodeAlreadyDecided {
				t.Errorf("the other one: got %v, want %s", err, ipc.CodeAlreadyDecided)
			}
		})
		t.Run("hang-up", func(t *testing.T) {
			c, s := st.sessionOf(t, "batch")
			ctx, cancel := context.WithCancel(t.Context())
			done := batch(ctx, c, ipc.BatchRequest{Session: s.ID, Calls: []ipc.BatchCall{run("echo begun > begun; sleep 1000"), run("echo x > after")}})
			st.says(t, ipc.Answer{Allow: true, Scope: "batch"})
			for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
				if _, err := os.Stat(filepath.Join(a.project, "begun")); err == nil {
					break
				} else if time.Now().After(deadline) {
					t.Fatalf("got %v after 20 s, want the command begun", err)
				}
			}
			cancel()
			<-done
			st.quiet(t)
			if _, err := os.Stat(filepath.Join(a.project, "after")); err == nil {
				t.Error("got the second call made without its client, want it absent")
			}
		})
		t.Run("malformed", func(t *testing.T) {
			c, s := st.sessionOf(t, "batch")
			for _, r := range []ipc.BatchRequest{
				{Session: s.ID},
				{Session: s.ID, Calls: make([]ipc.BatchCall, ipc.MaxBatch+1)},
				{Session: s.ID, Calls: []ipc.BatchCall{run("ls"), {}}},
				{Session: s.ID, Calls: []ipc.BatchCall{{Exec: &ipc.ExecRequest{Session: "another", Command: "ls"}}}},
				{Session: s.ID, Calls: []ipc.BatchCall{{Exec: &ipc.ExecRequest{Command: "cat", Stdin: ipc.StdinStream}}}},
				{Session: s.ID, Calls: []ipc.BatchCall{run("ls"), {Check: &ipc.CheckRequest{Tool: "x", Args: []byte(`[1]`)}}}},
			} {
				if got, err := c.Batch(t.Context(), r); ipc.CodeOf(err) != ipc.CodeBadRequest {
					t.Errorf("%+v: got %+v, %v, want %s", r, got, err, ipc.CodeBadRequest)
				}
			}
			if _, err := (&ipc.Client{Socket: c.Socket}).Batch(t.Context(), ipc.BatchRequest{Session: s.ID, Calls: []ipc.BatchCall{run("ls")}}); ipc.CodeOf(err) != ipc.CodeSecret {
				t.Errorf("without the secret: got %v, want %s", err, ipc.CodeSecret)
			}
		})
	})
}

// quiet waits until no command of the daemon runs.
func (st *stage) quiet(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		status, err := st.person().Status(t.Context())
		if err == nil && status.Running == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%+v, %v", status, err)
		}
	}
}

// R-AP-10: however early somebody looks, a question says what it is about.
func TestQuestionIsWholeAtOnce(t *testing.T) {
	eachUser(t, func(t *testing.T, a *actor) {
		st := newStage(a, "")
		c, s := st.sessionOf(t, "early")
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		var looking sync.WaitGroup
		for range 3 {
			person := st.person()
			looking.Go(func() {
				for ctx.Err() == nil {
					list, err := person.Approvals(ctx)
					if err != nil && ctx.Err() == nil {
						t.Error(err)
						return
					}
					for _, q := range list.Approvals {
						if q.Command == "" || q.Session == "" {
							t.Errorf("a question without its command: %+v", q)
							stop()
						}
					}
				}
			})
		}
		for i := 0; i < 40 && ctx.Err() == nil; i++ {
			x, err := c.StartExec(t.Context(), ipc.ExecRequest{Session: s.ID, Command: fmt.Sprintf("echo x > early-%d", i)})
			if err != nil {
				t.Fatal(err)
			}
			st.asking(t)
			if err := c.CancelExec(t.Context(), ipc.CancelRequest{ID: x.ID}); err != nil {
				t.Fatal(err)
			}
		}
		stop()
		looking.Wait()
	})
}
