package ipctest

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"

	"sandboxd/ipc"
)

// House is a server on sockets of its own, and a client for each.
type House struct {
	Dir      string
	Agent    *ipc.Client
	Approver *ipc.Client
}

// Start serves b until the test ends. The test fails if the server does.
func Start(t testing.TB, b ipc.Backend, limits ipc.Limits) *House {
	t.Helper()
	// Not t.TempDir: its name may be too long for a socket.
	dir, err := os.MkdirTemp("", "ipc")
	if err != nil {
		t.Fatal(err)
	}
	sockets, err := ipc.Listen(ipc.SocketDir{Path: filepath.Join(dir, "s")})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() {
		server := ipc.Server{
			Backend:  b,
			Agent:    []net.Listener{sockets.Agent},
			Approver: []net.Listener{sockets.Approver},
			Stdio:    []net.Listener{sockets.Stdio},
			Limits:   limits,
		}
		served <- server.Serve(ctx)
	}()
	h := &House{
		Dir:      filepath.Join(dir, "s"),
		Agent:    &ipc.Client{Socket: filepath.Join(dir, "s", ipc.AgentSocket)},
		Approver: &ipc.Client{Socket: filepath.Join(dir, "s", ipc.ApproverSocket)},
	}
	t.Cleanup(func() {
		h.Agent.Close()
		h.Approver.Close()
		cancel()
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
		if err := sockets.Close(); err != nil {
			t.Errorf("close sockets: %v", err)
		}
		os.RemoveAll(dir)
	})
	return h
}
