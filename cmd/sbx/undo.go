package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sandboxd/display"
	"sandboxd/ipc"
)

type undoOptions struct {
	fileOptions
	last, list, force, rest bool
	of                      string
	since                   seconds
	paths                   []string
}

func undoVerb(a *app) *cobra.Command {
	var o undoOptions
	c := &cobra.Command{
		Use:   "undo ID [PATH…]  |  undo --last|--since 10m|--session ID [PATH…]  |  undo --list",
		Short: "Take back commands and file changes",
		Long: "Take changes back: contents, modes, owners, times, names and links become what they were\n" +
			"before. What would happen is shown first. Nothing is done where something has changed since,\n" +
			"unless --force; --rest does everything else. An undo can be undone itself. It is judged as the\n" +
			"write that it is, so it may ask; what was protected or quarantined comes back only with a\n" +
			"person's yes. With PATHs only these are taken back, and what is below them. A git directory is one\n" +
			"unit: a PATH in it means all of it, and a conflict in it has --rest leave all of it out.\n\n" +
			"An ID is what sbx file printed, what `sbx run` named, or one of sbx undo --list. A command can\n" +
			"be undone where a snapshot of the project was taken before it: in a trusted project, within\n" +
			"half of [files.undo] keep_bytes, for keep_for. Dependencies' and build trees are not in it.\n" +
			"Of an agent inside, --last means its latest turn, and the command's ID all of its turns.",
		Example: "  sbx undo --last\n  sbx undo --last src\n  sbx undo --since 10m\n  sbx undo --list\n  sbx undo " +
			"f-01k9x6\n  sbx undo --session s-01k9x5 --dry-run",
		Args: cobra.ArbitraryArgs, ValidArgsFunction: a.undoIDs,
		RunE: func(c *cobra.Command, args []string) error {
			given := 0
			for _, set := range []bool{o.last, o.list, o.of != "", o.since > 0} {
				if set {
					given++
				}
			}
			if given > 1 || given+len(args) == 0 || o.list && len(args) > 0 {
				return usage(c, "give an ID, or --last, or --since, or --session, or --list")
			}
			id := "last"
			if given == 0 {
				id, args = args[0], args[1:]
			}
			o.paths = args
			if os.Getenv("SBX_SESSION_SECRET") != "" {
				o.session = o.of
			}
			return a.undo(c.Context(), o, []string{id})
		},
	}
	o.flags(c)
	o.dry(c)
	f := c.Flags()
	f.BoolVar(&o.last, "last", false, "the latest change in this project that can be undone")
	f.StringVar(
		&o.of,
		"session",
		"",
		"all changes of that session, the latest first; a program's own where $SBX_SESSION_SECRET is set",
	)
	f.BoolVar(&o.list, "list", false, "list what can be undone, the latest first")
	f.BoolVar(&o.force, "force", false, "also where something has changed since")
	f.BoolVar(&o.rest, "rest", false, "leave out what has changed since")
	f.Var(&o.since, "since", "all changes in this project of the last 10m, 2h, …, the latest first")
	return c
}

func (a *app) undo(ctx context.Context, o undoOptions, ids []string) error {
	r, err := a.fileRunner(ctx, o.fileOptions)
	if err != nil {
		return err
	}
	defer r.close()
	if err := o.absolute(); err != nil {
		return err
	}
	if o.list || o.of != "" || o.since > 0 {
		done := a.slowly("reading what can be undone")
		all, err := r.client.File(ctx, ipc.FileRequest{Op: "undo", Session: r.session, DryRun: true, OfSession: o.of,
			Paths: o.paths})
		done()
		if err != nil {
			return err
		}
		if o.list {
			return r.printChanges(all.Changes)
		}
		if ids = undoable(all.Changes, time.Duration(o.since)); len(ids) == 0 && o.since > 0 {
			return &exit{exitNo, fmt.Errorf("nothing in this project that could be undone is younger than %s", &o.since)}
		} else if len(ids) == 0 {
			return &exit{exitNo, fmt.Errorf("there is nothing of session %q in this project that could be undone", o.of)}
		}
	}
	batch, before := batchID(), map[string]bool{}
	for i, id := range ids {
		q := ipc.FileRequest{
			Op: "undo", UndoID: id, Force: o.force, Rest: o.rest, Paths: o.paths, DryRun: o.dryRun,
		}
		if !o.json && !o.dryRun {
			r.preview(ctx, q)
		}
		if len(ids) > 1 {
			q.Batch = &ipc.BatchPlace{ID: batch, Index: i, Total: len(ids)}
		}
		out := r.do(ctx, q)
		if o.dryRun && out.waitsFor(before) {
			r.note("undo %s: it can be compared when the ones before it are undone, which restore %s", id,
				display.Line(out.Error.Conflict.Path))
			continue
		}
		if err := r.tell(q, out); err != nil {
			return err
		}
	}
	return nil
}

// waitsFor reports whether a dry run found another version of a path that the undos before it, in the same sequence,
// would restore. It adds the paths of the dry run to these.
func (o fileOutcome) waitsFor(before map[string]bool) bool {
	if o.FileResult != nil {
		for _, f := range o.Files {
			before[f.Path] = true
		}
	}
	return o.Error != nil && o.Error.Conflict != nil && o.Error.Conflict.Reason == "changed" &&
		before[o.Error.Conflict.Path]
}

// absolute makes the paths absolute.
func (o *undoOptions) absolute() (err error) {
	for i, p := range o.paths {
		if o.paths[i], err = filepath.Abs(p); err != nil {
			return err
		}
	}
	return nil
}

// undoable are the changes that were not taken back, and are no undoing; since narrows them to the
// last so long, 0 to none. What a command left under a protected name was not there before it: since leaves it in the
// trash.
func undoable(list []ipc.Change, since time.Duration) []string {
	var ids []string
	for _, c := range list {
		if since > 0 && (time.Since(c.Time) > since || c.Op == "quarantine") {
			continue
		}
		if c.UndoneBy == "" && c.Undoes == "" && c.Op != "undo" {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// preview prints the change that an undo would make, unless a question at this
// terminal will show it. On an error it prints nothing: the undo itself reports it.
func (r *fileRunner) preview(ctx context.Context, q ipc.FileRequest) {
	q.DryRun, q.Session = true, r.session
	defer r.slowly("comparing with the present state")()
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
		return r.printJSON(append([]ipc.Change{}, list...))
	}
	if len(list) == 0 {
		r.note("there is nothing in this project that could be undone")
		return nil
	}
	rows := [][]string{{"ID", "WHEN", "OP", "SESSION", "WHAT"}}
	for _, c := range list {
		what := strings.Join(c.What, "; ")
		if c.Op == "run" {
			what = short(c.Note, 60) + ": " + what
		}
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
