package main

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sandboxd/ipc"
)

func trustVerb(a *app) *cobra.Command {
	var list, remove, contained, asJSON bool
	c := &cobra.Command{
		Use:   "trust [DIR]",
		Short: "Let commands write in a project's directory",
		Long: "Trust DIR (default: this directory). Commands in a directory that nobody trusts may\n" +
			"read it and not write. Trust is kept by the directory itself: one that is put in its\n" +
			"place later is not trusted. You can't trust /, a home directory or a system directory. A\n" +
			"program with an open session can't trust its own directory: use another terminal.\n\n" +
			"With --contained, commands there run unasked where their effects stay in the project and\n" +
			"their run can be undone as a whole (sbx undo).",
		Example: "  sbx trust\n  sbx trust --contained\n  sbx trust ~/src/web\n" +
			"  sbx trust --list\n  sbx trust --remove ~/src/web",
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			ctx := c.Context()
			if list && (remove || len(args) > 0) {
				return usage(c, "--list takes no directory")
			}
			client, err := a.approver(ctx)
			if err != nil {
				return err
			}
			if list {
				return a.listTrust(c, client, asJSON)
			}
			dir, err := fromHere(first(append(args, ".")...))
			if err != nil {
				return err
			}
			if remove {
				if err := client.Distrust(ctx, ipc.TrustRequest{Dir: dir}); err != nil {
					return err
				}
				if asJSON {
					return a.printJSON(ipc.TrustRequest{Dir: dir})
				}
				a.note("no longer trusted: %s", dir)
				return nil
			}
			t, err := client.Trust(ctx, ipc.TrustRequest{Dir: dir, Contained: contained})
			switch {
			case err != nil:
				return err
			case asJSON:
				return a.printJSON(t)
			}
			if len(t.Caches) > 0 {
				a.note("its commands keep caches of its own, not yours: %s", strings.Join(t.Caches, ", "))
			}
			if t.Contained {
				a.note("what stays inside and can be undone runs unasked")
			}
			a.note("trusted: %s (withdraw it with sbx trust --remove %s)", t.Dir, t.Dir)
			return nil
		},
	}
	f := c.Flags()
	f.BoolVar(&list, "list", false, "list the directories that are trusted")
	f.BoolVar(&contained, "contained", false, "run unasked what stays there and can be undone")
	f.BoolVar(&remove, "remove", false, "do not trust it any longer")
	addJSON(c, &asJSON, "print JSON")
	return c
}

func (a *app) listTrust(c *cobra.Command, client *ipc.Client, asJSON bool) error {
	list, err := client.Trusted(c.Context())
	if err != nil {
		return err
	}
	return printList(a, asJSON, list, "no directory is trusted", list.Trusted, []string{"SINCE", "DIRECTORY", ""},
		func(t ipc.Trust) []string {
			policy := ""
			if t.Contained {
				policy = "contained"
			}
			return []string{t.Since.Local().Format(time.DateTime), t.Dir, first(t.Stale, policy)}
		})
}

// first is the first of list that is not empty.
func first(list ...string) string {
	for _, s := range list {
		if s != "" {
			return s
		}
	}
	return ""
}
