package main

import (
	"context"
	"errors"
	"os"

	"github.com/spf13/cobra"

	"sandboxd/ipc"
	"sandboxd/mcp"
)

func mcpVerb(a *app) *cobra.Command {
	var root string
	c := &cobra.Command{
		Use:   "mcp",
		Short: "Offer the tools to a client of the Model Context Protocol, over standard input and output",
		Long: "Serve the Model Context Protocol on standard input and output: exec, output, cancel,\n" +
			"read, write, edit, list, grep, undo, status, and approve, which a client can use as its\n" +
			"permission prompt. Questions are answered with sbx approve; where [approval]\n" +
			"client_answers = true, the client may put those of low risk to its own user, too.",
		Example: "  claude mcp add sandboxd -- sbx mcp\n  codex mcp add sandboxd -- sbx mcp",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			project, err := fromHere(root)
			if err != nil {
				return err
			}
			s := &mcp.Server{Root: project, Connect: func(ctx context.Context) (*ipc.Client, error) { return a.agent(ctx) },
				Desk: func(ctx context.Context) (*ipc.Client, error) { return a.approver(ctx) }}
			if err := s.Run(c.Context()); err != nil && !errors.Is(err, os.ErrClosed) && c.Context().Err() == nil {
				return err
			}
			return nil
		},
	}
	c.Flags().StringVar(&root, "root", ".", "the project, where a call names none")
	return c
}
