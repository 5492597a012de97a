package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"sandboxd/ipc"
)

func adviseVerb(a *app) *cobra.Command {
	var apply []string
	var asJSON bool
	c := &cobra.Command{
		Use:   "advise",
		Short: "Say what would save questions, and apply it",
		Long: "Read the newest questions and refused connections of the log, and propose at most ten\n" +
			"lines of configuration that would have saved them: presets, permissions, hosts, projects\n" +
			"to trust. Each was replayed against the log: none would have let run what you refused,\n" +
			"or what is dangerous, secret or protected.\n\n" +
			"--apply writes proposals into your configuration, by number or by value.",
		Example: "  sbx advise\n  sbx advise --apply 1,3\n  sbx advise --json | jq -r '.proposals[].value'",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if asJSON && len(apply) > 0 {
				return usage(c, "--apply and --json exclude each other")
			}
			client, err := a.approver(c.Context())
			if err != nil {
				return err
			}
			done := a.slowly("replaying the log")
			advice, err := client.Advice(c.Context())
			done()
			switch {
			case err != nil:
				return err
			case len(apply) > 0:
				return a.applyAdvice(c.Context(), client, advice.Proposals, apply)
			case asJSON:
				return a.printJSON(advice)
			}
			a.printAdvice(advice)
			return nil
		},
	}
	c.Flags().StringSliceVar(&apply, "apply", nil, "write these proposals, by number or value")
	addJSON(c, &asJSON, "print JSON")
	return c
}

func (a *app) printAdvice(advice ipc.Advice) {
	a.printf("of the last %s, %d asked a person; %s refused\n", plural(advice.Decisions, "decision"), advice.Asked,
		plural(advice.Refused, "connection"))
	if len(advice.Proposals) == 0 {
		a.printf("no line of configuration would have saved two of them or more\n")
		return
	}
	rows := [][]string{{"", "LIST", "VALUE", "SAVES", "PERMITS BESIDES"}}
	for i, p := range advice.Proposals {
		rows = append(rows, []string{strconv.Itoa(i + 1), p.List, short(p.Value, 60), savings(p), p.Permits})
	}
	table(a.out, rows)
	a.printf("to apply: sbx advise --apply 1\n")
}

func savings(p ipc.Proposal) string {
	var parts []string
	if p.Questions > 0 {
		parts = append(parts, plural(p.Questions, "question"))
	}
	if p.Refusals > 0 {
		parts = append(parts, plural(p.Refusals, "refusal"))
	}
	return strings.Join(parts, ", ")
}

// applyAdvice writes proposals. All of the names are looked up before the first is written.
func (a *app) applyAdvice(ctx context.Context, client *ipc.Client, all []ipc.Proposal, names []string) error {
	var chosen []ipc.Proposal
	for _, name := range names {
		n, err := strconv.Atoi(name)
		i := slices.IndexFunc(all, func(p ipc.Proposal) bool { return p.Value == name })
		if err == nil {
			i = n - 1
		}
		if i < 0 || i >= len(all) {
			return fmt.Errorf("--apply %s: there is no such proposal, of %d; see sbx advise", name, len(all))
		}
		chosen = append(chosen, all[i])
	}
	for _, p := range chosen {
		if p.List == "trust.contained" {
			if _, err := client.Trust(ctx, ipc.TrustRequest{Dir: p.Value, Contained: true}); err != nil {
				return err
			}
			a.note("trusted, and what stays inside runs unasked: %s", p.Value)
			continue
		}
		out, _, err := a.userLists(ctx, []string{"add", p.List, p.Value}, false)
		if err != nil {
			return err
		}
		a.note("%s", strings.TrimSpace(out))
	}
	_, err := client.Reload(ctx)
	return err
}
