package mcp

import (
	"context"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sandboxd/ipc"
)

type fileInput struct {
	Path string `json:"path" jsonschema:"absolute, or within the project"`
	Root string `json:"root,omitempty" jsonschema:"the project's directory; default: where the server was started"`
}

type readInput struct {
	fileInput
	Offset int64 `json:"offset,omitempty" jsonschema:"bytes to skip"`
	Limit  int64 `json:"limit,omitempty" jsonschema:"bytes to read"`
}

type writeInput struct {
	fileInput
	Content string `json:"content" jsonschema:"the whole file"`
	IfHash  string `json:"if_hash,omitempty" jsonschema:"refuse where the file has another hash by now"`
}

type editInput struct {
	fileInput
	Edits []replacement `json:"edits" jsonschema:"all of them are made, or none"`
}

type replacement struct {
	Find    string `json:"find" jsonschema:"text that is there"`
	Replace string `json:"replace"`
	Count   int    `json:"count,omitempty" jsonschema:"how often it is there; default: once"`
}

type listInput struct {
	fileInput
	Glob      string `json:"glob,omitempty" jsonschema:"only names that match"`
	Recursive bool   `json:"recursive,omitempty"`
}

type grepInput struct {
	fileInput
	Pattern string `json:"pattern" jsonschema:"regular expression (RE2)"`
	Glob    string `json:"glob,omitempty" jsonschema:"only files whose names match"`
	Limit   int64  `json:"limit,omitempty" jsonschema:"most lines to find"`
}

type undoInput struct {
	UndoID string `json:"undo_id" jsonschema:"from write, edit or exec; \"last\" is the latest"`
	Root   string `json:"root,omitempty"`
}

// written is the answer to a change.
type written struct {
	Path   string `json:"path"`
	Hash   string `json:"hash,omitempty"`
	UndoID string `json:"undo_id,omitempty" jsonschema:"takes the change back"`
}

func (s *Server) addFiles(m *mcp.Server) {
	mcp.AddTool(m, &mcp.Tool{Name: "read", Description: "Read a file of text.", Annotations: reads("Read a file")},
		func(ctx context.Context, _ *mcp.CallToolRequest, in readInput) (*mcp.CallToolResult, any, error) {
			r, refusal := s.file(ctx, in.fileInput, ipc.FileRequest{Op: "read", Offset: in.Offset, Limit: in.Limit})
			if refusal != nil {
				return nil, nil, refusal
			}
			text := r.Content
			if r.Truncated {
				text += fmt.Sprintf("\n--- this is a part of %d bytes; read on with offset", r.Size)
			}
			return said(text), nil, nil
		})
	mcp.AddTool(m, &mcp.Tool{Name: "write", Description: "Write a whole file. It can be undone. A person may be asked " +
		"first.", Annotations: changes("Write a file")},
		func(ctx context.Context, _ *mcp.CallToolRequest, in writeInput) (*mcp.CallToolResult, *written, error) {
			return s.change(ctx, in.fileInput, ipc.FileRequest{Op: "write", Content: in.Content, IfHash: in.IfHash,
				Parents: true})
		})
	mcp.AddTool(m, &mcp.Tool{Name: "edit", Description: "Replace texts in a file. It can be undone. A person may be " +
		"asked first.", Annotations: changes("Edit a file")},
		func(ctx context.Context, _ *mcp.CallToolRequest, in editInput) (*mcp.CallToolResult, *written, error) {
			q := ipc.FileRequest{Op: "multi-edit"}
			for _, e := range in.Edits {
				q.Edits = append(q.Edits, ipc.Edit{Find: e.Find, Replace: e.Replace, Count: e.Count})
			}
			return s.change(ctx, in.fileInput, q)
		})
	mcp.AddTool(m, &mcp.Tool{Name: "list", Description: "List a directory.", Annotations: reads("List a directory")},
		func(ctx context.Context, _ *mcp.CallToolRequest, in listInput) (*mcp.CallToolResult, any, error) {
			r, refusal := s.file(ctx, in.fileInput, ipc.FileRequest{Op: "list", Glob: in.Glob, Recursive: in.Recursive})
			if refusal != nil {
				return nil, nil, refusal
			}
			var text strings.Builder
			for _, e := range r.Entries {
				fmt.Fprintf(&text, "%s\t%d\t%s\n", e.Type, e.Size, e.Path)
			}
			return said(orNothing(text.String(), r.Truncated)), nil, nil
		})
	mcp.AddTool(m, &mcp.Tool{Name: "grep", Description: "Find lines by a regular expression, in a file or a directory.",
		Annotations: reads("Search files")},
		func(ctx context.Context, _ *mcp.CallToolRequest, in grepInput) (*mcp.CallToolResult, any, error) {
			r, refusal := s.file(ctx, in.fileInput, ipc.FileRequest{Op: "grep", Pattern: in.Pattern, Glob: in.Glob,
				Limit: in.Limit, Recursive: true})
			if refusal != nil {
				return nil, nil, refusal
			}
			var text strings.Builder
			for _, h := range r.Matches {
				fmt.Fprintf(&text, "%s:%d:%s\n", h.Path, h.Line, h.Text)
			}
			return said(orNothing(text.String(), r.Truncated)), nil, nil
		})
	mcp.AddTool(m, &mcp.Tool{Name: "undo", Description: "Take a command or a change to a file back. A person may be " +
		"asked first.", Annotations: changes("Undo a change")},
		func(ctx context.Context, _ *mcp.CallToolRequest, in undoInput) (*mcp.CallToolResult, *written, error) {
			return s.change(ctx, fileInput{Root: in.Root}, ipc.FileRequest{Op: "undo", UndoID: in.UndoID})
		})
}

// file performs an operation; a result that is not nil is its refusal.
func (s *Server) file(ctx context.Context, in fileInput, q ipc.FileRequest) (ipc.FileResult, error) {
	n, err := s.in(ctx, in.Root)
	if err != nil {
		return ipc.FileResult{}, refused(err)
	}
	q.Session = n.id
	if q.Op != "undo" {
		if q.Path = n.place(in.Path); q.Path == "" {
			q.Path = n.root
		}
	}
	r, err := n.client.File(ctx, q)
	if err != nil {
		s.forget(n, err)
		return r, refused(err)
	}
	return r, nil
}

func (s *Server) change(ctx context.Context, in fileInput, q ipc.FileRequest) (*mcp.CallToolResult, *written, error) {
	r, refusal := s.file(ctx, in, q)
	if refusal != nil {
		return nil, nil, refusal
	}
	return nil, &written{Path: r.Path, Hash: r.Hash, UndoID: r.UndoID}, nil
}

func orNothing(text string, more bool) string {
	switch {
	case text == "":
		return "(nothing)"
	case more:
		return text + "(there is more)"
	}
	return text
}
