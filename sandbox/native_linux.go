package sandbox

import (
	"os"
	"slices"

	"sandboxd/bwrap"
	"sandboxd/profile/abspath"
	"sandboxd/sandbox/stage"
)

// The native back end: the launch server makes the first process of a sandbox, which makes the
// namespaces and the mounts by the same layout as bwrap's arguments, from operations in its order.

// nativeVersion is the first bwrap with all features of the native back end.
var nativeVersion = bwrap.Version{Minor: 11}

// procCovers are the paths that bwrap covers in a writable procfs.
var procCovers = []string{"/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus"}

// Operations compiles bwrap's layout for sandboxd-launch, for a user and group, and a network
// namespace of the sandbox's own or the host's.
func Operations(layout []bwrap.Mount, ownNetwork bool, uid, gid int) (ops []stage.Operation) {
	var seals []stage.Operation
	add := func(op stage.Operation) { ops = append(ops, op) }
	forms := map[string]bwrap.Form{}
	for i, m := range layout {
		op := stage.Operation{Path: m.Path, Mode: m.Mode}
		if !around(forms, m.Path).Host() {
			op.Flags = stage.OpCreates
		}
		forms[m.Path] = m.Form
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
		add(stage.Operation{Kind: stage.OpNetwork, Path: "/"})
	}
	add(stage.Operation{Kind: stage.OpUser, Path: "/", Size: uint64(uid)<<32 | uint64(gid)})
	return ops
}

// around is the form of the mount around a path.
func around(forms map[string]bwrap.Form, path string) bwrap.Form {
	for path != "/" {
		path = abspath.Parent(path)
		if f, ok := forms[path]; ok {
			return f
		}
	}
	return bwrap.Directory
}

// devOf returns the entries of bwrap's --dev besides the directory itself.
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
		return op.Kind == stage.OpSeal || op.Kind == stage.OpMode || op.Kind == stage.OpNetwork
	})
	if at < 0 {
		at = len(ops)
	}
	var added []stage.Operation
	for _, f := range files {
		added = append(added, stage.Operation{Kind: stage.OpFile, Flags: stage.OpCreates, Mode: 0o444, Path: f.Path,
			Text: string(f.Data)})
	}
	return slices.Concat(ops[:at], added, ops[at:])
}
