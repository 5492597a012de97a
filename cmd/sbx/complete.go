package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"sandboxd/ipc"
)

// lister lists the completions of a word on the command line: ids, each with a
// description for people.
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

// undoIDs completes the changes of this project that can be undone, and then paths.
func (a *app) undoIDs(c *cobra.Command, args []string, _ string) (out []cobra.Completion, _ cobra.ShellCompDirective) {
	chosen := slices.ContainsFunc([]string{"last", "since", "session"}, c.Flags().Changed)
	if len(args) > 0 || chosen {
		return nil, cobra.ShellCompDirectiveDefault
	}
	const only = cobra.ShellCompDirectiveNoFileComp
	if client, err := a.running(c.Context()); err != nil || client == nil {
		return nil, only
	}
	r, err := a.fileRunner(c.Context(), fileOptions{noAsk: true})
	if err != nil {
		return nil, only
	}
	defer r.close()
	all, err := r.client.File(c.Context(), ipc.FileRequest{Op: "undo", Session: r.session, DryRun: true})
	if err != nil {
		return nil, only
	}
	undone := undoable(all.Changes, 0)
	for _, change := range all.Changes {
		if slices.Contains(undone, change.ID) {
			out = append(out, cobra.CompletionWithDesc(change.ID, short(strings.Join(change.What, "; "), 60)))
		}
	}
	return out, only
}

// heldIDs completes the held change sets of this project.
func (a *app) heldIDs(c *cobra.Command, args []string, _ string) (out []cobra.Completion, _ cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	const only = cobra.ShellCompDirectiveNoFileComp
	if client, err := a.running(c.Context()); err != nil || client == nil {
		return nil, only
	}
	_ = a.withFiles(c, fileOptions{}, func(r *fileRunner) error {
		list, err := r.client.HeldChanges(c.Context(), ipc.HeldRequest{Session: r.session})
		for _, h := range list.Changes {
			out = append(out, cobra.CompletionWithDesc(h.ID, short(h.Command, 60)))
		}
		return err
	})
	return out, only
}

// installedPrograms completes the first word of a command with the programs of $PATH, the others with files.
func installedPrograms(_ *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var out []cobra.Completion
	if len(args) > 0 || strings.Contains(begun, "/") {
		return nil, cobra.ShellCompDirectiveDefault
	}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, e := range entries {
			if !strings.HasPrefix(e.Name(), begun) {
				continue
			}
			if i, err := os.Stat(filepath.Join(dir, e.Name())); err == nil && !i.IsDir() && i.Mode()&0o111 != 0 {
				out = append(out, e.Name())
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out), cobra.ShellCompDirectiveNoFileComp
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
