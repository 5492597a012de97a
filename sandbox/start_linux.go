package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"sandboxd/sandbox/stage"
)

// startTimeout bounds the time from fork to execve: mounts and namespaces
// take milliseconds; a host on which they hang has no sandbox.
const startTimeout = 10 * time.Second

// slowStart is after how long a start does not count any more among those that
// others wait for.
const slowStart = time.Second

// nobody is the user that owns nothing, by its usual number.
const nobody = 65534

// maxDiagnostics is how much of bwrap's own complaint is kept.
const maxDiagnostics = 4096

// Start launches the plan's command. It returns once everything the plan
// promises is in force and the command executes, or an error: *StageError when
// the last stage refused, *LaunchError when the sandbox did not come up. In
// both cases nothing of the command has run.
//
// Nothing of the command runs before gate is open; nil: there is none. The error for
// which it stays shut is returned.
//
// The caller keeps io's files and closes them; the command has its own copies.
func (h *Host) Start(ctx context.Context, p *Plan, std Stdio, gate *Gate) (*Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("start %q: %w", p.Command.Argv[0], context.Cause(ctx))
	}
	if p.args == nil { // the command follows its stage at once
		if err := gate.wait(); err != nil {
			return nil, err
		}
		gate = nil
	}
	select {
	case h.starts <- struct{}{}:
		begun := sync.OnceFunc(func() { <-h.starts })
		defer begun()
		// One that hangs, on a mount that does not answer, holds nobody up.
		defer time.AfterFunc(slowStart, begun).Stop()
	case <-ctx.Done():
		return nil, fmt.Errorf("start %q: %w", p.Command.Argv[0], context.Cause(ctx))
	}
	view, poolable := h.pool.view(p)
	if warm := h.pool.take(view); warm != nil {
		proc, err := h.begin(ctx, warm, p, std, gate)
		if err == nil {
			proc.warm = true
			h.pool.refillAfter(h, p, proc)
		}
		if err == nil || !spoiled(err) {
			return proc, err
		}
		// It died while it waited. Nothing of the command has run.
	}
	l, err := h.launch(ctx, p, std, gate)
	if err != nil {
		return nil, err
	}
	proc, err := h.begin(ctx, l, p, std, gate)
	if err == nil && poolable {
		h.pool.refillAfter(h, p, proc)
	}
	return proc, err
}

// launch starts everything around the command: with bwrap the sandbox, in which
// the stage waits for its order; alone the stage itself.
func (h *Host) launch(ctx context.Context, p *Plan, std Stdio, gate *Gate) (*launch, error) {
	l, err := h.prepare(p, std)
	if err != nil {
		return nil, err
	}
	defer l.closeChildEnds()
	l.proc = &Process{done: make(chan struct{}), host: h, cgroup: l.cgroup, reaper: l.reaper}
	if err := h.spawner.start(l.cmd, l.bornIn(), devicesOf(p.args)); err != nil {
		l.abandon()
		return nil, &LaunchError{Mechanism: l.mechanism, Cause: err}
	}
	l.proc.cmd = l.cmd
	l.closeChildEnds() // else the end of a child that dies at once is not seen
	gate.prepare()
	if err := l.hold(ctx, l.proc); err != nil {
		l.kill(l.proc)
		if ctx.Err() != nil {
			return nil, fmt.Errorf("start: %w", context.Cause(ctx))
		}
		return nil, &LaunchError{Mechanism: l.mechanism, Cause: err}
	}
	return l, nil
}

// begin hands the stage its order and returns once the command executes.
func (h *Host) begin(ctx context.Context, l *launch, p *Plan, std Stdio, gate *Gate) (*Process, error) {
	proc := l.proc
	proc.limits, l.listen, l.dialers = p.Profile.Limits(), len(p.order.Listen), p.order.Dialers
	var err error
	if !l.reaper {
		err = l.send(p, std, h.spawner.null.Load(), gate != nil)
	}
	if len(l.watched) > 0 {
		proc.leader = l.stage
		proc.listen(l.watched, p)
		l.watched = nil
	}
	gate.prepare()
	if err == nil {
		err = l.awaitExec(ctx, proc, p, gate)
	}
	if err != nil {
		l.kill(proc)
		return nil, err
	}
	if proc.namespace && !p.order.Probe {
		proc.status, l.status = l.status, nil
	}
	l.closeOurEnds()
	go proc.reap()
	go proc.watch(p.private())
	return proc, nil
}

// send hands over the order and the command's descriptors.
func (l *launch) send(p *Plan, std Stdio, null *os.File, hold bool) error {
	std = std.held(null)
	if std.In == nil {
		fd, err := unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0) // os.Open would ask its poller, too
		if err != nil {
			return &os.PathError{Op: "open", Path: os.DevNull, Err: err}
		}
		std.In = os.NewFile(uintptr(fd), os.DevNull)
		defer std.In.Close()
	}
	o := p.order
	o.Hold = hold
	if l.early {
		o.Early, o.Landlock, o.Seccomp, o.Tells = true, nil, nil, false
	}
	pieces, err := o.Pieces()
	if err != nil {
		return err
	}
	l.status.SetWriteDeadline(time.Now().Add(startTimeout))
	rights := unix.UnixRights(int(std.In.Fd()), int(std.Out.Fd()), int(std.Err.Fd()))
	for _, piece := range pieces {
		if _, _, err := l.status.WriteMsgUnix(piece, rights, nil); err != nil {
			return &LaunchError{Mechanism: l.mechanism, Cause: fmt.Errorf("send order: %w%s", err, l.diagnostics())}
		}
		rights = nil
	}
	return nil
}

// launch is one start in progress: the descriptors of both sides.
type launch struct {
	cmd       *exec.Cmd
	proc      *Process
	mechanism string
	reaper    bool // the first process is the helper, as reaper
	status    *net.UnixConn
	diagR     *os.File
	infoR     *os.File // bwrap's --info-fd
	blockW    *os.File // bwrap's --block-fd
	child     []*os.File
	cgroup    *cgroup
	limitPids func(init int) error // nil: something else bounds them
	listen    int                  // how many sockets the stage is to hand out, of which kind
	dialers   int
	early     bool // Landlock and the filter are in force while the stage waits
	view      view // of one that waits
	// watched has the filter's listener, as far as nobody serves it yet, and stage is
	// the pid of the stage that waits.
	watched []*os.File
	stage   int
}

func (h *Host) prepare(p *Plan, std Stdio) (l *launch, err error) {
	l = &launch{mechanism: "bwrap"}
	defer func() {
		if err != nil {
			l.closeChildEnds()
			l.abandon()
		}
	}()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return l, fmt.Errorf("status socket: %w", err)
	}
	statusChild := l.add(os.NewFile(uintptr(pair[1]), "status"))
	if l.status, err = packetConn(pair[0]); err != nil {
		return l, err
	}
	diagR, diagW, err := os.Pipe()
	if err != nil {
		return l, err
	}
	l.diagR = diagR
	l.add(diagW)

	cmd := &exec.Cmd{
		Env: []string{}, Dir: "/",
		Stderr:      diagW,
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	// A bwrap whose daemon is gone sees to its end by itself (--die-with-parent), once it
	// can take its first process along. One that is not as far goes on until its
	// stage finds nobody who gives it an order. Killed before, it would leave that process
	// behind (see endStuck).
	l.cmd = cmd
	if p.args == nil { // Landlock alone: the helper is reaper and stage
		l.mechanism, l.reaper = "stage", true
		cmd.Path = "/proc/self/fd/" + strconv.Itoa(stage.FDStage)
		cmd.Args = []string{"sandboxd-launch", stage.ReapArg}
		// Should the daemon die, the reaper has to outlive it for a moment.
		cmd.SysProcAttr.Pdeathsig = syscall.SIGTERM
		if p.order.Probe && os.Geteuid() == 0 {
			// The stage goes on with no capability; nobody has none.
			cmd.SysProcAttr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
		}
		order, err := l.order(p.order)
		if err != nil {
			return l, err
		}
		if cmd.Stdout = std.Out; std.In != nil {
			cmd.Stdin = std.In
		}
		// FDArgs must be something; the stage closes it unread.
		first := order
		if p.Command.Program != nil {
			first = p.Command.Program
		}
		cmd.ExtraFiles = []*os.File{first, order, h.stage, statusChild, std.Err}
		return l, nil
	}
	laying := stage.Order{Await: true}
	if l.early = p.early(); l.early {
		laying.Early, laying.Landlock, laying.Seccomp, laying.Tells = true, p.order.Landlock, p.order.Seccomp, p.order.Tells
	}
	order, err := l.order(laying)
	if err != nil {
		return l, err
	}
	free := stage.FDFree
	args := append([]string{"--as-pid-1"}, p.args...) // the stage reaps
	var extra []*os.File
	if p.nulls > 0 {
		null, err := os.Open(os.DevNull)
		if err != nil {
			return l, err
		}
		extra = append(extra, slices.Repeat([]*os.File{l.add(null)}, p.nulls)...)
		free += p.nulls
	}
	if p.Command.Program != nil {
		extra = append(extra, p.Command.Program)
		free++
	}
	for _, f := range p.files {
		data, err := l.memfd("file", f.Data)
		if err != nil {
			return l, err
		}
		extra = append(extra, data)
		args = append(args, "--perms", "0444", "--ro-bind-data", strconv.Itoa(free), f.Path)
		free++
	}
	block := false
	if h.cgroups != nil {
		if l.cgroup, err = h.cgroups.create(p.Profile.Limits()); err != nil {
			return l, &LaunchError{Mechanism: "cgroup", Cause: err}
		}
		block = l.bornIn() == nil
	} else if n := p.Profile.Limits().Processes; n > 0 && h.pidMax {
		block = true
		l.limitPids = func(init int) error { return h.limitPids(init, n) }
	}
	if block {
		blockR, blockW, err := os.Pipe()
		if err != nil {
			return l, err
		}
		l.blockW = blockW
		extra = append(extra, l.add(blockR))
		args = append(args, "--block-fd", strconv.Itoa(free))
		free++
	}
	infoR, infoW, err := os.Pipe()
	if err != nil {
		return l, err
	}
	l.infoR = infoR
	extra = append(extra, l.add(infoW))
	args = append(args, "--info-fd", strconv.Itoa(free))
	argsFile, err := l.memfd("args", []byte(strings.Join(args, "\x00")+"\x00"))
	if err != nil {
		return l, err
	}
	cmd.Path = h.Bwrap
	cmd.Args = []string{"bwrap", "--args", strconv.Itoa(stage.FDArgs), "--", "/proc/self/fd/" + strconv.Itoa(stage.FDStage), stage.FirstArg}
	cmd.ExtraFiles = append([]*os.File{argsFile, order, h.stage, statusChild, diagW}, extra...)
	return l, nil
}

// bornIn is the group in which bwrap itself starts; nil where its first process
// is moved there before it goes on.
func (l *launch) bornIn() *cgroup {
	if l.cgroup == nil || l.cgroup.v2 {
		return nil
	}
	return l.cgroup
}

func (l *launch) order(o stage.Order) (*os.File, error) {
	encoded, err := o.MarshalBinary()
	if err != nil {
		return nil, err
	}
	return l.memfd("order", encoded)
}

// add remembers a descriptor of the child's side, to be closed here.
func (l *launch) add(f *os.File) *os.File {
	l.child = append(l.child, f)
	return f
}

func (l *launch) memfd(name string, data []byte) (*os.File, error) {
	f, err := sealedMemfd(name, data)
	if err != nil {
		return nil, err
	}
	return l.add(f), nil
}

func (l *launch) closeChildEnds() {
	for _, f := range l.child {
		f.Close()
	}
	l.child = nil
}

// closeOurEnds releases what is only needed until the command runs.
func (l *launch) closeOurEnds() {
	if l.status != nil {
		l.status.Close()
	}
	for _, f := range append(l.watched, l.diagR, l.infoR, l.blockW) {
		if f != nil {
			f.Close()
		}
	}
	l.watched = nil
}

// abandon releases everything of a start that failed.
func (l *launch) abandon() {
	l.closeOurEnds()
	if l.cgroup != nil {
		l.cgroup.remove()
	}
}

// kill ends a start that went wrong after the fork.
func (l *launch) kill(p *Process) {
	p.killTree()
	p.await()
	p.sockets.Close()
	p.dropMounts()
	p.stopListening()
	l.abandon()
}

// hold takes a handle on the first process of the sandbox's pid namespace,
// whose death ends every other one in it (pid_namespaces(7)), and moves it into
// the cgroup while bwrap still blocks, so that nothing ever runs outside.
func (l *launch) hold(ctx context.Context, p *Process) error {
	p.first = l.cmd.Process.Pid
	if l.infoR == nil { // no namespace: the reaper is all there is
		return nil
	}
	l.infoR.SetReadDeadline(time.Now().Add(startTimeout))
	stop := context.AfterFunc(ctx, func() { l.infoR.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	pid, err := readChildPid(l.infoR)
	if err != nil {
		return fmt.Errorf("no process was reported: %w%s", err, l.diagnostics())
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return fmt.Errorf("pidfd_open: %w%s", err, l.diagnostics())
	}
	p.mu.Lock()
	p.init, p.first, p.namespace, p.own = fd, pid, true, 1
	if p.host.pidMax {
		p.own = ownTasks
	}
	p.mu.Unlock()
	p.keepMounts(pid)
	if l.blockW == nil {
		return nil
	}
	if l.limitPids != nil {
		err = l.limitPids(fd)
	} else {
		err = l.cgroup.add(pid)
	}
	if err != nil {
		return err
	}
	_, err = l.blockW.Write([]byte{1})
	return err
}

// awaitExec waits until everything is in force and the command executes: the first
// process of a namespace says so, and else the stage's end of the socket closes,
// which execve does. In between the gate has to open.
func (l *launch) awaitExec(ctx context.Context, p *Process, plan *Plan, gate *Gate) error {
	within := deadline{conn: l.status}
	within.extend(startTimeout)
	stop := context.AfterFunc(ctx, func() { within.end(fmt.Errorf("start: %w", context.Cause(ctx))) })
	defer stop()
	ready := false
	for {
		m, err := readStatus(l.status)
		switch {
		case errors.Is(err, io.EOF) && ready && (!p.namespace || plan.order.Probe):
			return nil
		case err != nil && within.ended() != nil:
			return within.ended()
		case errors.Is(err, io.EOF):
			return &LaunchError{Mechanism: l.mechanism, Cause: errors.New("it ended before the sandbox was ready" + l.diagnostics())}
		case errors.Is(err, os.ErrDeadlineExceeded):
			return &LaunchError{Mechanism: l.mechanism, Cause: fmt.Errorf("not ready after %v", startTimeout)}
		case err != nil:
			return &LaunchError{Mechanism: l.mechanism, Cause: err}
		case m.Step == stage.StepNetwork && m.Code == 0:
			if err := p.sockets.take(m.files, l.listen, l.dialers); err != nil {
				return &LaunchError{Mechanism: l.mechanism, Cause: err}
			}
		case m.Step == stage.StepStarted && ready && p.namespace:
			l.status.SetReadDeadline(time.Time{})
			return nil
		case m.Step == stage.StepWaiting:
			if l.orphaned() {
				m.close()
				return &LaunchError{Mechanism: l.mechanism, Cause: errOrphaned}
			}
			p.leader = m.pid
			p.listen(m.files, plan)
		case m.Step == stage.StepReady:
			ready, p.leader = true, m.pid
			p.listen(m.files, plan)
			if gate != nil {
				within.extend(0)
				l.release(gate, &within)
			}
		default:
			return &StageError{Step: m.Step.String(), Code: m.Code, Message: m.Message}
		}
	}
}

// release lets a stage go that holds, as soon as the gate is open.
func (l *launch) release(gate *Gate, within *deadline) {
	status, mechanism := l.status, l.mechanism
	gate.then(func(err error) {
		within.extend(startTimeout)
		if err == nil {
			if err = release(status); err != nil {
				err = &LaunchError{Mechanism: mechanism, Cause: err}
			}
		}
		if err != nil {
			within.end(err)
		}
	})
}

func release(status *net.UnixConn) error {
	raw, err := status.SyscallConn()
	if err != nil {
		return err
	}
	var sent error
	if err := raw.Control(func(fd uintptr) { sent = stage.Release(int(fd)) }); err != nil {
		return err
	}
	return sent
}

// deadline bounds how long a connection is read.
type deadline struct {
	conn *net.UnixConn

	mu  sync.Mutex
	why error // it is over
}

// extend lets it be read for d from now, 0: without a bound, unless that is over.
func (d *deadline) extend(by time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.why != nil {
		return
	}
	var until time.Time
	if by > 0 {
		until = time.Now().Add(by)
	}
	d.conn.SetReadDeadline(until)
}

// end ends it at once; the first reason is kept.
func (d *deadline) end(why error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.why == nil {
		d.why = why
		d.conn.SetReadDeadline(time.Unix(1, 0))
	}
}

// ended is why it is over, or nil.
func (d *deadline) ended() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.why
}

// diagnostics is what bwrap itself said, as a suffix for an error.
func (l *launch) diagnostics() string {
	l.diagR.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	b, _ := io.ReadAll(io.LimitReader(l.diagR, maxDiagnostics))
	text := strings.TrimSpace(string(b))
	if text == "" {
		return ""
	}
	return ": " + text
}

// spawner starts processes from one thread that lives as long as the daemon:
// the parent-death signal is sent when the *thread* that forked ends
// (prctl(2), PR_SET_PDEATHSIG).
type spawner struct {
	once  sync.Once
	queue chan spawn
	null  atomic.Pointer[os.File] // /dev/null on a mount by which it can't be changed; see guarded
}

type spawn struct {
	cmd     *exec.Cmd
	group   *cgroup  // to start it in; nil: where the daemon is
	devices []string // of the host that the sandbox gets
	done    chan error
}

func (s *spawner) start(cmd *exec.Cmd, group *cgroup, devices []string) error {
	s.once.Do(func() {
		s.queue = make(chan spawn)
		go s.loop()
	})
	done := make(chan error, 1)
	s.queue <- spawn{cmd, group, devices, done}
	return <-done
}
