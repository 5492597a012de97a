package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"sandboxd/cmd/internal/paths"
	"sandboxd/config"
	"sandboxd/display"
	"sandboxd/files/worker"
	"sandboxd/ipc"
	"sandboxd/supervisor"
)

// flags are the values of the command line.
type flags struct {
	config, socketDir, stateDir, mode string
	metrics                           string
	idle                              time.Duration
	idleSet                           bool
	version                           bool
}

const usage = `Usage: sandboxd [flags]
       sandboxd config check|show|schema [--config FILE]
       sandboxd broker [stop-users|new-key]
       sandboxd config preset ls [--json] | add NAME… | rm NAME… [--config FILE]
       sandboxd config add|rm LIST VALUE… [--config FILE]
       sandboxd config import --from VENDOR --name FILE

  --config FILE      the user's configuration (default ~/.config/sandboxd/config.toml);
                     the operator's /etc/sandboxd/config.toml always counts as well
  --socket-dir DIR   where agent.sock and approver.sock are made
  --state-dir DIR    where audit log, grants and trash are kept
  --mode MODE        interactive, strict, or approve-all (for at most 8 hours)
  --idle-timeout D   leave after that long without anything to do; 0 stays
  --metrics FILE     a Unix socket to serve /metrics on, for Prometheus
  --version          print the version

Examples:
  sandboxd --socket-dir /run/user/1000/sandboxd
  sandboxd config check
`

// run is the whole program; it returns the exit status: 0, 1 for a failure, 2
// for a mistake on the command line. Output that is lost is a failure.
func run(args []string, stdout, stderr io.Writer) int {
	out := &display.Output{W: stdout}
	status := obey(args, out, stderr)
	if err := out.Err(); err != nil && status == 0 {
		fmt.Fprintln(stderr, "sandboxd: the output is not complete:", err)
		return 1
	}
	return status
}

// obey carries out the command line.
func obey(args []string, stdout, stderr io.Writer) int {
	verbs := len(args) > 0 && (args[0] == "config" || args[0] == "broker")
	help := func(a string) bool { return a == "--help" || a == "-help" || a == "-h" }
	if verbs && slices.ContainsFunc(args[1:], help) {
		fmt.Fprint(stdout, usage)
		return 0
	}
	if len(args) > 0 && args[0] == "config" {
		return runConfig(args[1:], stdout, stderr)
	}
	if len(args) > 0 && args[0] == "broker" {
		return runBroker(args[1:], stdout, stderr)
	}
	if len(args) == 1 && args[0] == supervisor.FileWorkerArg {
		return runFileWorker(stderr)
	}
	f, rest, err := parseFlags(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stdout, usage)
		return 0
	}
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("unexpected %q", rest[0])
	}
	if err == nil && f.idle < 0 {
		err = fmt.Errorf("--idle-timeout %v is negative", f.idle)
	}
	if err == nil && !slices.Contains([]string{"", "interactive", "strict", "approve-all"}, f.mode) {
		err = fmt.Errorf("--mode %q: want interactive, strict or approve-all", f.mode)
	}
	if err != nil {
		return misuse(stderr, "sandboxd: %v", err)
	}
	if f.version {
		fmt.Fprintln(stdout, "sandboxd", ipc.Release)
		return 0
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := serve(ctx, f, stderr); err != nil {
		fmt.Fprintln(stderr, "sandboxd:", err)
		explain(err, slog.New(slog.NewTextHandler(stderr, nil)))
		return 1
	}
	return 0
}

// misuse reports a mistake on the command line and returns its exit status.
func misuse(stderr io.Writer, format string, args ...any) int {
	fmt.Fprintf(stderr, format+"\nSee sandboxd --help\n", args...)
	return 2
}

// runFileWorker serves file operations on standard input, inside a sandbox, until
// the daemon hangs up.
func runFileWorker(stderr io.Writer) int {
	conn, err := worker.Inherit(0)
	if err == nil {
		err = worker.Serve(conn)
	}
	if err != nil {
		fmt.Fprintln(stderr, "sandboxd:", err)
		return 1
	}
	return 0
}

// value defines a flag whose value is a text that is not empty.
func value(set *flag.FlagSet, name string, to *string) {
	set.Func(name, "", func(text string) error {
		if *to = text; text == "" {
			return errors.New("it is empty: give a value, or leave it out")
		}
		return nil
	})
}

func parseFlags(args []string) (flags, []string, error) {
	var f flags
	set := flag.NewFlagSet("sandboxd", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	value(set, "config", &f.config)
	value(set, "socket-dir", &f.socketDir)
	value(set, "state-dir", &f.stateDir)
	value(set, "metrics", &f.metrics)
	value(set, "mode", &f.mode)
	set.DurationVar(&f.idle, "idle-timeout", 0, "")
	set.BoolVar(&f.version, "version", false, "")
	err := set.Parse(args)
	if err != nil && strings.HasSuffix(err.Error(), ": -yolo") {
		err = fmt.Errorf("%w; it is --mode approve-all, for at most 8 h", err)
	}
	set.Visit(func(g *flag.Flag) { f.idleSet = f.idleSet || g.Name == "idle-timeout" })
	for _, p := range []*string{&f.config, &f.socketDir, &f.stateDir, &f.metrics} {
		if *p != "" && err == nil {
			*p, err = paths.Absolute(*p)
		}
	}
	return f, set.Args(), err
}

// runConfig is `sandboxd config check|show|schema`.
func runConfig(args []string, stdout, stderr io.Writer) int {
	if len(args) > 0 && slices.Contains([]string{"preset", "add", "rm"}, args[0]) {
		return runLists(args, stdout, stderr)
	}
	if len(args) > 0 && args[0] == "import" {
		return runImport(args[1:], os.Stdin, stdout, stderr)
	}
	verb := ""
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		verb, args = args[0], args[1:]
	}
	asJSON := (verb == "show" || verb == "check") && slices.Contains(args, "--json")
	if asJSON {
		args = slices.DeleteFunc(slices.Clone(args), func(s string) bool { return s == "--json" })
	}
	f, rest, err := parseFlags(args)
	switch {
	case err != nil:
		return misuse(stderr, "sandboxd config: %v", err)
	case !slices.Contains([]string{"check", "show", "schema", "man"}, verb):
		return misuse(stderr, "sandboxd config: want check, show, schema, preset, add, rm or import, not %q", verb)
	case len(rest) > 0:
		return misuse(stderr, "sandboxd config %s: unexpected %q", verb, rest[0])
	}
	if verb == "man" { // for packages
		if err := config.Manual(stdout, ipc.Release); err != nil {
			fmt.Fprintln(stderr, "sandboxd:", err)
			return 1
		}
		return 0
	}
	if verb == "schema" {
		stdout.Write(config.Schema())
		return 0
	}
	paths, err := configPaths(f.config)
	if err != nil {
		fmt.Fprintln(stderr, "sandboxd:", err)
		return 1
	}
	if verb == "check" {
		project := ""
		if dir, err := os.Getwd(); err == nil {
			if _, err := os.Lstat(filepath.Join(dir, config.ProjectFile)); err == nil {
				project = dir
			}
		}
		return printReport(config.Check(paths, project), asJSON, stdout, stderr)
	}
	cfg, warnings, err := config.Load(paths)
	for _, w := range warnings {
		fmt.Fprintln(stderr, "warning:", w)
	}
	switch {
	case err == nil && asJSON:
		err = cfg.ShowJSON(stdout)
	case err == nil:
		err = cfg.Show(stdout)
	}
	if err != nil {
		fmt.Fprintln(stderr, "sandboxd:", err)
		return 1
	}
	return 0
}

// printReport prints r and returns the exit status.
func printReport(r config.Report, asJSON bool, stdout, stderr io.Writer) int {
	var err error
	if asJSON {
		err = json.NewEncoder(stdout).Encode(r)
	} else {
		_, err = io.WriteString(stdout, r.String())
	}
	if err != nil {
		fmt.Fprintln(stderr, "sandboxd:", err)
	}
	if err != nil || !r.OK {
		return 1
	}
	return 0
}

// configPaths are the layers' files; custom replaces only the user's.
func configPaths(custom string) (config.Paths, error) {
	home, err := homeDir()
	if err != nil {
		return config.Paths{}, err
	}
	paths := config.DefaultPaths(home)
	if custom != "" {
		if _, err := os.Stat(custom); err != nil {
			return paths, fmt.Errorf("--config: %w", err)
		}
		paths.User = custom
	}
	return paths, nil
}
