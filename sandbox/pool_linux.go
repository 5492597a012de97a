package sandbox

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"sandboxd/sandbox/stage"
	"sandboxd/watch"
)

// A warm sandbox is one that was built before it is needed: namespaces, mounts,
// control group and all, with the stage waiting inside for its order. It runs one
// command and is gone.
//
// It must be no weaker than one built at the moment of use. Every command gets a new
// plan, from the host as it is; a warm sandbox serves only a plan
// whose mounts, Landlock layers and system call filter would be exactly these, on
// the very files and directories on which its own were mounted (view), in an unchanged
// table of host mounts. Limits and environment come with the order and are the new
// plan's in any case.

const (
	// maxWarmAge is how long a sandbox waits at most.
	maxWarmAge = 2 * time.Minute
	// refillDelay is how long a command may run before its successor's sandbox is
	// built beside it.
	refillDelay = 25 * time.Millisecond
)

// view identifies the inputs of a sandbox: it is equal for two plans exactly if a
// sandbox of the one is one of the other. The zero value is no view.
type view [sha256.Size]byte

// pool holds the sandboxes that wait. The zero value is empty and ready.
type pool struct {
	known  statCache
	most   int // sandboxes that wait
	mu     sync.Mutex
	warm   []*launch // oldest first
	laying map[view]bool
	work   sync.WaitGroup
	closed bool
	mounts watch.Mounts
}

// view returns the view of a plan now. ok is false where no warm sandbox can
// serve it: one without mounts, of a probe, with a program of its own, or on layers of other runs.
func (p *pool) view(plan *Plan) (v view, ok bool) {
	if plan.args == nil || plan.order.Probe || plan.Command.Program != nil || !plan.sparable() ||
		len(plan.holds) == 0 || p.most == 0 {
		return v, false
	}
	return p.now(plan)
}

// View distinguishes sandboxes of a plan that show the host differently: by how they are
// made, and by which files and directories of the host they are made with. A sandbox
// that continues after its view has changed could hold less than a new one. "": the view
// is unknown, and no two sandboxes are equal.
func (h *Host) View(plan *Plan) string {
	v, ok := h.pool.now(plan)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%s %x", plan.Digest(), v)
}

// now is view for every plan.
func (p *pool) now(plan *Plan) (v view, ok bool) {
	b := make([]byte, 0, 8<<10)
	text := func(s string) {
		b = binary.LittleEndian.AppendUint64(b, uint64(len(s)))
		b = append(b, s...)
	}
	limits := plan.Profile.Limits()
	text(plan.made)
	text(plan.key())
	text(fmt.Sprint(plan.early(), plan.nulls, limits.Processes, limits.Memory))
	for _, f := range plan.files {
		text(f.Path)
		text(string(f.Data))
	}
	for _, o := range plan.overlays {
		text(fmt.Sprintf("%q %q %t", o.Path, o.Above, o.Upper == ""))
	}
	known := p.known.now()
	for _, path := range plan.mounts { // the compilation decides whether each is held
		existence, ok := known.of(path, plan.holds[path])
		if !ok {
			return v, false
		}
		text(path)
		b = existence.append(b)
	}
	for _, path := range plan.rules {
		object, ok := known.object(path)
		if !ok {
			return v, false
		}
		text(path)
		b = object.append(b)
	}
	generation, err := p.generation()
	if err != nil {
		return v, false
	}
	return sha256.Sum256(binary.LittleEndian.AppendUint64(b, generation)), true
}

func (p *pool) generation() (uint64, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mounts.Generation()
}

// existence distinguishes a file or directory from every other that is or was at its
// path. A mount depends on its file: when that is unlinked outside,
// even to be linked again, the mount inside is gone. Numbers are used again, so
// the time of birth counts too, and for a file under a read-only mount the
// time of the last change, which every link and unlink sets. A directory cannot
// be linked, and its times change with its entries.
type existence struct {
	Dev, Ino uint64
	Kind     uint64
	Born     [2]int64 // seconds, nanoseconds
	Changed  [2]int64
}

func (e existence) append(b []byte) []byte {
	for _, n := range []uint64{e.Dev, e.Ino, e.Kind, uint64(e.Born[0]), uint64(e.Born[1]), uint64(e.Changed[0]),
		uint64(e.Changed[1])} {
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	return b
}

// early reports whether Landlock and the filter can be put in force before the
// command is known: not where the stage has yet to make sockets.
func (p *Plan) early() bool { return len(p.order.Listen)+p.order.Dialers == 0 }

// objectOf is the file or directory that a rule of Landlock for a path would bind,
// the zero value for none (lsm.PathRule). ok is false if the kernel does not answer.
func objectOf(path string) (e existence, ok bool) {
	fd, err := unix.Openat2(unix.AT_FDCWD, path,
		&unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS})
	switch err {
	case nil:
	case unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.EACCES:
		return e, true
	default:
		return e, false
	}
	defer unix.Close(fd)
	return existenceAt(fd, "", path, false)
}

// existenceOf is the zero value for a missing entry. ok is false where the file
// system does not report enough.
func existenceOf(path string, held bool) (e existence, ok bool) {
	return existenceAt(unix.AT_FDCWD, path, path, held)
}

func existenceAt(dir int, name, path string, held bool) (e existence, ok bool) {
	var st unix.Statx_t
	err := unix.Statx(dir, name, unix.AT_EMPTY_PATH|unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BASIC_STATS|unix.STATX_BTIME, &st)
	if err == unix.ENOENT || err == unix.ENOTDIR {
		return e, true
	}
	if err != nil {
		return e, false
	}
	e.Dev, e.Ino, e.Kind = unix.Mkdev(st.Dev_major, st.Dev_minor), st.Ino, uint64(st.Mode&unix.S_IFMT)
	if held && e.Kind != unix.S_IFDIR {
		e.Changed = [2]int64{st.Ctime.Sec, int64(st.Ctime.Nsec)}
	}
	if st.Mask&unix.STATX_BTIME == 0 {
		return e, kernels(path)
	}
	e.Born = [2]int64{st.Btime.Sec, int64(st.Btime.Nsec)}
	return e, true
}

// kernels reports a path in a file system that the kernel alone fills.
func kernels(path string) bool {
	var in unix.Statfs_t
	return unix.Statfs(path, &in) == nil && slices.Contains([]int64{unix.PROC_SUPER_MAGIC, unix.SYSFS_MAGIC,
		unix.CGROUP_SUPER_MAGIC, unix.CGROUP2_SUPER_MAGIC, unix.DEVPTS_SUPER_MAGIC}, int64(in.Type))
}

// take returns a sandbox of exactly this view, which is the caller's then, or nil.
func (p *pool) take(v view) *launch {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, l := range p.warm {
		if v != (view{}) && l.view == v {
			p.warm = slices.Delete(p.warm, i, i+1)
			return l
		}
	}
	return nil
}

// lose drops a sandbox that take returned.
func (p *pool) lose(l *launch) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		p.drop(l)
		return
	}
	p.dropLater(l)
}

// spoiled reports an error of a sandbox, as opposed to one of the command.
func spoiled(err error) bool {
	var launch *LaunchError
	return errors.As(err, &launch)
}

// refillAfter builds the next sandbox of a plan without delaying the command that
// was just started: when that has ended, or has run for a moment. If as many
// commands start as there are processors, it would only take time from them; the last of
// them builds the next sandbox.
func (p *pool) refillAfter(h *Host, plan *Plan, proc *Process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	p.work.Go(func() {
		select {
		case <-proc.Done():
			time.Sleep(tidyDelay) // the waiters for the end come first
		case <-time.After(refillDelay):
		}
		if len(h.starts) < runtime.NumCPU() {
			p.refill(h, plan)
		}
	})
}

// refill builds a sandbox for plan unless one waits already. Its errors are not
// reported: the next command gets a sandbox of its own, and an error if that fails.
func (p *pool) refill(h *Host, plan *Plan) {
	v, ok := p.view(plan)
	if !ok || !p.claim(v) {
		return
	}
	l, err := h.lay(plan)
	if err == nil {
		// Had anything been exchanged while mounts were made, it would show.
		if again, ok := p.view(plan); !ok || again != v {
			p.drop(l)
			l = nil
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.laying, v)
	if err != nil || l == nil {
		return
	}
	if p.closed || plan.place.isClosed() {
		p.dropLater(l)
		return
	}
	l.view, l.place = v, plan.place
	p.warm = append(p.warm, l)
	if len(p.warm) > p.most {
		p.dropLater(p.warm[0])
		p.warm = slices.Delete(p.warm, 0, 1)
	}
	time.AfterFunc(maxWarmAge, func() { p.expire(l) })
}

// claim says whether the caller is to lay a sandbox of this view.
func (p *pool) claim(v view) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.laying[v] || slices.ContainsFunc(p.warm, func(l *launch) bool { return l.view == v }) {
		return false
	}
	if p.laying == nil {
		p.laying = map[view]bool{}
	}
	p.laying[v] = true
	return true
}

// lay builds a sandbox and waits until its stage waits.
func (h *Host) lay(plan *Plan) (*launch, error) {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	plan, spare, err := plan.spared()
	if err != nil {
		return nil, err
	}
	l, err := h.launch(ctx, plan, Stdio{}, nil)
	if err != nil {
		spare.drop()
		return nil, plan.notMounted(err)
	}
	l.spare = spare
	l.status.SetReadDeadline(time.Now().Add(startTimeout))
	m, err := readStatus(l.status)
	if err != nil {
		err = &LaunchError{Mechanism: l.mechanism, Cause: fmt.Errorf("it does not wait: %w%s", err, l.diagnostics())}
	}
	if err == nil && m.Step != stage.StepWaiting {
		err = &StageError{Step: m.Step.String(), Code: m.Code, Message: m.Message}
	}
	if err == nil {
		err = l.waiting(&m)
	}
	l.watched, l.stage = m.files, m.pid
	if err != nil {
		l.kill(l.proc)
		return nil, plan.notMounted(err)
	}
	return l, nil
}

// expire drops a sandbox that has waited for too long.
func (p *pool) expire(l *launch) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.warm, l); i >= 0 {
		p.warm = slices.Delete(p.warm, i, i+1)
		p.dropLater(l)
	}
}

// leave drops the sandboxes that wait in a closed place.
func (p *pool) leave(at *Place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.warm = slices.DeleteFunc(p.warm, func(l *launch) bool {
		if l.place == at {
			p.dropLater(l)
		}
		return l.place == at
	})
}

func (p *pool) drop(l *launch) { l.kill(l.proc) }

// dropLater is drop off the caller's way; p.mu is held.
func (p *pool) dropLater(l *launch) { p.work.Go(func() { p.drop(l) }) }

// close drops everything and waits until it is gone.
func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	for _, l := range p.warm {
		p.dropLater(l)
	}
	p.warm = nil
	p.mu.Unlock()
	p.work.Wait()
	p.mounts.Close()
}
