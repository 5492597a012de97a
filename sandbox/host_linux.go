package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"sandboxd/bwrap"
	"sandboxd/watch"
)

// Host has the mechanisms for sandboxes on this machine. Its methods may be
// called concurrently.
type Host struct {
	// Bwrap is the absolute path of the program, empty when it is not usable.
	Bwrap string
	// Version is bwrap's.
	Version bwrap.Version

	nsenter string   // the program, by which bwrap starts in a session's place; "": there is none
	wanted  string   // Options.Backend
	native  bool     // sandboxd-launch makes the namespaces, not bwrap
	stage   *os.File // sealed memfd; nil: there is no helper, and nothing runs
	cgroups *cgroups
	spawner spawner
	server  server
	filters filters

	compilations compilations
	lists        lists
	around       dirStates
	// starts bounds how many commands are on their way into a sandbox at once, for
	// slowStart each: more would only take processors, memory and the kernel's locks from
	// each other.
	starts chan struct{}
	pool   pool
	// entersPlaces is whether a sandbox has started in a place.
	entersPlaces atomic.Bool
	watch        *watch.Set
	work         sync.WaitGroup // background work

	report   Report
	landlock int // ABI that a probe has installed, 0 for none
	seccomp  bool
	tells    bool // its filter can have a listener
	pidMax   bool // pid namespaces have a pid_max of their own, and nothing better limits processes
	bwrapErr error
}

// Open loads the helper into a sealed memfd, so that nothing can alter the program that
// later runs inside every sandbox, and probes the host's mechanisms (see
// [Host.Report]). On a host without a helper every protection is absent and
// every plan is refused.
func Open(ctx context.Context, o Options) (*Host, error) {
	h := &Host{starts: make(chan struct{}, max(4, 2*runtime.NumCPU())), watch: watch.New()}
	h.pool.most = o.Warm
	h.wanted = o.Backend
	h.pool.known.around, h.pool.known.set = &h.around, h.watch
	endStuck()
	var err error
	if h.stage, err = loadStage(o.Stage); err != nil {
		h.report = nothing("the launch helper can't be had: "+err.Error(), "install sandboxd-launch beside sandboxd")
		return h, nil
	}
	candidates := o.Bwrap
	if len(candidates) == 0 {
		candidates = bwrapPaths
	}
	h.Bwrap, h.Version, h.bwrapErr = findBwrap(candidates)
	h.nsenter = findNsenter()
	var cgroupErr error
	h.cgroups, cgroupErr = findCgroups()
	h.pidMax = h.hasPidMax()
	h.probe(ctx, cgroupErr)
	if !h.report.Namespaces().Active && h.landlock > 0 {
		if err := adoptOrphans(); err != nil {
			return nil, fmt.Errorf("become a subreaper: %w", err)
		}
	}
	return h, nil
}

// loadStage reads the helper into a sealed memfd.
func loadStage(path string) (*os.File, error) {
	if err := trustworthy(path); err != nil {
		return nil, err
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	f, err := sealedMemfd("launch", bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	if err := unix.Fchmod(int(f.Fd()), 0o555); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Report lists the protections that this host enforces, by the last probe.
func (h *Host) Report() Report { return h.report }

// Mounts returns another number after every change of the host's mounts.
func (h *Host) Mounts() (uint64, error) { return h.pool.generation() }

// Watch reports which directories changed, for repeated scans.
func (h *Host) Watch() *watch.Set { return h.watch }

// Close removes the host's resources outside the process: its control groups.
func (h *Host) Close() error {
	h.pool.close()
	h.work.Wait()
	h.server.close()
	h.watch.Close()
	if h.cgroups != nil {
		h.cgroups.close()
	}
	if h.stage == nil {
		return nil
	}
	return h.stage.Close()
}

// findBwrap returns the first candidate that only root or the daemon's own
// user could have put there, and its version.
func findBwrap(candidates []string) (string, bwrap.Version, error) {
	var reasons []string
	var seen []os.FileInfo
	for _, path := range candidates {
		// /bin is /usr/bin on most systems.
		if info, err := os.Stat(path); err == nil {
			if slices.ContainsFunc(seen, func(s os.FileInfo) bool { return os.SameFile(s, info) }) {
				continue
			}
			seen = append(seen, info)
		}
		err := trustworthy(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			reasons = append(reasons, err.Error())
			continue
		}
		v, err := bwrapVersion(path)
		if err != nil {
			reasons = append(reasons, fmt.Sprintf("%s: %v", path, err))
			continue
		}
		return path, v, nil
	}
	if len(reasons) == 0 {
		return "", bwrap.Version{}, fmt.Errorf("not installed (looked for %s)", strings.Join(candidates, ", "))
	}
	return "", bwrap.Version{}, errors.New(strings.Join(reasons, "; "))
}

// trustworthy refuses a program that somebody else could have replaced.
func trustworthy(path string) error {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return &fs.PathError{Op: "find", Path: path, Err: err}
	}
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return fmt.Errorf("%s is not a regular file", path)
	case st.Uid != 0 && int(st.Uid) != os.Geteuid():
		return fmt.Errorf("%s belongs to user %d", path, st.Uid)
	case st.Mode&0o002 != 0 || (st.Mode&0o020 != 0 && st.Gid != 0 && int(st.Gid) != os.Getegid()):
		return fmt.Errorf("%s can be written by others", path)
	}
	return nil
}

func bwrapVersion(path string) (bwrap.Version, error) {
	limit := patient(aloneTimeout)
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.Env, cmd.Dir = []string{}, "/"
	cmd.WaitDelay = limit / 4 // for its output, where it waits for a processor
	// Its children are killed with it when it hangs.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }
	out, err := cmd.Output()
	if ctx.Err() != nil {
		return bwrap.Version{}, fmt.Errorf("--version did not answer within %v", limit)
	}
	if err != nil {
		return bwrap.Version{}, fmt.Errorf("--version: %w", err)
	}
	return bwrap.ParseVersion(strings.TrimSpace(string(out)))
}
