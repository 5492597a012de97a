package supervisor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"sandboxd/files/worker"
	"sandboxd/sandbox"
)

// FileWorkerArg is the only argument of the program that serves file operations:
// it finds its connection on standard input, and calls worker.Serve.
const FileWorkerArg = "file-worker"

const (
	// workerSetup is how long a worker may take to say that it is ready.
	workerSetup = 20 * time.Second
	// workerTime bounds one operation: contents are bounded, disks are slow, and
	// every one of up to ten thousand files is on disk before the next.
	workerTime = 10 * time.Minute
	// workerIdle is how long a worker waits for its session's next operation.
	workerIdle = time.Minute
)

// workerProgram is the file that workers execute. It is the daemon's own, in
// memory, so that it need not be visible inside and nobody can exchange it.
type workerProgram struct {
	path string

	mu   sync.Mutex
	file *os.File // nil until it was read
}

func (w *workerProgram) open() (*os.File, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.file != nil {
		return w.file, nil
	}
	program, err := os.Open(w.path)
	if err == nil {
		defer program.Close()
		w.file, err = sandbox.DataFile("files", program)
	}
	if err != nil {
		return nil, fmt.Errorf("open the file worker's program: %w", err)
	}
	return w.file, nil
}

// command is the worker as a plan has it.
func (w *workerProgram) command() (sandbox.Command, error) {
	c := sandbox.Command{Argv: []string{"sandboxd", FileWorkerArg}, Dir: "/",
		Env: []string{"PATH=" + searchPath, "LANG=C.UTF-8"}}
	if runtime.GOOS != "linux" {
		c.Path = w.path
		return c, nil
	}
	var err error
	c.Program, err = w.open()
	return c, err
}

// fileWorker is one worker in its sandbox.
type fileWorker struct {
	client *worker.Client
	proc   *sandbox.Process
	view   string // of the plan that it was started with
	setup  string // the rules that it was given
	said   *diagnostics
	idle   *time.Timer
	due    time.Time // when idle ends it
}

// startWorker starts a worker under a plan. The caller ends it.
func (s *Supervisor) startWorker(ctx context.Context, plan *sandbox.Plan, setup worker.Setup) (*fileWorker, error) {
	ours, theirs, err := worker.Pair()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		ours.Close()
		return nil, err
	}
	defer null.Close()
	said, end, err := newDiagnostics()
	if err != nil {
		ours.Close()
		return nil, err
	}
	defer end.Close()
	view := s.Host.View(plan) // before the start: a change meanwhile counts as changed
	proc, err := s.Host.Start(ctx, plan, sandbox.Stdio{In: theirs, Out: null, Err: end}, nil)
	if err != nil {
		ours.Close()
		return nil, fmt.Errorf("start the file worker: %w", err)
	}
	theirs.Close()
	late := time.AfterFunc(workerSetup, func() { ours.Close() })
	client, err := worker.NewClient(ours, setup)
	late.Stop()
	if err != nil {
		proc.End(sandbox.EndCancelled, 0)
		<-proc.Done()
		return nil, fmt.Errorf("start the file worker: %w%s", err, said.suffix())
	}
	return &fileWorker{client: client, proc: proc, view: view, said: said}, nil
}

// end hangs up and waits until every process of the worker is gone.
func (w *fileWorker) end() {
	w.client.Close()
	w.proc.End(sandbox.EndSession, 0)
	<-w.proc.Done()
}

// exited reports a worker that ended by itself.
func (w *fileWorker) exited() bool {
	select {
	case <-w.proc.Done():
		return true
	default:
		return false
	}
}

// diagnostics keeps the first bytes of a worker's standard error.
type diagnostics struct {
	mu   sync.Mutex
	text []byte
}

const maxDiagnostics = 4096

// newDiagnostics returns the end that the worker writes to.
func newDiagnostics() (*diagnostics, *os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	d := &diagnostics{}
	go func() {
		defer r.Close()
		buf := make([]byte, 512)
		for {
			n, err := r.Read(buf)
			d.mu.Lock()
			d.text = append(d.text, buf[:min(n, maxDiagnostics-len(d.text))]...)
			d.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return d, w, nil
}

func (d *diagnostics) suffix() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if text := strings.TrimSpace(string(d.text)); text != "" {
		return ": " + text
	}
	return ""
}

// sessionWorker is the long-lived worker of a session: at most one at a time,
// for one profile and one view of the host.
type sessionWorker struct {
	mu     sync.Mutex
	live   *fileWorker
	closed bool
}

// errWorkerClosed says that the session of a worker has ended.
var errWorkerClosed = errors.New("the session is closed")

// use calls f with a worker under the plan: the one that is there if it would
// be no other than a new one, else a new one. f has it for itself. A worker that
// f found broken is not used again. It waits for workerIdle for the next operation.
func (h *sessionWorker) use(ctx context.Context, s *Supervisor, plan *sandbox.Plan, setup worker.Setup,
	f func(*worker.Client) error) error {
	return h.useFor(ctx, s, plan, setup, workerIdle, f)
}

// useFor is use with a worker that waits for linger at least.
func (h *sessionWorker) useFor(
	ctx context.Context, s *Supervisor, plan *sandbox.Plan, setup worker.Setup, linger time.Duration,
	f func(*worker.Client) error,
) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return errWorkerClosed
	}
	key := setupKey(setup)
	if w := h.live; w != nil && (w.exited() || w.setup != key || w.view == "" || w.view != s.Host.View(plan)) {
		h.drop()
	}
	if h.live == nil {
		w, err := s.startWorker(ctx, plan, setup)
		if err != nil {
			return err
		}
		w.setup = key
		w.idle = time.AfterFunc(workerIdle, func() { h.leave(w) })
		h.live = w
	}
	h.live.idle.Stop()
	err := f(h.live.client)
	if errors.Is(err, worker.ErrBroken) {
		err = fmt.Errorf("%w%s", err, h.live.said.suffix())
		h.drop()
		return err
	}
	if due := time.Now().Add(linger); due.After(h.live.due) {
		h.live.due = due
	}
	if left := time.Until(h.live.due); left > 0 {
		h.live.idle.Reset(left)
	} else {
		h.drop()
	}
	return err
}

// leave ends w, if it is still the one, because nobody needs it.
func (h *sessionWorker) leave(w *fileWorker) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.live == w {
		h.drop()
	}
}

// drop ends the worker; mu is held.
func (h *sessionWorker) drop() {
	h.live.idle.Stop()
	h.live.end()
	h.live = nil
}

// close ends the worker for good.
func (h *sessionWorker) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	if h.live != nil {
		h.drop()
	}
}

// once calls f with a worker that is started for it alone.
func (s *Supervisor) once(ctx context.Context, plan *sandbox.Plan, setup worker.Setup,
	f func(*worker.Client) error) error {
	w, err := s.startWorker(ctx, plan, setup)
	if err != nil {
		return err
	}
	defer w.end()
	if err := f(w.client); err != nil {
		if errors.Is(err, worker.ErrBroken) {
			return fmt.Errorf("%w%s", err, w.said.suffix())
		}
		return err
	}
	return nil
}
