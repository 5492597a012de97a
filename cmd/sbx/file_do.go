package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"time"

	xterm "golang.org/x/term"

	"sandboxd/cmd/sbx/internal/ask"
	"sandboxd/cmd/sbx/internal/term"
	"sandboxd/ipc"
)

// fileRunner carries out file operations one after the other.
type fileRunner struct {
	*app
	options fileOptions
	client  *ipc.Client
	session string
	tty     *term.Terminal // where a person can be asked; nil: nowhere
	notes   []ipc.Warning
}

// fileOutcome is the JSON object of one operation. Its fields are stable.
type fileOutcome struct {
	// Status is sbx's exit status for this operation.
	Status  int    `json:"status"`
	Outcome string `json:"outcome"` // done, dry_run, conflict, denied, failed
	Session string `json:"session,omitempty"`
	Op      string `json:"op"`
	*ipc.FileResult
	Error *ipc.Error `json:"error,omitempty"`
}

// files carries requests out in order, until one of them is not done.
func (a *app) files(ctx context.Context, o fileOptions, list []ipc.FileRequest) error {
	r, err := a.fileRunner(ctx, o)
	if err != nil {
		return err
	}
	defer r.close()
	batch := batchID()
	for i, q := range list {
		q.DryRun = o.dryRun
		if len(list) > 1 {
			q.Batch = &ipc.BatchPlace{ID: batch, Index: i, Total: len(list)}
		}
		out := r.do(ctx, q)
		if err := r.tell(q, out); err != nil {
			return err
		}
	}
	return nil
}

// fileRunner joins a session, and finds out where a person can be asked.
func (a *app) fileRunner(ctx context.Context, o fileOptions) (*fileRunner, error) {
	run := &runner{app: a, options: runOptions{session: o.session, agent: o.agent}}
	if err := run.connect(ctx); err != nil {
		return nil, err
	}
	r := &fileRunner{app: a, options: o, client: run.client, session: run.report.Session, notes: run.notes}
	if !o.noAsk && !o.dryRun && o.session == "" {
		r.tty = askingTerminal()
	}
	return r, nil
}

func (r *fileRunner) close() {
	if r.tty != nil {
		r.tty.Close()
	}
}

// askingTerminal is where a person can be asked: the controlling terminal, if
// this is its foreground job and at least one of the standard descriptors leads
// to a terminal. A program that has redirected all three is not a person.
func askingTerminal() *term.Terminal {
	for _, f := range []*os.File{os.Stdin, os.Stdout, os.Stderr} {
		if xterm.IsTerminal(int(f.Fd())) {
			tty, err := term.Open()
			if err != nil {
				return nil
			}
			return tty
		}
	}
	return nil
}

func batchID() string {
	var b [8]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// do carries one request out; questions about it are put at the terminal, or
// a message says how to answer them.
func (r *fileRunner) do(ctx context.Context, q ipc.FileRequest) fileOutcome {
	q.Session, q.CallID, q.Inline, q.Description = r.session, "sbx-"+batchID(), r.tty != nil, r.options.description
	asking, stop := context.WithCancel(ctx)
	asked := make(chan struct{})
	slowly := func() func() { return r.slowly(doing(q)) }
	done := slowly()
	go func() {
		defer close(asked)
		if q.DryRun {
			return
		}
		r.answer(asking, q.CallID, func(put func()) {
			done()
			put()
			done = slowly()
		})
	}()
	result, err := r.send(ctx, q)
	stop()
	<-asked // the terminal has its settings back
	done()
	out := fileOutcome{Session: r.session, Op: q.Op, FileResult: &result, Outcome: "done"}
	if q.DryRun {
		out.Outcome = "dry_run"
	}
	if err == nil {
		if q.Op == "grep" && len(result.Matches) == 0 {
			out.Status = exitNo
		}
		return out
	}
	out.FileResult, out.Error = nil, wireErrorOf(err)
	out.Status, out.Outcome = fileStatus(err)
	return out
}

// doing names a request that takes long.
func doing(q ipc.FileRequest) string {
	what := q.Op + " " + first(q.UndoID, q.Path)
	if b := q.Batch; b != nil && b.Total > 1 {
		what += fmt.Sprintf(" (%d of %d)", b.Index+1, b.Total)
	}
	return what
}

func wireErrorOf(err error) *ipc.Error {
	var e *ipc.Error
	if errors.As(err, &e) {
		return e
	}
	e = &ipc.Error{Code: "client", Message: err.Error()}
	if errors.Is(err, ipc.ErrEnded) {
		e.Hint = "sbx undo --list and sbx changes say whether it was done; an undo is finished by the next daemon"
	}
	return e
}

// fileStatus returns the exit status of an error, and the outcome in a word.
func fileStatus(err error) (int, string) {
	e := wireErrorOf(err)
	switch status := statusOfError(err); {
	case status == exitDenied:
		return status, "denied"
	case e.Conflict != nil && e.Code != ipc.CodeInternal:
		return exitNo, "conflict"
	default:
		return status, "failed"
	}
}

// lookEvery is how often it is looked whether a question was put.
const lookEvery = 150 * time.Millisecond

// answer waits for questions about a call, and puts them to the person here, each within a call of asking.
func (r *fileRunner) answer(ctx context.Context, call string, asking func(put func())) {
	approver := r.approverClient()
	defer approver.Close()
	seen := map[string]bool{}
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		list, err := approver.Approvals(ctx)
		if err != nil {
			continue // it is over, or somebody else answers
		}
		for _, q := range list.Approvals {
			if q.CallID == call && q.Session == r.session && !seen[q.ID] {
				seen[q.ID] = true
				asking(func() { r.put(ctx, approver, q) })
			}
		}
	}
}

// put puts one question.
func (r *fileRunner) put(ctx context.Context, approver *ipc.Client, q ipc.Approval) {
	if r.tty == nil || !q.Inline {
		r.waiting(q)
		return
	}
	// The list omits the presentation, which the person must see before an answer.
	if whole, err := approver.Approval(ctx, ipc.ApprovalRequest{ID: q.ID}); err == nil {
		q = whole
	}
	_, err := ask.Person{Terminal: r.tty, Approver: approver, Inline: true}.Ask(ctx, q)
	if err != nil && ctx.Err() == nil {
		r.complain(err)
		r.note("the question is still open for others: sbx approve %s", q.ID)
	}
}

// tell prints the outcome of a request. Its error ends sbx with the status.
func (r *fileRunner) tell(q ipc.FileRequest, out fileOutcome) error {
	if r.options.json {
		if err := r.printJSON(out); err != nil {
			return err
		}
		return quietly(out.Status)
	}
	if out.Error != nil {
		return &exit{out.Status, out.Error}
	}
	if err := r.print(q, *out.FileResult); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return quietly(out.Status)
}
