package main

import (
	"errors"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	xterm "golang.org/x/term"

	"sandboxd/cmd/sbx/internal/arguments"
)

// runOptions are the flags of `sbx run`.
type runOptions struct {
	line        string
	argv        []string
	cwd         string
	env         []string
	timeout     seconds
	tty, json   bool
	noStdin     bool
	noAsk       bool
	plain       bool
	agent       string
	description string
	session     string
	ticket      string
	byAgent     bool // an agent runs it as its shell
	asAgent     bool
	asServer    bool   // it serves a client of the protocol that sbx mcp wrap passes on
	profile     string // a profile document that narrows the run; "": there is none
	worktree    string // name of the agent's work tree; "": it has none
	hold        bool
	direct      bool
}

func runVerb(a *app) *cobra.Command {
	var o runOptions
	c := &cobra.Command{
		Use:   "run [flags] -- COMMAND [ARG]…  |  run [flags] -c LINE",
		Short: "Run a command in the sandbox, after asking where that is needed",
		Long: "Run a command in the sandbox. Standard input, output and error are the command's;\n" +
			"a question is asked on the terminal itself, where there is one.\n\n" +
			"The first Ctrl-C goes to the command, the second ends everything that it started.\n\n" +
			"The exit status is the command's own, or one of those below. With --json the result\n" +
			"distinguishes ours from the command's.",
		Example: "  sbx run -- git status\n" +
			"  sbx run -c 'go test ./... | tail -3' --timeout 5m\n" +
			"  sbx run --cwd ~/src/web --env CI=1 -- npm test\n" +
			"  sbx run --agent -- my-agent\n" +
			"  sbx run --agent --worktree login -- claude\n" +
			"  sbx run --hold -c 'npm run format'\n" +
			"  sbx run --json -- ls | jq -r .stdout",
		Args: cobra.ArbitraryArgs, ValidArgsFunction: installedPrograms,
		RunE: func(c *cobra.Command, args []string) error {
			o.argv = args
			if err := o.check(c); err != nil {
				return err
			}
			run := a.run
			if o.worktree != "" {
				run = a.inWorktree
			}
			status, err := run(c.Context(), o)
			if err != nil {
				return err
			}
			return quietly(status)
		},
	}
	f := c.Flags()
	f.SetInterspersed(false) // what follows the command's name is the command's
	f.StringVarP(&o.line, "command", "c", "", "a line of shell, in place of COMMAND")
	f.StringVarP(&o.cwd, "cwd", "C", "", "directory to run in (default: this one)")
	f.StringArrayVarP(&o.env, "env", "e", nil, "`NAME=VALUE` for the command; NAME alone passes on the value it has here")
	f.VarP(&o.timeout, "timeout", "t", "end it after this long: 90s, 5m, or a number of seconds")
	f.BoolVarP(&o.tty, "tty", "T", false, "give it a terminal of its own (default with --agent at a terminal)")
	addJSON(c, &o.json, "print one JSON object with output and result when it has ended")
	f.BoolVarP(&o.noStdin, "no-stdin", "n", false, "give it no standard input")
	f.BoolVar(&o.noAsk, "no-ask", false, "do not ask at this terminal: leave the answer to sbx approve")
	f.BoolVar(&o.plain, "plain", false, "ask line by line, for screen readers and terminals that can do no more")
	f.StringVar(&o.agent, "agent-name", "", "what the asking program calls itself; shown as a claim")
	f.StringVar(&o.description, "description", "",
		"what the command is for, in the asking program's words; shown as such")
	f.BoolVar(&o.asAgent, "agent", false, "the command is an agent: it may ask sandboxd from inside its sandbox, for no "+
		"more than it has itself")
	f.StringVar(&o.worktree, "worktree", "",
		"with --agent: run it in the git work tree .worktrees/`NAME`, on the branch NAME")
	f.BoolVar(&o.direct, "direct", false, "write to the project itself, without a layer ([sandbox] layers)")
	f.BoolVar(&o.hold, "hold", false, "hold what it writes: the project stays as it is until sbx changes land")
	f.StringVar(&o.ticket, "ticket", "",
		"the ticket that a hook got for exactly this command in this directory; good once")
	f.StringVar(&o.session, "session", "", "id of a program's session; its secret is in $SBX_SESSION_SECRET "+
		"(default: $SBX_SESSION)")
	return c
}

// check finds mistakes and completes options that follow from others.
func (o *runOptions) check(c *cobra.Command) error {
	lineGiven := c.Flags().Changed("command")
	if o.ticket == "" && !c.Flags().Changed("session") {
		o.session = os.Getenv("SBX_SESSION")
	}
	switch {
	case o.ticket != "" && o.asAgent:
		return usage(c, "a ticket is for the command as it was judged: leave --agent away")
	case o.worktree != "" && !o.asAgent:
		return usage(c, "--worktree needs --agent")
	case o.worktree != "" && !worktreeName.MatchString(o.worktree):
		return usage(c, "--worktree %q: want letters, digits, ., _ and -", o.worktree)
	case o.worktree != "" && o.cwd != "":
		return usage(c, "--worktree has a directory of its own: leave --cwd out")
	case o.hold && o.direct:
		return usage(c, "--hold is for a layer, and --direct for none: leave one away")
	case o.ticket != "" && o.direct:
		return usage(c, "a ticket is for the command as it was judged: leave --direct away")
	case o.ticket != "" && o.hold:
		return usage(c, "a ticket is for the command as it was judged: leave --hold away")
	case o.ticket != "" && o.session != "":
		return usage(c, "--ticket brings its own session: leave --session away")
	case lineGiven && len(o.argv) > 0:
		return usage(c, "-c LINE and COMMAND are both given: quote the whole line, or leave -c away")
	case lineGiven && strings.TrimSpace(o.line) == "":
		return usage(c, "-c needs a command line")
	case !lineGiven && len(o.argv) == 0:
		return usage(c, "no command given. Try: sbx run -- git status")
	case !lineGiven && o.argv[0] == "":
		return usage(c, "the command's name is empty")
	}
	if o.asAgent && !c.Flags().Changed("tty") && !o.json && !o.noStdin {
		o.tty = xterm.IsTerminal(int(os.Stdin.Fd())) && xterm.IsTerminal(int(os.Stdout.Fd()))
	}
	var err error
	if o.cwd == "" {
		o.cwd, err = here()
	} else {
		o.cwd, err = fromHere(o.cwd)
	}
	return err
}

// seconds is a flag with a duration; a number alone counts seconds.
type seconds time.Duration

func (s *seconds) Set(text string) error {
	d, ok := arguments.Seconds(text)
	if !ok {
		return errors.New("want a time such as 90s, 5m or 30, above 0 and below 290 years")
	}
	*s = seconds(d)
	return nil
}

func (s *seconds) String() string {
	if *s == 0 {
		return ""
	}
	return time.Duration(*s).String()
}

func (s *seconds) Type() string { return "duration" }

// ms is the flag as the wire has it; 0 is not set.
func (s seconds) ms() int64 {
	if s == 0 {
		return 0
	}
	return max(1, time.Duration(s).Milliseconds())
}
