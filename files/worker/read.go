package worker

import (
	"io"
	"path"
	"strings"
	"unicode/utf8"

	"sandboxd/files"
	"sandboxd/files/edit"
	"sandboxd/files/tree"
)

// Bounds of the result of one read.
const (
	defaultRead = 1 << 20
	maxRead     = 8 << 20
)

// read performs operations that change nothing.
func (s *server) read(p *plan, r *files.Result) error {
	switch p.req.Op {
	case files.Read:
		return s.readFile(p, r)
	case files.Stat:
		info, err := s.info(p.from)
		r.Info = &info
		return err
	case files.List:
		return s.list(p, r)
	}
	return s.grep(p, r)
}

// readFile returns a piece of a file of any size. The hash is that of the whole, where the tool
// could change a file of this size.
func (s *server) readFile(p *plan, r *files.Result) error {
	dir, err := p.from.parent()
	if err != nil {
		return err
	}
	defer dir.Close()
	f, st, err := dir.Open(p.from.name())
	if err != nil {
		return err
	}
	defer f.Close()
	if p.req.Offset < 0 || p.req.Limit < 0 {
		return &files.Conflict{Op: files.Read, Path: p.req.Path, Reason: files.Invalid, Found: "a negative offset or limit"}
	}
	limit := p.req.Limit
	if limit == 0 {
		limit = defaultRead
	}
	limit = min(limit, maxRead)
	var content []byte
	if st.Size <= s.rules.MaxFile() {
		whole, err := io.ReadAll(io.LimitReader(f, s.rules.MaxFile()+1))
		if err != nil {
			return err
		}
		r.Hash, r.Size = files.Sum(whole), int64(len(whole))
		r.Binary = edit.FormOf(whole) != edit.Text
		from := min(p.req.Offset, r.Size)
		content = whole[from:min(from+limit, r.Size)]
	} else {
		content = make([]byte, limit)
		n, err := f.ReadAt(content, p.req.Offset)
		if err != nil && err != io.EOF {
			return err
		}
		content, r.Size = content[:n], st.Size
		r.Binary = edit.FormOf(wholeRunes(content)) != edit.Text
	}
	r.Truncated = p.req.Offset+int64(len(content)) < r.Size
	if r.Truncated && !r.Binary {
		content = wholeRunes(content)
	}
	r.Content = content
	return nil
}

// wholeRunes takes a character off the end that was cut in the middle.
func wholeRunes(b []byte) []byte {
	for n := 1; n < utf8.UTFMax && n < len(b); n++ {
		if tail := b[len(b)-n:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				return b[:len(b)-n]
			}
			break
		}
	}
	return b
}

// info returns the result of stat for a path.
func (s *server) info(at spot) (files.Info, error) {
	if at.rel == "." {
		return infoOf(at.fact.Real, at.stat), nil
	}
	dir, err := at.parent()
	if err != nil {
		return files.Info{}, err
	}
	defer dir.Close()
	return entry(dir, at.name(), at.fact.Real)
}

func infoOf(p string, st tree.Stat) files.Info {
	return files.Info{Path: strings.ToValidUTF8(p, "\ufffd"), Kind: st.Kind, Size: st.Size, Mode: st.Mode,
		ModTime: st.ModTime, Links: st.Links}
}

// entry looks at one name of a folder.
func entry(dir *tree.Dir, name, p string) (files.Info, error) {
	st, err := dir.Stat(name)
	if err != nil {
		return files.Info{}, err
	}
	i := infoOf(p, st)
	if st.Kind == files.Symlink {
		i.Target, err = dir.Target(name)
	}
	return i, err
}

// walker walks a folder in the order of names, without hidden entries and those on other mounts.
type walker struct {
	server *server
	// visit is called for every name; goOn false ends the walk. For a folder, down is whether to
	// enter it.
	visit func(dir *tree.Dir, name string, info files.Info) (down, goOn bool)
	seen  int
	// skipped counts the folders that were not gone into, by reason.
	skipped map[string]int
}

// maxSeen bounds how many names one walk looks at.
const maxSeen = 200_000

// walk returns false when it was ended.
func (w *walker) walk(at spot, level int) (bool, error) {
	dir, err := at.tree.Dir(at.rel)
	if err != nil {
		return true, err
	}
	defer dir.Close()
	names, more, err := dir.Names(maxSeen - w.seen)
	if err != nil {
		return true, err
	}
	w.seen += len(names)
	sortNames(names)
	for _, name := range names {
		real := path.Join(at.fact.Real, name)
		if w.server.rules.Hidden(real) {
			continue
		}
		info, err := entry(dir, name, real)
		if err != nil || info.Kind == files.Absent {
			continue // gone meanwhile
		}
		down, goOn := w.visit(dir, name, info)
		if !goOn {
			return false, nil
		}
		if w.server.rules.IsRoot(real) {
			continue // another sandbox, with rules of its own
		}
		if !down || info.Kind != files.Dir {
			continue
		}
		if level >= maxLevels {
			w.skipped["deep folder"]++
			continue
		}
		inner := spot{tree: at.tree, rel: path.Join(at.rel, name), fact: files.Fact{Real: real}}
		goOn, err = w.walk(inner, level+1)
		if !goOn || w.seen >= maxSeen {
			return false, err
		}
		if err != nil {
			w.skipped["unreadable folder"]++
		}
	}
	return !more, nil
}
