package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"sandboxd/ipc"
)

const (
	// idleTimeout is when a daemon that sbx started leaves by itself.
	idleTimeout = 15 * time.Minute
	// startTimeout is how long a daemon may take to answer.
	startTimeout = 15 * time.Second
	// path is the daemon's, independent of the caller's.
	path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
)

// Running reports whether a daemon answers at p. The error says why not;
// ipc.ErrNoDaemon is in it where simply none runs.
func (p Place) Running(ctx context.Context) error {
	c := ipc.Client{Socket: p.Agent(), User: p.User}
	if p.User != "" { // an approver for another user may lack access to the agents' socket
		c.Socket = p.Approver()
	}
	defer c.Close()
	return c.Exists(ctx)
}

// Ensure makes sure that a daemon serves p, and starts one if none does. The
// error has errNotStarted in it where that is not allowed here. A daemon that
// runs with another configuration or directory than requested is an error.
func (p Place) Ensure(ctx context.Context) error {
	err := p.Running(ctx)
	switch {
	case err == nil:
		return p.asked(ctx)
	case !errors.Is(err, ipc.ErrNoDaemon):
		return p.explain(err)
	case p.System:
		return fmt.Errorf("%w: the system's daemon in %q does not answer; see systemctl status sandboxd", errNotStarted,
			p.SocketDir)
	}
	if why := insideSandbox(); why != "" {
		return fmt.Errorf("%w: this is the inside of a sandbox (%s); run the command directly", errNotStarted, why)
	}
	if err := forbidden(operatorConfig); err != nil {
		return err
	}
	return p.start(ctx)
}

// asked compares a person's choice of a daemon with the one that runs.
func (p Place) asked(ctx context.Context) error {
	if p.config == "" && !p.stateNamed {
		return nil
	}
	c := p.Client(p.Agent())
	defer c.Close()
	s, err := c.Status(ctx)
	if err != nil {
		return fmt.Errorf("compare --config and --state-dir with the daemon that runs: %w", err)
	}
	const remedy = "end it first (sbx stop), or choose another with --socket-dir"
	user := slices.IndexFunc(s.Config, func(f ipc.ConfigFile) bool { return f.Layer == "user" })
	switch {
	case p.stateNamed && !samePath(p.stateDir, s.StateDir):
		return fmt.Errorf("the daemon that runs keeps its records in %q, not in %q; %s", s.StateDir, p.stateDir, remedy)
	case p.config != "" && user < 0:
		return fmt.Errorf("the daemon that runs has no user's configuration, so not %q; %s", p.config, remedy)
	case p.config != "" && !samePath(p.config, s.Config[user].Path):
		return fmt.Errorf("the daemon that runs has the configuration %q, not %q; %s", s.Config[user].Path, p.config, remedy)
	}
	return nil
}

// samePath compares paths by their targets, or as they are written.
func samePath(a, b string) bool {
	if filepath.Clean(a) == filepath.Clean(b) {
		return true
	}
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}

// explain adds the remedy to an error of connecting.
func (p Place) explain(err error) error {
	switch {
	case errors.Is(err, ipc.ErrForeign):
		return fmt.Errorf("%w; nothing was sent; choose another with --socket-dir", err)
	case errors.Is(err, syscall.EINVAL):
		return fmt.Errorf("%w: its path is longer than a socket's may be (unix(7)); choose a shorter one with --socket-dir",
			err)
	case errors.Is(err, syscall.ENOTDIR):
		return fmt.Errorf("%w; choose another with --socket-dir", err)
	case errors.Is(err, fs.ErrPermission) && !p.System:
		return fmt.Errorf("%w; inside a sandbox the daemon is out of reach on purpose, elsewhere choose another directory "+
			"with --socket-dir", err)
	}
	return err
}

// start starts the daemon and waits until it answers. Of several sbx that do
// this at the same moment one starts it, the others wait.
func (p Place) start(ctx context.Context) error {
	program, err := sibling()
	if err != nil {
		return err
	}
	if err := ensureDir(p.SocketDir); err != nil {
		return fmt.Errorf("start sandboxd: %w; choose another with --socket-dir", err)
	}
	state, err := p.StateDir()
	if err != nil {
		return fmt.Errorf("start sandboxd: %w", err)
	}
	if err := ensureDir(state); err != nil {
		return fmt.Errorf("start sandboxd: %w; choose another with --state-dir", err)
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	unlock, err := lock(ctx, filepath.Join(p.SocketDir, "start.lock"))
	if err != nil {
		return fmt.Errorf("start sandboxd: %w", err)
	}
	defer unlock()
	if err := p.Running(ctx); !errors.Is(err, ipc.ErrNoDaemon) {
		return err // somebody else has started it meanwhile
	}
	return p.spawn(ctx, program)
}

// spawn runs program detached and waits for its socket.
func (p Place) spawn(ctx context.Context, program string) error {
	state, err := p.StateDir()
	if err != nil {
		return fmt.Errorf("start sandboxd: %w", err)
	}
	home, err := p.home()
	if err != nil {
		return fmt.Errorf("start sandboxd: %w", err)
	}
	logFile, from, err := openLog(filepath.Join(state, "daemon.log"))
	if err != nil {
		return fmt.Errorf("start sandboxd: %w; fix that, or choose another with --state-dir", err)
	}
	defer logFile.Close()
	if err := closeOnExec(); err != nil {
		return fmt.Errorf("start sandboxd: keep descriptors from it: %w", err)
	}
	cmd := exec.Command(program, p.args(state)...)
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=" + path, "HOME=" + home, "SBX_SEARCH_PATH=" + os.Getenv("PATH")}
	cmd.Stdout, cmd.Stderr = logFile, logFile
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start sandboxd: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }() // it outlives us; a short-lived one is reaped
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		if p.Running(ctx) == nil {
			return nil
		}
		select {
		case err := <-ended:
			said := tail(logFile.Name(), from)
			if _, full := fmt.Fprintf(logFile, "sbx: it ended: %v\n", err); full != nil {
				return fmt.Errorf("start %q: it ended (%v), and what it says can't be written: %w; fix that, or choose another "+
					"with --state-dir", program, err, full)
			}
			return fmt.Errorf("start %q: it ended (%v) and says:\n%s", program, err, said)
		case <-ctx.Done():
			return fmt.Errorf("start %q: it does not answer after %v; it says:\n%s", program, startTimeout,
				tail(logFile.Name(), from))
		case <-time.After(pause):
		}
	}
}

// args are the daemon's flags. Its mode is never among them.
func (p Place) args(state string) []string {
	args := []string{"--socket-dir", p.SocketDir, "--state-dir", state, "--idle-timeout", idleTimeout.String()}
	if p.config != "" {
		args = append(args, "--config", p.config)
	}
	return args
}
