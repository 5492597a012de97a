package acceptance

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"sandboxd/ipc"
)

// asking waits for the one question that is open.
func (st *stage) asking(t *testing.T) ipc.Approval { return st.open(t, 1)[0] }

// open waits for n open questions.
func (st *stage) open(t *testing.T, n int) []ipc.Approval {
	t.Helper()
	var list []ipc.Approval
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		l, err := st.person().Approvals(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if list = l.Approvals; len(list) >= n {
			return list
		}
	}
	t.Fatalf("got %d open questions after 30 s, want %d", len(list), n)
	return nil
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
		t.Fatalf("answer to %q: got %+v, %v, want allowed: %v", q.Description, d, err, a.Allow)
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

// execCall and writeCall are calls of a batch.
func execCall(line string) ipc.BatchCall { return ipc.BatchCall{Exec: &ipc.ExecRequest{Command: line}} }

func writeCall(path string) ipc.BatchCall {
	return ipc.BatchCall{File: &ipc.FileCall{Op: "write",
		FileRequest: ipc.FileRequest{Path: path, Content: "written\n"}}}
}

// answeredBatches are batches and the answers to their questions. want has each question with its place and the later
// calls, and why each will ask; the counts; each result; and then the output of look.
var answeredBatches = []struct {
	name    string
	calls   []ipc.BatchCall
	answers []ipc.Answer
	look    string
	want    []string
}{
	{
		name: "approve-all",
		calls: []ipc.BatchCall{
			execCall("cat README"),
			execCall("echo one > one"),
			{CallID: "second", Exec: &ipc.ExecRequest{
				Command: "echo $TWO > two; echo err >&2", Env: map[string]string{"TWO": "zwei"}}},
			writeCall("three"),
			execCall("rm -r one"),
			{Check: &ipc.CheckRequest{Tool: "deploy", Args: []byte(`{"to":"x"}`)}},
		},
		answers: []ipc.Answer{{Allow: true, Scope: "batch"}, {Mode: "soft", Note: "keep it"}},
		look:    "cat one two three",
		want: []string{
			"echo one > one, 1 of 6, then bash:, file_create:, bash:it deletes, deploy:",
			"rm -r one, 4 of 6, then deploy:",
			"5 of 6 ran, 0 cancelled, stopped false",
			`exit 0, "hello\n", ""`, `exit 0, "", ""`, `second: exit 0, "", "err\n"`,
			"file that can be undone: true", "denied: keep it", "allowed: true",
			"one\nzwei\nwritten\n",
		},
	},
	{
		name: "quit",
		calls: []ipc.BatchCall{
			execCall("cat README"), execCall("echo x > quit-1"), writeCall("quit-2"), execCall("cat README")},
		answers: []ipc.Answer{{Scope: "batch"}},
		look:    "echo quit-*",
		want: []string{
			"echo x > quit-1, 1 of 4, then file_create:, bash:",
			"1 of 4 ran, 2 cancelled, stopped true",
			`exit 0, "hello\n", ""`, "denied: completed 1 of 4 operations, cancelled 3", "error: stopped", "error: stopped",
			"quit-*\n",
		},
	},
}

// batches are the calls of one model response in one request, in a session on a stage.
type batches struct {
	*stage
	client  *ipc.Client
	session string
}

// R-AP-10, R-IP-04: the calls of one model response in one request. Approve
// all covers what was listed, and deletes still ask; a quit gives up the rest and says
// how many ran.
func TestBatch(t *testing.T) {
	t.Parallel()
	bothUsers(t, func(t *testing.T, a *actor) {
		st := newStage(a, "")
		in := func(f func(batches, *testing.T)) func(*testing.T) {
			return func(t *testing.T) {
				client, s := st.sessionOf(t, "batch")
				f(batches{st, client, s.ID}, t)
			}
		}
		t.Run("answered", in(batches.answered))
		t.Run("group-again", in(batches.groupAgain))
		t.Run("hang-up", in(batches.hangUp))
		t.Run("malformed", in(batches.malformed))
	})
}

type batchResult struct {
	ipc.BatchResult
	err error
}

func (b batches) send(ctx context.Context, calls []ipc.BatchCall) chan batchResult {
	done := make(chan batchResult, 1)
	go func() {
		result, err := b.client.Batch(ctx, ipc.BatchRequest{Session: b.session, Calls: calls})
		done <- batchResult{result, err}
	}()
	return done
}

func (b batches) answered(t *testing.T) {
	for _, c := range answeredBatches {
		t.Run(c.name, func(t *testing.T) {
			done := b.send(t.Context(), c.calls)
			var got []string
			for _, a := range c.answers {
				got = append(got, batchPlace(b.says(t, a)))
			}
			r := <-done
			if r.err != nil {
				t.Fatalf("got %v, want a result", r.err)
			}
			got = append(got, fmt.Sprintf("%d of %d ran, %d cancelled, stopped %v",
				r.Ran, len(r.Results), r.Cancelled, r.Stopped != ""))
			for _, one := range r.Results {
				got = append(got, callOutcome(one))
			}
			got = append(got, b.sh(c.look))
			if diff := gocmp.Diff(c.want, got); diff != "" {
				t.Errorf("got (+), want (-):\n%s", diff)
			}
		})
	}
}

// batchPlace is a question's command and its place in the batch.
func batchPlace(q ipc.Approval) string {
	if q.Batch == nil {
		return q.Command + ", in no batch"
	}
	var later []string
	for _, n := range q.Batch.Remaining {
		later = append(later, n.Tool+":"+n.Asks)
	}
	return fmt.Sprintf("%s, %d of %d, then %s", q.Command, q.Batch.Index, q.Batch.Total, strings.Join(later, ", "))
}

var quitCounts = regexp.MustCompile(`completed \d+ of \d+ operations, cancelled \d+`)

// callOutcome is the result of one call.
func callOutcome(r ipc.CallResult) (text string) {
	if r.CallID != "" {
		text = r.CallID + ": "
	}
	switch {
	case r.Error != nil:
		return text + "error: " + string(r.Error.Code)
	case r.Exec != nil && r.Exec.Exit.Denied != nil:
		d := r.Exec.Exit.Denied
		return text + "denied: " + cmp.Or(d.Note, quitCounts.FindString(d.Message), d.Message)
	case r.Exec != nil:
		return text + fmt.Sprintf("exit %s, %q, %q", described(&r.Exec.Exit), r.Exec.Stdout, r.Exec.Stderr)
	case r.File != nil:
		return text + fmt.Sprintf("file that can be undone: %v", r.File.UndoID != "")
	case r.Verdict != nil:
		return text + fmt.Sprintf("allowed: %v", r.Verdict.Allowed)
	}
	return text + "no result"
}

// R-AP-11, R-AP-15: an answer for a group, sent again, gets the same receipt;
// sent for another of the group's questions it comes too late.
func (b batches) groupAgain(t *testing.T) {
	verdicts := make(chan bool, 2)
	for i := range 2 {
		go func() {
			v, err := b.client.Check(t.Context(), ipc.CheckRequest{
				Session: b.session, Tool: "post", Args: fmt.Appendf(nil, `{"n":%d}`, i),
				Batch: &ipc.BatchPlace{ID: "g", Index: i, Total: 2, GroupID: "both"}})
			verdicts <- err == nil && v.Allowed
		}()
	}
	open := b.open(t, 2)
	yes := ipc.Answer{ID: open[0].ID, Rev: open[0].Rev, Hash: open[0].Hash, Allow: true, Scope: "group"}
	first, err := b.person().Decide(t.Context(), yes)
	if err != nil || !first.Allowed || !<-verdicts || !<-verdicts {
		t.Fatalf("got %+v, %v, want both calls allowed", first, err)
	}
	again, err := b.person().Decide(t.Context(), yes)
	if err != nil || !again.Time.Equal(first.Time) || again.By != first.By {
		t.Errorf("the repetition: got %+v, %v, want %+v", again, err, first)
	}
	yes.ID, yes.Rev, yes.Hash = open[1].ID, open[1].Rev, open[1].Hash
	if _, err := b.person().Decide(t.Context(), yes); ipc.CodeOf(err) != ipc.CodeAlreadyDecided {
		t.Errorf("the other one: got %v, want %s", err, ipc.CodeAlreadyDecided)
	}
}

func (b batches) hangUp(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	done := b.send(ctx, []ipc.BatchCall{execCall("echo begun > begun; sleep 1000"), execCall("echo x > after")})
	b.says(t, ipc.Answer{Allow: true, Scope: "batch"})
	eventually(t, "the command has begun", func() bool { return b.wrote("begun") })
	cancel()
	<-done
	b.quiet(t)
	if b.there("after") {
		t.Error("got the second call made without its client, want it absent")
	}
}

func (b batches) malformed(t *testing.T) {
	ls := execCall("ls")
	for _, c := range []struct {
		name  string
		calls []ipc.BatchCall
	}{
		{"no call", nil},
		{"too many calls", make([]ipc.BatchCall, ipc.MaxBatch+1)},
		{"an empty call", []ipc.BatchCall{ls, {}}},
		{"another session", []ipc.BatchCall{{Exec: &ipc.ExecRequest{Session: "another", Command: "ls"}}}},
		{"a stream of input", []ipc.BatchCall{{Exec: &ipc.ExecRequest{Command: "cat", Stdin: ipc.StdinStream}}}},
		{"broken arguments", []ipc.BatchCall{ls, {Check: &ipc.CheckRequest{Tool: "x", Args: []byte(`[1]`)}}}},
	} {
		if got := <-b.send(t.Context(), c.calls); ipc.CodeOf(got.err) != ipc.CodeBadRequest {
			t.Errorf("%s: got %+v, want %s", c.name, got, ipc.CodeBadRequest)
		}
	}
	b.client = &ipc.Client{Socket: b.client.Socket}
	if got := <-b.send(t.Context(), []ipc.BatchCall{ls}); ipc.CodeOf(got.err) != ipc.CodeSecret {
		t.Errorf("without the secret: got %+v, want %s", got, ipc.CodeSecret)
	}
}

// quiet waits until no command of the daemon runs.
func (st *stage) quiet(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		status, err := st.person().Status(t.Context())
		if err == nil && status.Running == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("got %d running commands and %v after 30 s, want 0", status.Running, err)
		}
	}
}

// R-AP-10: however early somebody looks, a question says what it is about.
func TestQuestionIsWholeAtOnce(t *testing.T) {
	t.Parallel()
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
							t.Errorf("got %+v, want a question with its command and session", q)
							stop()
						}
					}
				}
			})
		}
		for i := 0; i < 40 && ctx.Err() == nil; i++ {
			r := ipc.ExecRequest{Session: s.ID, Command: fmt.Sprintf("echo x > early-%d", i)}
			x, err := c.StartExec(t.Context(), r)
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
