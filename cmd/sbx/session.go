package main

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"sandboxd/ipc"
)

func sessionVerb(a *app) *cobra.Command {
	return group("session", "List, open, resume and close sessions",
		"  sbx session ls\n  sbx session open --json --label 'nightly build'\n  sbx session close s-01k9x5",
		sessionList(a), sessionOpen(a), sessionResume(a), sessionClose(a))
}

func sessionList(a *app) *cobra.Command {
	return listVerb(a, &cobra.Command{Use: "ls", Short: "List the sessions", Example: "  sbx session ls"},
		(*ipc.Client).Sessions, "there are no sessions", func(l ipc.SessionList) []ipc.SessionInfo { return l.Sessions },
		[]string{"ID", "KIND", "MODE", "RUNS", "USED", "TRUSTED", "AGENT", "ROOT", "REMARK"},
		func(s ipc.SessionInfo) []string {
			remark := s.Stopped
			if len(s.Overlaps) > 0 {
				remark = strings.TrimSpace(remark + " overlaps with " + strings.Join(s.Overlaps, ", "))
			}
			return []string{s.ID, s.Kind, s.Mode, strconv.Itoa(len(s.Running)), ago(&s.LastUsed), yesNo(s.Trusted),
				strings.TrimSpace(s.Agent + " " + s.Label), s.Root, remark}
		})
}

func sessionOpen(a *app) *cobra.Command {
	var (
		label, agent, root string
		asJSON, hold       bool
	)
	c := &cobra.Command{
		Use:   "open",
		Short: "Open a session for a program and print its id and secret",
		Long: "Open a session for a program. A holder of the secret may ask in its name; it is shown\n" +
			"once. The two lines can be evaluated by a shell; sbx run uses them.",
		Example: "  eval \"$(sbx session open --label build)\"; sbx run -- make",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			client, err := a.agent(c.Context())
			if err != nil {
				return err
			}
			cwd, err := here()
			if err != nil {
				return err
			}
			if root != "" {
				if root, err = fromHere(root); err != nil {
					return err
				}
			}
			land := ""
			if hold {
				land = ipc.LandHold
			}
			s, err := client.OpenSession(c.Context(), ipc.SessionRequest{Kind: ipc.KindAPI, Agent: agent, Label: label,
				Root: root, Cwd: cwd, Land: land})
			switch {
			case err != nil:
				return err
			case asJSON:
				return a.printJSON(s)
			}
			for _, w := range s.Warnings {
				a.note("%s", w.Message+hint(w.Hint))
			}
			a.printf("SBX_SESSION=%s; export SBX_SESSION\nSBX_SESSION_SECRET=%s; export SBX_SESSION_SECRET\n", s.ID,
				string(s.Secret))
			return nil
		},
	}
	f := c.Flags()
	f.BoolVar(&hold, "hold", false, "hold what its commands write, as sbx run --hold does")
	f.StringVar(&label, "label", "", "what people see")
	f.StringVar(&agent, "agent-name", "", "what the program calls itself; shown as a claim")
	f.StringVar(&root, "root", "", "the project's directory (default: the repository around this one)")
	addJSON(c, &asJSON, "print JSON")
	return c
}

func sessionResume(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "resume [ID]", Short: "Resume a session that a person stopped",
		Example: "  sbx session resume\n  sbx session resume s-01k9x5", Args: cobra.MaximumNArgs(1),
		ValidArgsFunction: a.completing(sessionIDs),
		RunE: func(c *cobra.Command, args []string) error {
			id, client, err := a.sessionToGovern(c.Context(), first(args...))
			if err != nil {
				return err
			}
			t, err := client.Turn(c.Context(), ipc.TurnRequest{Session: id})
			if err != nil {
				return err
			}
			if t.Cleared == "" {
				a.note("%s was not stopped", id)
			} else {
				a.note("resumed %s, which was %s", id, t.Cleared)
			}
			return nil
		},
	}
}

func sessionClose(a *app) *cobra.Command {
	var asJSON, unused bool
	c := &cobra.Command{
		Use: "close [ID]", Short: "End a session, its commands and its grants",
		Example: "  sbx session close s-01k9x5\n  sbx session close --unused",
		Args:    cobra.MaximumNArgs(1), ValidArgsFunction: a.completing(sessionIDs),
		RunE: func(c *cobra.Command, args []string) error {
			if unused {
				return a.closeUnused(c.Context(), args)
			}
			id, client, err := a.sessionToGovern(c.Context(), first(args...))
			if err != nil {
				return err
			}
			end, err := client.CloseSession(c.Context(), ipc.CloseRequest{Session: id})
			switch {
			case err != nil:
				return err
			case asJSON:
				return a.printJSON(end)
			}
			a.note("closed: %s; %s ended", id, plural(end.Ended, "command"))
			if end.Stats != nil {
				a.printCounts(end.Stats.Overall)
			}
			return nil
		},
	}
	c.Flags().BoolVar(&unused, "unused", false, "end all sessions of programs in which nothing was asked yet")
	addJSON(c, &asJSON, "print JSON")
	return c
}

// closeUnused ends the sessions that programs opened and did not use.
func (a *app) closeUnused(ctx context.Context, args []string) error {
	if len(args) > 0 {
		return errors.New("close sessions: either an ID or --unused")
	}
	client, err := a.approver(ctx)
	if err != nil {
		return err
	}
	list, err := client.Sessions(ctx)
	if err != nil {
		return err
	}
	closed := 0
	for _, s := range list.Sessions {
		if s.Kind != ipc.KindAPI || s.LastUsed.After(s.Opened) || len(s.Running) > 0 {
			continue
		}
		if _, err := client.CloseSession(ctx, ipc.CloseRequest{Session: s.ID}); err != nil {
			return err
		}
		closed++
	}
	a.note("closed %s", plural(closed, "unused session"))
	return nil
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
