package mcp

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sandboxd/ipc"
)

// approveInput is the input of a client's permission prompt; see
// https://code.claude.com/docs/en/cli-reference, --permission-prompt-tool.
type approveInput struct {
	ToolName  string         `json:"tool_name"`
	Input     map[string]any `json:"input"`
	ToolUseID string         `json:"tool_use_id,omitempty"`
	Cwd       string         `json:"cwd,omitempty" jsonschema:"the absolute directory in which the call would be made, where it is known"`
}

// behavior is its answer, sent as text.
type behavior struct {
	Behavior     string         `json:"behavior"`              // allow or deny
	UpdatedInput map[string]any `json:"updatedInput,omitzero"` // present with allow, even if empty
	Message      string         `json:"message,omitempty"`
}

func (s *Server) addApprove(m *mcp.Server) {
	mcp.AddTool(m, &mcp.Tool{Name: "approve", Description: "Decide whether a call of another tool may be made: a " +
		"permission prompt.",
		Annotations: reads("Permission prompt")},
		func(ctx context.Context, _ *mcp.CallToolRequest, in approveInput) (*mcp.CallToolResult, any, error) {
			b, err := json.Marshal(s.decide(ctx, in))
			if err != nil {
				return nil, nil, err
			}
			return said(string(b)), nil, nil
		})
}

// decide has the daemon decide, and a person where its rules ask. Any error is a denial.
func (s *Server) decide(ctx context.Context, in approveInput) behavior {
	no := func(text string) behavior { return behavior{Behavior: "deny", Message: text} }
	if in.ToolName == "" {
		return no("no tool_name")
	}
	n, err := s.in(ctx, "")
	if err != nil {
		return no("sandboxd could not judge this call: " + err.Error())
	}
	q := ipc.CheckRequest{Session: n.id, CallID: in.ToolUseID, Tool: in.ToolName, Cwd: in.Cwd}
	if command, ok := in.Input["command"].(string); ok && in.ToolName == "Bash" {
		// The project would be a guess: the agent's shell stays where a cd has led it.
		q.Tool, q.Command, q.CwdUnknown = "", command, in.Cwd == ""
	} else if q.Args, err = json.Marshal(in.Input); err != nil || in.Input == nil {
		q.Args = json.RawMessage("{}")
	}
	v, err := n.client.Check(ctx, q)
	switch {
	case err != nil:
		s.forget(n, err)
		return no("sandboxd could not judge this call: " + err.Error())
	case v.Allowed:
		if in.Input == nil {
			in.Input = map[string]any{}
		}
		return behavior{Behavior: "allow", UpdatedInput: in.Input}
	case v.Denied != nil:
		return no(v.Denied.Message)
	}
	return no(v.Why)
}
