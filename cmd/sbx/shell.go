package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"sandboxd/cmd/internal/paths"
	"sandboxd/cmd/sbx/internal/arguments"
)

func shellVerb(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "shell [-l] [-i] -c LINE [NAME [ARG]…]",
		Short: "Stand in for a program's $SHELL, sandboxed",
		Long: "Run a line of shell as `sbx run -c LINE` does, called as programs call a shell: -l, -i\n" +
			"and other flags of shells that change nothing here are accepted. For programs that\n" +
			"want a single path, make a link called sbx-shell to sbx and name that ($SHELL, or a setting).\n\n" +
			"It is not an interactive shell: without -c there is nothing to run.",
		Example:            "  ln -s $(command -v sbx) ~/.local/bin/sbx-shell\n  SHELL=~/.local/bin/sbx-shell my-agent",
		DisableFlagParsing: true,
		RunE: func(c *cobra.Command, args []string) error {
			if slices.Contains(args, "--help") || slices.Contains(args, "-h") {
				return c.Help()
			}
			args, err := globalFlags(c, args)
			if err != nil {
				return usage(c, "%v", err)
			}
			line, rest, ok := arguments.ShellLine(args)
			switch {
			case !ok:
				return usage(c, "give a line with -c; an interactive shell is not supervised")
			case len(rest) > 1:
				return usage(c, "arguments after the line ($1 …) can't be passed on: write them into the line")
			}
			o := runOptions{line: line, byAgent: true, agent: arguments.ShellAgent(os.Getenv)}
			if o.cwd, err = here(); err != nil {
				return err
			}
			status, err := a.run(c.Context(), o)
			if err != nil {
				return err
			}
			return quietly(status)
		},
	}
}

// globalFlags takes sbx's own flags, which stand before the verb, from the
// front of args. No shell has flags of these names.
func globalFlags(c *cobra.Command, args []string) ([]string, error) {
	for len(args) > 0 {
		name, value, joined := strings.Cut(strings.TrimPrefix(args[0], "--"), "=")
		f := c.InheritedFlags().Lookup(name)
		if f == nil || !strings.HasPrefix(args[0], "--") {
			break
		}
		args = args[1:]
		if !joined {
			if len(args) == 0 {
				return nil, fmt.Errorf("flag needs an argument: --%s", name)
			}
			value, args = args[0], args[1:]
		}
		if value == "" {
			return nil, fmt.Errorf("--%s is empty: give a value, or leave it out", name)
		}
		if err := f.Value.Set(value); err != nil {
			return nil, fmt.Errorf("--%s: %w", name, err)
		}
	}
	return args, nil
}

// asShell turns the arguments of a program that was called as a shell into
// those of the verb, behind front's argument.
func asShell(argv []string) []string {
	args := argv[1:]
	if !arguments.IsShell(argv[0]) {
		return args
	}
	var handed []string
	if len(args) > 0 && strings.HasPrefix(args[0], paths.Handed) {
		handed, args = args[:1], args[1:]
	}
	return slices.Concat(handed, []string{"shell"}, args)
}
