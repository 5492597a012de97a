package main

import (
	"strconv"

	"github.com/spf13/cobra"

	"sandboxd/ipc"
)

func grantsVerb(a *app) *cobra.Command {
	return group("grants", "List, explain and withdraw lasting answers",
		"  sbx grants ls\n  sbx grants why 01K9X7\n  sbx grants rm 01K9X7", grantsList(a), grantsRemove(a), grantsWhy(a))
}

func grantsList(a *app) *cobra.Command {
	return listVerb(a, &cobra.Command{Use: "ls", Short: "List the grants in force", Example: "  sbx grants ls"},
		(*ipc.Client).Grants, "there are no grants", func(l ipc.GrantList) []ipc.Grant { return l.Grants },
		[]string{"ID", "", "SCOPE", "ENDS", "USED", "TOOL", "WHAT"}, func(g ipc.Grant) []string {
			ends := until(g.Expires)
			if ends == "" {
				ends = "never"
				if g.Scope == "session" || g.Scope == "turn" {
					ends = "with the " + g.Scope
				}
			}
			return []string{g.ID, allowed(g.Allow), g.Scope, ends, strconv.Itoa(g.Uses) + "×", g.Tool, short(g.What, 200)}
		})
}

func grantsRemove(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "rm ID…", Short: "Withdraw grants at once", Example: "  sbx grants rm 01K9X7", Args: cobra.MinimumNArgs(1),
		ValidArgsFunction: a.completing(grantIDs),
		RunE: func(c *cobra.Command, args []string) error {
			client, err := a.approver(c.Context())
			if err != nil {
				return err
			}
			for _, id := range args {
				if err := client.Revoke(c.Context(), ipc.GrantRequest{ID: id}); err != nil {
					return err
				}
				a.note("withdrawn: %s", id)
			}
			return nil
		},
	}
}

func grantsWhy(a *app) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "why ID", Short: "Say who gave a grant, when, and what it covers", Example: "  sbx grants why 01K9X7",
		Args: cobra.ExactArgs(1), ValidArgsFunction: a.completing(grantIDs),
		RunE: func(c *cobra.Command, args []string) error {
			client, err := a.approver(c.Context())
			if err != nil {
				return err
			}
			g, err := client.Grant(c.Context(), ipc.GrantRequest{ID: args[0]})
			switch {
			case err != nil:
				return err
			case asJSON:
				return a.printJSON(g)
			}
			pairs := []string{"id", g.ID, "effect", allowed(g.Allow), "tool", g.Tool, "what", g.What, "scope", g.Scope,
				"session", g.Session,
				"project", g.Project, "agent", g.Agent,
				"given by", g.By, "given", ago(&g.Created), "note", g.Note, "ends", until(g.Expires),
				"used", strconv.Itoa(g.Uses) + " times", "last used", ago(g.LastUse)}
			for _, line := range g.Explain {
				pairs = append(pairs, "it says", line)
			}
			fields(a.out, pairs...)
			return nil
		},
	}
	addJSON(c, &asJSON, "print JSON")
	return c
}

func allowed(allow bool) string {
	if allow {
		return "allow"
	}
	return "deny"
}
