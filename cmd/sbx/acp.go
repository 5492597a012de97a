package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"sandboxd/acp"
	"sandboxd/cmd/sbx/internal/arguments"
)

// acpVerb is `sbx acp`: an agent of the Agent Client Protocol, for an editor.
func acpVerb(a *app) *cobra.Command {
	var o runOptions
	var outside, unsaved bool
	c := &cobra.Command{
		Use:   "acp [flags] -- AGENT [ARG]…",
		Short: "Run an agent of the Agent Client Protocol for an editor",
		Long: "Run an agent of the Agent Client Protocol, as sbx run --agent does, for the editor on standard\n" +
			"input and output. The commands that it asks of the editor run in the sandbox of the project,\n" +
			"its files are read and written by the file tool, and its questions are answered where a rule\n" +
			"answers them. Everything else is passed on. Questions of sandboxd are answered with sbx approve.",
		Example: "  sbx acp -- gemini --experimental-acp\n  sbx acp --outside -- claude-code-acp",
		Args:    cobra.ArbitraryArgs, ValidArgsFunction: installedPrograms,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage(c, "no agent given. Try: sbx acp -- gemini --experimental-acp")
			}
			// The protocol is on standard input and output, and the editor has no terminal: nothing asks there.
			o.argv, o.asAgent, o.noAsk, o.agent = args, true, true, filepath.Base(args[0])
			if err := o.check(c); err != nil {
				return err
			}
			p := &acp.Proxy{Name: o.agent, Connect: a.agent, Outside: outside, Unsaved: unsaved, Editor: a.out}
			status, err := a.serveEditor(c.Context(), p, o)
			if err != nil {
				return err
			}
			return quietly(status)
		},
	}
	f := c.Flags()
	f.SetInterspersed(false) // what follows the agent's name is the agent's
	f.BoolVar(&outside, "outside", false,
		"start the agent without a sandbox: only what it asks the editor for is judged")
	f.BoolVar(&unsaved, "unsaved", false,
		"have the editor read the files that may be read, with unsaved changes; see docs/agents/acp.md for the risk")
	f.StringArrayVarP(&o.env, "env", "e", nil, "`NAME=VALUE` for the agent; NAME alone passes on the value it has here")
	return c
}

// serveEditor runs the agent, and serves it until it ends.
func (a *app) serveEditor(ctx context.Context, p *acp.Proxy, o runOptions) (int, error) {
	defer p.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	run := func(agent *app) (int, error) { return agent.run(ctx, o) }
	if p.Outside {
		run = func(agent *app) (int, error) { return agent.runOutside(ctx, o) }
	}
	return a.between(run, func(input io.Writer, output io.Reader) (feed, take func() error) {
		p.Agent = input
		feed = func() error {
			defer endAgent(ctx)
			return p.FromEditor(ctx, a.stdin)
		}
		return feed, func() error { return p.FromAgent(ctx, output) }
	})
}

// editorGrace is how long an agent may run after its editor's last message, and then after SIGTERM.
const editorGrace = 5 * time.Second

// endAgent ends an agent that does not end with its input. It uses the signals of sbx itself, of which the first goes
// to the agent and the second ends all that it started.
func endAgent(ctx context.Context) {
	go func() {
		for range 2 {
			select {
			case <-ctx.Done():
				return
			case <-time.After(editorGrace):
			}
			_ = syscall.Kill(os.Getpid(), syscall.SIGTERM) // it exists
		}
	}()
}

// runOutside runs the agent without a sandbox.
func (a *app) runOutside(ctx context.Context, o runOptions) (int, error) {
	env, err := arguments.Environment(o.env)
	if err != nil {
		return 0, err
	}
	c := exec.CommandContext(ctx, o.argv[0], o.argv[1:]...)
	c.Stdin, c.Stdout, c.Stderr, c.Env = a.stdin, a.out, a.stderr, os.Environ()
	for name, value := range env {
		c.Env = append(c.Env, name+"="+value)
	}
	dieWithParent(c)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	if err := c.Start(); err != nil {
		return 0, &exit{exitNotFound, err}
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	for again := false; ; again = true {
		select {
		case s := <-signals:
			if again {
				s = syscall.SIGKILL
			}
			_ = c.Process.Signal(s) // it may have ended
		case err := <-ended:
			var x *exec.ExitError
			if errors.As(err, &x) && x.ExitCode() < 0 {
				return 128 + int(x.Sys().(syscall.WaitStatus).Signal()), nil
			} else if errors.As(err, &x) {
				return x.ExitCode(), nil
			}
			return 0, err
		}
	}
}
