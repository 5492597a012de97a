package ipctest

import (
	"context"
	"io"
	"strconv"
	"strings"
	"time"

	"sandboxd/ipc"
)

// run is a command.
type run struct {
	id     string
	req    ipc.ExecRequest
	caller ipc.Caller
	events *journal[ipc.Event]
	stdin  chan ipc.StdinRequest
	ctx    context.Context
	stop   context.CancelFunc
	signal chan string
	owners int // streams that keep it alive
}

// cancel reports whether it was still running.
func (r *run) cancel() bool {
	was := r.ctx.Err() == nil
	r.stop()
	return was
}

func word(command string, argv []string) string {
	if len(argv) > 0 {
		return argv[0]
	}
	first, _, _ := strings.Cut(command, " ")
	return first
}

// StartExec implements [ipc.Backend].
func (b *Backend) StartExec(ctx context.Context, c ipc.Caller, req ipc.ExecRequest) (started ipc.ExecStarted,
	err error) {
	if req.Open != nil {
		opened, err := b.OpenSession(ctx, c, *req.Open)
		if err != nil {
			return started, err
		}
		req.Session, started.Session = opened.ID, &opened
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, err := b.session(c, req.Session); err != nil {
		return started, err
	}
	r := &run{
		id: b.id("exec"), req: req, caller: c,
		events: newJournal[ipc.Event](256), stdin: make(chan ipc.StdinRequest), signal: make(chan string, 1),
	}
	r.ctx, r.stop = context.WithCancel(context.Background())
	b.runs[r.id] = r
	b.running.Go(func() { b.walk(r) })
	started.ID = r.id
	return started, nil
}

// walk carries the command out and ends its events.
func (b *Backend) walk(r *run) {
	defer r.stop()
	defer r.req.Passed.Close()
	r.put(ipc.Event{Type: ipc.EventQueued})
	exit := &ipc.Exit{Enforcement: enforcement}
	rest := strings.Join(r.req.Argv, " ")
	if rest == "" {
		rest = r.req.Command
	}
	first, rest, _ := strings.Cut(rest, " ")
	if first == "ask" {
		d, err := b.ask(r.ctx, r.caller, rest)
		if err != nil || !d.Allowed {
			exit.Code, exit.Denied = -1, &ipc.Denial{Code: ipc.CodeDenied, Message: "you may not: " + d.Note, Note: d.Note}
			r.end(exit)
			return
		}
		first = "echo"
	}
	r.put(ipc.Event{Type: ipc.EventStarted, Started: &ipc.Started{Decision: ipc.DecisionAuto, Enforcement: enforcement}})
	n, _ := strconv.Atoi(rest)
	switch first {
	case "echo":
		r.output([]byte(rest + "\n"))
	case "cat":
		r.cat()
	case "wait":
		select {
		case <-r.ctx.Done():
		case exit.Signal = <-r.signal:
		}
	case "flood":
		piece := make([]byte, 32<<10)
		for range n {
			if !r.output(piece) {
				break
			}
		}
	case "fail":
		exit.Code = n
	default:
		exit.Code = 127
	}
	if r.ctx.Err() != nil {
		exit.Code, exit.Signal, exit.Cancelled = -1, "SIGKILL", true
	}
	if r.req.Passed.Out != nil {
		exit.Uncapped = []string{"stdout"}
	}
	r.end(exit)
}

func (r *run) cat() {
	if in := r.req.Passed.In; in != nil {
		b, _ := io.ReadAll(in.File)
		r.output(b)
		return
	}
	for {
		select {
		case piece := <-r.stdin:
			if len(piece.Data) > 0 {
				r.output(piece.Data)
			}
			if piece.EOF {
				return
			}
		case <-r.ctx.Done():
			return
		}
	}
}

func (r *run) output(data []byte) bool {
	if out := r.req.Passed.Out; out != nil {
		out.File.Write(data)
	} else {
		r.put(ipc.Event{Type: ipc.EventStdout, Data: data})
	}
	return r.ctx.Err() == nil
}

func (r *run) put(e ipc.Event) {
	r.events.put(func(seq uint64) ipc.Event {
		e.Seq, e.Time = seq, time.Now().UTC()
		return e
	}, r.ctx.Done())
}

func (r *run) end(exit *ipc.Exit) {
	r.put(ipc.Event{Type: ipc.EventExit, Exit: exit})
	r.events.close()
}

// find is a command that the caller may touch.
func (b *Backend) find(c ipc.Caller, id string) (*run, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r, ok := b.runs[id]
	if !ok || c.Role == ipc.RoleAgent && r.caller.Secret != c.Secret {
		return nil, notFound("command")
	}
	return r, nil
}

// ExecEvents implements [ipc.Backend]. A command that does not Keep ends with
// its last stream.
func (b *Backend) ExecEvents(_ context.Context, c ipc.Caller, req ipc.EventsRequest) (ipc.Stream[ipc.Event], error) {
	r, err := b.find(c, req.ID)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.streams++
	if !req.Watch {
		r.owners++
	}
	closed := func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.streams--
		if !req.Watch {
			if r.owners--; r.owners == 0 && !r.req.Keep {
				r.stop()
			}
		}
	}
	gap := func(from, to uint64) ipc.Event {
		return ipc.Event{Seq: to, Type: ipc.EventGap, Gap: &ipc.Gap{From: from, To: to}}
	}
	return r.events.open(max(req.FromSeq, 1), !req.Watch, gap, closed), nil
}

// Jobs implements [ipc.Backend]: no command leaves anything running.
func (b *Backend) Jobs(context.Context, ipc.Caller) (ipc.JobList, error) {
	return ipc.JobList{Jobs: []ipc.Job{}}, nil
}

// Job implements [ipc.Backend].
func (b *Backend) Job(context.Context, ipc.Caller, ipc.JobRequest) (ipc.Job, error) {
	return ipc.Job{}, notFound("job")
}

// StopJob implements [ipc.Backend].
func (b *Backend) StopJob(context.Context, ipc.Caller, ipc.JobRequest) (ipc.Job, error) {
	return ipc.Job{}, notFound("job")
}

// CancelExec implements [ipc.Backend].
func (b *Backend) CancelExec(_ context.Context, c ipc.Caller, req ipc.CancelRequest) error {
	r, err := b.find(c, req.ID)
	if err != nil {
		return err
	}
	r.cancel()
	return nil
}

// WriteStdin implements [ipc.Backend].
func (b *Backend) WriteStdin(ctx context.Context, c ipc.Caller, req ipc.StdinRequest) error {
	r, err := b.find(c, req.ID)
	if err != nil {
		return err
	}
	select {
	case r.stdin <- req:
		return nil
	case <-r.ctx.Done():
		return &ipc.Error{Code: ipc.CodeConflict, Message: "the command has ended"}
	case <-ctx.Done():
		return ctx.Err()
	}
}

// SignalExec implements [ipc.Backend].
func (b *Backend) SignalExec(_ context.Context, c ipc.Caller, req ipc.SignalRequest) error {
	r, err := b.find(c, req.ID)
	if err != nil {
		return err
	}
	select {
	case r.signal <- req.Signal:
	default:
	}
	return nil
}

// ResizeExec implements [ipc.Backend]. The command prints its new size.
func (b *Backend) ResizeExec(_ context.Context, c ipc.Caller, req ipc.ResizeRequest) error {
	r, err := b.find(c, req.ID)
	if err != nil {
		return err
	}
	r.put(ipc.Event{Type: ipc.EventPTY, Data: []byte(strconv.Itoa(int(req.Cols)) + "x" + strconv.Itoa(int(req.Rows)))})
	return nil
}

// File implements [ipc.Backend]: it repeats the request.
func (b *Backend) File(_ context.Context, c ipc.Caller, r ipc.FileRequest) (ipc.FileResult, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, err := b.session(c, r.Session); err != nil {
		return ipc.FileResult{}, err
	}
	return ipc.FileResult{ID: b.id("file"), Decision: ipc.DecisionAuto, Why: r.Op, Path: r.Path, To: r.To,
		Content: r.Content, Size: int64(len(r.Content))}, nil
}

// HeldChanges implements [ipc.Backend]: one is held.
func (b *Backend) HeldChanges(ctx context.Context, c ipc.Caller, r ipc.HeldRequest) (ipc.HeldChanges, error) {
	r.ID = "h-1"
	h, err := b.HeldChange(ctx, c, r)
	return ipc.HeldChanges{Changes: []ipc.HeldChange{h}}, err
}

// HeldChange implements [ipc.Backend]: it repeats the request.
func (b *Backend) HeldChange(_ context.Context, c ipc.Caller, r ipc.HeldRequest) (ipc.HeldChange, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, err := b.session(c, r.Session)
	return ipc.HeldChange{ID: r.ID, Session: r.Session}, err
}

// Land implements [ipc.Backend]: it repeats the request.
func (b *Backend) Land(_ context.Context, c ipc.Caller, r ipc.LandRequest) (ipc.FileResult, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, err := b.session(c, r.Session)
	return ipc.FileResult{ID: r.ID, Path: strings.Join(r.Paths, " "), Changed: !r.Drop}, err
}

// Batch implements [ipc.Backend].
func (b *Backend) Batch(ctx context.Context, c ipc.Caller, r ipc.BatchRequest) (ipc.BatchResult, error) {
	result := ipc.BatchResult{ID: r.ID}
	for _, call := range r.Calls {
		one := ipc.CallResult{CallID: call.CallID}
		switch {
		case call.Check != nil:
			v, err := b.Check(ctx, c, *call.Check)
			if err != nil {
				return result, err
			}
			one.Verdict = &v
		case call.File != nil:
			req := call.File.FileRequest
			req.Op, req.Session = call.File.Op, r.Session
			f, err := b.File(ctx, c, req)
			if err != nil {
				return result, err
			}
			one.File = &f
		case call.Exec != nil:
			req := *call.Exec
			req.Session = r.Session
			out, err := b.collect(ctx, c, req)
			if err != nil {
				return result, err
			}
			one.Exec = out
		}
		result.Results = append(result.Results, one)
		result.Ran++
	}
	return result, nil
}

// collect runs a command and gathers its output.
func (b *Backend) collect(ctx context.Context, c ipc.Caller, req ipc.ExecRequest) (*ipc.ExecOutput, error) {
	started, err := b.StartExec(ctx, c, req)
	if err != nil {
		return nil, err
	}
	events, err := b.ExecEvents(ctx, c, ipc.EventsRequest{ID: started.ID})
	if err != nil {
		return nil, err
	}
	defer events.Close()
	out := &ipc.ExecOutput{ID: started.ID}
	for {
		e, err := events.Next(ctx)
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		out.Stdout = append(out.Stdout, e.Data...)
		if e.Exit != nil {
			out.Exit = *e.Exit
		}
	}
}
