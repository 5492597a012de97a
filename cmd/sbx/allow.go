package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"sandboxd/ipc"
)

// reach is for whom a change of settings holds, as flags say.
type reach struct {
	user    bool
	session string
}

func (r *reach) flags(c *cobra.Command) {
	f := c.Flags()
	f.BoolVar(&r.user, "user", false, "for all of your projects, in your configuration")
	f.StringVar(&r.session, "session", "", "for one session alone: --session=ID, or this terminal's")
	f.Lookup("session").NoOptDefVal = "here"
}

func (r *reach) check(c *cobra.Command) error {
	if r.user && r.session != "" {
		return usage(c, "--user is for all sessions, and --session for one: give one of them")
	}
	return nil
}

// change makes edits there, in this project where no flag says otherwise.
func (r *reach) change(ctx context.Context, client *ipc.Client, edits []ipc.SettingEdit) (ipc.SettingsChanged, error) {
	change := ipc.SettingsChange{User: r.user, Session: r.session, Edits: edits}
	if !r.user && r.session == "" {
		dir, err := here()
		if err != nil {
			return ipc.SettingsChanged{}, err
		}
		change.Dir = dir
	}
	return client.Change(ctx, change)
}

func allowVerb(a *app) *cobra.Command {
	var to reach
	var write, asJSON bool
	c := &cobra.Command{
		Use:   "allow HOST[:PORT]… | PATH…",
		Short: "Let commands reach hosts, or paths outside the project",
		Long: "Let commands in this project connect to HOST, at the usual ports of the web or at PORT, or read\n" +
			"PATH, which begins with /, ./, ../ or ~. Where commands have no network but their own loopback,\n" +
			"the project gets the mode allowlist, in which a person is asked about other hosts. What is set\n" +
			"for a project is kept in your state, not in the project. Paths with credentials, with\n" +
			"sandboxd's own files, or above your home directory are refused. sbx config get network.allow\n" +
			"shows what counts, and sbx config unset takes it back.",
		Example: "  sbx allow registry.npmjs.org:443\n  sbx allow ~/datasets\n  sbx allow --write /srv/out\n" +
			"  sbx allow --session api.example.org",
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := to.check(c); err != nil {
				return err
			}
			if to.session == "here" && sessionID.MatchString(args[0]) {
				return usage(c, "%s is a session, and no host: --session=%s", args[0], args[0])
			}
			client, err := a.approver(c.Context())
			if err != nil {
				return err
			}
			edits, err := a.allowed(c, client, to, args, write)
			if err != nil {
				return err
			}
			changed, err := to.change(c.Context(), client, edits)
			if err != nil {
				return err
			}
			return a.printChanged(changed, asJSON)
		},
	}
	to.flags(c)
	c.Flags().BoolVar(&write, "write", false, "let them write PATH, too")
	addJSON(c, &asJSON, "print what counts now as JSON")
	return c
}

// sessionID is what the id of a session looks like.
var sessionID = regexp.MustCompile(`^s-[0-9a-z]{26}$`)

// allowed returns the changes that let commands reach what is named.
func (a *app) allowed(c *cobra.Command, client *ipc.Client, to reach, args []string, write bool) (
	edits []ipc.SettingEdit, err error,
) {
	var hosts, paths []string
	for _, arg := range args {
		if !isPath(arg) {
			hosts = append(hosts, hostOf(arg))
			continue
		}
		path, err := fromHere(arg)
		if err != nil {
			return nil, err
		}
		if _, err := os.Lstat(path); err != nil {
			return nil, fmt.Errorf("%s: %w; it has to be there", arg, cause(err))
		}
		paths = append(paths, path)
	}
	if write && len(hosts) > 0 {
		return nil, usage(c, "--write is for paths, and %q is none: ./%s", hosts[0], hosts[0])
	}
	if len(paths) > 0 {
		key := map[bool]string{false: "sandbox.read", true: "sandbox.write"}[write]
		edits = append(edits, ipc.SettingEdit{Key: key, Do: "add", Values: paths})
	}
	if len(hosts) == 0 {
		return edits, nil
	}
	edits = append(edits, ipc.SettingEdit{Key: "network.allow", Do: "add", Values: hosts})
	dir := ""
	if !to.user {
		if dir, err = here(); err != nil {
			return nil, err
		}
	}
	mode, err := client.Setting(c.Context(), ipc.SettingRequest{Key: "network.mode", Dir: dir})
	if err != nil {
		return nil, err
	}
	switch strings.Trim(mode.Value, `"`) {
	case "allowlist":
	case "full":
		a.note("network.mode is full: commands reach every host as it is")
	default:
		edits = append(edits, ipc.SettingEdit{Key: "network.mode", Do: "set", Values: []string{"allowlist"}})
	}
	return edits, nil
}

// isPath reports whether an argument is a path by its form, or names something here that no host is named like.
func isPath(arg string) bool {
	if arg == "." || arg == ".." || strings.HasPrefix(arg, "/") || strings.HasPrefix(arg, "./") ||
		strings.HasPrefix(arg, "../") || strings.HasPrefix(arg, "~") {
		return true
	}
	return strings.Contains(arg, "/") && !strings.Contains(arg, "://")
}

// hostOf is the host and port of a URL, and anything else as it is.
func hostOf(arg string) string {
	u, err := url.Parse(arg)
	if err != nil || u.Host == "" {
		return arg
	}
	if port := map[string]string{"http": "80", "https": "443"}[u.Scheme]; u.Port() == "" && port != "" {
		return u.Host + ":" + port
	}
	return u.Host
}

func (a *app) printChanged(changed ipc.SettingsChanged, asJSON bool) error {
	if asJSON {
		return a.printJSON(changed)
	}
	for _, v := range changed.Values {
		a.note("%s = %s (%s)", v.Key, v.Value, changed.Kept)
	}
	return nil
}

// configSettings are the verbs of sbx config for single settings.
func configSettings(a *app) []*cobra.Command {
	var asJSON bool
	get := &cobra.Command{
		Use: "get KEY", Short: "Print a setting as it is in force here", Args: cobra.ExactArgs(1),
		Example: "  sbx config get network.allow\n  sbx config get notify.desktop --json",
		RunE: func(c *cobra.Command, args []string) error {
			client, err := a.approver(c.Context())
			if err != nil {
				return err
			}
			dir, err := here()
			if err != nil {
				return err
			}
			v, err := client.Setting(c.Context(), ipc.SettingRequest{Key: args[0], Dir: dir})
			if err != nil {
				return err
			}
			if asJSON {
				return a.printJSON(v)
			}
			a.printf("%s\n", v.Value)
			return nil
		},
	}
	addJSON(get, &asJSON, "print the value and where it comes from as JSON")
	return []*cobra.Command{get, configChange(a, "set"), configChange(a, "unset")}
}

func configChange(a *app, do string) *cobra.Command {
	var to reach
	var asJSON bool
	c := &cobra.Command{
		Use: "set KEY VALUE…", Short: "Change a setting for this project, or for all of yours", Args: cobra.MinimumNArgs(2),
		Long: "Change a setting. One that decides about commands is changed for this project, which is kept in\n" +
			"your state and not in the project; --user changes it for all of yours, in your configuration,\n" +
			"of which everything else stays. The others are always for all. Several values make a list. For a\n" +
			"project, a list is added to yours.",
		Example: "  sbx config set network.mode allowlist\n  sbx config set sandbox.limits.wall 30m --user\n" +
			"  sbx config set notify.desktop true",
	}
	if do == "unset" {
		c.Use, c.Short, c.Args = "unset KEY", "Take a setting back", cobra.ExactArgs(1)
		c.Long = "Take back what sbx config set, or sbx allow, has set for this project; with --user what your\n" +
			"configuration has."
		c.Example = "  sbx config unset network.mode\n  sbx config unset network.allow --session"
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := to.check(c); err != nil {
			return err
		}
		client, err := a.approver(c.Context())
		if err != nil {
			return err
		}
		v, err := client.Setting(c.Context(), ipc.SettingRequest{Key: args[0]})
		if err != nil {
			return err
		}
		if !v.PerProject && to.session == "" {
			to.user = true
		}
		changed, err := to.change(c.Context(), client, []ipc.SettingEdit{{Key: args[0], Do: do, Values: args[1:]}})
		if err != nil {
			return err
		}
		return a.printChanged(changed, asJSON)
	}
	to.flags(c)
	addJSON(c, &asJSON, "print what counts now as JSON")
	return c
}
