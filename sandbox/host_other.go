//go:build !linux

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	"sandboxd/seatbelt"
	"sandboxd/watch"
)

// seatbeltTool applies a profile to the program that it executes (sandbox-exec(1)).
const seatbeltTool = "/usr/bin/sandbox-exec"

// Host has the mechanisms for sandboxes on this machine: on macOS, Seatbelt.
type Host struct{ report Report }

// Open looks for the mechanism of this system. Options are for Linux.
func Open(context.Context, Options) (*Host, error) {
	layer := Layer{Name: "seatbelt", Active: true}
	if _, err := os.Stat(seatbeltTool); runtime.GOOS != "darwin" || err != nil {
		layer.Active, layer.Why = false, "there is no "+seatbeltTool+" on "+runtime.GOOS
		layer.Remedy = "use Linux or macOS"
	}
	return &Host{report: Report{Layers: []Layer{layer}, Protections: seatbeltProtections(layer)}}, nil
}

// seatbeltProtections lists the protections of Seatbelt: everything that is a path, a
// socket or a service; not the limits of a whole tree of processes.
func seatbeltProtections(l Layer) []Protection {
	var list []Protection
	for _, name := range Protections {
		p := Protection{Name: name, Level: Enforced, By: l.Name}
		switch {
		case !l.Active:
			p = Protection{Name: name, Level: Absent, Why: l.Why, Remedy: l.Remedy}
		case name == ProtectLimits:
			p.Level, p.By, p.Missing = Partial, "setrlimit", "memory and processes of the whole tree are not bounded"
		case name == ProtectProcesses:
			p.Level, p.Missing = Partial, "processes of the host can be seen; they can't be signalled or traced"
		}
		list = append(list, p)
	}
	return list
}

// DirStates answers nothing here.
func (h *Host) DirStates() func(dir string) uint64 { return nil }

// Report lists the protections that this host enforces.
func (h *Host) Report() Report { return h.report }

// Watch returns nil: no directory is watched here.
func (h *Host) Watch() *watch.Set { return nil }

// Close releases nothing here.
func (h *Host) Close() error { return nil }

// Plan compiles r for this host; see Request.
func (h *Host) Plan(r Request) (*Plan, error) {
	if len(r.Overlays) > 0 {
		return nil, fmt.Errorf("plan: %w", ErrNoOverlay)
	}
	if len(r.Listen)+r.Dialers > 0 {
		return nil, &UnenforcedError{Unmet: []Protection{{Name: ProtectNetwork, Level: Absent,
			Missing: "named hosts and ports of localhost can't be distinguished from others",
			Why:     "there are no network namespaces here", Remedy: "set [network] mode to none or full"}}}
	}
	if len(r.Command.Argv) == 0 {
		return nil, errors.New("plan: no command")
	}
	p := &Plan{Profile: r.Profile, Command: r.Command, Report: h.report.clone(), files: r.Files}
	effective := r.Profile
	if r.Operator != nil {
		effective = effective.Intersect(*r.Operator)
	}
	result, err := seatbelt.Compile(effective)
	if err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	p.Gaps = slices.Clip(result.Gaps)
	p.args = result.Args()
	p.Report.lower(p.Gaps)
	if unmet := p.Report.Unmet(r.Require); len(unmet) > 0 {
		return nil, &UnenforcedError{Unmet: unmet}
	}
	p.unheld(r.Unheld)
	return p, nil
}

// Start runs the plan's command under sandbox-exec, once gate is open; nil: there is
// none.
func (h *Host) Start(ctx context.Context, p *Plan, std Stdio, gate *Gate) (*Process, error) {
	if err := gate.wait(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("start %q: %w", p.Command.Argv[0], context.Cause(ctx))
	}
	if !h.report.Layer("seatbelt").Active {
		return nil, &UnenforcedError{Unmet: h.report.Protections}
	}
	name := p.Command.Path
	if name == "" {
		name = p.Command.Argv[0]
	}
	cmd := exec.Command(seatbeltTool, append(append([]string(nil), p.args...),
		append([]string{name}, p.Command.Argv[1:]...)...)...)
	cmd.Env, cmd.Dir = p.Command.Env, p.Command.Dir
	if cmd.Stdout, cmd.Stderr = std.Out, std.Err; std.In != nil {
		cmd.Stdin = std.In
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, &LaunchError{Mechanism: "seatbelt", Cause: err}
	}
	proc := &Process{cmd: cmd, done: make(chan struct{})}
	go proc.reap()
	return proc, nil
}

// Process is one command running in its sandbox.
type Process struct {
	cmd  *exec.Cmd
	done chan struct{}
	left chan struct{} // never closed
	exit Exit
	// Seatbelt reports no refusals.
	refusals refusals
	unkept   unkept

	mu     sync.Mutex
	ending EndCause
}

// Pid is the command's process id.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// First is the same here: nothing is above the command.
func (p *Process) First() int { return p.Pid() }

// Done is closed when the command has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Left is never closed here: with the command its whole group ends.
func (p *Process) Left() <-chan struct{} { return p.left }

// Ended is nothing here.
func (p *Process) Ended() Exit { return Exit{} }

// Wait blocks until Done and returns how it ended.
func (p *Process) Wait() Exit {
	<-p.done
	return p.exit
}

// Signal sends sig to the command's process group.
func (p *Process) Signal(sig syscall.Signal) error {
	err := syscall.Kill(-p.Pid(), sig)
	if errors.Is(err, syscall.ESRCH) {
		return nil
	}
	return err
}

// End asks the command to end with SIGTERM and kills its group after grace.
func (p *Process) End(cause EndCause, grace time.Duration) {
	p.mu.Lock()
	if p.ending == "" {
		p.ending = cause
	}
	p.mu.Unlock()
	if grace > 0 {
		p.Signal(syscall.SIGTERM)
	}
	timer := time.AfterFunc(grace, func() { p.Signal(syscall.SIGKILL) })
	go func() {
		<-p.done
		timer.Stop()
	}()
}

func (p *Process) reap() {
	started := time.Now()
	p.cmd.Wait()
	// The remaining processes of the group are killed too.
	syscall.Kill(-p.Pid(), syscall.SIGKILL)
	p.mu.Lock()
	e := Exit{Code: p.cmd.ProcessState.ExitCode(), Cause: p.ending, Wall: time.Since(started),
		CPU: p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()}
	p.mu.Unlock()
	if ws, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		e.Signal, e.Code = ws.Signal(), 128+int(ws.Signal())
	}
	p.exit = e
	close(p.done)
}

// DataFile returns a file that reads as data from its beginning and has no name.
func DataFile(name string, data io.Reader) (*os.File, error) {
	f, err := os.CreateTemp("", "sandboxd-"+name+"-")
	if err != nil {
		return nil, err
	}
	os.Remove(f.Name())
	if _, err = io.Copy(f, data); err == nil {
		_, err = f.Seek(0, 0)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// View distinguishes sandboxes of a plan: Seatbelt holds paths, not the files at them.
func (h *Host) View(plan *Plan) string { return plan.Digest() }

// Sockets are never there: no plan of this system has any.
type Sockets struct{ Listeners []net.Listener }

// Warm reports whether the sandbox was built before it was requested.
func (p *Process) Warm() bool { return false }

// Sockets are empty here.
func (p *Process) Sockets() *Sockets { return &Sockets{} }

// Close has nothing to close.
func (d *Sockets) Close() {}

// Call always fails.
func (d *Sockets) Call(context.Context, uint16) (net.Conn, error) {
	return nil, errors.New("there are no network namespaces here")
}
