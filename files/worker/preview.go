package worker

import (
	"io"

	"sandboxd/files"
)

// maxPreview is how much of a content a person is shown, the pager included.
const maxPreview = 4 << 20

// preview returns the content before and after a change, for a person. It changes nothing.
func (s *server) preview(req files.Request) (files.Preview, error) {
	p, err := s.plan(req)
	defer p.close()
	out := files.Preview{OldSize: -1, NewSize: -1}
	if err != nil {
		return out, err
	}
	old, size := p.old, p.oldStat.Size
	if p.over != nil {
		old, size = p.over.old, p.over.oldStat.Size
	}
	if p.req.Op == files.Copy && p.over == nil {
		old = nil
	}
	if old != nil {
		out.OldSize = size
		if out.Old, err = io.ReadAll(io.NewSectionReader(old, 0, maxPreview)); err != nil {
			return out, err
		}
	}
	switch {
	case p.facts.NewHash != "" && p.req.Op != files.Copy:
		out.NewSize = int64(len(p.content))
		out.New = p.content[:min(len(p.content), maxPreview)]
	case p.req.Op == files.Copy, p.req.Op == files.Move && p.over != nil && p.old != nil:
		out.NewSize = p.oldStat.Size
		if out.New, err = io.ReadAll(io.NewSectionReader(p.old, 0, maxPreview)); err != nil {
			return out, err
		}
	}
	const few = 20
	for i, t := range p.takes {
		if i == few {
			out.More = true
			break
		}
		out.Entries = append(out.Entries, t.spot.fact.Real)
	}
	return out, nil
}
