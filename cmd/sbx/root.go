package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sandboxd/cmd/internal/paths"
	"sandboxd/cmd/sbx/internal/daemon"
	"sandboxd/display"
	"sandboxd/ipc"
)

// app is the state that all verbs share.
type app struct {
	stdin       *os.File
	out, stderr io.Writer
	options     daemon.Options

	place   *daemon.Place // settled at first use
	clients []*ipc.Client
	handed  *handed // nil: front has done nothing
	misused error   // why no help was printed
}

// verb makes a command. Its group is one of groups.
type verb struct {
	name, group string
	make        func(*app) *cobra.Command
}

// Groups of verbs, in the order of the help text.
const (
	forWork    = "Run commands, change files"
	forAnswers = "Answer questions"
	forRules   = "Decide what may happen unasked"
	forReports = "See what happened, and what holds"
	forAgents  = "Serve agents"
	forDaemon  = "Sessions, the daemon, this program"
)

var groups = []string{forWork, forAnswers, forRules, forReports, forAgents, forDaemon}

// verbs are all of them, in the order of the help text. A verb whose other side does
// not exist is not in the list.
func verbs() []verb {
	return []verb{
		{"run", forWork, runVerb}, {"file", forWork, fileVerb}, {"undo", forWork, undoVerb},
		{"changes", forWork, changesVerb}, {"check", forWork, checkVerb},
		{"approve", forAnswers, approveVerb}, {"pending", forAnswers, pendingVerb}, {"web", forAnswers, webVerb},
		{"grants", forAnswers, grantsVerb},
		{"trust", forRules, trustVerb}, {"allow", forRules, allowVerb}, {"preset", forRules, presetVerb},
		{"rules", forRules, rulesVerb},
		{"mode", forRules, modeVerb}, {"profile", forRules, profileVerb},
		{"log", forReports, logVerb}, {"stats", forReports, statsVerb}, {"advise", forReports, adviseVerb},
		{"status", forReports, statusVerb},
		{"doctor", forReports, doctorVerb},
		{"hook", forAgents, hookVerb}, {"mcp", forAgents, mcpVerb}, {"acp", forAgents, acpVerb},
		{"shell", forAgents, shellVerb},
		{"session", forDaemon, sessionVerb}, {"jobs", forDaemon, jobsVerb}, {"config", forDaemon, configVerb},
		{"stop", forDaemon, stopVerb}, {"version", forDaemon, versionVerb}, {"gen", forDaemon, genVerb},
	}
}

// execute runs one command line and returns the exit status.
func execute(ctx context.Context, args []string) int {
	out := &display.Output{W: os.Stdout}
	a := &app{stdin: os.Stdin, out: out, stderr: os.Stderr}
	defer a.close()
	var err error
	if a.handed, args, err = takeHanded(args); err != nil {
		return a.status(err)
	}
	root := newRoot(a, args)
	root.SetIn(os.Stdin)
	root.SetOut(out)
	root.SetErr(os.Stderr)
	err = cmp.Or(root.ExecuteContext(ctx), a.misused)
	if lost := a.show(); err == nil {
		err = lost
	}
	status := a.status(written(err, out.Err()))
	if status == exitOwn {
		status = paths.ExitOwn(args)
	}
	return status
}

// conventional returns args with --version as the verb. The first own of them are flags of sbx itself.
func conventional(args []string, own int) []string {
	if rest := args[own:]; len(rest) == 1 && rest[0] == "--version" {
		return append(slices.Clone(args[:own]), "version")
	}
	return args
}

// newRoot makes the command line: of all verbs, or only of the one that args name,
// since making them all takes longer than most verbs do.
func newRoot(a *app, args []string) *cobra.Command {
	root := &cobra.Command{
		Use:   "sbx",
		Short: "Run commands in a sandbox, with a person's approval",
		Long: "Run commands in a sandbox, and ask before the risky ones. Sbx starts the sandboxd daemon\n" +
			"where none runs.",
		Example:       "  sbx run -- git status\n  sbx run -c 'make test 2>&1 | tail'\n  sbx approve\n  sbx log --follow",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownVerb(c, args[0])
			}
			return c.Help()
		},
	}
	f := root.PersistentFlags()
	f.StringVar(&a.options.User, "user", "", "the user whose daemon it is, through the system's broker (default: you)")
	f.StringVar(&a.options.SocketDir, "socket-dir", "",
		"directory of the daemon's sockets (default: $SBX_SOCKET_DIR, else the usual places)")
	f.StringVar(&a.options.StateDir, "state-dir", "",
		"directory of records, if this command starts the daemon (default: $SBX_STATE_DIR, else ~/.local/state/sandboxd)")
	f.StringVar(&a.options.Config, "config", "",
		"configuration file, if this command starts the daemon (default: ~/.config/sandboxd/config.toml)")
	root.SetFlagErrorFunc(misread)
	own := ownFlags(f, args)
	args = conventional(args, own)
	root.SetArgs(args)
	all, named := verbs(), append(slices.Clone(args[own:]), "")[0]
	if i := slices.IndexFunc(all, func(v verb) bool { return v.name == named }); i >= 0 {
		all = all[i : i+1]
		root.CompletionOptions.DisableDefaultCmd = true
	}
	for _, v := range all {
		c := v.make(a)
		c.GroupID = v.group
		root.AddCommand(c)
	}
	addCompletion(root)
	checkArgs(root)
	for _, title := range groups {
		root.AddGroup(&cobra.Group{ID: title, Title: title})
	}
	root.SetHelpFunc(func(c *cobra.Command, _ []string) { a.misused = a.help(c, c.Flags().Args()) })
	root.SetHelpCommand(helpVerb(a))
	return root
}

// ownFlags returns how many of args are sbx's own flags, and their values, before the verb.
func ownFlags(own *pflag.FlagSet, args []string) (n int) {
	for n < len(args) {
		name, isFlag := strings.CutPrefix(args[n], "--")
		name, _, joined := strings.Cut(name, "=")
		if !isFlag || own.Lookup(name) == nil || !joined && n+1 == len(args) {
			break
		}
		if n++; !joined {
			n++
		}
	}
	return n
}

// group is a verb that only has sub-verbs.
func group(use, short, example string, subs ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Example: example, Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return c.Help()
			}
			return unknownVerb(c, args[0])
		}}
	c.AddCommand(subs...)
	return c
}

// addCompletion adds cobra's verb, which by itself answers an unknown shell with
// its help and success.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			shells := slices.DeleteFunc(slices.Clone(c.Commands()),
				func(s *cobra.Command) bool { return s.Name() == "powershell" })
			root.RemoveCommand(c)
			c.RemoveCommand(shells...)
			own := group("completion", "Write the completion script of a shell", "  source <(sbx completion bash)", shells...)
			own.GroupID = forDaemon
			root.AddCommand(own)
		}
	}
}

func unknownVerb(c *cobra.Command, name string) error {
	meant := ""
	if s := c.SuggestionsFor(name); len(s) > 0 {
		meant = "; did you mean " + strings.Join(s, " or ") + "?"
	}
	return usage(c, "%s has no verb %q%s", c.CommandPath(), name, meant)
}

func (a *app) close() {
	for _, c := range a.clients {
		c.Close()
	}
}

// errSilent is the error of an exit status whose reason has already been printed.
var errSilent = errors.New("")

func (a *app) printf(format string, args ...any) { fmt.Fprintf(a.out, format, args...) }
