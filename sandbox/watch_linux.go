package sandbox

import (
	"bytes"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"sandboxd/profile"
)

// Two scans of a command are at least watchPause apart, and watchShare
// times as long as a scan takes: watching costs a few percent of one CPU.
const (
	watchPause = 50 * time.Millisecond
	watchShare = 20
)

// atLimit is how long the number of processes may stand at its limit. A build
// touches it; a fork bomb stays there.
const atLimit = 2 * time.Second

// usage is a sandbox's use of the resources that are limited for the whole tree.
type usage struct {
	memory int64 // bytes: private memory, the largest share of shared memory, and files in private directories
	tasks  int   // processes and threads
	tmp    int64 // bytes in the fullest private directory
	shared int64 // bytes in the fullest directory of the place
}

// watch ends a command that exceeds a limit that the kernel does not enforce here
// (R-OS-10): on private directories, which bwrap before 0.9 can't give a size,
// on layers, and without a control group on memory and processes. A limit that is only
// watched can be exceeded between two samples; the report says so.
func (p *Process) watch(private []string) {
	defer p.root.Close()
	started := time.Now()
	var full time.Time // since when the processes stand at their limit
	timer := time.NewTimer(watchPause)
	defer timer.Stop()
	for {
		select {
		case <-p.done:
			return
		case <-timer.C:
		}
		look := time.Now()
		u := p.usage(private)
		cause := p.exceeded(u)
		switch limit := p.limits.Processes; {
		case limit <= 0 || p.cgroup != nil || u.tasks < limit+p.own:
			full = time.Time{}
		case full.IsZero():
			full = look
		case look.Sub(full) > atLimit && cause == "":
			cause = EndProcesses
		}
		if cause != "" {
			p.End(cause, 0)
			return
		}
		pause := max(watchPause, watchShare*time.Since(look))
		if time.Since(started) > 10*time.Second && p.cgroup != nil {
			pause = max(pause, 4*watchPause)
		}
		timer.Reset(pause)
	}
}

// exceeded names the limit that u breaks, "" for none.
func (p *Process) exceeded(u usage) EndCause {
	l := p.limits
	if l.TmpSize > 0 && u.shared > l.TmpSize {
		p.place.exceeded.Add(1)
		return EndTmp
	}
	// Whose watch sees it first has the directory emptied, perhaps before the others look.
	if p.place != nil && p.place.exceeded.Load() != p.emptied || l.TmpSize > 0 && u.tmp > l.TmpSize {
		return EndTmp
	}
	for i := range p.written {
		if l.LayerSize > 0 && p.written[i].exceeds(l.LayerSize) {
			return EndLayer
		}
	}
	if p.cgroup != nil {
		// The kernel refuses the forks. That does not slow a program that retries
		// them, and only the wall clock would end it.
		if l.Processes > 0 && p.cgroup.refusedForks() > int64(max(l.Processes, 100)) {
			return EndProcesses
		}
		// Without memory.oom.group, as in v1, the kernel kills one process and
		// the rest continues.
		if p.cgroup.ranOut() {
			return EndMemory
		}
		return ""
	}
	switch {
	case l.Memory > 0 && u.memory > l.Memory:
		return EndMemory
	case l.Processes > 0 && u.tasks > l.Processes+ownTasks:
		return EndProcesses
	}
	return ""
}

// ownTasks is the number of processes that the kernel counts beside the command's: bwrap, and the first
// process of the namespace.
const ownTasks = 2

// ownTasks is that number for this host's back end: the launch server counts for no sandbox.
func (h *Host) ownTasks() int {
	if h.native {
		return ownTasks - 1
	}
	return ownTasks
}

func (p *Process) usage(private []string) usage {
	var u usage
	for _, dir := range p.shared {
		u.shared = max(u.shared, Use(dir))
	}
	u.tmp = u.shared
	if p.namespace {
		root := p.rootPath(p.first)
		for _, dir := range private {
			used := tmpfsUse(root + dir)
			u.tmp = max(u.tmp, used)
			u.memory += used
		}
		if p.cgroup == nil {
			u.addTree(root+"/proc", 0)
		}
		return u
	}
	u.addTree("/proc", p.first)
	return u
}

// writtenLayer is the upper directory of a layer that a command writes to.
type writtenLayer struct {
	upper string
	used  int64 // bytes, when it was last looked through
	free  int64 // most bytes that its file system had since
}

// written are the plan's layers, before the command starts.
func (p *Plan) written() (list []writtenLayer) {
	for _, o := range p.overlays {
		if o.Upper != "" {
			list = append(list, writtenLayer{upper: o.Upper, free: freeBytes(o.Upper)})
		}
	}
	return list
}

// exceeds reports whether the layer holds more than limit. It looks through the layer only where its file system has
// lost as much room as the layer may still take.
func (w *writtenLayer) exceeds(limit int64) bool {
	free := freeBytes(w.upper)
	if w.free = max(w.free, free); w.free-free < limit-w.used {
		return false
	}
	w.used, w.free = Use(w.upper), free
	return w.used > limit
}

// freeBytes is how much room the file system of a path has, 0 where that can't be known.
func freeBytes(path string) int64 {
	var st unix.Statfs_t
	if unix.Statfs(path, &st) != nil {
		return 0
	}
	return int64(st.Bfree) * int64(st.Bsize)
}

// tmpfsUse is how much a file system holds that lives in memory, 0 for
// another kind.
func tmpfsUse(path string) int64 {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil || st.Type != unix.TMPFS_MAGIC {
		return 0
	}
	const inode = 1 << 10 // bytes of an empty file, about
	return int64(st.Blocks-st.Bfree)*int64(st.Bsize) + int64(st.Files-st.Ffree)*inode
}

// addTree adds up the processes that proc lists; above > 0 counts only those
// below that process.
func (u *usage) addTree(proc string, above int) {
	dir, err := os.Open(proc)
	if err != nil {
		return // it has ended
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	all := map[int]status{}
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if b, err := os.ReadFile(proc + "/" + name + "/status"); err == nil {
			s := parseStatus(b)
			if s.threads > 1 && !s.memory { // its first thread has ended, and the others still run
				s.private, s.shared = threadMemory(proc + "/" + name + "/task")
			}
			all[pid] = s
		}
	}
	var shared int64
	for pid, s := range all {
		if above > 0 && !below(all, pid, above) {
			continue
		}
		u.tasks += s.threads
		u.memory += s.private
		shared = max(shared, s.shared)
	}
	u.memory += shared
}

func below(all map[int]status, pid, above int) bool {
	for range len(all) {
		s, ok := all[pid]
		if !ok || s.parent == above {
			return ok
		}
		pid = s.parent
	}
	return false
}

// status has the used fields of /proc/PID/status (proc(5)).
type status struct {
	parent, threads int
	private, shared int64 // bytes: RssAnon, RssShmem
	memory          bool  // the two are known
}

// threadMemory is the memory of a process as one of its threads reports it; tasks lists them.
func threadMemory(tasks string) (private, shared int64) {
	dir, err := os.Open(tasks)
	if err != nil {
		return 0, 0
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		if b, err := os.ReadFile(tasks + "/" + name + "/status"); err == nil {
			if s := parseStatus(b); s.memory {
				return s.private, s.shared
			}
		}
	}
	return 0, 0
}

func parseStatus(b []byte) status {
	var s status
	for line := range bytes.Lines(b) {
		name, value, _ := bytes.Cut(line, []byte(":"))
		number := func() int64 {
			f := bytes.Fields(value)
			if len(f) == 0 {
				return 0
			}
			n, _ := strconv.ParseInt(string(f[0]), 10, 64)
			return n
		}
		switch string(name) {
		case "PPid":
			s.parent = int(number())
		case "Threads":
			s.threads = int(number())
		case "RssAnon":
			s.private, s.memory = number()<<10, true
		case "RssShmem":
			s.shared = number() << 10
		}
	}
	return s
}

// private lists the private directories of the plan, which live in memory.
func (p *Plan) private() []string { return p.tmpfs }

// privateOf lists the private directories of a profile, which live in memory.
func privateOf(p profile.Profile) []string {
	var list []string
	for _, r := range p.PathRules() {
		if r.Kind == profile.Private && r.Path != "/proc" {
			list = append(list, r.Path)
		}
	}
	return list
}
