package worker

import (
	"io"
	"os"
	"time"

	"sandboxd/files"
	"sandboxd/files/edit"
	"sandboxd/files/tree"
)

// plan is a request with all that is needed to carry it out, and nothing done
// yet. Close it.
type plan struct {
	req   files.Request
	facts files.Facts
	from  spot
	to    spot // of move and copy

	// old is the content that a change replaces or removes, opened; nil for none.
	old     *os.File
	oldStat tree.Stat // with the hash
	oldText []byte    // read, where the new content depends on it
	// content is that of a change.
	content  []byte
	replaced int
	same     bool // the change would leave everything as it is
	takes    []taken
	over     *plan // the displaced destination of a move or copy
}

func (p *plan) close() {
	if p.old != nil {
		p.old.Close()
	}
	if p.over != nil {
		p.over.close()
	}
}

// plan collects the facts of a request. An obstacle to performing it is an error; the plan's facts
// are good for judging even then.
func (s *server) plan(req files.Request) (*plan, error) {
	p := &plan{req: req}
	err := s.fill(p)
	if c := asConflict(err, req.Path); c != nil {
		out := *c
		out.Op = req.Op
		if req.Quiet {
			out.Nearest, out.Hint, out.Hash, out.Line = "", "", "", 0
		}
		p.facts.Conflict = &out
		return p, &out
	}
	return p, nil
}

func (s *server) fill(p *plan) error {
	last := tree.Follow
	switch p.req.Op {
	case files.Delete, files.Move, files.Stat, files.Rmdir:
		last = tree.Keep
	}
	var err error
	p.from, err = s.resolve(p.req.Path, last)
	p.facts.Path = p.from.fact
	if p.req.Op.Reads() {
		p.facts.Path.Size = 0 // a growing file is read anyway
	}
	if p.req.Op == files.Move || p.req.Op == files.Copy {
		last = tree.Follow
		if p.req.Op == files.Move {
			last = tree.Keep
		}
		var toErr error
		p.to, toErr = s.resolve(p.req.To, last)
		fact := p.to.fact
		p.facts.To = &fact
		if err == nil {
			err = toErr
		}
	}
	if err != nil {
		return err
	}
	if v := s.rules.Judge(p.req, p.facts); v.Decision == files.Block {
		return &files.Conflict{Path: p.req.Path, Reason: files.Forbidden, Found: v.Why}
	}
	return s.fillOp(p)
}

func (s *server) fillOp(p *plan) error {
	switch p.req.Op {
	case files.Read:
		return needFile(p.from)
	case files.List:
		return needDir(p.from)
	case files.Stat:
		return needAny(p.from)
	case files.Grep:
		return s.planGrep(p)
	case files.Create, files.Write, files.Edit, files.MultiEdit, files.Append, files.Insert:
		return s.planContent(p)
	case files.Delete:
		return s.planDelete(p)
	case files.Rmdir:
		return s.planRmdir(p)
	case files.Move:
		return s.planMove(p)
	case files.Copy:
		return s.planCopy(p)
	case files.Mkdir:
		return s.planMkdir(p)
	}
	return &files.Conflict{Path: p.req.Path, Reason: files.Invalid, Found: "an operation that there is not"}
}

func needAny(p spot) error {
	if p.stat.Kind == files.Absent {
		return p.missing()
	}
	return nil
}

func needFile(p spot) error {
	if err := needAny(p); err != nil {
		return err
	}
	switch p.stat.Kind {
	case files.Dir:
		return &files.Conflict{Path: p.fact.Asked, Reason: files.NotAFile}
	case files.Other:
		return &files.Conflict{Path: p.fact.Asked, Reason: files.Special}
	}
	return nil
}

func needDir(p spot) error {
	if err := needAny(p); err != nil {
		return err
	}
	if p.stat.Kind != files.Dir {
		return &files.Conflict{Path: p.fact.Asked, Reason: files.NotAFolder}
	}
	return nil
}

// openOld opens the content that a change would lose and takes its hash, for
// the record, the facts and the precondition.
func (s *server) openOld(p *plan, at spot) error {
	if s.beyondKeeping(at.stat.Size) {
		return tooLarge(at.fact.Asked, at.stat.Size, s.rules.KeepBytes(),
			"files.undo.keep_bytes; the undo store could not keep what it held")
	}
	dir, err := at.parent()
	if err != nil {
		return err
	}
	defer dir.Close()
	f, st, err := dir.Open(at.name())
	if err != nil {
		return err
	}
	p.old, p.oldStat = f, st
	if st.ID != at.stat.ID {
		return &files.Conflict{Path: at.fact.Asked, Reason: files.Changed, Found: "another file under the name"}
	}
	if st.Links > 1 && !s.run { // the tree may permit reading it, and nothing else
		return &files.Conflict{Path: at.fact.Asked, Reason: files.ManyNames}
	}
	if p.oldStat.Xattrs, err = tree.Xattrs(f); err != nil {
		return err
	}
	p.oldStat.Reads(time.Now())
	// A file with a writer may never end.
	if p.oldStat.Hash, p.oldStat.Size, err = tree.Hash(io.LimitReader(f, st.Size+1)); err != nil {
		return err
	}
	if p.oldStat.Size != st.Size {
		return &files.Conflict{Path: at.fact.Asked, Reason: files.Changed, Found: "a file that somebody is writing to"}
	}
	_, err = f.Seek(0, io.SeekStart)
	return err
}

// beyondKeeping reports whether the undo store could not keep that much.
func (s *server) beyondKeeping(size int64) bool {
	return s.rules.KeepBytes() > 0 && size > s.rules.KeepBytes()
}

func tooLarge(path string, size, bound int64, setting string) error {
	return &files.Conflict{
		Path: path, Reason: files.TooLarge,
		Found: files.SizeText(size), Expected: "at most " + files.SizeText(bound), Hint: "the bound is " + setting,
	}
}

// checkHash is the precondition of a request.
func (p *plan) checkHash() error {
	if p.req.IfHash == "" || p.req.IfHash == p.oldStat.Hash {
		return nil
	}
	found := p.oldStat.Hash
	if found == "" {
		found = "no file"
	}
	return &files.Conflict{
		Path: p.req.Path, Reason: files.Changed, Expected: p.req.IfHash, Found: found, Hash: p.oldStat.Hash,
		Hint: "somebody changed it since it was read; read it again",
	}
}

// textOnly refuses content that is not UTF-8 text.
func textOnly(at spot, content []byte) error {
	switch edit.FormOf(content) {
	case edit.Binary:
		return &files.Conflict{Path: at.fact.Asked, Reason: files.Binary, Found: files.SizeText(int64(len(content))),
			Hint: "write it as a whole, or use a command"}
	case edit.Wide:
		return &files.Conflict{Path: at.fact.Asked, Reason: files.Encoding, Found: "UTF-16, by its byte order mark",
			Hint: "convert it by a command first"}
	case edit.Legacy:
		return &files.Conflict{Path: at.fact.Asked, Reason: files.Encoding, Found: "bytes of some older encoding",
			Hint: "convert it by a command first"}
	}
	return nil
}

// facts returns the facts for judging a request.
func (s *server) facts(req files.Request) files.Facts {
	p, _ := s.plan(req) // a conflict is part of the facts
	defer p.close()
	return p.facts
}
