package mcp

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sandboxd/ipc"
)

type heldInput struct {
	ID    string   `json:"id,omitempty" jsonschema:"of a held change set; default: list all of this session"`
	Do    string   `json:"do,omitempty" jsonschema:"show (default), land or drop"`
	Paths []string `json:"paths,omitempty" jsonschema:"land or drop only these, and what is below them"`
	Root  string   `json:"root,omitempty"`
}

func (s *Server) addChanges(m *mcp.Server) {
	mcp.AddTool(m, &mcp.Tool{Name: "changes", Annotations: changes("Held changes"),
		Description: "List, show, land or drop what commands wrote and what is held: those of exec with hold, " +
			"and those that did not land. A person may be asked first."}, s.held)
}

func (s *Server) held(
	ctx context.Context, _ *mcp.CallToolRequest, in heldInput,
) (*mcp.CallToolResult, any, error) {
	n, err := s.in(ctx, in.Root)
	if err != nil {
		return nil, nil, refused(err)
	}
	answer, err := n.held(ctx, in)
	if err != nil {
		s.forget(n, err)
		return nil, nil, refused(err)
	}
	text, err := json.Marshal(answer)
	if err != nil {
		return nil, nil, refused(err)
	}
	return said(string(text)), nil, nil
}

func (n *session) held(ctx context.Context, in heldInput) (any, error) {
	switch {
	case in.ID == "" && in.Do == "":
		return n.client.HeldChanges(ctx, ipc.HeldRequest{Session: n.id})
	case in.Do == "" || in.Do == "show":
		return n.client.HeldChange(ctx, ipc.HeldRequest{Session: n.id, ID: in.ID})
	case in.Do != "land" && in.Do != "drop":
		return nil, errors.New("do: want show, land or drop")
	}
	q := ipc.LandRequest{Session: n.id, ID: in.ID, Drop: in.Do == "drop"}
	for _, p := range in.Paths {
		q.Paths = append(q.Paths, n.place(p))
	}
	r, err := n.client.Land(ctx, q)
	return written{Path: r.Path, UndoID: r.UndoID}, err
}
