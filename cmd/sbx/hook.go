package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/aymanbagabas/go-udiff"
	"github.com/google/renameio/v2"
	"github.com/spf13/cobra"

	"sandboxd/cmd/internal/paths"
	"sandboxd/hook"
)

func hookVerb(a *app) *cobra.Command {
	c := group(
		"hook",
		"Answer the pre-tool hooks of other agents, and install them",
		"  sbx hook install claude --user\n  sbx hook install codex --project\n  sbx hook install claude --user --remove",
		hookInstall(a), hookList(a),
	)
	for _, v := range append([]string{"auto"}, names()...) {
		c.AddCommand(hookAnswer(a, v))
	}
	return c
}

func names() (list []string) {
	for _, v := range hook.Vendors {
		list = append(list, v.Name)
	}
	return list
}

func hookAnswer(a *app, vendor string) *cobra.Command {
	var mode, version string
	var patience seconds
	c := &cobra.Command{
		Use:   vendor,
		Short: "Answer one event of " + vendor + " on standard input",
		Long: "Read a hook's JSON from standard input and print the answer in the agent's form.\n" +
			"Before a tool runs, a person is asked where one must be. In mode wrap a shell command is\n" +
			"allowed rewritten, so that it runs in the sandbox by a ticket that is good once; in mode\n" +
			"decide the agent runs it itself. After it ran, the turn ends if its ticket was not used.\n" +
			"Whatever goes wrong is a refusal.",
		Example: "  sbx hook " + vendor + " < call.json",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if mode != hook.Wrap && mode != hook.Decide {
				return &exit{2, usage(c, "--mode %q: want %s or %s", mode, hook.Wrap, hook.Decide)}
			}
			h := hook.Hook{
				Vendor:   hook.Find(vendor),
				Mode:     mode,
				Version:  version,
				Patience: time.Duration(patience),
				Connect: func(ctx context.Context) (hook.Daemon, error) {
					return a.agent(ctx)
				},
			}
			var err error
			if h.Program, err = paths.Program(); err == nil {
				h.Project, err = here()
			}
			if err != nil {
				return &exit{2, err}
			}
			h.Locate = func(ctx context.Context) []string {
				if p, err := a.locate(ctx); err == nil && p.Named {
					return []string{"--socket-dir", p.SocketDir}
				}
				return nil
			}
			reply := h.Answer(c.Context(), a.stdin)
			if reply.Refusal != "" {
				return &exit{hook.RefusalStatus, errors.New(reply.Refusal)}
			}
			if _, err := a.out.Write(reply.Out); err != nil {
				return &exit{hook.RefusalStatus, err}
			}
			return nil
		},
	}
	// A flag that an older or newer sbx put into the settings must not let a call through.
	c.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return &exit{2, misread(c, err)} })
	f := c.Flags()
	f.StringVar(&mode, "mode", hook.Wrap, "wrap: run commands in the sandbox; decide: verdict only")
	f.StringVar(&version, "agent-version", "", "the agent's version, as installation found it")
	f.Var(&patience, "patience", "how long a person may take to answer (default 9m45s)")
	return c
}

func hookInstall(a *app) *cobra.Command {
	var user, project, remove, dry bool
	var mode string
	c := &cobra.Command{
		Use:   "install VENDOR",
		Short: "Put the hook into an agent's settings file, or take it out",
		Long: "Put the hook into the settings of an agent, for this project (--project) or for\n" +
			"all of yours (--user). Other entries stay; the difference is shown; doing it\n" +
			"again changes nothing, except that a newer version of the agent is noted.",
		Example: "  sbx hook install claude --user\n  sbx hook install claude --user --remove",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			v := hook.Find(args[0])
			switch {
			case v == nil:
				return usage(c, "there is no vendor %q; there are: %s", args[0], strings.Join(names(), ", "))
			case user == project:
				return usage(c, "say where: --user or --project")
			case mode != hook.Wrap && mode != hook.Decide:
				return usage(c, "--mode %q: want %s or %s", mode, hook.Wrap, hook.Decide)
			}
			return a.hookInstall(c.Context(), *v, user, remove, dry, mode)
		},
	}
	f := c.Flags()
	f.BoolVar(&user, "user", false, "in your home directory: for all projects")
	f.BoolVar(&project, "project", false, "in this directory, for everyone who works in it")
	f.BoolVar(&remove, "remove", false, "take it out")
	f.BoolVar(&dry, "dry-run", false, "show the difference and change nothing")
	f.StringVar(&mode, "mode", hook.Wrap, "wrap: run commands in the sandbox; decide: verdict only")
	return c
}

func (a *app) hookInstall(ctx context.Context, v hook.Vendor, user, remove, dry bool, mode string) error {
	cwd, err := here()
	if err != nil {
		return err
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return fmt.Errorf(
			"%w, and %s looks for its settings below it: set it to the home directory of who runs %s",
			err,
			v.Name,
			v.Name,
		)
	}
	path, old, err := settings(v.SettingsFile(cwd, home, user))
	if err != nil {
		return err
	}
	var changed []byte
	var command, version string
	if remove {
		changed, err = v.Remove(old)
	} else {
		if command, version, err = a.hookCommand(ctx, v, mode); err != nil {
			return err
		}
		if path, old, err = settings(path); err != nil { // asking the agent may have taken a while
			return err
		}
		changed, err = v.Install(old, command)
	}
	if err != nil {
		err = fmt.Errorf("edit %s: %w; it was left as it is", path, err)
		if groups, no := v.Groups(command); !remove && no == nil {
			err = fmt.Errorf("%w: add to \"hooks\" by hand:\n%s", err, groups)
		}
		return err
	}
	if v.Off(changed) && !remove {
		a.note("%s has disableAllHooks: no hook runs, this one neither", path)
	}
	diff := udiff.Unified(path, path, string(old), string(changed))
	if diff == "" {
		a.note("%s has it so already", path)
		return nil
	}
	if remove && string(changed) == v.Created() { // it was not there before
		changed = nil
	}
	perm := os.FileMode(0o644)
	if v.Executable {
		perm = 0o755
	}
	if !dry {
		if err := writeSettings(path, changed, perm); err != nil {
			return err
		}
	}
	a.printf("%s", diff)
	if dry || remove {
		return nil
	}
	if v.Note != "" {
		a.note("%s", v.Note)
	}
	if v.LetsThrough(version) {
		a.note("%s %s runs a call whose hook can't be started or takes too long; from %s on it refuses it: update %s",
			v.Title, version, v.FailsClosed, v.Name)
	}
	a.note("installed: start %s, and answer its questions in another terminal: sbx approve", v.Name)
	a.note("a notice for each question: sbx config set notify.desktop true; in a browser: sbx web")
	for _, other := range otherHooks(v, cwd, home) {
		a.note("%s", other)
	}
	return nil
}

// otherHooks names the hooks that run beside ours before each tool, as the vendor's settings have them.
func otherHooks(v hook.Vendor, cwd, home string) (list []string) {
	installed := false
	for _, base := range slices.Compact([]string{home, cwd}) {
		paths := []string{v.SettingsFile(cwd, home, base == home)}
		for _, name := range v.Files[1:] {
			paths = append(paths, filepath.Join(base, name))
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				continue // there is none; installing reports an unreadable one
			}
			others, ours := v.Others(text)
			installed = installed || ours
			for _, command := range others {
				list = append(
					list,
					fmt.Sprintf(
						"%s runs another hook before each tool: %s; where it rewrites commands, too, they may run outside of the "+
							"sandbox: "+
							"sandboxd ends the turn then, and sbx log has it",
						path,
						command,
					),
				)
			}
		}
	}
	if !installed {
		return nil
	}
	return list
}

// settings reads an agent's settings; none are empty. The path is that of the
// file itself where a link leads to it, so that the link stays.
func settings(path string) (string, []byte, error) {
	real, err := filepath.EvalSymlinks(path)
	if os.IsNotExist(err) {
		if target, no := os.Readlink(path); no == nil {
			return path, nil, fmt.Errorf(
				"%s leads to %s, which is not there: make that file, or take the link away",
				path,
				target,
			)
		}
		return path, nil, nil
	}
	if err != nil {
		return path, nil, fmt.Errorf("%s can't be read: %w", path, cause(err))
	}
	fi, err := os.Stat(real)
	switch {
	case err != nil:
		return real, nil, err
	case !fi.Mode().IsRegular():
		return real, nil, fmt.Errorf("%s is not a file", real)
	case fi.Mode().Perm()&0o222 == 0:
		return real, nil, fmt.Errorf("%s is read-only, so it was left as it is: chmod u+w it first", real)
	}
	b, err := os.ReadFile(real)
	return real, b, err
}

// writeSettings writes an agent's settings, or removes the file where there are none.
func writeSettings(path string, text []byte, perm os.FileMode) (err error) {
	if text == nil {
		err = os.Remove(path)
	} else if err = os.MkdirAll(filepath.Dir(path), 0o755); err == nil {
		// renameio keeps the mode of a file that is there.
		err = renameio.WriteFile(path, text, perm, renameio.WithExistingPermissions())
	}
	if err != nil {
		return fmt.Errorf("%s can't be written, and nothing was changed: %w", path, cause(err))
	}
	return nil
}

// cause is the system's error in err, without a path, which may be that of a temporary file.
func cause(err error) error {
	var number syscall.Errno
	if errors.As(err, &number) {
		return number
	}
	return err
}

var versionNumber = regexp.MustCompile(`\d+\.\d+\.\d+(-[\w.]+)?`)

// versionTimeout is how long an agent has for its version: those that an interpreter runs take long on a busy machine.
const versionTimeout = 2 * time.Minute

// hookCommand is the line that the agent's shell is to run, and the version of the agent; "": it is not known.
func (a *app) hookCommand(ctx context.Context, v hook.Vendor, mode string) (command, version string, err error) {
	program, err := paths.Program()
	if err != nil {
		return "", "", err
	}
	words := []string{program}
	if a.options.SocketDir != "" {
		dir, err := filepath.Abs(a.options.SocketDir)
		if err != nil {
			return "", "", err
		}
		words = append(words, "--socket-dir", dir)
	}
	words = append(words, "hook", v.Command())
	if mode != hook.Wrap {
		words = append(words, "--mode", mode)
	}
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	asked := exec.CommandContext(ctx, v.Program(), "--version")
	var errs strings.Builder
	asked.Stderr = &errs // where pi writes it
	out, failed := asked.Output()
	if failed == nil {
		version = versionNumber.FindString(string(out) + "\n" + errs.String())
	}
	switch {
	case version != "":
		words = append(words, "--agent-version", version)
	case v.Rewrites == "":
	case errors.Is(failed, exec.ErrNotFound):
		a.note("%s is not on the PATH, so its version is not known, and its commands will not be rewritten: install it, "+
			"then do this again", v.Name)
	default:
		why := "names none"
		if ctx.Err() != nil {
			why = "did not answer within " + versionTimeout.String()
		} else if failed != nil {
			why = "failed: " + failed.Error()
		}
		a.note("%s --version %s, so the version of %s is not known, and its commands will not be rewritten: do this again",
			v.Program(), why, v.Name)
	}
	for i, w := range words {
		words[i] = hook.Quote(w)
	}
	return strings.Join(words, " "), version, nil
}
