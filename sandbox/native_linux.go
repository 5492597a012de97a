package sandbox

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"sandboxd/bwrap"
	"sandboxd/sandbox/stage"
)

// The native back end: sandboxd-launch starts as the first process of new namespaces and makes
// the mounts itself, by the same layout as bwrap's arguments, from operations in its sealed order.

// procCovers are what bwrap covers of a procfs that can be written.
var procCovers = []string{"/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus"}

// nativeAttributes are those of the process that the thread makes.
func nativeAttributes(ownNetwork bool) *syscall.SysProcAttr {
	flags := uintptr(unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP)
	if ownNetwork {
		flags |= unix.CLONE_NEWNET
	}
	// As root there until its mounts are made: a devpts needs that uid 0 is mapped.
	root := func(id int) []syscall.SysProcIDMap {
		return []syscall.SysProcIDMap{{HostID: id, Size: 1}}
	}
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL, Cloneflags: flags,
		UidMappings: root(os.Geteuid()), GidMappings: root(os.Getegid())}
}

// operationsOf compiles a layout; ok is false where only bwrap can make it.
func operationsOf(layout []bwrap.Mount, ownNetwork bool) (ops []stage.Operation, ok bool) {
	var seals []stage.Operation
	add := func(op stage.Operation) { ops = append(ops, op) }
	for i, m := range layout {
		if (i == 0) != (m.Path == "/") {
			return nil, false
		}
		op := stage.Operation{Path: m.Path, Flags: stage.OpCreates, Mode: m.Mode}
		switch m.Form {
		case bwrap.Directory:
			if i == 0 {
				op.Kind, op.Mode = stage.OpTmpfs, 0o755
				seals = append(seals, stage.Operation{Kind: stage.OpSeal, Path: "/"},
					stage.Operation{Kind: stage.OpMode, Path: "/", Mode: m.Mode})
			}
		case bwrap.ReadOnly:
			op.Kind, op.Flags = stage.OpBind, op.Flags|stage.OpReadOnly
		case bwrap.Writable, bwrap.Pin:
			op.Kind = stage.OpBind
		case bwrap.Device:
			op.Kind = stage.OpDevice
		case bwrap.Link:
			op.Kind, op.Text = stage.OpLink, m.Target
		case bwrap.Private:
			op.Kind, op.Mode, op.Size = stage.OpTmpfs, 0o700, uint64(m.Size)
		case bwrap.Empty:
			op.Kind, op.Mode = stage.OpTmpfs, 0o555
		case bwrap.HiddenDirectory:
			op.Kind = stage.OpTmpfs
		case bwrap.EmptyFile:
			op.Kind, op.Mode = stage.OpFile, 0o444
		case bwrap.HiddenFile:
			op.Kind, op.Mode = stage.OpFile, 0
		case bwrap.Proc:
			op.Kind = stage.OpProc
		case bwrap.Dev:
			op.Kind, op.Mode = stage.OpTmpfs, 0o755
			seals = append(seals, stage.Operation{Kind: stage.OpSeal, Path: m.Path},
				stage.Operation{Kind: stage.OpMode, Path: m.Path, Mode: m.Mode})
		}
		if add(op); m.Form == bwrap.Dev {
			ops = append(ops, devOf(m.Path)...)
		}
		if m.Form == bwrap.Empty || m.Form == bwrap.HiddenDirectory || m.Sealed {
			seals = append(seals, stage.Operation{Kind: stage.OpSeal, Path: m.Path})
		}
		if m.Form == bwrap.Proc && !m.Sealed {
			ops = append(ops, coversOf(layout)...)
		}
	}
	slices.Reverse(seals)
	ops = append(ops, seals...)
	if ownNetwork {
		add(stage.Operation{Kind: stage.OpLoopback, Path: "/"})
	}
	if uid, gid := os.Geteuid(), os.Getegid(); uid != 0 || gid != 0 {
		add(stage.Operation{Kind: stage.OpUser, Path: "/", Size: uint64(uid)<<32 | uint64(gid)})
	}
	return ops, true
}

// devOf is what bwrap's --dev has besides the directory itself.
func devOf(dev string) (ops []stage.Operation) {
	for _, name := range []string{"null", "zero", "full", "random", "urandom", "tty"} {
		ops = append(ops, stage.Operation{Kind: stage.OpDevice, Flags: stage.OpCreates, Path: dev + "/" + name})
	}
	for _, link := range [][2]string{{"fd", "/proc/self/fd"}, {"stdin", "/proc/self/fd/0"}, {"stdout", "/proc/self/fd/1"},
		{"stderr", "/proc/self/fd/2"}, {"core", "/proc/kcore"}, {"ptmx", "pts/ptmx"}} {
		ops = append(ops, stage.Operation{Kind: stage.OpLink, Path: dev + "/" + link[0], Text: link[1]})
	}
	return append(ops, stage.Operation{Kind: stage.OpDirectory, Path: dev + "/shm", Mode: 0o755},
		stage.Operation{Kind: stage.OpDevpts, Flags: stage.OpCreates, Path: dev + "/pts"})
}

// coversOf are read-only mounts over places of /proc that the layout says nothing of.
func coversOf(layout []bwrap.Mount) (ops []stage.Operation) {
	for _, path := range procCovers {
		if slices.ContainsFunc(layout, func(m bwrap.Mount) bool { return m.Path == path }) {
			continue
		}
		if _, err := os.Lstat(path); err == nil {
			ops = append(ops, stage.Operation{Kind: stage.OpBind, Flags: stage.OpReadOnly, Path: path})
		}
	}
	return ops
}

// unshareNetwork is bwrap's option for a network namespace of the sandbox's own.
const unshareNetwork = "--unshare-net"

// withFiles adds the request's files before the mounts are sealed.
func withFiles(ops []stage.Operation, files []File) []stage.Operation {
	at := slices.IndexFunc(ops, func(op stage.Operation) bool {
		return op.Kind == stage.OpSeal || op.Kind == stage.OpMode || op.Kind == stage.OpLoopback
	})
	if at < 0 {
		at = len(ops)
	}
	var added []stage.Operation
	for _, f := range files {
		added = append(added, stage.Operation{Kind: stage.OpFile, Flags: stage.OpCreates, Mode: 0o444, Path: f.Path, Text: string(f.Data)})
	}
	return slices.Concat(ops[:at], added, ops[at:])
}

const nativeMechanism = "native"

// prepareNative completes a launch whose first process makes its mounts.
func (h *Host) prepareNative(l *launch, p *Plan, order, status, diagnostics *os.File, extra []*os.File) (err error) {
	l.mechanism = nativeMechanism
	if h.cgroups != nil {
		if l.cgroup, err = h.cgroups.create(p.Profile.Limits()); err != nil {
			return &LaunchError{Mechanism: "cgroup", Cause: err}
		}
	} else if n := p.Profile.Limits().Processes; n > 0 && h.pidMax {
		l.limitPids = func(init int) error { return h.limitPids(init, n) }
	}
	l.cmd.Path = "/proc/self/fd/" + strconv.Itoa(stage.FDStage)
	l.cmd.Args = []string{"sandboxd-launch", stage.NativeArg}
	l.cmd.SysProcAttr = nativeAttributes(slices.Contains(p.args, unshareNetwork))
	l.cmd.ExtraFiles = append([]*os.File{order, order, h.stage, status, diagnostics}, extra...)
	return nil
}

// holdNative takes a handle on the first process. The command's order is not sent before, so that
// nothing of the command runs outside of the group.
func (l *launch) holdNative(p *Process) error {
	fd, err := unix.PidfdOpen(p.first, 0)
	if err != nil {
		return fmt.Errorf("pidfd_open: %w%s", err, l.diagnostics())
	}
	p.mu.Lock()
	p.init, p.namespace, p.own = fd, true, 1
	if p.host.pidMax {
		p.own = ownTasks
	}
	p.mu.Unlock()
	p.keepMounts(p.first)
	switch {
	case l.limitPids != nil:
		return l.limitPids(fd)
	case l.cgroup != nil && l.cgroup.v2:
		return l.cgroup.add(p.first)
	}
	return nil
}
