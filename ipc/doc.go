// Package ipc is the daemon's interface: HTTP/1.1 with JSON on two Unix sockets, one for requesters
// (agent.sock) and one for approvers (approver.sock).
//
// The promise: a [Backend] method runs only for a peer that the kernel identified before its first
// byte was read, with a request that was within its limits, valid UTF-8, without a key given twice,
// and decoded whole. Nothing a peer sends, or fails to send or to read, takes the server down,
// holds more than a fixed amount of memory, or delays another peer.
//
// The package knows nothing of approvals, profiles or sandboxes: it carries plain structs between a
// socket and a Backend. cmd/sandboxd connects them to the domain. The same package holds the Go
// [Client].
//
//	sockets, err := ipc.Listen(ipc.SocketDir{Path: dir})
//	...
//	defer sockets.Close()
//	server := ipc.Server{
//		Backend:  backend,
//		Agent:    []net.Listener{sockets.Agent},
//		Approver: []net.Listener{sockets.Approver},
//	}
//	err = server.Serve(ctx) // until ctx is done
//	client := ipc.Client{Socket: filepath.Join(dir, ipc.AgentSocket)}
//	session, err := client.OpenSession(ctx, ipc.SessionRequest{Kind: ipc.KindCLI, Root: root})
//	started, events, err := client.RunExec(ctx, ipc.ExecRequest{Session: session.ID, Command: "git status"})
//
// docs/protocol.md describes the wire, docs/openapi.yaml the same for machines; a test compares
// both with the routes of this package.
//
// # Limitations
//
// Text on the wire is UTF-8, as JSON demands: an argument or a path in another encoding is refused
// by the client, never altered. The identity of a peer is that of the process that connected; one
// that hands its open connection to another process has lent it its name.
package ipc
