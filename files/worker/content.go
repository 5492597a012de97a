package worker

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"sandboxd/files"
	"sandboxd/files/edit"
)

// planContent plans an operation that gives a file new content.
func (s *server) planContent(p *plan) error {
	if err := s.contentTarget(p); err != nil {
		return err
	}
	if p.from.stat.Kind == files.File {
		if err := s.openOld(p, p.from); err != nil {
			return err
		}
		if err := replaceable(p.from); err != nil {
			return err
		}
		p.facts.Path.Hash = p.oldStat.Hash
	}
	if err := p.checkHash(); err != nil {
		return err
	}
	var err error
	if p.content, err = s.newContent(p); err != nil {
		return s.mismatch(p, err)
	}
	if size, bound := int64(len(p.content)), s.rules.MaxFile(); size > bound {
		return tooLarge(p.from.fact.Asked, size, bound, "files.max_file")
	}
	p.facts.NewHash = files.Sum(p.content)
	p.same = p.old != nil && p.facts.NewHash == p.oldStat.Hash
	return nil
}

// contentTarget wants a file, or for create and write a free name.
func (s *server) contentTarget(p *plan) error {
	free := p.from.stat.Kind == files.Absent
	switch p.req.Op {
	case files.Create:
		if !free {
			return &files.Conflict{Path: p.from.fact.Asked, Reason: files.Exists, Found: string(p.from.stat.Kind),
				Hint: "write overwrites, edit changes"}
		}
		return p.needParents(p.from)
	case files.Write:
		if free {
			return p.needParents(p.from)
		}
	}
	if err := needFile(p.from); err != nil {
		return err
	}
	if bound := s.rules.MaxFile(); p.req.Op != files.Write && p.from.stat.Size > bound {
		return tooLarge(p.from.fact.Asked, p.from.stat.Size, bound, "files.max_file")
	}
	return nil
}

// needParents: the folder must exist, or be asked for.
func (p *plan) needParents(at spot) error {
	if at.fact.Missing > 0 && !p.req.Parents {
		return &files.Conflict{Path: at.fact.Asked, Reason: files.NotThere, Found: "a folder on the way that does not exist",
			Hint: "make it first, or ask for parents"}
	}
	return nil
}

// replaceable refuses files whose replacement would be something else: those
// marked as read-only, and those that run with another's rights.
func replaceable(at spot) error {
	switch mode := at.stat.Mode; {
	case mode&0o6000 != 0:
		return &files.Conflict{Path: at.fact.Asked, Reason: files.Unkept,
			Found: fmt.Sprintf("mode %04o: it runs with its owner's rights, and new content must not", mode)}
	case mode&0o222 == 0:
		return &files.Conflict{Path: at.fact.Asked, Reason: files.Forbidden,
			Found: fmt.Sprintf("mode %04o: it is marked as read-only", mode)}
	}
	return nil
}

// newContent returns the file's content after the operation.
func (s *server) newContent(p *plan) ([]byte, error) {
	content := p.req.Content
	switch p.req.Op {
	case files.Create:
		return content, nil
	case files.Write:
		return s.overwriteContent(p)
	}
	old, err := io.ReadAll(io.LimitReader(p.old, p.oldStat.Size))
	if err != nil {
		return nil, err
	}
	p.oldText = old
	if p.req.Op != files.Append {
		if err := textOnly(p.from, old); err != nil {
			return nil, err
		}
	}
	switch p.req.Op {
	case files.Append:
		if p.req.Exact {
			return append(bytes.Clone(old), content...), nil
		}
		return edit.Append(old, content), nil
	case files.Insert:
		p.replaced = 1
		return edit.Insert(old, edit.Place{Anchor: p.req.Anchor, Line: p.req.Line, Before: p.req.Before}, content)
	}
	if len(p.req.Edits) == 0 || p.req.Op == files.Edit && len(p.req.Edits) != 1 {
		return nil, &files.Conflict{Path: p.from.fact.Asked, Reason: files.Invalid,
			Found: fmt.Sprintf("%d edits", len(p.req.Edits)), Hint: "edit takes one, multi-edit one or more"}
	}
	list := make([]edit.Replacement, len(p.req.Edits))
	for i, r := range p.req.Edits {
		list[i] = edit.Replacement{Find: r.Find, Replace: r.Replace, Count: r.Times()}
	}
	out, n, err := edit.Replace(old, list, s.rules.MaxFile())
	p.replaced = n
	return out, err
}

// overwriteContent adopts the line ends of the replaced content, if that is small enough to read.
func (s *server) overwriteContent(p *plan) ([]byte, error) {
	if p.old == nil || p.req.Exact || p.oldStat.Size > s.rules.MaxFile() {
		return p.req.Content, nil
	}
	old, err := io.ReadAll(io.LimitReader(p.old, p.oldStat.Size))
	if err != nil {
		return nil, err
	}
	p.oldText = old
	if edit.FormOf(old) != edit.Text || edit.FormOf(p.req.Content) != edit.Text {
		return p.req.Content, nil
	}
	return edit.Follow(old, p.req.Content), nil
}

// mismatch turns an edit's *edit.Mismatch into a conflict.
func (s *server) mismatch(p *plan, err error) error {
	c := &files.Conflict{Path: p.from.fact.Asked, Hash: p.oldStat.Hash}
	var m *edit.Mismatch
	var line *edit.LineError
	var large *edit.TooLargeError
	switch {
	case errors.As(err, &large):
		return tooLarge(p.from.fact.Asked, large.Size, s.rules.MaxFile(), "files.max_file")
	case errors.As(err, &line):
		c.Reason, c.Expected, c.Found = files.NoMatch, fmt.Sprintf("line %d", line.Line), fmt.Sprintf("%d lines", line.Lines)
		return c
	case !errors.As(err, &m):
		return err
	}
	if len(p.req.Edits) > 1 {
		c.Edit = m.Edit
	}
	switch {
	case m.Empty || m.Same:
		c.Reason, c.Found = files.Invalid, m.Error()
	case m.Found == 0:
		c.Reason, c.Expected = files.NoMatch, fmt.Sprintf("%q", clipText(m.Find))
		c.Line, c.Nearest, c.Hint = m.Near.Line, m.Near.Text, m.Near.Hint
	default:
		c.Reason = files.WrongCount
		c.Expected, c.Found = times(m.Want), fmt.Sprintf("%s (in lines %v)", times(m.Found), m.Lines)
	}
	return c
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

func clipText(s string) string {
	if len(s) <= 200 {
		return s
	}
	return s[:200] + "…"
}
