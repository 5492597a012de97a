package approvaltest

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/BurntSushi/toml"

	"sandboxd/approval"
)

// ControllerSystem plays scenarios against a Controller.
type ControllerSystem struct {
	*approval.Controller
	// Wait is called by Settle: synctest.Wait, in a bubble.
	Wait      func()
	principal approval.Principal
	tools     *approval.ToolTable

	mu        sync.Mutex
	connected map[approval.Via][]func()
}

// NewSystem makes a Controller with a scenario's configuration.
func NewSystem(config string, wait func()) (*ControllerSystem, error) {
	file := struct {
		Approval approval.Config      `toml:"approval"`
		Tools    approval.ToolsConfig `toml:"tools"`
	}{approval.DefaultConfig(), approval.DefaultTools()}
	if _, err := toml.Decode(config, &file); err != nil {
		return nil, fmt.Errorf("scenario configuration: %w", err)
	}
	table, err := approval.NewToolTable(file.Tools)
	if err != nil {
		return nil, err
	}
	c, err := approval.New(approval.Options{Config: file.Approval, Store: new(Store)})
	if err != nil {
		return nil, err
	}
	return &ControllerSystem{Controller: c, Wait: wait, principal: approval.Principal{UID: 1000}, tools: table,
		connected: map[approval.Via][]func(){}}, nil
}

func (s *ControllerSystem) identity(via approval.Via) approval.Identity {
	return approval.Identity{Principal: s.principal, Name: "person", Via: via}
}

func (s *ControllerSystem) ref(session string) approval.SessionRef {
	return approval.SessionRef{Principal: s.principal, ID: session}
}

// Decide turns the scenario's words into a Call. Tools of the tool table are
// judged by it, all others by the call's Word.
func (s *ControllerSystem) Decide(ctx context.Context, c Call) (approval.Decision, error) {
	call := approval.Call{
		ID: c.Name, Principal: s.principal, Session: c.Session, Tool: c.Tool, Payload: c.Args, Class: c.Word.Class,
		Batch: approval.Batch{ID: c.Batch, Index: c.Index, Total: c.Total}, Digest: digest(c.Tool, c.Args), Cwd: "/project",
	}
	if c.Agent != "" {
		call.Agent.ID = "token:" + c.Agent
	}
	for _, l := range c.Later {
		call.Batch.Remaining = append(call.Batch.Remaining, approval.Remaining{
			Tool: l.Tool, Description: l.Tool, Digest: digest(l.Tool, l.Args), Delete: l.Delete})
	}
	w := c.Word
	switch {
	case w.Run:
	case w.Block != "":
		call.Blocked = &approval.BlockedError{Reason: w.Block}
	case w.Payload == nil && w.Class == (approval.Class{}) && w.Description == "":
		class, req, blocked := s.tools.Judge(approval.Context{Tool: c.Tool, Args: c.Args})
		call.Class, call.Request, call.Blocked = class, req, blocked
	default:
		call.Request = approval.SimpleRequest(c.Tool, c.Args)
	}
	if r := call.Request; r != nil {
		r.GroupID = w.Group
		if w.Payload != nil {
			r.Payload = w.Payload
		}
		if w.Suggest != nil {
			r.Suggestions = w.Suggest
		}
		if w.Description != "" {
			r.Description = w.Description
		}
	}
	return s.Controller.Decide(ctx, call)
}

func digest(tool string, args map[string]any) string {
	p, err := approval.Fingerprint(map[string]any{tool: args})
	if err != nil {
		return ""
	}
	return p.String()
}

// Pending implements System.
func (s *ControllerSystem) Pending(context.Context) ([]approval.Pending, error) {
	return s.Controller.Pending(s.identity(approval.ViaTerminal)), nil
}

// Answer implements System.
func (s *ControllerSystem) Answer(ctx context.Context, by approval.Via, id string,
	a approval.Answer) (approval.Receipt, error) {
	a.By = s.identity(by)
	return s.Controller.Answer(ctx, id, a)
}

// NewTurn implements System.
func (s *ControllerSystem) NewTurn(_ context.Context, session string) error {
	s.Controller.NewTurn(s.ref(session))
	return nil
}

// CloseSession implements System.
func (s *ControllerSystem) CloseSession(_ context.Context, session string) (approval.Stats, error) {
	return s.Controller.CloseSession(s.ref(session)), nil
}

// SessionStats implements System.
func (s *ControllerSystem) SessionStats(_ context.Context, session string) (approval.Stats, error) {
	return s.Controller.SessionStats(s.ref(session)), nil
}

// ApproveAll implements System.
func (s *ControllerSystem) ApproveAll(_ context.Context, session string, d time.Duration) error {
	s.Controller.OpenSession(s.ref(session))
	return s.Controller.ApproveAllSession(s.identity(approval.ViaTerminal), s.ref(session), d)
}

// Connect implements System.
func (s *ControllerSystem) Connect(via approval.Via) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.connected[via] = append(s.connected[via], s.Controller.Connect(s.identity(via)))
	return nil
}

// Disconnect implements System.
func (s *ControllerSystem) Disconnect(via approval.Via) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.connected[via]
	if len(list) == 0 {
		return fmt.Errorf("no %s approver is connected", via)
	}
	list[len(list)-1]()
	s.connected[via] = list[:len(list)-1]
	return nil
}

// Revoke implements System.
func (s *ControllerSystem) Revoke(_ context.Context, grant string) error {
	return s.Controller.Revoke(s.identity(approval.ViaTerminal), grant)
}

// Settle implements System.
func (s *ControllerSystem) Settle() { s.Wait() }

// Sleep implements System.
func (s *ControllerSystem) Sleep(d time.Duration) { time.Sleep(d) }
