package supervisor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"sandboxd/approval"
	"sandboxd/audit"
	"sandboxd/profile"
	"sandboxd/sandbox"
)

// grace is how long a command has between SIGTERM and SIGKILL.
const grace = 2 * time.Second

// run starts the approved command, follows it to its end, and records both. decided is
// the decision's record; nil: it is written.
func (s *Supervisor) run(ctx context.Context, e *Exec, j *judgement, d approval.Decision,
	decided *audit.Record) Result {
	base := Result{Decision: d, Digest: j.plan.Profile.Digest().String(), Report: j.plan.Report,
		Warnings: append(j.warnings, d.Warnings...)}
	if err := s.Approval.Begin(s.ctx, s.call(e, j), d, j.digest); err != nil {
		if decided != nil {
			err = errors.Join(err, s.record(*decided))
		}
		return base.unrecorded(err)
	}
	// The sandbox is made ready while the records go to the disk; the command waits for them.
	check := &afterCheck{s: s, e: e, j: j}
	gate := sandbox.NewGate(check.begin)
	ran := make(chan Result, 1)
	go func() { ran <- s.execute(ctx, e, j, base, gate, check) }()
	unrecorded := s.recordExec(e, j, d, decided)
	gate.Open(unrecorded)
	result := <-ran
	if unrecorded != nil {
		return base.unrecorded(unrecorded)
	}
	if result.Code != 0 { // a shell found no such command, or another program of that name may be the cause
		result.Warnings = append(result.Warnings, invisible(e.Session, e.Request, j.plan.Command.Env)...)
	}
	if err := s.end(e, j, result); err != nil {
		result.Warnings = append(result.Warnings, "the end of this command is not on record yet: "+err.Error())
	}
	return result
}

// unrecorded returns the result of a request that could not be recorded and did not run. A model
// can read its message: object, reason and remedy (R-UX-06).
func (r Result) unrecorded(err error) Result {
	r.Outcome, r.Code, r.Message = Unrecorded, 125, "Not run: "+err.Error()+"."
	if a := (*AuditError)(nil); errors.As(err, &a) {
		r.Message += "\nTell the user to " + a.Remedy() + "."
	}
	return r
}

func (s *Supervisor) execute(ctx context.Context, e *Exec, j *judgement, base Result, gate *sandbox.Gate,
	check *afterCheck) Result {
	may := j.plan.Profile
	if j.kind == RunReads {
		may = j.names // a reader writes to files that its caller opened
	}
	if err := e.Request.Passed.permitted(may); err != nil {
		return base.with(failure(err))
	}
	defer j.serve(e.Session)()
	st, err := openStreams(e)
	if err != nil {
		return base.with(failure(err))
	}
	defer e.later(func() {
		if !st.kept {
			st.close()
		}
	})
	release, err := s.seeHeld(e.Session.Root, j)
	if err != nil {
		return base.with(failure(err))
	}
	defer release()
	base.Warnings = append(base.Warnings, j.unseenWarning()...)
	defer e.later(s.prepareCache(e, j, &base))
	layered, err := s.beginLayer(ctx, e, j, &base)
	if err != nil {
		return base.with(failure(err))
	}
	plan, err := s.placed(ctx, e, j)
	if err != nil {
		base.Warnings = append(base.Warnings, "this command has its own /tmp and localhost: "+err.Error())
		plan = j.plan
	}
	proc, err := s.Host.Start(ctx, plan, st.child, gate)
	if err != nil {
		layered.drop()
		check.ended()
		base.unmounted = s.unmounted(e, err)
		return base.with(startFailure(err, e.Request, j.plan.Profile))
	}
	check.note.First(proc.First())
	out := s.openProxySession(e, j, proc.Sockets())
	e.started(proc, st.term, j.plan.Profile)
	e.log.add(Event{Kind: EventStarted, Started: &Started{Decision: base.Decision, Digest: base.Digest,
		Report: base.Report, Warnings: base.Warnings, Warm: proc.Warm()}})
	st.follow(e.log)

	wall := time.NewTimer(timeLimit(e.Request.Timeout, j.plan.Profile.Limits().Wall))
	defer wall.Stop()
	select {
	case <-proc.Done():
	case <-proc.Left():
	case <-wall.C:
		proc.End(sandbox.EndWall, grace)
	case <-ctx.Done():
		cause := sandbox.EndCancelled
		var end endError
		if errors.As(context.Cause(ctx), &end) {
			cause = sandbox.EndCause(end)
		}
		proc.End(cause, grace)
	}
	exit := s.await(ctx, running{e, j, proc, st, out, check}, layered, &base)
	base.Violations = notTaken(base.Violations, base.Quarantined)
	if exit.Cause == sandbox.EndTmp {
		e.Session.place.empty()
	}
	base.Outcome, base.Exit, base.Message, base.Uncapped = Ran, exit, endMessage(exit), e.Request.Passed.uncapped()
	e.tellDeaf(j, &base)
	e.tellUntrusted(j, &base)
	e.warnExternalGitDir(j, &base)
	e.tellUnnamed(j, &base)
	if exit.Cause == sandbox.EndWall {
		base.Code = 124
	}
	base.tellKept(s, e.Session.Root)
	return base
}

// with returns r with the outcome of o.
func (r Result) with(o Result) Result {
	r.Outcome, r.Code, r.Message = o.Outcome, o.Code, o.Message
	return r
}

// unlimited is a time limit that is none.
const unlimited = time.Duration(1<<63 - 1)

// timeLimit is the smaller of the requested limit and the profile's;
// 0 of either is no limit of its own.
func timeLimit(asked, profile time.Duration) time.Duration {
	if asked <= 0 {
		asked = unlimited
	}
	if profile <= 0 {
		profile = unlimited
	}
	return min(asked, profile)
}

// startFailure explains why nothing started.
func startFailure(err error, request ExecRequest, p profile.Profile) Result {
	var stage *sandbox.StageError
	if errors.As(err, &stage) && stage.Code != 125 {
		r := Result{Outcome: NotFound, Code: stage.Code, Message: stage.Message}
		if stage.Code == 127 {
			r.Message += " (inside the sandbox only what the profile grants is there: sbx profile show)"
		}
		if program := programOf(request); stage.Code == 126 && program != "" && !p.Allows(profile.OpExec, program).Allowed {
			r.Message += fmt.Sprintf(" (the sandbox may not execute it; ask the user for [sandbox] exec = [%q] in the "+
				"configuration, and the same for the place that a link there leads to)", filepath.Dir(program))
		}
		return r
	}
	return failure(err)
}

// programOf returns the path of the program that an argv names by its path; "": it does not. Links are not followed:
// their targets are not for the sandbox to know.
func programOf(r ExecRequest) string {
	switch {
	case len(r.Argv) == 0 || !strings.Contains(r.Argv[0], "/"):
		return ""
	case filepath.IsAbs(r.Argv[0]):
		return filepath.Clean(r.Argv[0])
	}
	return filepath.Join(r.Cwd, r.Argv[0])
}

func endMessage(e sandbox.Exit) string {
	switch e.Cause {
	case "":
		return ""
	case sandbox.EndWall:
		return "Ended: it ran longer than allowed (limit wall)."
	case sandbox.EndServer:
		return "Cut off: the launch server ended, and every sandbox with it; run the command again (it has another server)."
	case sandbox.EndCPU, sandbox.EndMemory, sandbox.EndProcesses, sandbox.EndFileSize, sandbox.EndTmp,
		sandbox.EndLayer:
		return fmt.Sprintf("Ended: it reached its limit of %s ([sandbox.limits] %s).", e.Cause, e.Cause)
	}
	return fmt.Sprintf("Ended: %s.", e.Cause)
}

// streams are both sides of a command's standard descriptors.
type streams struct {
	child sandbox.Stdio
	term  *terminal

	toClose []*os.File
	out     []source
	copying sync.WaitGroup
	kept    bool // a job has them

	mu sync.Mutex // held while output is read and added
	to func(Event)
}

type source struct {
	file *os.File
	kind EventKind
}

// terminal is a pseudo-terminal that the daemon owns (R-IP-10).
type terminal struct{ master *os.File }

func openStreams(e *Exec) (*streams, error) {
	if e.Request.Terminal {
		return openTerminal(e)
	}
	st := &streams{}
	in, err := st.openInput(e)
	if err != nil {
		st.close()
		return nil, err
	}
	st.child.In = in
	passed := e.Request.Passed
	for _, o := range []struct {
		to   **os.File
		kind EventKind
		own  *Descriptor
	}{{&st.child.Out, EventStdout, passed.Out}, {&st.child.Err, EventStderr, passed.Err}} {
		if o.own != nil {
			*o.to = o.own.File
			continue
		}
		r, w, err := outputPipe()
		if err != nil {
			st.close()
			return nil, fmt.Errorf("open output: %w", err)
		}
		*o.to = w
		st.toClose = append(st.toClose, w)
		st.out = append(st.out, source{r, o.kind})
	}
	return st, nil
}

func (st *streams) openInput(e *Exec) (*os.File, error) {
	if own := e.Request.Passed.In; own != nil {
		return own.File, nil
	}
	switch e.Request.Stdin {
	case StdinStream:
		return e.stdin.r, nil // closed with the exec
	case StdinData:
		f, err := sandbox.DataFile("stdin", bytes.NewReader(e.Request.StdinData))
		if err != nil {
			return nil, err
		}
		st.toClose = append(st.toClose, f)
		return f, nil
	}
	return nil, nil
}

func openTerminal(e *Exec) (*streams, error) {
	master, slave, err := pty.Open()
	if err != nil {
		return nil, fmt.Errorf("open terminal: %w", err)
	}
	term := &terminal{master}
	st := &streams{term: term, toClose: []*os.File{slave}, out: []source{{master, EventTerminal}}}
	st.child = sandbox.Stdio{In: slave, Out: slave, Err: slave}
	// Opened by package pty it blocks, and a blocked writer could not be interrupted.
	err = errors.Join(term.control(func(fd int) error { return unix.SetNonblock(fd, true) }),
		term.resize(or(e.Request.Cols, 80), or(e.Request.Rows, 24)))
	if err != nil {
		st.close()
		return nil, fmt.Errorf("prepare terminal: %w", err)
	}
	return st, nil
}

// control calls f with the descriptor, which os.File.Fd would make block again.
func (t *terminal) control(f func(fd int) error) error {
	c, err := t.master.SyscallConn()
	if err != nil {
		return err
	}
	var ferr error
	err = c.Control(func(fd uintptr) { ferr = f(int(fd)) })
	return errors.Join(err, ferr)
}

func (t *terminal) resize(cols, rows uint16) error {
	return t.control(func(fd int) error {
		return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Col: cols, Row: rows})
	})
}

func or(v, otherwise uint16) uint16 {
	if v == 0 {
		return otherwise
	}
	return v
}

// follow copies output into the log until its writers are gone. The child's
// ends are closed here: the command has its own.
func (st *streams) follow(log *eventLog) {
	for _, f := range st.toClose {
		f.Close()
	}
	st.toClose = nil
	st.to = log.add
	for _, src := range st.out {
		st.copying.Go(func() { st.copy(src) })
	}
}

// buffers are for output; a command that says nothing holds none.
var buffers = sync.Pool{New: func() any { return new([32 << 10]byte) }}

// copy copies until the end: EOF, or EIO from a terminal whose last user left.
func (st *streams) copy(s source) {
	c, err := s.file.SyscallConn()
	for more := true; more && err == nil; {
		err = c.Read(func(fd uintptr) (done bool) {
			buf := buffers.Get().(*[32 << 10]byte)
			defer buffers.Put(buf)
			st.mu.Lock()
			defer st.mu.Unlock()
			n, err := unix.Read(int(fd), buf[:])
			switch {
			case err == unix.EAGAIN:
				return false
			case err == unix.EINTR:
				return true
			case n > 0:
				st.to(Event{Kind: s.kind, Data: buf[:n]})
			default:
				more = false
			}
			return true
		})
	}
}

// drain waits for the rest of the output. Every writer is dead by now, so it
// comes to an end by itself.
func (st *streams) drain() { st.copying.Wait() }

func (st *streams) close() {
	for _, f := range st.toClose {
		f.Close()
	}
	for _, src := range st.out {
		src.file.Close()
	}
	st.copying.Wait()
}

// inputPipe is a command's streamed standard input.
type inputPipe struct {
	r *os.File

	mu sync.Mutex
	w  *os.File // nil once at end of file
}

func newInputPipe() (*inputPipe, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("open standard input: %w", err)
	}
	return &inputPipe{r: r, w: w}, nil
}

// ErrInputClosed says that nobody reads the command's standard input.
var ErrInputClosed = errors.New("the command no longer takes standard input")

// WriteInput gives data to the command and, with eof, ends its input. It
// blocks while the command has no room, until ctx ends or the command does.
func (e *Exec) WriteInput(ctx context.Context, data []byte, eof bool) error {
	e.mu.Lock()
	in, term := e.stdin, e.term
	e.mu.Unlock()
	if term != nil {
		if eof {
			data = append(data, 4) // VEOF: the terminal's own end of file
		}
		return writeUntil(ctx, term.master, data)
	}
	if in == nil {
		return ErrInputClosed
	}
	in.mu.Lock()
	w := in.w
	in.mu.Unlock()
	if w == nil {
		return ErrInputClosed
	}
	if len(data) > 0 {
		if err := writeUntil(ctx, w, data); err != nil {
			return err
		}
	}
	if eof {
		in.end()
	}
	return nil
}

// writeUntil writes all of data unless ctx ends first.
func writeUntil(ctx context.Context, f *os.File, data []byte) error {
	expired := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		f.SetWriteDeadline(time.Unix(1, 0))
		close(expired)
	})
	defer func() {
		if !stop() { // the next one has its own time
			<-expired
			f.SetWriteDeadline(time.Time{})
		}
	}()
	if _, err := f.Write(data); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return ErrInputClosed
	}
	return nil
}

func (p *inputPipe) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.w != nil {
		p.w.Close()
		p.w = nil
	}
}

// Resize sets the size of the command's terminal; without one it is nothing.
func (e *Exec) Resize(cols, rows uint16) error {
	e.mu.Lock()
	term := e.term
	e.mu.Unlock()
	if term == nil {
		return nil
	}
	return term.resize(cols, rows)
}

func (e *Exec) started(p *sandbox.Process, t *terminal, under profile.Profile) {
	e.mu.Lock()
	e.proc, e.term, e.profile = p, t, under
	in := e.stdin
	e.mu.Unlock()
	if in != nil {
		// The command holds the reading end now; with ours gone a write after
		// its death fails instead of blocking.
		in.r.Close()
	}
}

func (e *Exec) closeInput() {
	e.mu.Lock()
	in := e.stdin
	e.mu.Unlock()
	if in != nil {
		in.end()
		in.r.Close()
	}
}
