package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// shellName is the name under which sbx plays a shell: a link to it.
const shellName = "sbx-shell"

func shellVerb(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "shell [-l] [-i] -c LINE [NAME [ARG]…]",
		Short: "Play the shell of a program that has a setting for one: its lines run in the sandbox",
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
			line, rest, ok := shellLine(args)
			switch {
			case !ok:
				return usage(c, "give a line with -c; an interactive shell is not supervised")
			case len(rest) > 1:
				return usage(c, "arguments after the line ($1 …) can't be passed on: write them into the line")
			}
			o := runOptions{line: line, agent: filepath.Base(os.Getenv("SBX_AGENT_NAME"))}
			if o.agent == "." {
				o.agent = ""
			}
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
		if err := f.Value.Set(value); err != nil {
			return nil, fmt.Errorf("--%s: %w", name, err)
		}
	}
	return args, nil
}

// shellLine finds the line in a shell's arguments. Flags may be joined, as in
// -lc; options with a value (-o pipefail) are left out with their value.
func shellLine(args []string) (line string, rest []string, ok bool) {
	wanted := false
	for len(args) > 0 {
		a := args[0]
		if a == "--" {
			args = args[1:]
			break
		}
		if !strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "+") || a == "-" {
			break
		}
		args = args[1:]
		if strings.HasPrefix(a, "--") {
			continue // --norc, --noprofile, --login, --posix
		}
		wanted = wanted || strings.Contains(a, "c")
		if strings.HasSuffix(a, "o") && len(args) > 0 {
			args = args[1:]
		}
	}
	if !wanted || len(args) == 0 {
		return "", nil, false
	}
	return args[0], args[1:], true
}

// asShell turns the arguments of a program that was called as a shell into
// those of the verb.
func asShell(argv []string) []string {
	if name := filepath.Base(strings.TrimPrefix(argv[0], "-")); name == shellName {
		return append([]string{"shell"}, argv[1:]...)
	}
	return argv[1:]
}
