package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"sandboxd/cmd/sbx/internal/usual"
	"sandboxd/ipc"
)

func statusVerb(a *app) *cobra.Command {
	var asJSON, watch bool
	c := &cobra.Command{
		Use:     "status",
		Short:   "Show the daemon, its sandbox on this host, and what runs",
		Example: "  sbx status\n  sbx status --watch\n  sbx status --json | jq -r .enforcement.level",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if watch && asJSON {
				return usage(c, "give either --watch or --json")
			}
			client, err := a.approver(c.Context())
			if err != nil {
				return err
			}
			if watch {
				return a.watchStatus(c.Context(), client)
			}
			s, err := client.Status(c.Context())
			switch {
			case err != nil:
				return err
			case asJSON:
				return a.printJSON(s)
			}
			a.printStatus(s)
			return a.printGoingOn(c.Context(), client)
		},
	}
	addJSON(c, &asJSON, "print JSON")
	c.Flags().BoolVarP(&watch, "watch", "w", false, "renew it every two seconds, until Ctrl-C")
	return c
}

// watchEvery is how often `sbx status --watch` looks.
const watchEvery = 2 * time.Second

// watchStatus prints the status again and again: on a terminal in place, else
// one below the other.
func (a *app) watchStatus(ctx context.Context, client *ipc.Client) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	for {
		s, err := client.Status(ctx)
		if err != nil {
			return err
		}
		if isTerminal(a.out) {
			a.printf("\x1b[H\x1b[2J") // cursor home, erase the screen (ECMA-48)
		}
		a.printf("%s\n", time.Now().Format(time.TimeOnly))
		a.printStatus(s)
		if err := a.printGoingOn(ctx, client); err != nil {
			return err
		}
		if _, err := a.out.Write(nil); err != nil { // the reader has closed the output
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(watchEvery):
		}
	}
}

// printGoingOn lists the requests that wait, and the sessions in which
// something runs, that a person has stopped, or in which the policy "contained" holds.
func (a *app) printGoingOn(ctx context.Context, client *ipc.Client) error {
	list, err := client.Approvals(ctx)
	if err != nil {
		return err
	}
	var rows [][]string
	for _, q := range list.Approvals {
		rows = append(rows, []string{"waits", age(q), strings.TrimPrefix(until(q.Deadline), "in ") + " left", q.Tool,
			short(subject(q), 80)})
	}
	sessions, err := client.Sessions(ctx)
	if err != nil {
		return err
	}
	for _, s := range sessions.Sessions {
		if s.Contained {
			rows = append(rows, []string{"contained", "", "", s.ID, "what stays inside runs unasked in " + s.Root})
		}
		switch {
		case s.Stopped != "":
			rows = append(rows, []string{"stopped", "", "", s.ID, short(s.Stopped+"; sbx session resume "+s.ID, 80)})
		case len(s.Running) > 0:
			rows = append(rows, []string{"runs", "", "", s.ID,
				short(strings.TrimSpace(plural(len(s.Running), "command")+" in "+s.Root), 80)})
		}
	}
	if len(rows) > 0 {
		a.printf("\n")
		table(a.out, rows)
	}
	return nil
}

func (a *app) printStatus(s ipc.Status) {
	fields(a.out,
		"daemon", fmt.Sprintf("%s %s, process %d, up for %s", s.Version.Product, s.Version.Version, s.Version.PID,
			strings.TrimSuffix(ago(&s.Started), " ago")),
		"sockets", a.place.SocketDir,
		"state", s.StateDir,
		"mode", s.Mode,
		"now", fmt.Sprintf("%s, %s running, %s waiting for an answer", plural(s.Sessions, "session"),
			plural(s.Running, "command"), plural(s.Pending, "request")),
		"idle exit", s.Idle)
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
		if tellsProtection(w, s.Enforcement) {
			continue // printEnforcement has printed it
		}
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
	a.printf("sandbox: %s\n", extent(e))
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

// extent says how far the sandbox holds on this host. Protections that are partial by their
// nature, and are made up for otherwise, are no gap of the host.
func extent(e ipc.Enforcement) string {
	best := map[string]string{"limits": "memory limits", "protected": "protected names"}
	var usually, lacks []string
	for _, p := range e.Protections {
		switch {
		case p.Level == ipc.Enforced:
		case p.Level == ipc.Partial && usual.Partial(p.Name):
			usually = append(usually, first(best[p.Name], p.Name))
		default:
			lacks = append(lacks, p.Name+" "+string(p.Level))
		}
	}
	switch {
	case len(lacks) > 0:
		return "partial: " + strings.Join(lacks, ", ")
	case len(usually) > 0:
		return "full, but " + strings.Join(usually, " and ") + " (best effort)"
	}
	return "full"
}

// milliseconds writes how long something took.
func milliseconds(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10) + " ms"
}
