package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"sandboxd/cmd/sbx/internal/daemon"
)

func presetVerb(a *app) *cobra.Command {
	var asJSON bool
	ls := &cobra.Command{Use: "ls", Short: "List the presets and which are on", Example: "  sbx preset ls\n  sbx preset ls --json", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.preset(c.Context(), asJSON, "ls") }}
	add := &cobra.Command{Use: "add NAME…", Short: "Let a preset's commands run unasked", Example: "  sbx preset add go git", Args: cobra.MinimumNArgs(1),
		Long: "Write the preset into presets.use of your configuration, of which everything else stays\n" +
			"as it is, and have the running daemon read it. The commands of a preset build and test\n" +
			"a project's own code; they run unasked only where the OS sandbox is in force.",
		RunE: func(c *cobra.Command, names []string) error {
			return a.preset(c.Context(), asJSON, "add", names...)
		}}
	rm := &cobra.Command{Use: "rm NAME…", Short: "Have a preset's commands ask again", Example: "  sbx preset rm go", Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, names []string) error { return a.preset(c.Context(), asJSON, "rm", names...) }}
	for _, c := range []*cobra.Command{ls, add, rm} {
		addJSON(c, &asJSON, "print JSON")
	}
	return group("preset", "Switch sets of reviewed rules on and off", "  sbx preset ls\n  sbx preset add go", ls, add, rm)
}

// preset has the sandboxd beside us read or change the user's file, and the
// daemon that runs read it again.
func (a *app) preset(ctx context.Context, asJSON bool, verb string, names ...string) error {
	client, err := a.running(ctx)
	if err != nil {
		return err
	}
	file := a.options.Config
	if client != nil {
		status, err := client.Status(ctx)
		if err != nil {
			return err
		}
		if status.Version.UID != os.Getuid() {
			return fmt.Errorf("the daemon that answers is another user's: its operator sets [presets] use in its configuration")
		}
		for _, f := range status.Config {
			if f.Layer == "user" {
				file = f.Path
			}
		}
	}
	args := []string{"config", "preset", verb}
	if file != "" {
		args = append(args, "--config", file)
	}
	if asJSON {
		args = append(args, "--json")
	}
	var out, said strings.Builder
	err = daemon.Run(append(append(args, "--"), names...), a.stdin, &out, &said)
	if _, ok := daemon.ExitStatus(err); ok {
		return fmt.Errorf("%s", strings.TrimPrefix(strings.TrimSpace(said.String()), "sandboxd: "))
	}
	if err != nil {
		return err
	}
	if verb == "ls" || asJSON {
		_, err = io.WriteString(a.out, out.String())
	} else {
		a.note("%s", strings.TrimSpace(out.String()))
	}
	if err != nil || client == nil || verb == "ls" {
		return err
	}
	_, err = client.Reload(ctx)
	return err
}
