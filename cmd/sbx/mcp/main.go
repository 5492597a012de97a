// Sbx-mcp is `sbx mcp`, which executes it: the Model Context Protocol on standard
// input and output. The library for that is linked nowhere else, as every verb would
// start with it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"

	"sandboxd/cmd/sbx/internal/daemon"
	"sandboxd/ipc"
	"sandboxd/mcp"
)

func main() {
	var o daemon.Options
	root := flag.String("root", ".", "the project, where a call names none")
	flag.StringVar(&o.SocketDir, "socket-dir", "", "as sbx --socket-dir")
	flag.StringVar(&o.StateDir, "state-dir", "", "as sbx --state-dir")
	flag.StringVar(&o.Config, "config", "", "as sbx --config")
	flag.StringVar(&o.User, "user", "", "as sbx --user")
	flag.Parse()
	if err := serve(context.Background(), *root, o); err != nil && !errors.Is(err, os.ErrClosed) {
		fmt.Fprintln(os.Stderr, "sbx:", err)
		os.Exit(125)
	}
}

func serve(ctx context.Context, root string, o daemon.Options) error {
	place, err := daemon.Locate(ctx, o)
	if err != nil {
		return err
	}
	open := func(socket func(daemon.Place) string) func(context.Context) (*ipc.Client, error) {
		return func(ctx context.Context) (*ipc.Client, error) {
			if err := place.Ensure(ctx); err != nil {
				return nil, err
			}
			return &ipc.Client{Socket: socket(place), User: place.User}, nil
		}
	}
	s := &mcp.Server{Root: root, Connect: open(daemon.Place.Agent), Approver: open(daemon.Place.Approver)}
	return s.Run(ctx)
}
