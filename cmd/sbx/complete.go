package main

import (
	"context"

	"github.com/spf13/cobra"

	"sandboxd/ipc"
)

// lister finds what a word on the command line can be: ids, each with what a
// person reads beside it.
type lister func(context.Context, *ipc.Client) ([]cobra.Completion, error)

// completing makes a completion of a lister. No daemon is started for it.
func (a *app) completing(list lister) cobra.CompletionFunc {
	return func(c *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		const only = cobra.ShellCompDirectiveNoFileComp
		client, err := a.running(c.Context())
		if err != nil || client == nil {
			return nil, only
		}
		found, err := list(c.Context(), client)
		if err != nil {
			return nil, only
		}
		return found, only
	}
}

func requestIDs(ctx context.Context, c *ipc.Client) (out []cobra.Completion, err error) {
	list, err := c.Approvals(ctx)
	for _, q := range list.Approvals {
		out = append(out, cobra.CompletionWithDesc(q.ID, short(subject(q), 60)))
	}
	return out, err
}

func grantIDs(ctx context.Context, c *ipc.Client) (out []cobra.Completion, err error) {
	list, err := c.Grants(ctx)
	for _, g := range list.Grants {
		out = append(out, cobra.CompletionWithDesc(g.ID, short(g.What, 60)))
	}
	return out, err
}

func sessionIDs(ctx context.Context, c *ipc.Client) (out []cobra.Completion, err error) {
	list, err := c.Sessions(ctx)
	for _, s := range list.Sessions {
		out = append(out, cobra.CompletionWithDesc(s.ID, short(first(s.Label, s.Root, s.Kind), 60)))
	}
	return out, err
}
