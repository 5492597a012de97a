package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"sandboxd/cmd/sbx/internal/man"
	"sandboxd/ipc"
)

// manual are the texts of manual pages: those of the help, and the files of each verb.
var manual = man.Texts{Forms: forms, Files: filesUsed, Variables: variables, Ends: endRows}

// endRows are the exit statuses of c, each with its text.
func endRows(c *cobra.Command) (rows [][]string) {
	for _, e := range endings(c) {
		rows = append(rows, []string{e.name(), e.text})
	}
	return rows
}

// genVerb writes files for packages. It is of no use to users.
func genVerb(a *app) *cobra.Command {
	gen := group("gen", "Write manual pages", "  sbx gen man share/man/man1", &cobra.Command{
		Use: "man DIR", Short: "Write a manual page for every verb into DIR", Example: "  sbx gen man share/man/man1",
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			for name, page := range man.Pages(newRoot(a, nil), ipc.Release, manual) {
				if err := os.WriteFile(filepath.Join(args[0], name), page, 0o644); err != nil {
					return fmt.Errorf("write manual page: %w", err)
				}
			}
			return nil
		},
	})
	gen.Hidden = true
	return gen
}
