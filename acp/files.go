package acp

import (
	"context"
	"fmt"
	"strings"

	"sandboxd/ipc"
)

// readParams and the other types are those of the protocol's schema; sessionId is read before.
type readParams struct {
	Path  string  `json:"path"`
	Line  *uint32 `json:"line"`
	Limit *uint32 `json:"limit"`
}

type readResult struct {
	Content string `json:"content"`
}

// maxRead bounds the file of a read, in bytes: the file tool's own bound.
const maxRead = 8 << 20

// readFile reads a file by the file tool, from the disk.
func readFile(ctx context.Context, s *session, c *call, in readParams) (*readResult, error) {
	if err := absolute("path", in.Path); err != nil {
		return nil, err
	}
	client, id, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	r, err := client.File(ctx, ipc.FileRequest{Op: "read", Session: id, Path: in.Path, Limit: maxRead})
	switch {
	case err != nil:
		return nil, err
	case s.proxy.asksEditor():
		// Only the judged parameters are sent: the agent's own message might have more.
		return nil, s.proxy.ask(c, s, r.Path, in)
	case r.Truncated:
		return nil, &Error{internalError, fmt.Sprintf("%s has %d bytes: at most %d are read", in.Path, r.Size, maxRead), nil}
	case r.Encoding != "":
		return nil, &Error{Code: internalError, Message: in.Path + " is no text"}
	}
	return &readResult{lines(r.Content, in.Line, in.Limit)}, nil
}

// lines are a text's lines from the first on, which is counted from 1, and no more than limit.
func lines(text string, first, limit *uint32) string {
	from := 0
	if first != nil {
		for n := uint32(1); n < *first && from < len(text); n++ {
			end := strings.IndexByte(text[from:], '\n')
			if end < 0 {
				return ""
			}
			from += end + 1
		}
	}
	if limit == nil {
		return text[from:]
	}
	to := from
	for n := uint32(0); n < *limit && to < len(text); n++ {
		end := strings.IndexByte(text[to:], '\n')
		if end < 0 {
			return text[from:]
		}
		to += end + 1
	}
	return text[from:to]
}

// asksEditor reports whether the editor reads files that may be read.
func (p *Proxy) asksEditor() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.Unsaved && p.reads
}

// ask sends a read to the editor, which answers the agent.
func (p *Proxy) ask(c *call, s *session, path string, in readParams) error {
	type params struct {
		Session string  `json:"sessionId"`
		Path    string  `json:"path"`
		Line    *uint32 `json:"line,omitempty"`
		Limit   *uint32 `json:"limit,omitempty"`
	}
	return p.editor(encoded(request[params]{"2.0", c.id, c.method, params{s.id, path, in.Line, in.Limit}}))
}

type writeParams struct {
	Path    string  `json:"path"`
	Content *string `json:"content"`
}

// nothing is a result without a value.
type nothing struct{}

// writeFile writes a file by the file tool, so that it can be undone.
func writeFile(ctx context.Context, s *session, _ *call, in writeParams) (*nothing, error) {
	if err := absolute("path", in.Path); err != nil {
		return nil, err
	}
	if in.Content == nil {
		return nil, &Error{Code: invalidParams, Message: "fs/write_text_file: content is missing"}
	}
	client, id, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	q := ipc.FileRequest{Op: "write", Session: id, Path: in.Path, Content: *in.Content, Parents: true}
	if _, err := client.File(ctx, q); err != nil {
		return nil, err
	}
	return &nothing{}, nil
}
