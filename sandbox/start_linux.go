package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"sandboxd/sandbox/stage"
)

// startTimeout bounds the time from fork to execve: mounts and namespaces
// take milliseconds; a host on which they hang has no sandbox.
const startTimeout = 10 * time.Second

// slowStart is after how long a start no longer counts among those that
// others wait for.
const slowStart = time.Second

// nobody is the user that owns nothing, by its usual number.
const nobody = 65534

// maxDiagnostics is how much of bwrap's own complaint is kept.
const maxDiagnostics = 4096

// Start launches the plan's command. It returns once everything the plan
// promises is in force and the command executes, or an error: *StageError when
// the last stage refused, *LaunchError when the sandbox did not come up,
// *OverlayError when an overlay could not be mounted. Nothing of the command has run then.
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
	warm := h.pool.take(view)
	if warm != nil && p.beginOverlays(warm) != nil {
		h.pool.lose(warm)
		warm = nil
	}
	if warm != nil {
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
		return nil, p.notMounted(err)
	}
	proc, err := h.begin(ctx, l, p, std, gate)
	if err == nil && poolable {
		h.pool.refillAfter(h, p, proc)
	}
	return proc, p.notMounted(err)
}

// launch starts everything around the command: with bwrap the sandbox, in which
// the stage waits for its order; alone the stage itself.
func (h *Host) launch(ctx context.Context, p *Plan, std Stdio, gate *Gate) (*launch, error) {
	for try := 1; ; try++ {
		if err := p.beginOverlays(nil); err != nil { // each try: an upper directory is mounted once only ("volatile")
			return nil, err
		}
		l, err := h.launchOnce(ctx, p, std, gate)
		if !errors.Is(err, errLost) || try == launchTries {
			return l, err
		}
	}
}

func (h *Host) launchOnce(ctx context.Context, p *Plan, std Stdio, gate *Gate) (*launch, error) {
	l, err := h.prepare(p, std)
	if err != nil {
		return nil, err
	}
	defer l.closeChildEnds()
	l.proc = &Process{done: make(chan struct{}), left: make(chan struct{}), host: h, cgroup: l.cgroup,
		reaper: l.reaper, server: l.server}
	if l.cmd != nil {
		if err := h.spawner.start(l.cmd, l.cgroup, devicesOf(p.args)); err != nil {
			l.abandon()
			return nil, &LaunchError{Mechanism: l.mechanism, Cause: err}
		}
	}
	l.proc.cmd = l.cmd
	l.closeChildEnds() // else the end of a child that dies at once is not seen
	gate.prepare()
	err = l.hold(ctx, l.proc)
	if err == nil {
		err = l.instruct()
	}
	if err != nil {
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
	// A layer lands after the last process of its run.
	proc.stays = p.place != nil && !p.order.Terminal && len(p.overlays) == 0
	if proc.shared = p.shared; len(p.shared) > 0 {
		proc.place, proc.emptied = p.place, p.place.exceeded.Load()
	}
	proc.limits, l.listen, l.dialers = p.Profile.Limits(), len(p.order.Listen), p.order.Dialers
	proc.written = p.written()
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
	pieces, err := o.Pieces(stage.CarriesStandard)
	if err != nil {
		return err
	}
	l.status.SetWriteDeadline(time.Now().Add(startTimeout))
	rights := unix.UnixRights(int(std.In.Fd()), int(std.Out.Fd()), int(std.Err.Fd()))
	for _, piece := range pieces {
		if _, _, err := l.status.WriteMsgUnix(piece, rights, nil); err != nil {
			if m, failed := readStatus(l.status); failed == nil && m.Message != "" {
				return &StageError{Step: m.Step.String(), Code: m.Code, Message: m.Message} // it ended before
			}
			return &LaunchError{Mechanism: l.mechanism, Cause: fmt.Errorf("send order: %w%s", err, l.diagnostics())}
		}
		rights = nil
	}
	return nil
}

func (l *launch) closeChildEnds() {
	for _, f := range l.child {
		f.Close()
	}
	l.child = nil
}

// closeOurEnds releases the resources that are only needed until the command runs.
func (l *launch) closeOurEnds() {
	if l.status != nil {
		l.status.Close()
	}
	for _, f := range append(l.watched, l.diagR, l.infoR, l.blockW, l.joins, l.network) {
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
	l.spare.drop()
}

// kill ends a start that went wrong after the fork.
func (l *launch) kill(p *Process) {
	p.killTree()
	p.await()
	p.sockets.Close()
	p.dropMounts()
	p.root.Close()
	p.stopListening()
	l.abandon()
}

// hold takes a handle on the first process of the sandbox's pid namespace,
// whose death ends every other one in it (pid_namespaces(7)), and moves it into
// the cgroup while bwrap still blocks, so that nothing ever runs outside.
func (l *launch) hold(ctx context.Context, p *Process) error {
	if l.cmd != nil {
		p.first = l.cmd.Process.Pid
	}
	if l.reaper { // no namespace: the reaper is all there is
		return nil
	}
	pid, err := l.awaitFirst(ctx)
	if err != nil {
		return err
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err == nil && l.native && ended(l.status) { // another process may have its number
		unix.Close(fd)
		err = unix.ESRCH
	}
	if errors.Is(err, unix.ESRCH) && l.native { // it failed after its first report; the next one says why
		m, failed := readStatus(l.status)
		m.close()
		if failed == nil && m.Message != "" {
			return &StageError{Step: m.Step.String(), Code: m.Code, Message: m.Message}
		}
		return errLost
	}
	if err != nil {
		return fmt.Errorf("pidfd_open: %w%s", err, l.diagnostics())
	}
	p.mu.Lock()
	p.init, p.first, p.namespace, p.own = fd, pid, true, 1
	if p.host.pidMax {
		p.own = p.host.ownTasks()
	}
	p.mu.Unlock()
	if !l.native { // else the first process hands it out
		p.keepMounts(pid)
	}
	if l.limitPids == nil {
		return nil
	}
	if err = l.limitPids(fd); err != nil || l.native {
		return err
	}
	_, err = l.blockW.Write([]byte{1})
	return err
}

// awaitFirst returns the process id of the namespace's first process.
func (l *launch) awaitFirst(ctx context.Context) (pid int, err error) {
	var deadline interface{ SetReadDeadline(time.Time) error } = l.infoR
	if l.native {
		deadline = l.status
	}
	deadline.SetReadDeadline(time.Now().Add(startTimeout))
	stop := context.AfterFunc(ctx, func() { deadline.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	if !l.native {
		pid, err = readChildPid(l.infoR)
	} else if m, failed := readStatus(l.status); errors.Is(failed, io.EOF) {
		return 0, errLost
	} else if failed != nil {
		err = failed
	} else if m.Step != stage.StepBorn {
		return 0, errors.New(m.Message)
	} else {
		pid = m.pid
	}
	if err != nil {
		return 0, fmt.Errorf("no process was reported: %w%s", err, l.diagnostics())
	}
	return pid, nil
}

// waiting takes the descriptors that a waiting first process has handed over, but for the filter's listener,
// which remains in m.
func (l *launch) waiting(m *message) error {
	if !l.native && l.orphaned() {
		m.close()
		return errOrphaned
	}
	if !l.native {
		return nil
	}
	if len(m.files) < 3 {
		m.close()
		return errors.New("the first process has not handed over its root and its namespaces")
	}
	l.proc.root, l.proc.mounts, l.network = m.files[0], m.files[1], m.files[2]
	m.files = m.files[3:]
	return nil
}

// awaitExec waits until everything is in force and the command executes: the first
// process of a namespace says so, and else the stage's end of the socket closes,
// which execve does. In between the gate has to open.
func (l *launch) awaitExec(ctx context.Context, p *Process, plan *Plan, gate *Gate) error {
	within := deadline{conn: l.status}
	within.extend(startTimeout)
	stop := func() bool { return true } // what was let go may have begun, and without a gate that is at once
	if gate != nil {
		stop = context.AfterFunc(ctx, func() { within.end(fmt.Errorf("start: %w", context.Cause(ctx))) })
	}
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
			return &LaunchError{Mechanism: l.mechanism,
				Cause: errors.New("it ended before the sandbox was ready" + l.diagnostics())}
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
			if err := l.waiting(&m); err != nil {
				return &LaunchError{Mechanism: l.mechanism, Cause: err}
			}
			p.leader = m.pid
			p.listen(m.files, plan)
		case m.Step == stage.StepReady:
			ready, p.leader = true, m.pid
			p.listen(m.files, plan)
			if gate != nil {
				within.extend(0)
				l.release(gate, &within, stop)
			}
		default:
			return &StageError{Step: m.Step.String(), Code: m.Code, Message: m.Message}
		}
	}
}

// release lets a stage go that holds, as soon as the gate is open, unless lasts, which ends cancelling, is too late.
func (l *launch) release(gate *Gate, within *deadline, lasts func() bool) {
	status, mechanism := l.status, l.mechanism
	gate.then(func(err error) {
		within.extend(startTimeout)
		if err == nil && !lasts() {
			return
		}
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

// diagnostics is bwrap's own output, as a suffix for an error.
func (l *launch) diagnostics() string {
	if l.diagR == nil {
		return ""
	}
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
