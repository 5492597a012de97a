package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"sandboxd/ipc"
)

func modeVerb(a *app) *cobra.Command {
	var (
		session  string
		lifetime seconds
		asJSON   bool
	)
	c := &cobra.Command{
		Use:   "mode [approve-all|interactive]",
		Short: "Show how requests are decided, or approve everything for a while",
		Long: "Without an argument: how the daemon, or a session, decides.\n\n" +
			"approve-all answers every question of one session with yes, for at most an hour. What\n" +
			"is blocked stays blocked, and the sandbox stays in force. interactive asks again.",
		Example:   "  sbx mode\n  sbx mode approve-all --for 20m\n  sbx mode interactive",
		ValidArgs: []string{"approve-all", "interactive"},
		Args:      cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			ctx := c.Context()
			if len(args) == 1 && !slices.Contains(c.ValidArgs, args[0]) {
				return usage(c, "there is no mode %q: use approve-all or interactive; the daemon's own mode is set by [approval] "+
					"mode or sandboxd --mode", args[0])
			}
			client, err := a.approver(ctx)
			if err != nil {
				return err
			}
			var m ipc.Mode
			if len(args) == 0 {
				m, err = client.Mode(ctx, ipc.ModeRequest{Session: session})
			} else {
				if session, err = a.sessionID(ctx, session); err != nil {
					return err
				}
				m, err = client.SetMode(ctx, ipc.Mode{Session: session, Mode: strings.ReplaceAll(args[0], "-", "_"),
					ForMS: lifetime.ms()})
			}
			switch {
			case err != nil:
				return err
			case asJSON:
				return a.printJSON(m)
			}
			fields(a.out, "mode", m.Mode, "of session", m.Session, "ends", until(m.Ends), "set by", m.By, "before", m.Was)
			if m.Warning != "" {
				a.note("%s", m.Warning)
			}
			return nil
		},
	}
	f := c.Flags()
	f.StringVar(&session, "session", "", "id of the session (default: this terminal's in this directory)")
	c.RegisterFlagCompletionFunc("session", a.completing(sessionIDs))
	f.Var(&lifetime, "for", "how long approve-all holds, at most 1h")
	addJSON(c, &asJSON, "print JSON")
	return c
}
