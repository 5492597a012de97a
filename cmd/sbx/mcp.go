package main

import (
	"github.com/spf13/cobra"

	"sandboxd/cmd/internal/paths"
)

func mcpVerb(a *app) *cobra.Command {
	var root string
	c := &cobra.Command{
		Use:   "mcp",
		Short: "Serve the tools to a client of the Model Context Protocol",
		Long: "Serve the Model Context Protocol on standard input and output: exec, output, cancel,\n" +
			"read, write, edit, list, grep, changes, undo, status, and approve, which a client can use\n" +
			"as its permission prompt. Questions are answered with sbx approve; where [approval]\n" +
			"client_answers = true, the client may put those of low risk to its own user, too.",
		Example: "  claude mcp add sandboxd -- sbx mcp\n  codex mcp add sandboxd -- sbx mcp",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			project, err := fromHere(root)
			if err != nil {
				return err
			}
			if _, err := a.locate(c.Context()); err != nil {
				return err
			}
			// The protocol's library takes longer to start with than any other verb does.
			return paths.Execute(paths.MCP, []string{paths.MCP, "--root", project, "--socket-dir", a.options.SocketDir,
				"--state-dir", a.options.StateDir, "--config", a.options.Config, "--user", a.options.User})
		},
	}
	c.Flags().StringVar(&root, "root", ".", "the project, where a call names none")
	c.AddCommand(mcpWrap(a))
	return c
}
