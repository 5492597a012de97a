package mcp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sandboxd/ipc"
)

// Server is one client's server.
type Server struct {
	// Connect finds the daemon, or starts one. The client is closed with the server.
	Connect func(context.Context) (*ipc.Client, error)
	// Approver connects to the daemon's approver socket, for the answers that a client's own user may
	// give where the configuration permits them; nil: users are not asked.
	Approver func(context.Context) (*ipc.Client, error)
	// Root is the project where a call names none; absolute.
	Root string

	mu             sync.Mutex
	sessions       map[string]*session // by root
	commands       map[string]*command // by handle
	approverClient *ipc.Client         // from Approver; nil: not connected yet
}

// session is one of the daemon's, for one project.
type session struct {
	id     string
	root   string
	client *ipc.Client
	opened ipc.Session
}

// patience is how long a call waits for a command before it answers with a
// handle. Clients give up after a minute (the SDKs' default).
const patience = 40 * time.Second

const instructions = `Commands and files of a project, supervised by sandboxd: what only reads runs at once, a person ` +
	`is asked about the rest, and everything runs in a sandbox without network and without the user's home directory. ` +
	`A refusal says why; don't retry it another way; ask the user what they want instead. A command that takes long ` +
	`answers with a handle: read on with the tool "output".`

// new makes the protocol's server, with all tools.
func (s *Server) new() *mcp.Server {
	s.sessions, s.commands = map[string]*session{}, map[string]*command{}
	m := mcp.NewServer(&mcp.Implementation{Name: ipc.Product, Version: ipc.Release},
		&mcp.ServerOptions{Instructions: instructions})
	s.addExec(m)
	s.addFiles(m)
	s.addChanges(m)
	s.addApprove(m)
	return m
}

// Run serves standard input and output until the client disconnects, and then ends the commands
// that it started.
func (s *Server) Run(ctx context.Context) error {
	defer s.close()
	return s.new().Run(ctx, &mcp.IOTransport{Reader: os.Stdin, Writer: output{os.Stdout}})
}

// close ends the sessions and their commands.
func (s *Server) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for _, n := range s.sessions {
		n.client.CloseSession(ctx, ipc.CloseRequest{Session: n.id})
		n.client.Close()
	}
	clear(s.sessions)
}

// in is the session for a project; it is opened at the first call.
func (s *Server) in(ctx context.Context, root string) (*session, error) {
	if root == "" {
		root = s.Root
	}
	if !filepath.IsAbs(root) {
		return nil, fmt.Errorf("root %q: give an absolute path", root)
	}
	root = filepath.Clean(root)
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := s.sessions[root]; n != nil {
		return n, nil
	}
	c, err := s.Connect(ctx)
	if err != nil {
		return nil, err
	}
	opened, err := c.OpenSession(ctx, ipc.SessionRequest{Kind: ipc.KindAPI, Agent: "MCP client", Label: "sbx mcp",
		Root: root, Cwd: root})
	if err != nil {
		return nil, err
	}
	n := &session{id: opened.ID, root: opened.Root, opened: opened,
		client: &ipc.Client{Socket: c.Socket, Secret: opened.Secret}}
	s.sessions[root] = n
	return n, nil
}

// forget drops a session that the daemon does not know, as after its restart; the next call opens
// another.
func (s *Server) forget(n *session, err error) {
	if code := ipc.CodeOf(err); code != ipc.CodeNotFound && code != ipc.CodeSecret && !errors.Is(err, ipc.ErrNoDaemon) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for root, x := range s.sessions {
		if x == n {
			delete(s.sessions, root)
		}
	}
}

// place makes a path of the project absolute.
func (n *session) place(path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(n.root, path)
}

// said is a tool's answer in text.
func said(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// refused is a tool's error in words for the model. There is no structured answer
// beside it: some clients show the model only that one.
func refused(err error) error {
	text := err.Error()
	var e *ipc.Error
	switch {
	case errors.As(err, &e):
		text = e.Message
		if e.Hint != "" {
			text += "\nTo fix it: " + e.Hint
		}
	case errors.Is(err, ipc.ErrNoDaemon), errors.Is(err, os.ErrDeadlineExceeded):
		text = "sandboxd does not answer. Ask the user to start it: sbx status"
	}
	return errors.New(text)
}

func yes(b bool) *bool { return &b }

// reads and changes annotate a tool's worst effect.
func reads(title string) *mcp.ToolAnnotations {
	return &mcp.ToolAnnotations{Title: title, ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: yes(false)}
}

func changes(title string) *mcp.ToolAnnotations {
	return &mcp.ToolAnnotations{Title: title, DestructiveHint: yes(true), OpenWorldHint: yes(false)}
}
