package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"sandboxd/ipc"
)

type undoOptions struct {
	fileOptions
	last, list, force bool
	of                string
}

func undoVerb(a *app) *cobra.Command {
	var o undoOptions
	c := &cobra.Command{
		Use:   "undo ID…  |  undo --last  |  undo --session S  |  undo --list",
		Short: "Take changes of the file tool back, and bring back what was quarantined",
		Long: "Take changes back: contents, modes, names and links become what they were before. What\n" +
			"would happen is shown first. Nothing is done where something has changed since, unless\n" +
			"--force, and an undo can be undone itself. It is judged as the write that it is, so it may\n" +
			"ask; what was protected or quarantined comes back only with a person's yes.\n\n" +
			"An ID is what sbx file printed, what `sbx run` named when it quarantined something, or one of\n" +
			"sbx undo --list. Old content is kept as long, and as much of it, as [files.undo] says.",
		Example: "  sbx undo --last\n  sbx undo --list\n  sbx undo f-01k9x6\n  sbx undo --session s-01k9x5 --dry-run",
		Args:    cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			given := 0
			for _, set := range []bool{len(args) > 0, o.last, o.list, o.of != ""} {
				if set {
					given++
				}
			}
			if given != 1 {
				return usage(c, "give an ID, or --last, or --session, or --list")
			}
			if os.Getenv("SBX_SESSION_SECRET") != "" {
				o.session = o.of
			}
			if o.last {
				args = []string{"last"}
			}
			return a.undo(c.Context(), o, args)
		},
	}
	o.flags(c)
	o.dry(c)
	f := c.Flags()
	f.BoolVar(&o.last, "last", false, "the latest change in this project that can be undone")
	f.StringVar(&o.of, "session", "", "all changes of that session, the latest first; a program's own where $SBX_SESSION_SECRET is set")
	f.BoolVar(&o.list, "list", false, "list what can be undone, the latest first")
	f.BoolVar(&o.force, "force", false, "also where something has changed since")
	return c
}

func (a *app) undo(ctx context.Context, o undoOptions, ids []string) error {
	r, err := a.fileRunner(ctx, o.fileOptions)
	if err != nil {
		return err
	}
	defer r.close()
	if o.list || o.of != "" {
		all, err := r.client.File(ctx, ipc.FileRequest{Op: "undo", Session: r.session, DryRun: true, OfSession: o.of})
		if err != nil {
			return err
		}
		if o.list {
			return r.printChanges(all.Changes)
		}
		if ids = undoable(all.Changes); len(ids) == 0 {
			return &exit{exitNo, fmt.Errorf("there is nothing of session %q in this project that could be undone", o.of)}
		}
	}
	batch := batchID()
	for i, id := range ids {
		q := ipc.FileRequest{Op: "undo", UndoID: id, Force: o.force, DryRun: o.dryRun}
		if !o.json && !o.dryRun {
			r.preview(ctx, q)
		}
		if len(ids) > 1 {
			q.Batch = &ipc.BatchPlace{ID: batch, Index: i, Total: len(ids)}
		}
		if err := r.tell(q, r.do(ctx, q)); err != nil {
			return err
		}
	}
	return nil
}

// undoable are the changes that were not taken back, and are no undoing.
func undoable(list []ipc.Change) []string {
	var ids []string
	for _, c := range list {
		if c.UndoneBy == "" && c.Undoes == "" {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// preview says what will happen, unless the question at this terminal will.
// Where that can't be told, the undo itself will say why.
func (r *fileRunner) preview(ctx context.Context, q ipc.FileRequest) {
	q.DryRun, q.Session = true, r.session
	f, err := r.client.File(ctx, q)
	if err != nil || f.Decision == ipc.DecisionAsk && r.tty != nil {
		return
	}
	for _, line := range strings.Split(strings.TrimSuffix(f.Diff, "\n"), "\n") {
		r.note("  | %s", line)
	}
}

func (r *fileRunner) printChanges(list []ipc.Change) error {
	if r.options.json {
		return r.printJSON(list)
	}
	if len(list) == 0 {
		r.note("there is nothing in this project that could be undone")
		return nil
	}
	rows := [][]string{{"ID", "WHEN", "OP", "SESSION", "WHAT"}}
	for _, c := range list {
		what := strings.Join(c.What, "; ")
		switch {
		case c.UndoneBy != "":
			what = "(undone) " + what
		case c.Undoes != "":
			what = "(undoing of " + c.Undoes + ") " + what
		}
		rows = append(rows, []string{c.ID, ago(&c.Time), c.Op, c.Session, short(what, 200)})
	}
	table(r.out, rows)
	return nil
}
