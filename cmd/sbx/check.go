package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"sandboxd/cmd/sbx/internal/arguments"
	"sandboxd/display"
	"sandboxd/ipc"
)

type checkOptions struct {
	line, cwd             string
	argv, env             []string
	tty, json, jsonl, yes bool
}

func checkVerb(a *app) *cobra.Command {
	var o checkOptions
	c := &cobra.Command{
		Use:   "check [flags] -- COMMAND [ARG]…  |  check -c LINE  |  check --jsonl",
		Short: "Say what would be decided about a command, and run nothing",
		Long: "Say whether a command would run unasked (auto), be put to a person (ask) or be\n" +
			"refused (deny), and why. Nothing runs and nobody is asked.\n\n" +
			"With --jsonl, standard input has one object a line with \"id\" and \"command\", and\n" +
			"perhaps \"cwd\", \"env\" and \"tty\"; for each, in order, a line comes out with \"id\",\n" +
			"\"decision\", \"why\" and \"rule\".",
		Example: "  sbx check -c 'rm -rf build'\n" +
			"  sbx check --exit-code -- git push && echo 'runs unasked'\n" +
			"  echo '{\"id\":1,\"command\":\"ls\"}' | sbx check --jsonl",
		Args: cobra.ArbitraryArgs, ValidArgsFunction: installedPrograms,
		RunE: func(c *cobra.Command, args []string) error {
			o.argv = args
			line := c.Flags().Changed("command")
			n := 0
			for _, given := range []bool{line, len(args) > 0, o.jsonl} {
				if given {
					n++
				}
			}
			if n != 1 {
				return usage(c, "give either COMMAND, or -c LINE, or --jsonl")
			}
			var err error
			if o.cwd, err = fromHere(o.cwd); err != nil {
				return err
			}
			client, err := a.agent(c.Context())
			if err != nil {
				return err
			}
			if o.jsonl {
				return a.checkLines(c.Context(), client, os.Stdin, o.cwd)
			}
			return a.check(c, client, o)
		},
	}
	f := c.Flags()
	f.SetInterspersed(false)
	f.StringVarP(&o.line, "command", "c", "", "a line of shell, in place of COMMAND")
	f.StringVarP(&o.cwd, "cwd", "C", "", "directory that it would run in (default: this one)")
	f.StringArrayVarP(&o.env, "env", "e", nil, "`NAME=VALUE` that it would get")
	f.BoolVarP(&o.tty, "tty", "T", false, "it would get a terminal")
	addJSON(c, &o.json, "print the whole verdict as JSON")
	f.BoolVar(&o.jsonl, "jsonl", false, "judge one command a line from standard input")
	f.BoolVar(&o.yes, "exit-code", false, "tell the decision by the exit status as well")
	return c
}

func (a *app) check(c *cobra.Command, client *ipc.Client, o checkOptions) error {
	env, err := arguments.Environment(o.env)
	if err != nil {
		return err
	}
	q := ipc.CheckRequest{Command: o.line, Cwd: o.cwd, Env: env, TTY: o.tty, DryRun: true}
	if len(o.argv) > 0 {
		q.Argv = o.argv
	}
	v, err := client.Check(c.Context(), q)
	if err != nil {
		return err
	}
	if o.json {
		err = a.printJSON(v)
	} else {
		a.printVerdict(v)
	}
	status := map[string]int{ipc.DecisionAuto: 0, ipc.DecisionAsk: exitNo}
	if s, known := status[v.Decision]; err == nil && o.yes && !known {
		err = quietly(exitDenied)
	} else if err == nil && o.yes {
		err = quietly(s)
	}
	return err
}

func (a *app) printVerdict(v ipc.Verdict) {
	words := map[string]string{ipc.DecisionAuto: "auto: it would run unasked",
		ipc.DecisionAsk: "ask: a person would be asked", ipc.DecisionDeny: "deny: it would be refused"}
	text := words[v.Decision]
	if text == "" {
		text = v.Decision
	}
	fmt.Fprintln(a.out, display.Line(text))
	pairs := []string{"why", v.Why, "rule", v.Rule, "risk", v.Risk}
	for _, r := range v.Reasons {
		if r == v.Why {
			continue
		}
		pairs = append(pairs, "because", r)
	}
	for _, e := range v.Explain {
		pairs = append(pairs, "part", e)
	}
	for _, s := range v.Suggestions {
		pairs = append(pairs, "could be granted", s.Label)
	}
	for _, w := range v.Warnings {
		pairs = append(pairs, "note", w.Message)
	}
	fields(a.out, pairs...)
}
