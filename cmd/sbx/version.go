package main

import (
	"github.com/spf13/cobra"

	"sandboxd/ipc"
)

func versionVerb(a *app) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:     "version",
		Short:   "Print the version of sbx, and of the daemon if one runs",
		Example: "  sbx version",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			v := struct {
				Version  string       `json:"version"`
				Protocol int          `json:"protocol"`
				Daemon   *ipc.Version `json:"daemon,omitempty"`
			}{Version: ipc.Release, Protocol: ipc.Protocol}
			client, err := a.running(c.Context())
			if err == nil && client != nil {
				if d, derr := client.Version(c.Context()); derr == nil {
					v.Daemon = &d
				}
			}
			if asJSON {
				return a.printJSON(v)
			}
			a.printf("sbx %s (protocol %d)\n", v.Version, v.Protocol)
			if v.Daemon != nil {
				fields(a.out, v.Daemon.Product, v.Daemon.Version)
			}
			return nil
		},
	}
	addJSON(c, &asJSON, "print JSON")
	return c
}
