package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sandboxd/display"
	"sandboxd/ipc"
)

// firstStateless is the first version of the protocol in which a server sends no requests: a call
// returns its questions, and is made again with the answers
// (https://modelcontextprotocol.io/seps/2322). The SDK sends the question to clients of older
// versions, while the call waits.
const firstStateless = "2026-07-28"

// elicits reports whether the client can put a question to its user.
func elicits(s *mcp.ServerSession) bool {
	p := s.InitializeParams()
	if p == nil || p.Capabilities == nil || p.Capabilities.Elicitation == nil {
		return false
	}
	e := p.Capabilities.Elicitation
	return e.Form != nil || e.URL == nil // neither is a client from before there were two
}

// answerSchema is the form of the answer. Nothing in it is filled in beforehand:
// only an explicit yes is one.
var answerSchema = json.RawMessage(`{"type": "object", "required": ["answer"], "properties": {"answer":
	{"type": "string", "title": "Run it, this once?", "enum": ["no", "yes"]}}}`)

// elicit answers a call with the question that its command waits for.
func (s *Server) elicit(ctx context.Context, req *mcp.CallToolRequest, c *command,
	q *ipc.Approval) *mcp.CallToolResult {
	c.mu.Lock()
	c.shown = q
	c.mu.Unlock()
	if req.Session.InitializeParams().ProtocolVersion < firstStateless {
		// The call continues while the question is open; a client that cancels it ends its command.
		c.release = context.AfterFunc(ctx, func() { s.end(c) })
	}
	return &mcp.CallToolResult{RequestState: c.id, InputRequests: mcp.InputRequestMap{
		"answer": &mcp.ElicitParams{Mode: "form", Message: question(q), RequestedSchema: answerSchema}}}
}

// question returns the question's text for a person, neutralised.
func question(q *ipc.Approval) string {
	var b strings.Builder
	fmt.Fprintf(&b, "sandboxd asks: may the agent run this command, this once? It runs in the sandbox of %s.\n\n",
		display.Line(q.Root))
	lines := display.Block(q.Command)
	if len(q.Argv) > 0 {
		lines = []string{display.Argv(q.Argv)}
	}
	for _, line := range lines {
		fmt.Fprintf(&b, "    %s\n", line)
	}
	if q.Cwd != "" && q.Cwd != q.Root {
		fmt.Fprintf(&b, "\n- in the directory %s", display.Line(q.Cwd))
	}
	for _, r := range q.Reasons {
		fmt.Fprintf(&b, "\n- %s", display.Line(r))
	}
	if q.Claim != "" {
		fmt.Fprintf(&b, "\n- the agent says: %s", display.Line(q.Claim))
	}
	return b.String()
}

// answered continues a call that was made again with its user's answer. An answer that does not
// count leaves the question to sbx approve.
func (s *Server) answered(ctx context.Context, req *mcp.CallToolRequest, in execInput) (*mcp.CallToolResult,
	*ran, error) {
	c := s.find(req.Params.RequestState)
	if c == nil {
		return nil, nil, refused(fmt.Errorf("the command that was asked about has ended"))
	}
	if c.release != nil && !c.release() {
		return nil, nil, refused(context.Cause(ctx)) // taken back
	}
	answer, _ := req.Params.InputResponses["answer"].(*mcp.ElicitResult)
	c.mu.Lock()
	shown := c.shown
	c.shown = nil // one answer to each
	c.mu.Unlock()
	if shown != nil && answer != nil {
		s.pass(ctx, shown, answer)
	}
	if !c.wait(ctx, in.WaitMS, false) {
		s.end(c)
		return nil, nil, refused(context.Cause(ctx))
	}
	return s.tell(c)
}

// approver is the client for answers, the same for all.
func (s *Server) approver(ctx context.Context) (*ipc.Client, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.approverClient == nil {
		approver, err := s.Approver(ctx)
		if err != nil {
			return nil, err
		}
		s.approverClient = approver
	}
	return s.approverClient, nil
}

// pass sends the client's user's answer to the daemon. It alone decides whether the answer counts;
// a refused answer leaves the question open for others.
func (s *Server) pass(ctx context.Context, q *ipc.Approval, r *mcp.ElicitResult) {
	said, _ := r.Content["answer"].(string)
	a := ipc.Answer{ID: q.ID, Rev: q.Rev, Hash: q.Hash, Scope: "once", Mode: "soft", Key: r.Action}
	switch {
	case r.Action == "accept" && said == "yes":
		a.Allow, a.Mode, a.Key = true, "", said
	case r.Action == "decline", r.Action == "accept" && said == "no":
	default:
		return // dismissed: nobody said anything
	}
	if approver, err := s.approver(ctx); err == nil {
		approver.Decide(ctx, a)
	}
}
