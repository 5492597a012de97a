package main

import (
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"sandboxd/ipc"
)

func statsVerb(a *app) *cobra.Command {
	var reset, asJSON bool
	c := &cobra.Command{
		Use:   "stats",
		Short: "Count what was asked, approved and denied, and how people answer",
		Long: "Counts since the daemon started, and the log's figures of habits: questions per 100\n" +
			"commands, the median time of answers, how many came in under a second, and grants that were\n" +
			"never used.",
		Example: "  sbx stats\n  sbx stats --json | jq .log.asks_per_100\n  sbx stats --reset",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if reset && asJSON {
				return usage(c, "--reset and --json exclude each other")
			}
			client, err := a.approver(c.Context())
			if err != nil {
				return err
			}
			if reset {
				return client.ResetStats(c.Context())
			}
			defer a.slowly("reading the log")()
			s, err := client.Stats(c.Context())
			if err != nil {
				return err
			}
			h, err := readHabits(c.Context(), client)
			switch {
			case err != nil:
				return err
			case asJSON:
				return a.printJSON(struct {
					ipc.Stats
					Log habits `json:"log"`
				}{s, h})
			}
			a.note("since %s", ago(&s.Since))
			a.printCounts(s.Overall)
			for _, part := range []struct {
				name   string
				counts map[string]ipc.Counts
			}{{"session", s.Sessions}, {"agent", s.Agents}} {
				a.printCountsBy(part.name, part.counts)
			}
			a.printHabits(h)
			return nil
		},
	}
	c.Flags().BoolVar(&reset, "reset", false, "count from 0 again")
	addJSON(c, &asJSON, "print JSON")
	return c
}

func (a *app) printCounts(n ipc.Counts) {
	f := func(n int64) string { return strconv.FormatInt(n, 10) }
	fields(a.out, "calls", f(n.Total), "approved unasked", f(n.AutoApproved), "denied unasked", f(n.AutoDenied),
		"approved", f(n.Approved),
		"denied", f(n.Denied), "confirmed twice", f(n.DoubleConfirmed), "timed out", f(n.TimedOut), "quit", f(n.Quit))
}

// printCountsBy prints a table of those that did anything.
func (a *app) printCountsBy(name string, counts map[string]ipc.Counts) {
	var keys []string
	for k, n := range counts {
		if n.Total > 0 {
			keys = append(keys, k)
		}
	}
	if len(keys) == 0 {
		return
	}
	slices.Sort(keys)
	rows := [][]string{{name, "CALLS", "UNASKED", "APPROVED", "DENIED", "TIMED OUT"}}
	for _, k := range keys {
		n := counts[k]
		row := []string{k}
		for _, v := range []int64{n.Total, n.AutoApproved, n.Approved, n.Denied, n.TimedOut} {
			row = append(row, strconv.FormatInt(v, 10))
		}
		rows = append(rows, row)
	}
	a.printf("\n")
	table(a.out, rows)
}
