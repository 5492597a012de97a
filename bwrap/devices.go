package bwrap

import (
	"slices"

	"sandboxd/profile"
	"sandboxd/profile/abspath"
	"sandboxd/profile/hosttree"
)

// nodes are the entries that bwrap's --dev makes, besides pts, ptmx, shm and the links of
// the standard streams.
var nodes = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"}

// streams are the links that programs expect in /dev.
var streams = map[string]string{
	"/dev/fd":     "/proc/self/fd",
	"/dev/stdin":  "/proc/self/fd/0",
	"/dev/stdout": "/proc/self/fd/1",
	"/dev/stderr": "/proc/self/fd/2",
}

// layDev decides between bwrap's --dev, which alone can mount a devpts of the
// sandbox's own but costs more than a millisecond, and single nodes.
func (p *plan) layDev() {
	pts := p.root.at("/dev/pts").view()
	if pts.want() == private && p.exact["/dev/pts"] {
		p.add("/dev", Dev, p.root.at("/dev").view())
	}
}

// layDevice: bwrap's /dev exists; its unwanted entries are masked.
func (p *plan) layDevice(path string, v view) {
	_, stream := streams[path]
	switch {
	case path == "/dev/pts" || path == "/dev/ptmx" || stream || abspath.Contains("/dev/pts", path):
	case slices.Contains(nodes, path):
		// there already; hidden ones are masked by finishDev
	default:
		p.layBare(path, v)
	}
}

// finishDev masks the nodes that came with --dev and are not granted, and
// makes the links of the standard streams where there is a /dev without it.
func (p *plan) finishDev() {
	if p.mounts["/dev"] != nil && p.mounts["/dev"].Form == Dev {
		for _, node := range nodes {
			if v := p.root.at(node).view(); v.want() == hidden {
				p.add(node, HiddenFile, v)
			}
		}
		return
	}
	if p.mounts["/proc"] == nil || p.around("/dev/fd").Form.ground() != bare {
		return
	}
	if !slices.ContainsFunc(p.ordered(), func(m *Mount) bool { return abspath.Contains("/dev", m.Path) }) {
		return
	}
	for path, target := range streams {
		if p.mounts[path] == nil {
			p.add(path, Link, view{}).Target = target
		}
	}
}

// kernelFiles are places of a procfs through which uid 0 reaches the kernel
// of the host without any capability. bwrap covers some of them itself when
// access(2) says it could write there, and misses the directories whose files
// are writable though they are not: /proc/sys/kernel/core_pattern is one.
var kernelFiles = []string{
	"/proc/sys", "/proc/acpi", "/proc/asound", "/proc/driver", "/proc/fs", "/proc/mtrr", "/proc/scsi",
	"/proc/sysrq-trigger", "/proc/tty", "/proc/dynamic_debug", "/proc/latency_stats", "/proc/lock_stat", "/proc/profile",
}

// layProc mounts a procfs of the sandbox's own wherever /proc may be read at
// all: the host's is never shown, because the processes are our own too.
func (p *plan) layProc() {
	v := p.root.at("/proc").view()
	if v.want() == hidden {
		return
	}
	p.add("/proc", Proc, v)
	if p.euid != 0 {
		return
	}
	for _, path := range kernelFiles {
		at := p.host.Look(path)
		if v.want() == private && (at == hosttree.Directory || at == hosttree.File || at == hosttree.Pipe) {
			p.add(path, ReadOnly, view{access: profile.Read})
		}
	}
	p.gap("kernel tables", "/proc", "uid 0 may read what the kernel keeps for it there (kpageflags, slabinfo, vmallocinfo)",
		"run the daemon as an ordinary user")
}
