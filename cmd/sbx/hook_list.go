package main

import (
	"os"
	"slices"

	"github.com/spf13/cobra"

	"sandboxd/hook"
)

// installedHook is a hook of ours in an agent's settings.
type installedHook struct {
	Vendor string `json:"vendor"`
	Where  string `json:"where"` // "user" or "project"
	File   string `json:"file"`
}

func hookList(a *app) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "ls", Short: "List the hooks that are installed for you and in this directory", Args: cobra.NoArgs,
		Example: "  sbx hook ls\n  sbx hook ls --json",
		Long: "List the agents' settings, your own and those of this directory, that have the hook.\n" +
			"Remove them before sandboxd: what they call is gone then, and the agents refuse every\n" +
			"tool or run it unsupervised.",
		RunE: func(*cobra.Command, []string) error {
			list, err := installedHooks()
			if err != nil {
				return err
			}
			if asJSON {
				return a.printJSON(map[string]any{"hooks": list})
			}
			if len(list) == 0 {
				a.note("no hook is installed")
				return nil
			}
			rows := [][]string{{"AGENT", "FOR", "FILE"}}
			for _, h := range list {
				rows = append(rows, []string{h.Vendor, h.Where, h.File})
			}
			table(a.out, rows)
			return nil
		},
	}
	addJSON(c, &asJSON, "print JSON")
	return c
}

// installedHooks finds our hooks in the settings of the user and of this directory. A file that can't be read has none
// that an agent reads.
func installedHooks() ([]installedHook, error) {
	cwd, err := here()
	if err != nil {
		return nil, err
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, err
	}
	list := []installedHook{}
	for _, v := range hook.Vendors {
		for _, where := range []string{"user", "project"} {
			file := v.SettingsFile(cwd, home, where == "user")
			text, err := os.ReadFile(file)
			if _, ours := v.Others(text); err != nil || !ours ||
				slices.ContainsFunc(list, func(h installedHook) bool { return h.File == file }) {
				continue
			}
			list = append(list, installedHook{v.Name, where, file})
		}
	}
	return list, nil
}
