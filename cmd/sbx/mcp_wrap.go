package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/aymanbagabas/go-udiff"
	"github.com/google/renameio/v2"
	"github.com/spf13/cobra"

	"sandboxd/mcp/servers"
)

// mcpWrap is `sbx mcp wrap`: a server of somebody else, in the sandbox of the project.
func mcpWrap(a *app) *cobra.Command {
	var install, name string
	var env []string
	var user, remove, dry bool
	c := &cobra.Command{
		Use:   "wrap [--name NAME] -- SERVER [ARG]…  |  wrap --install CLIENT [--user] [--remove]",
		Short: "Run another program's MCP server in the sandbox",
		Long: "Run a server of the Model Context Protocol in the sandbox of the project, with standard\n" +
			"input and output passed on and without the time limit of commands. Its start is asked\n" +
			"about, as that of a command. With --install the servers in a client's settings are\n" +
			"started so; --remove restores the settings byte for byte.",
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
			// The protocol is on standard input and output, and the client's terminal is the client's: nothing asks there.
			o := runOptions{argv: args, env: env, asAgent: true, noAsk: true}
			o.agent = "MCP server " + cmp.Or(name, filepath.Base(args[0]))
			if err := o.check(c); err != nil {
				return err
			}
			status, err := a.run(c.Context(), o)
			if err != nil {
				return err
			}
			return quietly(status)
		},
	}
	f := c.Flags()
	f.SetInterspersed(false) // what follows the server's name is the server's
	f.StringVar(&name, "name", "", "the server's name, for questions")
	f.StringArrayVarP(&env, "env", "e", nil, "`NAME=VALUE` for the server; NAME alone passes on the value it has here")
	f.StringVar(&install, "install", "", "start the servers of this `CLIENT` so: claude, codex or vscode")
	f.BoolVar(&user, "user", false, "with --install: the settings in your home directory (default: this project's)")
	f.BoolVar(&remove, "remove", false, "with --install: restore the settings")
	f.BoolVar(&dry, "dry-run", false, "with --install: show the difference and change nothing")
	return c
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
	a.printf("%s", diff)
	if dry {
		return nil
	}
	return renameio.WriteFile(path, changed, 0o600, renameio.WithExistingPermissions())
}
