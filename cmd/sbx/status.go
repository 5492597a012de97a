package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"sandboxd/ipc"
)

func statusVerb(a *app) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:     "status",
		Short:   "Show the daemon, what it enforces on this host, and what is going on",
		Example: "  sbx status\n  watch -n 2 sbx status\n  sbx status --json | jq -r .enforcement.level",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			client, err := a.approver(c.Context())
			if err != nil {
				return err
			}
			s, err := client.Status(c.Context())
			switch {
			case err != nil:
				return err
			case asJSON:
				return a.printJSON(s)
			}
			a.printStatus(s)
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func (a *app) printStatus(s ipc.Status) {
	fields(a.out,
		"daemon", fmt.Sprintf("%s %s, process %d, up for %s", s.Version.Product, s.Version.Version, s.Version.PID, strings.TrimSuffix(ago(&s.Started), " ago")),
		"sockets", a.place.SocketDir,
		"state", s.StateDir,
		"mode", s.Mode,
		"now", fmt.Sprintf("%s, %s running, %s waiting for an answer", plural(s.Sessions, "session"), plural(s.Running, "command"), plural(s.Pending, "request")),
		"idle", s.Idle)
	if s.Pending > 0 {
		a.note("answer with sbx approve")
	}
	for _, f := range s.Config {
		state := "not there"
		if f.Loaded {
			state = "read"
		}
		if f.Error != "" {
			state = "error: " + f.Error
		}
		fields(a.out, "configuration", fmt.Sprintf("%s (%s): %s", f.Path, f.Layer, state))
	}
	a.printf("\n")
	a.printEnforcement(s.Enforcement)
	for _, w := range s.Warnings {
		a.note("%s", strings.TrimSpace(strings.TrimPrefix(w.Where+": ", ": ")+w.Message+hint(w.Hint)))
	}
}

func hint(s string) string {
	if s == "" {
		return ""
	}
	return "; next: " + s
}

// printEnforcement prints the layers and how far each protection holds.
func (a *app) printEnforcement(e ipc.Enforcement) {
	a.printf("the sandbox is %s on this host\n", strings.ToUpper(string(e.Level)))
	var rows [][]string
	for _, l := range e.Layers {
		state := "on"
		if !l.Active {
			state = "off"
		}
		rows = append(rows, []string{"  " + l.Name, state, strings.TrimSpace(l.Version + " " + l.Why)})
	}
	for _, p := range e.Protections {
		detail := first(p.Missing, p.Why, p.By)
		if p.Level == ipc.Enforced {
			detail = p.By
		}
		rows = append(rows, []string{"  " + p.Name, string(p.Level), detail + hint(p.Remedy)})
	}
	for _, row := range rows {
		row[0] = strings.TrimSpace(row[0])
	}
	table(a.out, rows)
}

// milliseconds writes how long something took.
func milliseconds(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10) + " ms"
}
