package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/aymanbagabas/go-udiff"
	"github.com/spf13/cobra"

	"sandboxd/ipc"
	"sandboxd/mcp/servers"
)

// mcpWrap is `sbx mcp wrap`: a server of somebody else, in the sandbox of the project.
func mcpWrap(a *app) *cobra.Command {
	var install, name, profile string
	var env []string
	var socket, user, remove, dry bool
	c := &cobra.Command{
		Use:   "wrap [--name NAME] [--profile NAME] -- SERVER [ARG]…  |  wrap --install CLIENT [--remove]",
		Short: "Run another program's MCP server in the sandbox",
		Long: "Run a server of the Model Context Protocol in the sandbox of the project, with standard\n" +
			"input and output passed on and without the time limit of commands. Its start is asked\n" +
			"about, as that of a command. Calls of its tools run, ask or are refused as [[tools.rules]]\n" +
			"for mcp__NAME__TOOL say, and run where none does. With --install the servers in a\n" +
			"client's settings are started so; --remove restores the settings byte for byte.",
		Example: "  sbx mcp wrap -- npx -y @modelcontextprotocol/server-memory\n" +
			"  sbx mcp wrap --install claude\n  sbx mcp wrap --install codex --remove",
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case install != "" && len(args) > 0:
				return usage(c, "--install takes the servers of the client's settings: leave %q out", args[0])
			case install != "":
				return a.wrapServers(c, install, user, remove, dry)
			case len(args) == 0:
				return usage(c, "no server given. Try: sbx mcp wrap -- npx -y @modelcontextprotocol/server-memory")
			}
			w := wrapped{app: a, name: cmp.Or(name, filepath.Base(args[0]))}
			// The protocol is on standard input and output, and the client's terminal is the client's: nothing asks there.
			o := runOptions{argv: args, env: env, asServer: true, asAgent: socket, noAsk: true}
			o.agent = "MCP server " + w.name
			var err error
			if o.profile, err = serverProfile(profile); err == nil {
				err = o.check(c)
			}
			if err != nil {
				return err
			}
			status, err := w.run(c.Context(), o)
			if err != nil {
				return err
			}
			return quietly(status)
		},
	}
	f := c.Flags()
	f.SetInterspersed(false) // what follows the server's name is the server's
	f.StringVar(&name, "name", "", "the server's name, for questions and rules (default: its program's)")
	f.StringVar(&profile, "profile", "",
		"narrow the sandbox by ~/.config/sandboxd/servers/`NAME`.toml, or a path with a slash")
	f.BoolVar(&socket, "agent-socket", false, "let it ask sandboxd from inside its sandbox, as sbx run --agent does")
	f.StringArrayVarP(&env, "env", "e", nil, "`NAME=VALUE` for the server; NAME alone passes on the value it has here")
	f.StringVar(&install, "install", "", "start the servers of this `CLIENT` so: claude, codex or vscode")
	f.BoolVar(&user, "user", false, "with --install: the settings in your home directory (default: this project's)")
	f.BoolVar(&remove, "remove", false, "with --install: restore the settings")
	f.BoolVar(&dry, "dry-run", false, "with --install: show the difference and change nothing")
	return c
}

// serverProfile reads the profile document of that name; "" for none.
func serverProfile(name string) (string, error) {
	if name == "" {
		return "", nil
	}
	file := name
	if !strings.Contains(name, "/") {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		file = filepath.Join(home, ".config", "sandboxd", "servers", name+".toml")
	}
	text, err := os.ReadFile(file)
	if err == nil && len(bytes.TrimSpace(text)) == 0 {
		err = fmt.Errorf("%s is empty", file)
	}
	return string(text), err
}

// wrapped is a server in the sandbox.
type wrapped struct {
	*app
	name string

	client  *ipc.Client // nil: there is no session yet
	session string
}

// run runs the server with its messages passing a filter.
func (w *wrapped) run(ctx context.Context, o runOptions) (status int, err error) {
	f := servers.Filter{Judge: w.judge, Client: w.out, Opening: make(chan json.RawMessage, 1)}
	var said beginning // why it ended
	status, err = w.between(func(server *app) (int, error) {
		server.stderr = io.MultiWriter(server.stderr, &said)
		return server.run(ctx, o)
	},
		func(calls io.Writer, answers io.Reader) (feed, take func() error) {
			return func() error { return f.Calls(ctx, calls, w.stdin) }, func() error { return f.Answers(answers) }
		})
	if err != nil {
		said.WriteString(err.Error())
	}
	if status == 0 && err == nil {
		return status, err
	}
	select {
	case id := <-f.Opening:
		why := fmt.Sprintf("the MCP server %s ended with %d: %s", w.name, status, strings.TrimSpace(said.String()))
		err = cmp.Or(err, f.Ended(id, why))
	case <-time.After(openingTimeout): // a client that asks nothing
	}
	return status, err
}

// beginning keeps the first 4 KiB of what is written to it.
type beginning struct{ strings.Builder }

func (b *beginning) Write(p []byte) (int, error) {
	b.Builder.Write(p[:min(len(p), max(0, 4096-b.Len()))])
	return len(p), nil
}

// openingTimeout is how long the client of a server that has ended is waited for, to answer its first request.
const openingTimeout = 5 * time.Second

// between runs a program between pipes, which are the standard input and output of the app that run gets. Of carry's
// results, feed writes the program's input, and take reads its output.
func (a *app) between(
	run func(*app) (int, error), carry func(input io.Writer, output io.Reader) (feed, take func() error),
) (status int, err error) {
	inside, input, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	output, outside, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	feed, take := carry(input, output)
	go func() {
		defer input.Close()
		if err := feed(); err != nil && !errors.Is(err, syscall.EPIPE) {
			a.note("the client's messages: %v", err)
		}
	}()
	passed := make(chan error, 1)
	go func() { passed <- take() }()
	program := *a
	program.stdin, program.out = inside, outside
	status, err = run(&program)
	inside.Close()
	outside.Close()
	return status, cmp.Or(err, <-passed)
}

// judge has the daemon judge a call of the server's tool, and a person where a rule asks.
func (w *wrapped) judge(ctx context.Context, tool string, arguments json.RawMessage) (refused string) {
	v, err := w.check(ctx, tool, arguments)
	switch {
	case ctx.Err() != nil:
		return "Not run: the call was cancelled."
	case err != nil:
		w.client = nil // the next call opens a session: the daemon may be another one
		return "Not run: sandboxd could not judge this call: " + err.Error()
	case v.Allowed:
		return ""
	case v.Denied != nil:
		return v.Denied.Message
	}
	return "Denied by sandboxd: " + v.Why
}

func (w *wrapped) check(ctx context.Context, tool string, arguments json.RawMessage) (v ipc.Verdict, err error) {
	if w.client == nil {
		c, err := w.agent(ctx)
		if err != nil {
			return v, err
		}
		project, err := here()
		if err != nil {
			return v, err
		}
		s, err := c.OpenSession(ctx, ipc.SessionRequest{Kind: ipc.KindAPI, Agent: "MCP server " + w.name,
			Label: "sbx mcp wrap", Root: project, Cwd: project})
		if err != nil {
			return v, err
		}
		w.client, w.session = &ipc.Client{Socket: c.Socket, Secret: s.Secret}, s.ID
	}
	if len(arguments) == 0 {
		arguments = json.RawMessage("{}")
	}
	return w.client.Check(ctx, ipc.CheckRequest{Session: w.session, Tool: "mcp__" + w.name + "__" + tool,
		Args: arguments, Sandboxed: true})
}

// wrapServers rewrites the servers of a client's settings, or restores them.
func (a *app) wrapServers(c *cobra.Command, client string, user, remove, dry bool) error {
	i := slices.IndexFunc(servers.Clients, func(x servers.Client) bool { return x.Name == client })
	if i < 0 {
		return usage(c, "--install %q: want claude, codex or vscode", client)
	}
	dir, err := here()
	file := servers.Clients[i].Project
	if user {
		dir, err = os.UserHomeDir()
		file = servers.Clients[i].User
	}
	if err != nil {
		return err
	}
	path, old, err := settings(filepath.Join(dir, file))
	if err != nil {
		return err
	}
	change := servers.Wrap
	if remove {
		change = servers.Unwrap
	}
	changed, err := change(old)
	if err != nil {
		return fmt.Errorf("edit %s: %w; it was left as it is", path, err)
	}
	diff := udiff.Unified(path, path, string(old), string(changed))
	if diff == "" {
		a.note("%s has no server to change", path)
		return nil
	}
	if !dry {
		if err := writeSettings(path, changed, 0o600); err != nil {
			return err
		}
	}
	a.printf("%s", diff)
	return nil
}
