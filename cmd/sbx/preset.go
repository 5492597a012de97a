package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"sandboxd/cmd/sbx/internal/daemon"
	"sandboxd/ipc"
)

func presetVerb(a *app) *cobra.Command {
	var asJSON bool
	ls := &cobra.Command{
		Use:     "ls",
		Short:   "List the presets and which are on",
		Example: "  sbx preset ls\n  sbx preset ls --json",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return a.preset(c.Context(), asJSON, "ls") },
	}
	add := &cobra.Command{
		Use:     "add NAME…",
		Short:   "Let a preset's commands run unasked",
		Example: "  sbx preset add go git",
		Args:    cobra.MinimumNArgs(1),
		Long: "Write the preset into presets.use of your configuration, of which everything else stays\n" +
			"as it is, and have the running daemon read it. The commands of a preset build and test\n" +
			"a project's own code; they run unasked only where the OS sandbox is in force.",
		RunE: func(c *cobra.Command, names []string) error {
			return a.preset(c.Context(), asJSON, "add", names...)
		},
	}
	rm := &cobra.Command{
		Use:     "rm NAME…",
		Short:   "Have a preset's commands ask again",
		Example: "  sbx preset rm go",
		Args:    cobra.MinimumNArgs(1),
		RunE:    func(c *cobra.Command, names []string) error { return a.preset(c.Context(), asJSON, "rm", names...) },
	}
	for _, c := range []*cobra.Command{ls, add, rm} {
		addJSON(c, &asJSON, "print JSON")
	}
	return group(
		"preset",
		"Switch sets of reviewed rules on and off",
		"  sbx preset ls\n  sbx preset add go",
		ls,
		add,
		rm,
	)
}

func (a *app) preset(ctx context.Context, asJSON bool, verb string, names ...string) error {
	list := verb == "ls"
	out, client, err := a.userLists(ctx, append([]string{"preset", verb}, names...), asJSON || list)
	if err != nil {
		return err
	}
	switch {
	case asJSON:
		_, err = io.WriteString(a.out, out)
	case list:
		err = a.printPresets(out)
	default:
		a.note("%s", strings.TrimSpace(out))
	}
	if err != nil || client == nil || list {
		return err
	}
	_, err = client.Reload(ctx)
	return err
}

// printPresets prints the presets of sandboxd's JSON.
func (a *app) printPresets(text string) error {
	var list struct {
		Presets []struct {
			Name, Title string
			On          bool
		}
	}
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return fmt.Errorf("read the presets: %w", err)
	}
	rows := [][]string{{"PRESET", "ON", "LETS RUN UNASKED"}}
	for _, p := range list.Presets {
		rows = append(rows, []string{p.Name, yesNo(p.On), p.Title})
	}
	table(a.out, rows)
	return nil
}

// userLists has the sandboxd beside us read or change lists of the user's file, as `sandboxd config` does. It returns
// the
// daemon that runs, which is to read the file again; nil: none runs.
func (a *app) userLists(ctx context.Context, verb []string, asJSON bool) (string, *ipc.Client, error) {
	client, err := a.running(ctx)
	if err != nil {
		return "", nil, err
	}
	file := a.options.Config
	if client != nil {
		status, err := client.Status(ctx)
		if err != nil {
			return "", nil, err
		}
		if status.Version.UID != os.Getuid() {
			return "", nil, errors.New(
				"the daemon that answers is another user's: its operator changes its configuration",
			)
		}
		for _, f := range status.Config {
			if f.Layer == "user" {
				file = f.Path
			}
		}
	}
	args := append([]string{"config"}, verb[:2]...)
	if file != "" {
		args = append(args, "--config", file)
	}
	if asJSON {
		args = append(args, "--json")
	}
	var out, said strings.Builder
	err = daemon.Run(append(append(args, "--"), verb[2:]...), a.stdin, &out, &said)
	if _, ok := daemon.ExitStatus(err); ok {
		return "", nil, errors.New(strings.TrimPrefix(strings.TrimSpace(said.String()), "sandboxd: "))
	}
	return out.String(), client, err
}
