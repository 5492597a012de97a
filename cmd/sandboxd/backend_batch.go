package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/oklog/ulid/v2"

	"sandboxd/approval"
	"sandboxd/ipc"
	"sandboxd/supervisor"
)

// batchOutput bounds the output of the commands of one batch in its answer,
// bytes; more is cut, and counted like output that a limit cuts.
const batchOutput = 16 << 20

// batchRun is one batch that is being carried out.
type batchRun struct {
	b      *backend
	caller ipc.Caller
	sess   *supervisor.Session
	req    ipc.BatchRequest
	next   []supervisor.NextCall // of every call
	room   int                   // bytes of output that still fit
}

// Batch carries out the calls of one model response, one after the other. Each
// question shows the call's position and the calls that follow (R-AP-10). A stop
// drops the rest.
func (b *backend) Batch(ctx context.Context, c ipc.Caller, r ipc.BatchRequest) (ipc.BatchResult, error) {
	s, err := b.session(c, r.Session)
	if err != nil {
		return ipc.BatchResult{}, err
	}
	if r.ID == "" {
		r.ID = ulid.Make().String()
	}
	run := &batchRun{b: b, caller: c, sess: s, req: r, room: batchOutput}
	for i, call := range r.Calls {
		next, err := nextCall(call)
		if err != nil {
			return ipc.BatchResult{}, &ipc.Error{Code: ipc.CodeBadRequest, Message: fmt.Sprintf("calls[%d]: %v", i, err)}
		}
		run.next = append(run.next, next)
	}
	answer := ipc.BatchResult{ID: r.ID, Results: []ipc.CallResult{}}
	for i := range r.Calls {
		if why := b.approvals.StopReason(s.Ref()); why != "" {
			answer.Stopped = why
			answer.Cancelled++
			answer.Results = append(answer.Results, ipc.CallResult{CallID: callID(r.Calls[i]), Error: &ipc.Error{
				Code: ipc.CodeStopped, Message: "not tried: " + why, Hint: "say what you were about to do and wait for the user"}})
			continue
		}
		one, err := run.call(ctx, i)
		if ctx.Err() != nil {
			return ipc.BatchResult{}, context.Cause(ctx)
		}
		one.CallID = callID(r.Calls[i])
		if err != nil {
			var e *ipc.Error
			if !errors.As(wireError(err), &e) {
				return ipc.BatchResult{}, err
			}
			one.Error = e
		}
		if did(one) {
			answer.Ran++
		}
		answer.Results = append(answer.Results, one)
	}
	return answer, nil
}

// did reports whether a call was carried out, or may be.
func did(r ipc.CallResult) bool {
	switch {
	case r.Error != nil:
		return false
	case r.Exec != nil:
		return r.Exec.Exit.Denied == nil && r.Exec.Exit.Error == nil
	case r.Verdict != nil:
		return r.Verdict.Allowed
	}
	return true
}

// callID returns the call's own id from any of its kinds.
func callID(c ipc.BatchCall) string {
	switch {
	case c.CallID != "":
		return c.CallID
	case c.Exec != nil:
		return c.Exec.CallID
	case c.File != nil:
		return c.File.CallID
	}
	return c.Check.CallID
}

// place is that of call i, with the group that it names.
func (r *batchRun) place(i int, own *ipc.BatchPlace) place {
	p := place{batch: approval.Batch{ID: r.req.ID, Index: i + 1, Total: len(r.req.Calls)}, next: r.next[i+1:]}
	if own != nil {
		p.group = own.GroupID
	}
	return p
}

func (r *batchRun) call(ctx context.Context, i int) (ipc.CallResult, error) {
	c, id := r.req.Calls[i], callID(r.req.Calls[i])
	var one ipc.CallResult
	switch {
	case c.Exec != nil:
		e := *c.Exec
		e.CallID, e.Inline = id, e.Inline || r.req.Inline
		out, err := r.exec(ctx, e, r.place(i, e.Batch))
		one.Exec = out
		return one, err
	case c.File != nil:
		f := c.File.FileRequest
		f.Op, f.Session, f.CallID, f.Inline = c.File.Op, r.sess.ID, id, f.Inline || r.req.Inline
		out, err := r.b.file(ctx, r.caller, peerOf(r.caller.Peer), r.sess, f, r.place(i, f.Batch))
		if err == nil {
			one.File = &out
		}
		return one, err
	}
	k := *c.Check
	k.Session, k.CallID, k.Inline = r.sess.ID, id, k.Inline || r.req.Inline
	v, err := r.b.check(ctx, r.caller, r.sess, k, r.place(i, k.Batch))
	if err == nil {
		one.Verdict = &v
	}
	return one, err
}

// exec runs a command and collects its output.
func (r *batchRun) exec(ctx context.Context, q ipc.ExecRequest, p place) (*ipc.ExecOutput, error) {
	e, err := r.b.startExec(r.caller, r.sess, q, p)
	if err != nil {
		return nil, err
	}
	defer e.Listen()()
	out := &ipc.ExecOutput{ID: e.ID}
	var cut int64
	for events := e.Events(1); ; {
		ev, err := events.Next(ctx)
		if errors.Is(err, io.EOF) {
			out.Exit.CutBytes += cut
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		data := ev.Data[:min(len(ev.Data), r.room)]
		cut += int64(len(ev.Data) - len(data))
		r.room -= len(data)
		switch ev.Kind {
		case supervisor.EventStdout, supervisor.EventTerminal:
			out.Stdout = append(out.Stdout, data...)
		case supervisor.EventStderr:
			out.Stderr = append(out.Stderr, data...)
		case supervisor.EventEnded:
			out.Exit = *wireExit(*ev.Result)
		}
	}
}

// nextCall announces a call in the domain's words.
func nextCall(c ipc.BatchCall) (supervisor.NextCall, error) {
	switch {
	case c.Exec != nil:
		return supervisor.NextCall{Line: c.Exec.Command, Argv: c.Exec.Argv, Cwd: c.Exec.Cwd, Env: c.Exec.Env,
			Terminal: c.Exec.TTY}, nil
	case c.File != nil:
		f := c.File.FileRequest
		f.Op = c.File.Op
		q, err := fileRequest(f)
		return supervisor.NextCall{Tool: "file_" + f.Op, File: &q}, err
	}
	args, err := decodeArgs(c.Check.Args)
	k := c.Check
	return supervisor.NextCall{Tool: k.Tool, Line: k.Command, Argv: k.Argv, Cwd: k.Cwd, Env: k.Env, Terminal: k.TTY,
		Args: args}, err
}
