package sandbox

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"sandboxd/profile"
)

// cgroups makes one control group per command below the daemon's own, in the
// v2 tree when pids and memory are delegated to us there, else in v1's pids
// and memory hierarchies (cgroups(7)).
type cgroups struct {
	v2   bool
	dirs []string // one parent per hierarchy; v2 has one
	next atomic.Int64
}

const cgroupRoot = "/sys/fs/cgroup"

// findCgroups returns nil and the reason when no hierarchy is writable.
func findCgroups() (*cgroups, error) {
	own, err := ownCgroups()
	if err != nil {
		return nil, err
	}
	var reasons []string
	for _, find := range []func(map[string]string) (*cgroups, error){findV2, findV1} {
		c, err := find(own)
		if err == nil {
			if !c.sweep() {
				go c.sweepLater()
			}
			return c, nil
		}
		reasons = append(reasons, err.Error())
	}
	return nil, errors.New(strings.Join(reasons, "; "))
}

// ownCgroups reads /proc/self/cgroup: hierarchy name ("" for v2) to path.
func ownCgroups() (map[string]string, error) {
	f, err := os.Open("/proc/self/cgroup")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	own := map[string]string{}
	for s := bufio.NewScanner(f); s.Scan(); {
		parts := strings.SplitN(s.Text(), ":", 3)
		if len(parts) != 3 {
			continue
		}
		for _, name := range strings.Split(parts[1], ",") {
			own[name] = parts[2]
		}
	}
	return own, nil
}

func findV2(own map[string]string) (*cgroups, error) {
	dir := filepath.Join(cgroupRoot, own[""])
	b, err := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
	if err != nil {
		return nil, fmt.Errorf("cgroup v2: %w", err)
	}
	have := strings.Fields(string(b))
	if !slices.Contains(have, "pids") || !slices.Contains(have, "memory") {
		return nil, fmt.Errorf("cgroup v2: pids and memory are not delegated to %s (it has %v)", dir, have)
	}
	b, err = os.ReadFile(filepath.Join(dir, "cgroup.subtree_control"))
	if err != nil {
		return nil, fmt.Errorf("cgroup v2: %w", err)
	}
	on := strings.Fields(string(b))
	if !slices.Contains(on, "pids") || !slices.Contains(on, "memory") {
		if err := takeDelegated(dir); err != nil {
			return nil, fmt.Errorf("cgroup v2: %w", err)
		}
	}
	parent, err := makeParent(dir)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(parent, "cgroup.subtree_control"), []byte("+pids +memory"), 0); err != nil {
		os.Remove(parent)
		return nil, fmt.Errorf("cgroup v2: %w", err)
	}
	return &cgroups{v2: true, dirs: []string{parent}}, nil
}

func findV1(own map[string]string) (*cgroups, error) {
	c := &cgroups{}
	for _, controller := range []string{"pids", "memory"} {
		path, ok := own[controller]
		if !ok {
			c.close()
			return nil, fmt.Errorf("cgroup v1: no %s hierarchy", controller)
		}
		parent, err := makeParent(filepath.Join(cgroupRoot, controller, path))
		if err != nil {
			c.close()
			return nil, err
		}
		c.dirs = append(c.dirs, parent)
	}
	return c, nil
}

const cgroupPrefix = "sandboxd."

func makeParent(below string) (string, error) {
	dir := filepath.Join(below, cgroupPrefix+strconv.Itoa(os.Getpid())+pidNamespace())
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return "", fmt.Errorf("cgroup: %w", err)
	}
	return dir, nil
}

// pidNamespace ends the name of a daemon's group: a number names a process in
// one pid namespace only.
func pidNamespace() string {
	var st unix.Stat_t
	if err := unix.Stat("/proc/self/ns/pid", &st); err != nil {
		return ""
	}
	return "." + strconv.FormatUint(st.Ino, 10)
}

// sweep removes the groups of killed daemons of this pid namespace: those named
// after processes that no longer exist. The kernel refuses to remove one that is
// in use; sweep reports whether none is left.
func (c *cgroups) sweep() bool {
	all := true
	for _, dir := range c.dirs {
		entries, _ := os.ReadDir(filepath.Dir(dir))
		for _, e := range entries {
			number, ours := strings.CutSuffix(strings.TrimPrefix(e.Name(), cgroupPrefix), pidNamespace())
			pid, err := strconv.Atoi(number)
			if !ours || !strings.HasPrefix(e.Name(), cgroupPrefix) || err != nil || !errors.Is(unix.Kill(pid, 0), unix.ESRCH) {
				continue
			}
			all = removeTree(filepath.Join(filepath.Dir(dir), e.Name())) && all
		}
	}
	return all
}

// sweepLater removes the groups whose processes were about to end.
func (c *cgroups) sweepLater() {
	for start := time.Now(); time.Since(start) < sweepTime && !c.sweep(); {
		time.Sleep(50 * time.Millisecond)
	}
}

const sweepTime = 10 * time.Second

// removeTree removes a group and those in it, and reports whether nothing of them is left.
func removeTree(dir string) bool {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if e.IsDir() {
			syscall.Rmdir(filepath.Join(dir, e.Name()))
		}
	}
	err := syscall.Rmdir(dir)
	return err == nil || err == syscall.ENOENT
}

// close removes the daemon's parents; groups in use stay.
func (c *cgroups) close() {
	for _, dir := range c.dirs {
		removeTree(dir)
	}
}

// again recreates the daemon's own group of one hierarchy.
func (c *cgroups) again(parent string) error {
	if err := os.Mkdir(parent, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	if !c.v2 {
		return nil
	}
	return os.WriteFile(filepath.Join(parent, "cgroup.subtree_control"), []byte("+pids +memory"), 0)
}

// version is 1 or 2.
func (c *cgroups) version() int {
	if c.v2 {
		return 2
	}
	return 1
}

// cgroup is the group of one command: one directory per hierarchy, and the files
// that count the encounters with its limits, -1 where there is none. They are opened with
// the group: opening one takes longer than all reads of it.
type cgroup struct {
	v2   bool
	dirs []string

	mu     sync.Mutex // held while a counter is read, and when they are closed
	memory int        // memory.events; v1: memory.oom_control
	pids   int        // pids.events
}

// create makes a group with the profile's limits, for so many processes besides the command's own.
// Groups without a limit are
// made nevertheless: they count the usage of a whole tree.
func (c *cgroups) create(l profile.Limits, own int) (*cgroup, error) {
	name := strconv.FormatInt(c.next.Add(1), 10)
	g := &cgroup{v2: c.v2, memory: -1, pids: -1}
	for _, parent := range c.dirs {
		dir := filepath.Join(parent, name)
		err := os.Mkdir(dir, 0o755)
		if errors.Is(err, os.ErrNotExist) {
			// Another process removed it as unused.
			if err = c.again(parent); err == nil {
				err = os.Mkdir(dir, 0o755)
			}
		}
		if err != nil {
			g.remove()
			return nil, err
		}
		g.dirs = append(g.dirs, dir)
	}
	if err := g.limit(l, own); err != nil {
		g.remove()
		return nil, err
	}
	kills := "memory.oom_control"
	if g.v2 {
		kills = "memory.events"
	}
	g.memory, g.pids = g.open(kills), g.open("pids.events")
	return g, nil
}

// open opens a file of the hierarchy that has it.
func (g *cgroup) open(file string) int {
	for _, dir := range slices.Backward(g.dirs) { // v1's memory comes last
		if fd, err := unix.Open(filepath.Join(dir, file), unix.O_RDONLY|unix.O_CLOEXEC, 0); err == nil {
			return fd
		}
	}
	return -1
}

func (g *cgroup) limit(l profile.Limits, own int) error {
	type setting struct {
		file     string
		value    int64
		optional bool // swap accounting may be off
	}
	var list []setting
	if l.Processes > 0 {
		list = append(list, setting{"pids.max", int64(l.Processes + own), false})
	}
	switch {
	case l.Memory <= 0:
	case g.v2:
		list = append(list, setting{"memory.max", l.Memory, false}, setting{"memory.swap.max", 0, true},
			setting{"memory.oom.group", 1, true})
	default:
		list = append(list, setting{"memory.limit_in_bytes", l.Memory, false},
			setting{"memory.memsw.limit_in_bytes", l.Memory, true})
	}
	for _, s := range list {
		err := g.write(s.file, strconv.FormatInt(s.value, 10))
		if err != nil && !s.optional {
			return fmt.Errorf("set %s to %d: %w", s.file, s.value, err)
		}
	}
	return nil
}

// write finds the hierarchy that has the file.
func (g *cgroup) write(file, value string) error {
	for _, dir := range g.dirs {
		if err := writeTo(filepath.Join(dir, file), value); !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return os.ErrNotExist
}

// writeTo writes to a file of the kernel's. os.WriteFile would ask its poller, too.
func writeTo(name, value string) error {
	fd, err := unix.Open(name, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: name, Err: err}
	}
	f := os.NewFile(uintptr(fd), name)
	_, err = f.WriteString(value)
	return errors.Join(err, f.Close())
}

// start starts a command in the group. A thread moves itself into a group of v1, so that its children are born there,
// and out again; of v2 the command is born in it alone (CLONE_INTO_CGROUP). To move another process the kernel waits
// until no other is forking anywhere, 10 ms and more; a thread that moves itself waits for nothing
// (cgroup_procs_write_start in kernel/cgroup/cgroup.c).
func (g *cgroup) start(cmd *exec.Cmd) error {
	if g.v2 {
		list, err := g.entries()
		if err != nil {
			return err
		}
		defer list[0].Close()
		cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(list[0].Fd())
		return cmd.Start()
	}
	leave := func() error {
		for _, dir := range g.dirs {
			if err := moveSelf(filepath.Dir(filepath.Dir(dir))); err != nil {
				return err
			}
		}
		return nil
	}
	for _, dir := range g.dirs {
		if err := moveSelf(dir); err != nil {
			return errors.Join(err, leave())
		}
	}
	return errors.Join(cmd.Start(), leave())
}

// entries opens what a process comes in by: the directory of v2, in which it is born, and of each hierarchy of v1 the
// file to which it writes.
func (g *cgroup) entries() (list []*os.File, err error) {
	for _, dir := range g.dirs {
		name, flags := dir+"/tasks", os.O_WRONLY
		if g.v2 {
			name, flags = dir, unix.O_DIRECTORY
		}
		f, err := os.OpenFile(name, flags, 0)
		if err != nil {
			for _, f := range list {
				f.Close()
			}
			return nil, err
		}
		list = append(list, f)
	}
	return list, nil
}

// moveSelf moves the calling thread; 0 means the writing thread (cgroups(7)).
func moveSelf(dir string) error {
	if err := writeTo(filepath.Join(dir, "tasks"), "0"); err != nil {
		return fmt.Errorf("move this thread into a group: %w", err)
	}
	return nil
}

// ranOut reports whether the kernel ended a process for want of memory.
func (g *cgroup) ranOut() bool { return g.counter(&g.memory, "oom_kill") > 0 }

// refusedForks says how often the process limit refused a fork.
func (g *cgroup) refusedForks() int64 { return g.counter(&g.pids, "max") }

// counter reads one number of a file of lines "KEY NUMBER", 0 where there is none.
func (g *cgroup) counter(fd *int, key string) int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	var buf [512]byte
	n, err := unix.Pread(*fd, buf[:], 0)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(buf[:n])) {
		if name, v, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " "); ok && name == key {
			n, _ := strconv.ParseInt(v, 10, 64)
			return n
		}
	}
	return 0
}

// remove deletes the group. The last processes may need a moment to be
// reaped; a group that stays busy is swept by the next daemon.
func (g *cgroup) remove() {
	g.mu.Lock()
	for _, fd := range []*int{&g.memory, &g.pids} {
		if *fd >= 0 {
			unix.Close(*fd)
			*fd = -1
		}
	}
	g.mu.Unlock()
	for _, dir := range g.dirs {
		for range 50 {
			if err := syscall.Rmdir(dir); err == nil || errors.Is(err, syscall.ENOENT) {
				break
			}
			time.Sleep(2 * time.Millisecond)
		}
	}
}
