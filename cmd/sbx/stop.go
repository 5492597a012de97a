package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"sandboxd/ipc"
	"sandboxd/process"
)

func stopVerb(a *app) *cobra.Command {
	var (
		now      bool
		drain    seconds
		patience = seconds(time.Minute)
	)
	c := &cobra.Command{
		Use:   "stop",
		Short: "Stop the daemon",
		Long: "Stop the daemon, and return when it is gone. Commands that run are waited for as long\n" +
			"as is configured, then ended. The next sbx starts a new one.",
		Example: "  sbx stop\n  sbx stop --now",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			client, err := a.running(c.Context())
			if err != nil {
				return err
			}
			if client == nil {
				a.note("no daemon runs")
				return nil
			}
			v, err := client.Version(c.Context())
			if err != nil {
				return err
			}
			if err := client.Shutdown(c.Context(), ipc.ShutdownRequest{Now: now, DrainMS: drain.ms()}); err != nil {
				return err
			}
			return awaitExit(c.Context(), v.PID, time.Duration(drain+patience))
		},
	}
	c.Flags().BoolVar(&now, "now", false, "end running commands at once")
	c.Flags().Var(&drain, "drain", "how long running commands may continue")
	c.Flags().Var(&patience, "timeout", "how long to wait for it to be gone, besides --drain")
	return c
}

// awaitExit waits until a process has ended. The next command could otherwise reach
// a daemon that is about to exit.
func awaitExit(ctx context.Context, pid int, patience time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		if err := unix.Kill(pid, 0); errors.Is(err, unix.ESRCH) || zombie(pid) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("stop the daemon: process %d is still there after %v; sbx stop --now ends its commands at once",
				pid, patience)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// zombie reports whether a process has ended and its parent has not noticed,
// as happens in containers without an init.
func zombie(pid int) bool {
	s, err := process.ReadStat(pid)
	return err == nil && s.Ended()
}
