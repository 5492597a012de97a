package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"sandboxd/display"
	"sandboxd/ipc"
)

func changesVerb(a *app) *cobra.Command {
	var o fileOptions
	c := &cobra.Command{
		Use: "changes", Short: "Show, land or drop what commands wrote and what is held",
		Long: "What a command of `sbx run --hold` writes is held, and so is what did not land: because somebody\n" +
			"else changed the same paths, or nobody said yes. A held change set lands whole or by path, after a\n" +
			"question where its writes ask, and can be undone then. Where a path has changed since the command\n" +
			"began, nothing of the chosen part lands.\n\n" +
			"Without a verb: the held change sets of this project, the latest first.",
		Example: "  sbx changes\n  sbx changes show h-01k9x6\n  sbx changes land h-01k9x6 src README.md\n" +
			"  sbx changes drop h-01k9x6",
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownVerb(c, args[0])
			}
			return a.withFiles(c, o, func(r *fileRunner) error {
				list, err := r.client.HeldChanges(c.Context(), ipc.HeldRequest{Session: r.session})
				if err != nil {
					return err
				}
				return r.printHeldList(list)
			})
		},
	}
	addJSON(c, &o.json, "print JSON")
	o.program(c)
	c.AddCommand(changesShow(a), changesLand(a), changesDrop(a))
	return c
}

func changesShow(a *app) *cobra.Command {
	var o fileOptions
	c := &cobra.Command{
		Use: "show ID", Short: "Show the paths and the differences of a held change set",
		Example: "  sbx changes show h-01k9x6", Args: cobra.ExactArgs(1), ValidArgsFunction: a.heldIDs,
		RunE: func(c *cobra.Command, args []string) error {
			return a.withFiles(c, o, func(r *fileRunner) error {
				defer r.slowly("comparing with the project")()
				h, err := r.client.HeldChange(c.Context(), ipc.HeldRequest{Session: r.session, ID: args[0]})
				if err != nil {
					err = namedHeld(args[0], err)
					status, _ := fileStatus(err)
					return &exit{status, err}
				}
				return r.printHeld(h)
			})
		},
	}
	addJSON(c, &o.json, "print JSON")
	o.program(c)
	return c
}

func changesLand(a *app) *cobra.Command {
	return a.settling("land", &cobra.Command{
		Use: "land ID [PATH…]", Short: "Land a held change set in the project",
		Long: "Land a held change set, or the part at and below the paths. The changes in one git directory, or of one\n" +
			"SQLite database, land together.",
		Example: "  sbx changes land h-01k9x6\n  sbx changes land h-01k9x6 src README.md", Args: cobra.MinimumNArgs(1),
		ValidArgsFunction: a.heldIDs,
	})
}

func changesDrop(a *app) *cobra.Command {
	return a.settling("drop", &cobra.Command{
		Use: "drop ID [PATH…]", Short: "Delete a held change set",
		Long: "Delete a held change set, or the part at and below the paths, which never lands then. The changes in\n" +
			"one git directory, or of one SQLite database, are dropped together.",
		Example: "  sbx changes drop h-01k9x6\n  sbx changes drop h-01k9x6 dist", Args: cobra.MinimumNArgs(1),
		ValidArgsFunction: a.heldIDs,
	})
}

// settling completes a verb that lands or drops a held change set. As a request to a fileRunner its operation is the
// verb.
func (a *app) settling(verb string, c *cobra.Command) *cobra.Command {
	var o fileOptions
	c.RunE = func(c *cobra.Command, args []string) error {
		q := ipc.FileRequest{Op: verb, UndoID: args[0]}
		for _, p := range args[1:] {
			p, err := absolute(p)
			if err != nil {
				return err
			}
			q.Paths = append(q.Paths, p)
		}
		return a.files(c.Context(), o, []ipc.FileRequest{q})
	}
	changing(c, &o)
	return c
}

// send has the daemon carry a request out.
func (r *fileRunner) send(ctx context.Context, q ipc.FileRequest) (ipc.FileResult, error) {
	if q.Op != "land" && q.Op != "drop" {
		return r.client.File(ctx, q)
	}
	f, err := r.client.Land(ctx, ipc.LandRequest{Session: q.Session, ID: q.UndoID, Paths: q.Paths, Drop: q.Op == "drop",
		DryRun: q.DryRun, CallID: q.CallID, Inline: q.Inline, Description: q.Description})
	return f, namedHeld(q.UndoID, err)
}

// namedHeld says of what an ID should be where nothing has it.
func namedHeld(id string, err error) error {
	var e *ipc.Error
	if errors.As(err, &e) && e.Code == ipc.CodeNotFound && e.Conflict != nil && e.Conflict.Path == id {
		e.Message, e.Hint = fmt.Sprintf("no held change set has the ID %q", id), "sbx changes lists them"
	}
	return err
}

// withFiles calls f with a runner that asks nobody.
func (a *app) withFiles(c *cobra.Command, o fileOptions, f func(*fileRunner) error) error {
	o.noAsk = true
	r, err := a.fileRunner(c.Context(), o)
	if err != nil {
		return err
	}
	defer r.close()
	return f(r)
}

func (r *fileRunner) printHeldList(list ipc.HeldChanges) error {
	switch {
	case r.options.json:
		return r.printJSON(list)
	case len(list.Changes) == 0:
		r.note("nothing is held in this project")
		return nil
	}
	rows := [][]string{{"ID", "WHEN", "SESSION", "PATHS", "COMMAND", "WHY"}}
	for _, h := range list.Changes {
		count := strconv.Itoa(h.Count)
		rows = append(rows, []string{h.ID, ago(&h.Time), h.Session, count, short(h.Command, 60), short(h.Why, 200)})
	}
	table(r.out, rows)
	return nil
}

func (r *fileRunner) printHeld(h ipc.HeldChange) error {
	if r.options.json {
		return r.printJSON(h)
	}
	fields(r.out, "id", h.ID, "command", h.Command, "when", ago(&h.Time), "session", h.Session, "held", h.Why,
		"paths", fmt.Sprintf("%d created, %d modified, %d deleted", len(h.Created), len(h.Modified), len(h.Deleted)),
		"digest", h.Digest)
	for _, list := range []struct {
		what  string
		paths []string
	}{{"created", h.Created}, {"modified", h.Modified}, {"deleted", h.Deleted}, {"conflict", h.Conflicts}} {
		for _, p := range list.paths {
			fmt.Fprintf(r.out, "%-9s %s\n", list.what, display.Line(p))
		}
	}
	if shown := len(h.Created) + len(h.Modified) + len(h.Deleted); shown < h.Count {
		r.note("%d more paths", h.Count-shown)
	}
	var text strings.Builder
	for _, f := range h.Files {
		switch f.Kind {
		case "":
			continue
		case "file_content":
			text.WriteString(f.What + ":\n")
		}
		text.WriteString(strings.TrimSuffix(f.Content, "\n") + "\n\n")
	}
	if text.Len() > 0 {
		r.block("change", text.String())
	}
	return nil
}
