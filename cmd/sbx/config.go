package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"sandboxd/cmd/sbx/internal/daemon"
	"sandboxd/cmd/sbx/internal/usual"
)

func configVerb(a *app) *cobra.Command {
	var subs []*cobra.Command
	var asJSON bool
	for _, v := range []struct{ name, short string }{
		{"check", "Say whether the configuration is in order"},
		{"show", "Print every setting in force and where it comes from"},
		{"schema", "Print the configuration's JSON Schema"},
	} {
		c := &cobra.Command{Use: v.name, Short: v.short, Example: "  sbx config " + v.name, Args: cobra.NoArgs,
			RunE: func(*cobra.Command, []string) error {
				args := []string{"config", v.name}
				if asJSON {
					args = append(args, "--json")
				}
				if a.options.Config != "" {
					args = append(args, "--config", a.options.Config)
				}
				out := beneath(a.out)
				if a.paged() {
					out = a.out
				}
				err := daemon.Run(args, a.stdin, out, a.stderr)
				if status, ok := daemon.ExitStatus(err); ok {
					return quietly(status)
				}
				return err
			}}
		if v.name != "schema" { // which is JSON by itself
			addJSON(c, &asJSON, "print JSON")
		}
		subs = append(subs, c)
	}
	subs = append(append(subs, configSettings(a)...), configReload(a))
	return group("config", "Check, show, change and reload the configuration",
		"  sbx config check\n  sbx config set network.mode allowlist\n  sbx config reload", subs...)
}

func configReload(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "reload", Short: "Have the running daemon read its configuration again", Example: "  sbx config reload",
		Args: cobra.NoArgs,
		Long: "Have the running daemon read its configuration again, whole or not at all. Commands\n" +
			"that run keep the profile that they started with.",
		RunE: func(c *cobra.Command, _ []string) error {
			client, err := a.running(c.Context())
			if err != nil {
				return err
			}
			if client == nil {
				a.note("no daemon runs; the next one reads the configuration as it is")
				return nil
			}
			before, _ := client.Status(c.Context()) // without a status every warning is printed
			r, err := client.Reload(c.Context())
			if err != nil {
				return err
			}
			for _, w := range r.Warnings {
				if usual.Warning(w.Where) && slices.Contains(before.Warnings, w) {
					continue // the host's, and no change
				}
				a.note("%s", strings.TrimSpace(w.Where+": "+w.Message+hint(w.Hint)))
			}
			a.note("configuration reloaded")
			return nil
		},
	}
}
