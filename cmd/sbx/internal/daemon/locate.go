package daemon

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"

	"sandboxd/cmd/internal/paths"
	"sandboxd/ipc"
)

// Options say where to look. The zero value means `sbx` without flags.
type Options struct {
	SocketDir string // --socket-dir; empty: $SBX_SOCKET_DIR, else the usual places
	StateDir  string // --state-dir; empty: $SBX_STATE_DIR, else the daemon's own choice
	Config    string // --config; empty: the daemon's own choice
	User      string // --user; whose daemon to answer for, through the system's broker
	// Unanswered is called as [ipc.Client.Unanswered]; nil: requests wait without a limit.
	Unanswered func(error)
}

// Place is where a daemon serves, or would be started.
type Place struct {
	SocketDir string
	// Named says that a person chose SocketDir: it is not one of the usual places.
	Named bool
	// System says that SocketDir is the system's: no daemon is started there.
	System bool
	// User is whose daemon is meant; empty: the caller's own.
	User string

	stateDir, config string
	stateNamed       bool                   // stateDir was chosen by the flag
	home             func() (string, error) // looked up once, where a daemon is started
	unanswered       func(error)
}

// patience is how long an answer may take before the daemon is asked whether it answers at all.
const patience = 3 * time.Second

// Client returns a client of one of the daemon's sockets.
func (p Place) Client(socket string) *ipc.Client {
	c := &ipc.Client{Socket: socket, User: p.User}
	if p.unanswered != nil {
		c.Patience, c.Unanswered = patience, p.unanswered
	}
	return c
}

// Locate settles the place. It connects to nothing but the system's daemon.
func Locate(ctx context.Context, o Options) (Place, error) {
	var (
		p   Place
		err error
	)
	for _, f := range []struct {
		to         *string
		flag, name string
	}{
		{&p.SocketDir, o.SocketDir, "SBX_SOCKET_DIR"},
		{&p.stateDir, o.StateDir, "SBX_STATE_DIR"},
		{&p.config, o.Config, ""},
	} {
		if *f.to = f.flag; f.flag == "" && f.name != "" {
			*f.to = os.Getenv(f.name)
		}
		if *f.to == "" {
			continue
		}
		if *f.to, err = paths.Absolute(*f.to); err != nil {
			return Place{}, err
		}
	}
	p.stateNamed, p.unanswered = o.StateDir != "", o.Unanswered
	p.home = sync.OnceValues(func() (string, error) { return homeDir(os.Geteuid()) })
	if o.User != "" {
		p.SocketDir, p.System, p.User = first(p.SocketDir, paths.SystemDir), true, o.User
		return p, nil
	}
	own := paths.OwnSocketDir(os.Getenv("XDG_RUNTIME_DIR"), os.Geteuid())
	if p.SocketDir != "" {
		p.Named = p.SocketDir != own
		return p, nil
	}
	if serves, err := p.serves(ctx, paths.SystemDir); err != nil {
		return Place{}, err
	} else if serves {
		p.SocketDir, p.System = paths.SystemDir, true
		return p, nil
	}
	p.SocketDir = own
	return p, nil
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// Agent is the path of the requesters' socket.
func (p Place) Agent() string { return filepath.Join(p.SocketDir, ipc.AgentSocket) }

// Approver is the path of the answerers' socket.
func (p Place) Approver() string { return filepath.Join(p.SocketDir, ipc.ApproverSocket) }

// StateDir is where a daemon that is started here keeps its records.
func (p Place) StateDir() (string, error) {
	if p.stateDir != "" {
		return p.stateDir, nil
	}
	home, err := p.home()
	return paths.OwnStateDir(home), err
}

// serves reports whether a daemon in dir is willing to serve this user, who is not root. One that does not answer at
// all is an error.
func (p Place) serves(ctx context.Context, dir string) (bool, error) {
	c := p.Client(filepath.Join(dir, ipc.AgentSocket))
	if _, err := os.Lstat(c.Socket); os.Geteuid() == 0 || err != nil {
		return false, nil
	}
	defer c.Close()
	_, err := c.Version(ctx)
	if errors.Is(err, ipc.ErrUnanswered) {
		return false, err
	}
	return err == nil, nil
}

// errNotStarted is in the error of [Place.Ensure] where no daemon runs and none
// may be started.
var errNotStarted = errors.New("no daemon runs, and none is started")
