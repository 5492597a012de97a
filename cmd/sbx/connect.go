package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/term"

	"sandboxd/cmd/sbx/internal/daemon"
	"sandboxd/display"
	"sandboxd/ipc"
)

// locate returns the daemon's place, and caches it. At a terminal it notes a socket
// directory that is not a usual one: that setting selects the daemon that answers.
func (a *app) locate(ctx context.Context) (daemon.Place, error) {
	if a.place != nil {
		return *a.place, nil
	}
	var once sync.Once
	a.options.Unanswered = func(err error) { once.Do(func() { a.note("%v", err) }) }
	p, err := daemon.Locate(ctx, a.options)
	if err != nil {
		return p, err
	}
	if p.Named && isTerminal(a.stderr) {
		a.note("the sockets are in %s, which is not the usual place", p.SocketDir)
	}
	a.place = &p
	return p, nil
}

func isTerminal(w io.Writer) bool {
	f, ok := beneath(w).(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// beneath is the writer that an output of ours writes to.
func beneath(w io.Writer) io.Writer {
	if o, ok := w.(*display.Output); ok {
		w = o.W
	}
	if p, ok := w.(*pages); ok {
		return p.terminal
	}
	return w
}

// colors reports whether standard output may have colours (no-color.org, bixense.com/clicolors).
func (a *app) colors() bool {
	force := os.Getenv("CLICOLOR_FORCE")
	switch {
	case os.Getenv("NO_COLOR") != "":
		return false
	case force != "" && force != "0":
		return true
	}
	return isTerminal(a.out) && os.Getenv("TERM") != "dumb" && os.Getenv("CLICOLOR") != "0"
}

// agent is the socket of requesters. A daemon is started if none runs.
func (a *app) agent(ctx context.Context) (*ipc.Client, error) {
	return a.open(ctx, daemon.Place.Agent)
}

// atOnce is agent, but looks for the daemon, and starts one, when something is
// first asked of it: that is one connection less. The choices of the command line are
// compared with the daemon's before.
func (a *app) atOnce(ctx context.Context) (*ipc.Client, error) {
	if a.options.Config != "" || a.options.StateDir != "" {
		return a.agent(ctx)
	}
	p, err := a.locate(ctx)
	if err != nil {
		return nil, err
	}
	c := p.Client(p.Agent())
	c.Start = func(ctx context.Context) error {
		defer a.slowly("starting sandboxd")()
		return p.Ensure(ctx)
	}
	a.clients = append(a.clients, c)
	return c, nil
}

// approver is the socket of answerers. A daemon is started if none runs.
func (a *app) approver(ctx context.Context) (*ipc.Client, error) {
	return a.open(ctx, daemon.Place.Approver)
}

// approverClient returns a client for the approver's socket of the daemon that was
// asked; this terminal answers questions there. locate must have succeeded before.
func (a *app) approverClient() *ipc.Client { return a.place.Client(a.place.Approver()) }

func (a *app) open(ctx context.Context, socket func(daemon.Place) string) (*ipc.Client, error) {
	p, err := a.locate(ctx)
	if err != nil {
		return nil, err
	}
	defer a.slowly("starting sandboxd")()
	if err := p.Ensure(ctx); err != nil {
		return nil, err
	}
	c := p.Client(socket(p))
	a.clients = append(a.clients, c)
	return c, nil
}

// running is like approver, but starts none: nil where no daemon runs.
func (a *app) running(ctx context.Context) (*ipc.Client, error) {
	p, err := a.locate(ctx)
	if err != nil {
		return nil, err
	}
	switch err := p.Running(ctx); {
	case errors.Is(err, ipc.ErrNoDaemon):
		return nil, nil
	case err != nil:
		return nil, err
	}
	c := p.Client(p.Approver())
	a.clients = append(a.clients, c)
	return c, nil
}

// session is this terminal's session for the directory that sbx runs in.
func (a *app) session(ctx context.Context, c *ipc.Client, cwd string) (ipc.Session, error) {
	return c.OpenSession(ctx, ipc.SessionRequest{Kind: ipc.KindCLI, Cwd: cwd, TTY: term.IsTerminal(int(a.stdin.Fd()))})
}

// sessionToGovern is sessionID, and the socket for governing sessions.
func (a *app) sessionToGovern(ctx context.Context, named string) (string, *ipc.Client, error) {
	id, err := a.sessionID(ctx, named)
	if err != nil {
		return "", nil, err
	}
	client, err := a.approver(ctx)
	return id, client, err
}

// sessionID is the id that was named, or that of this terminal and directory.
func (a *app) sessionID(ctx context.Context, named string) (string, error) {
	if named != "" {
		return named, nil
	}
	cwd, err := here()
	if err != nil {
		return "", err
	}
	c, err := a.agent(ctx)
	if err != nil {
		return "", err
	}
	s, err := a.session(ctx, c, cwd)
	return s.ID, err
}

// here is the working directory, in which sbx was started.
func here() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("the current directory can't be used (%w): it was removed, or you may not enter it; change "+
			"to another one", err)
	}
	return dir, nil
}

// fromHere makes a path absolute.
func fromHere(path string) (string, error) {
	if filepath.IsAbs(path) {
		return filepath.Clean(path), nil
	}
	dir, err := here()
	return filepath.Join(dir, path), err
}
