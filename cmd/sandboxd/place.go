package main

import (
	"encoding/json"
	"fmt"

	"sandboxd/approval"
	"sandboxd/files"
	"sandboxd/ipc"
	"sandboxd/supervisor"
)

// place is a call's place in its batch, in the domain's words.
type place struct {
	batch approval.Batch
	group string
	next  []supervisor.NextCall
}

func placeOf(p *ipc.BatchPlace) (place, error) {
	if p == nil {
		return place{}, nil
	}
	out := place{group: p.GroupID, batch: approval.Batch{ID: p.ID, Index: p.Index + 1, Total: p.Total}}
	for i, n := range p.Remaining {
		args, err := decodeArgs(n.Args)
		if err != nil {
			return place{}, &ipc.Error{Code: ipc.CodeBadRequest, Message: fmt.Sprintf("batch.remaining[%d].args: %v", i, err)}
		}
		call := supervisor.NextCall{Tool: n.Tool, Line: n.Command, Argv: n.Argv, Args: args, Cwd: n.Cwd}
		if line, ok := args["command"].(string); ok && (n.Tool == "" || n.Tool == "bash") && n.Command == "" &&
			len(n.Argv) == 0 {
			call.Line = line
		}
		if op, ok := files.OpOf(n.Tool); ok {
			call.File = announcedFile(op, n.Tool, n.Args)
		}
		out.next = append(out.next, call)
	}
	return out, nil
}

// announcedFile is a call of the file tool that is still to come: its arguments
// are the fields of the request that will be sent. It is nil where they are not:
// the agent's own tool of that name takes others.
func announcedFile(op files.Op, tool string, args json.RawMessage) *supervisor.FileRequest {
	var r ipc.FileRequest
	if err := json.Unmarshal(args, &r); err != nil || r.Path == "" {
		return nil
	}
	r.Op = string(op)
	if tool == "file_insert_before" {
		r.Before = true
	}
	q, err := fileRequest(r)
	if err != nil {
		return nil
	}
	return &q
}
