package main

import (
	"context"
	"path/filepath"
	"slices"

	"sandboxd/ipc"
)

// insideAgent prepares a command that is an agent itself: it finds the daemon
// from inside its sandbox, where agent.sock alone is in reach. Its requests
// there run within its own sandbox's profile (R-IP-08).
func (r *runner) insideAgent(ctx context.Context, env map[string]string) error {
	v, err := r.client.Version(ctx)
	if err != nil {
		return err
	}
	if !slices.Contains(v.Features, ipc.FeatureAgentSocket) {
		return &ipc.Error{Code: ipc.CodeForbidden, Message: "agents may not reach the daemon from inside their sandbox",
			Hint: "the configuration has [sandbox] agent_socket = false (sbx config check says where); or an older daemon " +
				"still runs: sbx stop"}
	}
	env["SBX_SOCKET_DIR"] = filepath.Dir(r.client.Socket)
	return nil
}
