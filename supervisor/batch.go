package supervisor

import (
	"context"

	"sandboxd/approval"
)

// NextCall is a call of a batch that is still to come, as the agent announces
// it: of the shell tool with Line or Argv, of another one with Args.
type NextCall struct {
	Tool string // "" is "bash"
	Line string
	Argv []string
	Args map[string]any
	Cwd  string
	// Env and Terminal are the command's.
	Env      map[string]string
	Terminal bool
	// File is the call as one of the file tool. With Args, the agent may make it
	// itself instead.
	File *FileRequest
}

// maxAnnounced bounds how many calls of a batch are looked at before they are
// made; "approve all" covers no others.
const maxAnnounced = 100 // ipc.MaxBatch

// announce lists the calls that remain in a batch, with the digest that each
// must have for "approve all" to cover it (R-AP-10). That costs a judgement of
// each, so it is done only where a person will be asked.
func (s *Supervisor) announce(ctx context.Context, e *Exec, call *approval.Call, next []NextCall) {
	if len(next) == 0 {
		return
	}
	d, err := s.Approval.Preview(ctx, *call)
	look := err == nil && d.Outcome == approval.WouldAsk
	for i, n := range next {
		r := approval.Remaining{Tool: n.Tool, Description: shownCommand(n.Line, n.Argv)}
		if r.Tool == "" {
			r.Tool = "bash"
		}
		if n.File != nil {
			r.Description = string(n.File.Op) + " " + n.File.Path
		}
		if look && i < maxAnnounced {
			s.foresee(ctx, e, n, &r)
		}
		call.Batch.Remaining = append(call.Batch.Remaining, r)
	}
}

// foresee judges a call that is still to come. A call that can't be judged keeps no
// digest, and will ask. A call that is named like one of the file tool may come
// as that or as a call that the agent makes itself: it gets the digest of each.
func (s *Supervisor) foresee(ctx context.Context, e *Exec, n NextCall, r *approval.Remaining) {
	if n.File != nil {
		s.foreseeFile(ctx, e, n, r)
	}
	switch {
	case n.Tool == "" || n.Tool == "bash":
		s.foreseeCommand(ctx, e, n, r)
	case n.Args != nil || n.File == nil:
		s.foreseeTool(ctx, e, n, r)
	}
}

func (s *Supervisor) foreseeFile(ctx context.Context, e *Exec, n NextCall, r *approval.Remaining) {
	later, err := s.fileCall(e.Session, e.Peer, *n.File)
	if err != nil {
		return
	}
	j, err := s.judgeFile(ctx, later)
	if err != nil || j.conflict != nil {
		return
	}
	r.Tool, r.Description, r.Digest = j.verdict.Tool, j.verdict.Description, j.digest
	r.Args = j.verdict.Payload
	r.Delete, r.Protected = j.verdict.Delete, j.verdict.Protected
}

func (s *Supervisor) foreseeTool(ctx context.Context, e *Exec, n NextCall, r *approval.Remaining) {
	call, _, err := s.toolCall(ctx, e.Session, e.Peer, ToolRequest{Tool: n.Tool, Args: n.Args, Cwd: n.Cwd, DryRun: true})
	if err != nil || call.Blocked != nil {
		return
	}
	r.Own = call.Digest
	request, class := call.Request, call.Class
	if request == nil {
		return // it does not ask
	}
	if r.Digest == "" {
		r.Description, r.Args = request.Description, call.Input
	}
	r.Delete = r.Delete || class.Delete || request.Delete
	r.Dangerous = r.Dangerous || class.Dangerous || request.Dangerous
	r.Protected = r.Protected || class.Protected || request.Protected
}

func (s *Supervisor) foreseeCommand(ctx context.Context, e *Exec, n NextCall, r *approval.Remaining) {
	later, err := s.unstarted(e.Session, e.Peer,
		ExecRequest{Line: n.Line, Argv: n.Argv, Cwd: n.Cwd, Env: n.Env, Terminal: n.Terminal,
			callerRuns: e.Request.callerRuns})
	if err != nil {
		return
	}
	j, err := s.judge(ctx, later)
	if err != nil {
		return
	}
	r.Digest = j.digest
	r.Delete, r.Dangerous, r.Protected = j.verdict.Delete, j.verdict.Danger, j.verdict.Protected
}

// toolDigest binds an answer to a call of a tool that the agent runs itself:
// to all of its arguments, also those that are shown nowhere.
func toolDigest(tool string, args map[string]any, cwd string) string {
	p, err := approval.Fingerprint(map[string]any{"tool": tool, "args": args, "cwd": cwd})
	if err != nil {
		return ""
	}
	return p.String()
}
