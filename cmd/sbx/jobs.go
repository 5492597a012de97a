package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"sandboxd/ipc"
)

func jobsVerb(a *app) *cobra.Command {
	c := listVerb(a, &cobra.Command{
		Use:   "jobs",
		Short: "List, read and stop what commands left running",
		Long: "List what commands left running in the sessions of programs and terminals. A job ends with\n" +
			"its session: that of a terminal with the shell there.",
		Example: "  sbx jobs\n  sbx jobs log j-01k9x5\n  sbx jobs stop j-01k9x5",
	}, (*ipc.Client).Jobs, "there are no jobs", func(l ipc.JobList) []ipc.Job { return l.Jobs },
		[]string{"ID", "STARTED", "SESSION", "COMMAND", "ENDED"}, func(j ipc.Job) []string {
			return []string{j.ID, ago(&j.Started), j.Session, j.Command, strings.TrimSpace(ago(j.Ended) + " " + j.Why)}
		})
	c.AddCommand(
		jobVerb(a, "log", "Print the newest output of a job", (*ipc.Client).Job, func(j ipc.Job) error {
			if j.CutBytes > 0 {
				a.note("%d bytes of earlier output are not kept", j.CutBytes)
			}
			_, err := a.out.Write(j.Log)
			return err
		}),
		jobVerb(a, "stop", "End a job", (*ipc.Client).StopJob, func(j ipc.Job) error {
			a.note("ended: %s: %s", j.ID, j.Why)
			return nil
		}))
	return c
}

// jobVerb is a verb on one job.
func jobVerb(a *app, name, short string, do func(*ipc.Client, context.Context, ipc.JobRequest) (ipc.Job, error),
	show func(ipc.Job) error,
) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: name + " ID", Short: short, Example: "  sbx jobs " + name + " j-01k9x5", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			client, err := a.approver(c.Context())
			if err != nil {
				return err
			}
			j, err := do(client, c.Context(), ipc.JobRequest{ID: args[0]})
			switch {
			case err != nil:
				return err
			case asJSON:
				return a.printJSON(j)
			}
			return show(j)
		},
	}
	addJSON(c, &asJSON, "print JSON")
	return c
}
