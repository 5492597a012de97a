package ipc_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"sandboxd/ipc"
)

// greeter is a backend with one operation. The others panic, which the server answers as
// an internal error.
type greeter struct{ ipc.Backend }

func (greeter) Admit(p ipc.Peer, _ ipc.Role) error {
	if p.UID != os.Getuid() {
		return errors.New("not the owner")
	}
	return nil
}

func (greeter) Version(_ context.Context, c ipc.Caller) (ipc.Version, error) {
	return ipc.Version{Product: "example", Protocol: ipc.Protocol, PID: c.Peer.PID}, nil
}

// A server knows its peer from the kernel before it reads a byte; a client refuses the
// socket of another user.
func Example() {
	dir, err := os.MkdirTemp("", "ipc")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	sockets, err := ipc.Listen(ipc.SocketDir{Path: filepath.Join(dir, "s")})
	if err != nil {
		panic(err)
	}
	defer sockets.Close()
	ctx, stop := context.WithCancel(context.Background())
	server := ipc.Server{
		Backend: greeter{}, Agent: []net.Listener{sockets.Agent}, Approver: []net.Listener{sockets.Approver},
	}
	served := make(chan error)
	go func() { served <- server.Serve(ctx) }()

	client := ipc.Client{Socket: filepath.Join(dir, "s", ipc.AgentSocket)}
	v, err := client.Version(ctx)
	fmt.Println(v.Product, v.PID == os.Getpid(), err)
	client.Close()
	stop()
	fmt.Println(<-served)
	// Output:
	// example true <nil>
	// <nil>
}
