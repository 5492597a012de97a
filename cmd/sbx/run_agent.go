package main

import (
	"context"
	"path/filepath"
	"slices"

	"sandboxd/ipc"
)

// insideAgent prepares a command that is an agent itself: it finds the daemon
// from inside its sandbox, where agent.sock alone is in reach. What it asks for
// there runs within its own sandbox's profile (R-IP-08).
func (r *runner) insideAgent(ctx context.Context, env map[string]string) error {
	v, err := r.client.Version(ctx)
	if err != nil {
		return err
	}
	if !slices.Contains(v.Features, ipc.FeatureAgentSocket) {
		return &ipc.Error{Code: ipc.CodeForbidden, Message: "commands can't reach the daemon from inside the sandbox",
			Hint: "set [sandbox] agent_socket = true in ~/.config/sandboxd/config.toml, then sbx stop"}
	}
	env["SBX_SOCKET_DIR"] = filepath.Dir(r.client.Socket)
	return nil
}
