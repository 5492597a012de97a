package main

import (
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"os/signal"
	"syscall"
	"time"

	xterm "golang.org/x/term"

	"sandboxd/cmd/sbx/internal/arguments"
	"sandboxd/cmd/sbx/internal/ask"
	"sandboxd/cmd/sbx/internal/term"
	"sandboxd/display"
	"sandboxd/ipc"
)

// run is one command, from the request to its exit status.
func (a *app) run(ctx context.Context, o runOptions) (int, error) {
	env, err := arguments.Environment(o.env)
	if err != nil {
		return 0, err
	}
	r := &runner{app: a, options: o, stdout: a.out, errout: a.stderr, signals: make(chan os.Signal, 8)}
	r.output()
	defer r.endOutput()
	r.tty = r.terminal()
	if r.tty != nil {
		defer r.tty.Close()
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r.input = r.newInput()
	events, err := r.start(ctx, env)
	if err != nil {
		return r.fail(err)
	}
	signal.Notify(r.signals, forwarded...)
	defer signal.Stop(r.signals)
	defer r.input.stop()
	end, err := r.follow(ctx, events)
	r.input.stop() // gives the terminal its settings back before anything is printed
	r.endOutput()
	if err != nil {
		return r.fail(err)
	}
	return r.finish(end)
}

// runner is one `sbx run`.
type runner struct {
	*app
	options runOptions
	client  *ipc.Client
	id      string
	tty     *term.Terminal // where a person can be asked; nil: nowhere
	input   *input
	streams []*display.Stream
	column  bool // the output's last byte was no line end
	signals chan os.Signal

	stdout, errout io.Writer // where the command's output goes
	report         report

	refused  bool   // front's descriptors were
	written  uint64 // the number of the last event whose output front has written
	started  bool
	taken    int       // signals that came
	last     os.Signal // the one that came last
	question *question // that is open at this terminal
	// elsewhere: the last question at this terminal was answered by somebody else.
	answeredByOther bool
	held            []ipc.Event
	heldSize        int
	notes           []ipc.Warning
}

// start has a daemon start the command, in the named session or the terminal's
// own. The events begin with the command's first.
func (r *runner) start(ctx context.Context, env map[string]string) (events ipc.Stream[ipc.Event], err error) {
	err = r.withDaemon(ctx, func(ctx context.Context) error {
		if r.options.asAgent {
			if err := r.insideAgent(ctx, env); err != nil {
				return err
			}
		}
		var started ipc.ExecStarted
		if started, events, err = r.request(ctx, env); err != nil {
			return err
		}
		r.id, r.report.ID = started.ID, started.ID
		if s := started.Session; s != nil {
			r.report.Session, r.notes = s.ID, s.Warnings
		}
		return nil
	})
	return events, err
}

// connect finds a daemon and joins a session there.
func (r *runner) connect(ctx context.Context) error {
	return r.withDaemon(ctx, func(ctx context.Context) error {
		if r.options.session != "" {
			return nil
		}
		q, err := r.ownSession()
		if err != nil {
			return err
		}
		s, err := r.client.OpenSession(ctx, *q)
		r.report.Session, r.notes = s.ID, s.Warnings
		return err
	})
}

// withDaemon finds a daemon and asks something of it. One that leaves at this very
// moment, because it was idle, is followed by a new one, and asked the same.
func (r *runner) withDaemon(ctx context.Context, ask func(context.Context) error) (err error) {
	for range 5 {
		if r.client, err = r.atOnce(ctx); err != nil {
			return err
		}
		if r.options.session != "" {
			r.client.Secret = ipc.Secret(os.Getenv("SBX_SESSION_SECRET"))
			r.report.Session = r.options.session
		}
		if err = ask(ctx); !leaving(err) {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
	return err
}

// leaving reports an error of a daemon that was about to leave and has carried
// nothing out: it has exited, said so, or did not read the whole request, which
// a reset of a Unix socket means. A mere end may have come after it had.
func leaving(err error) bool {
	return errors.Is(err, ipc.ErrNoDaemon) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) ||
		ipc.CodeOf(err) == ipc.CodeShuttingDown
}

// ownSession describes the terminal's own session. The project is where sbx
// itself was started. --cwd is part of the request, which does not change the paths that the
// sandbox may write (R-IP-07); it is the project where the directory that sbx was started in can't be used.
func (r *runner) ownSession() (*ipc.SessionRequest, error) {
	project, err := here()
	if err != nil && r.options.cwd != "" {
		project, err = r.options.cwd, nil
	}
	return &ipc.SessionRequest{Kind: ipc.KindCLI, Cwd: project, Agent: r.options.agent,
		TTY: xterm.IsTerminal(int(r.stdin.Fd()))}, err
}

// terminal is where a person can be asked.
func (r *runner) terminal() *term.Terminal {
	if r.options.noAsk || r.options.session != "" || r.options.ticket != "" {
		return nil
	}
	tty := askingTerminal()
	if tty != nil {
		tty.MakePlain(r.options.plain)
	}
	return tty
}

// described is the request for the command.
func (r *runner) described(env map[string]string) (ipc.ExecRequest, error) {
	q := ipc.ExecRequest{Session: r.options.session, Ticket: ipc.Secret(r.options.ticket), Command: r.options.line,
		Argv: r.options.argv, Cwd: r.options.cwd, Env: env,
		TTY: r.options.tty, TimeoutMS: r.options.timeout.ms(), Stdin: ipc.StdinStream, Inline: r.tty != nil,
		Agent: r.options.asAgent, Server: r.options.asServer, Hold: r.options.hold,
		Direct: r.options.direct, Profile: r.options.profile, Description: r.options.description}
	if q.Session == "" && q.Ticket == "" {
		var err error
		if q.Open, err = r.ownSession(); err != nil {
			return q, err
		}
	}
	if len(q.Argv) == 0 {
		q.Argv = nil
	}
	if r.input.reader == nil {
		q.Stdin = ipc.StdinNone
	}
	if r.options.tty {
		q.Cols, q.Rows = size()
		if kind := os.Getenv("TERM"); kind != "" && env["TERM"] == "" {
			q.Env = maps.Clone(env)
			q.Env["TERM"] = kind
		}
	}
	return q, nil
}

// follow carries the command's events out until its end.
func (r *runner) follow(ctx context.Context, stream ipc.Stream[ipc.Event]) (*ipc.Exit, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	events := make(chan ipc.Event)
	broken := make(chan error, 1)
	go func() { broken <- r.read(ctx, stream, events) }()
	defer func() { r.question.end() }()
	for {
		in := events
		if r.heldSize > 1<<20 {
			in = nil // enough is held back: the person at the question comes first
		}
		select {
		case e := <-in:
			end, err := r.event(ctx, e)
			if end != nil || err != nil {
				return end, err
			}
		case err := <-broken:
			if err != nil {
				return nil, err
			}
			broken = nil // all was read; it may be held back
		case answer := <-r.question.answered():
			r.question = nil
			r.answeredByOther = answer.out == ask.AnsweredByOther
			if answer.err != nil {
				r.complain(answer.err)
				r.note("the question is still open for others: sbx approve")
			}
			end, err := r.release(ctx)
			if end != nil || err != nil {
				return end, err
			}
		case sig := <-r.signals:
			if r.signal(ctx, sig) {
				return nil, &exit{128 + number(sig), errSilent}
			}
		}
	}
}

// read hands events on. Its error is that of a daemon which is gone.
func (r *runner) read(ctx context.Context, stream ipc.Stream[ipc.Event], events chan<- ipc.Event) error {
	return r.client.Follow(ctx, r.id, stream, func(e ipc.Event) error {
		select {
		case events <- e:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
}

// event takes one event. The exit event's content is the end.
func (r *runner) event(ctx context.Context, e ipc.Event) (*ipc.Exit, error) {
	if r.question != nil {
		// Output while a person answers would tear the question apart.
		switch {
		case e.Type == ipc.EventApproval && e.Decision != nil, e.Type == ipc.EventExit:
			r.question.cancel()
		}
		r.held = append(r.held, e)
		r.heldSize += len(e.Data) + 256
		return nil, nil
	}
	switch e.Type {
	case ipc.EventApproval:
		switch {
		case e.Approval != nil:
			r.ask(ctx, *e.Approval)
		case e.Decision != nil:
			if e.Decision.How == "person" && !r.started { // later ones are about hosts
				r.report.Answer = e.Decision
			}
			if r.answeredByOther && r.tty != nil && e.Decision.Reason != "timeout" { // timeouts: reported at the exit
				r.note("%s by %s", decided(e.Decision), e.Decision.By)
			}
			r.answeredByOther = false
		}
	case ipc.EventStarted:
		r.begin(ctx, e.Started)
	case ipc.EventStdout, ipc.EventPTY, ipc.EventStderr:
		if e.Seq <= r.written {
			return nil, nil
		}
		if e.Type == ipc.EventStderr {
			return nil, r.write(r.errout, e.Data)
		}
		return nil, r.write(r.stdout, e.Data)
	case ipc.EventGap:
		if e.Gap != nil {
			r.report.lost += e.Gap.Bytes
		}
	case ipc.EventViolation:
		if e.Violation != nil {
			r.report.violations = append(r.report.violations, *e.Violation)
		}
	case ipc.EventExit:
		return e.Exit, nil
	}
	return nil, nil
}

// release takes the events that were held back.
func (r *runner) release(ctx context.Context) (*ipc.Exit, error) {
	for len(r.held) > 0 && r.question == nil {
		e := r.held[0]
		r.held, r.heldSize = r.held[1:], r.heldSize-len(e.Data)-256
		if end, err := r.event(ctx, e); end != nil || err != nil {
			return end, err
		}
	}
	return nil, nil
}

func (r *runner) begin(ctx context.Context, s *ipc.Started) {
	r.started = true
	if s != nil {
		r.report.Started = s
	}
	r.input.start(ctx)
}
