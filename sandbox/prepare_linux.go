package sandbox

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"sandboxd/sandbox/stage"
)

// launch is one start in progress: the descriptors of both sides.
type launch struct {
	cmd       *exec.Cmd // nil: the launch server starts it
	proc      *Process
	mechanism string
	reaper    bool // the first process is the helper, as reaper
	status    *net.UnixConn
	diagR     *os.File
	infoR     *os.File // bwrap's --info-fd
	blockW    *os.File // bwrap's --block-fd
	child     []*os.File
	cgroup    *cgroup
	// limitPids bounds the processes, once the first one exists, which does not continue before ([launch.hold]). nil:
	// a control group bounds them, or nothing does.
	limitPids func(init int) error
	listen    int // how many sockets the stage is to hand out, of which kind
	dialers   int
	place     *Place // in which it waits; nil: in none
	early     bool   // Landlock and the filter are in force while the stage waits
	view      view   // of one that waits
	spare     *spareLayer
	// watched has the filter's listener, as far as nobody serves it yet, and stage is
	// the pid of the stage that waits.
	watched []*os.File
	stage   int
	pieces  [][]byte // of the first order
	// joins is the network namespace that goes with it; nil: none. network is that of the sandbox, which the
	// first process has handed out.
	joins, network *os.File
	native         bool          // the launch server made the first process
	server         *net.UnixConn // that server; nil: there is none
}

// prepare makes everything that a start needs besides a process.
func (h *Host) prepare(p *Plan, std Stdio) (l *launch, err error) {
	l = &launch{}
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
	status := l.add(os.NewFile(uintptr(pair[1]), "status"))
	if l.status, err = packetConn(pair[0]); err != nil {
		return l, err
	}
	if p.operations != nil {
		return l, l.prepareNative(h, p, status)
	}
	diagR, diagW, err := os.Pipe()
	if err != nil {
		return l, err
	}
	l.diagR = diagR
	l.add(diagW)
	l.cmd = &exec.Cmd{
		Env: []string{}, Dir: "/",
		Stderr:      diagW,
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if p.args == nil {
		return l, l.prepareAlone(h, p, std, status)
	}
	return l, l.prepareBwrap(h, p, status, diagW)
}

// prepareAlone has Landlock alone: sandboxd-launch is the reaper and becomes the command.
func (l *launch) prepareAlone(h *Host, p *Plan, std Stdio, status *os.File) (err error) {
	l.mechanism, l.reaper = "stage", true
	l.cmd.Path, l.cmd.Args = stageProgram, []string{"sandboxd-launch", stage.ReapArg}
	// Should the daemon die, the reaper has to outlive it for a moment.
	l.cmd.SysProcAttr.Pdeathsig = syscall.SIGTERM
	if p.order.Probe && os.Geteuid() == 0 {
		// The stage requires that no capability is left; nobody has none.
		l.cmd.SysProcAttr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	}
	if err = l.orders(p.order, stage.CarriesNothing); err != nil {
		return err
	}
	if l.cmd.Stdout = std.Out; std.In != nil {
		l.cmd.Stdin = std.In
	}
	// FDArgs must be something; the stage closes it unread.
	first := h.stage
	if p.Command.Program != nil {
		first = p.Command.Program
	}
	l.cmd.ExtraFiles = []*os.File{first, h.stage, status, std.Err}
	return nil
}

// stageProgram is sandboxd-launch as the process finds it that executes it.
var stageProgram = "/proc/self/fd/" + strconv.Itoa(stage.FDStage)

// orders keeps the order for instruct.
func (l *launch) orders(o stage.Order, carried stage.Carried) (err error) {
	l.pieces, err = o.Pieces(carried)
	return err
}

// awaiting is the order for a sandbox whose command comes later.
func (l *launch) awaiting(p *Plan) stage.Order {
	o := stage.Order{Await: true}
	if l.early = p.early(); l.early {
		o.Early, o.Landlock, o.Seccomp, o.Tells = true, p.order.Landlock, p.order.Seccomp, p.order.Tells
	}
	return o
}

// bound prepares the limits of the whole tree.
func (l *launch) bound(h *Host, p *Plan) (err error) {
	limits := p.Profile.Limits()
	if h.cgroups != nil {
		if l.cgroup, err = h.cgroups.create(limits, h.ownTasks()); err != nil {
			return &LaunchError{Mechanism: "cgroup", Cause: err}
		}
	} else if limits.Processes > 0 && h.pidMax {
		l.limitPids = func(init int) error { return h.limitPids(init, limits.Processes) }
	}
	return nil
}

// prepareBwrap has bwrap make the namespaces. A bwrap whose daemon is gone ends by itself
// (--die-with-parent), once its first process ends with it. An earlier one continues until its
// stage finds no daemon that sends an order. A kill before would leave that process behind (see
// endStuck).
func (l *launch) prepareBwrap(h *Host, p *Plan, status, diagnostics *os.File) error {
	l.mechanism = BackendBwrap
	if err := l.orders(l.awaiting(p), stage.CarriesNothing); err != nil {
		return err
	}
	args := append([]string{"--as-pid-1"}, p.args...) // the stage reaps
	var extra []*os.File
	pass := func(f *os.File) string {
		extra = append(extra, f)
		return strconv.Itoa(stage.FDFree + len(extra) - 1)
	}
	if p.nulls > 0 {
		null, err := os.Open(os.DevNull)
		if err != nil {
			return err
		}
		extra = slices.Repeat([]*os.File{l.add(null)}, p.nulls)
	}
	if p.Command.Program != nil {
		pass(p.Command.Program)
	}
	for _, f := range p.files {
		data, err := l.memfd("file", f.Data)
		if err != nil {
			return err
		}
		args = append(args, "--perms", "0444", "--ro-bind-data", pass(data), f.Path)
	}
	if err := l.bound(h, p); err != nil {
		return err
	}
	if l.limitPids != nil {
		blockR, blockW, err := os.Pipe()
		if err != nil {
			return err
		}
		l.blockW = blockW
		args = append(args, "--block-fd", pass(l.add(blockR)))
	}
	infoR, infoW, err := os.Pipe()
	if err != nil {
		return err
	}
	l.infoR = infoR
	args = append(args, "--info-fd", pass(l.add(infoW)))
	argsFile, err := l.memfd("args", []byte(strings.Join(args, "\x00")+"\x00"))
	if err != nil {
		return err
	}
	l.cmd.Path = h.Bwrap
	l.cmd.Args = []string{"bwrap", "--args", strconv.Itoa(stage.FDArgs), "--", stageProgram, stage.FirstArg}
	if err := h.enter(p, l.cmd, func(f *os.File) string { return pass(l.add(f)) }); err != nil {
		return &LaunchError{Mechanism: BackendBwrap, Cause: err}
	}
	l.cmd.ExtraFiles = append([]*os.File{argsFile, h.stage, status, diagnostics}, extra...)
	return nil
}

// add remembers a descriptor of the child's side, to be closed here.
func (l *launch) add(f *os.File) *os.File {
	l.child = append(l.child, f)
	return f
}

func (l *launch) memfd(name string, data []byte) (*os.File, error) {
	f, err := sealedMemfd(name, bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return l.add(f), nil
}
