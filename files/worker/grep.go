package worker

import (
	"bufio"
	"errors"
	"io"
	"os"
	"path"
	"regexp"
	"strings"
	"time"

	"sandboxd/files"
	"sandboxd/files/edit"
	"sandboxd/files/tree"
	"sandboxd/pattern"
)

// Bounds of a search.
const (
	defaultMatches = 200
	maxMatches     = 5000
	maxContext     = 20
	maxSearched    = 64 << 20 // a larger file is skipped
	maxShown       = 500      // bytes of a line that are returned
	searchTime     = 10 * time.Second
)

// planGrep checks the pattern before anything is read.
func (s *server) planGrep(p *plan) error {
	if err := needAny(p.from); err != nil {
		return err
	}
	if _, err := globOf(p.req); err != nil {
		return err
	}
	if p.req.Pattern == "" {
		return &files.Conflict{Op: files.Grep, Path: p.req.Path, Reason: files.Invalid, Found: "an empty pattern"}
	}
	if _, err := regexp.Compile(p.req.Pattern); err != nil {
		return &files.Conflict{Op: files.Grep, Path: p.req.Path, Reason: files.Invalid, Found: err.Error(),
			Hint: "the syntax is RE2"}
	}
	if p.req.Context < 0 || p.req.Context > maxContext {
		return &files.Conflict{Op: files.Grep, Path: p.req.Path, Reason: files.Invalid,
			Found: "a context of more than 20 lines"}
	}
	return nil
}

// search is one grep under way.
type search struct {
	server  *server
	req     files.Request
	re      *regexp.Regexp
	glob    pattern.Element
	result  *files.Result
	limit   int
	found   int // matches, without the lines beside them
	expires time.Time
}

func (s *server) grep(p *plan, r *files.Result) error {
	glob, err := globOf(p.req)
	if err != nil {
		return err
	}
	r.Skipped = map[string]int{}
	g := search{
		server: s, req: p.req, re: regexp.MustCompile(p.req.Pattern), glob: glob, result: r,
		limit: bound(p.req.Limit, defaultMatches, maxMatches), expires: time.Now().Add(searchTime),
	}
	if p.from.stat.Kind != files.Dir {
		dir, err := p.from.parent()
		if err != nil {
			return err
		}
		defer dir.Close()
		info, err := entry(dir, p.from.name(), p.from.fact.Real)
		if err == nil {
			g.file(dir, p.from.name(), info)
		}
		return err
	}
	w := walker{server: s, skipped: r.Skipped, visit: g.visit}
	goOn, err := w.walk(p.from, 0)
	r.Truncated = r.Truncated || !goOn
	return err
}

func (g *search) visit(dir *tree.Dir, name string, info files.Info) (down, goOn bool) {
	if time.Now().After(g.expires) {
		return false, false
	}
	if info.Kind == files.Dir {
		return g.req.Recursive && name != ".git", true
	}
	if !g.glob.Match(name) || info.Kind == files.Symlink || strings.HasPrefix(name, files.TempPrefix) {
		return false, true
	}
	return false, g.file(dir, name, info)
}

// file searches one file; false means that there are matches enough.
func (g *search) file(dir *tree.Dir, name string, info files.Info) bool {
	switch {
	case info.Kind == files.Other:
		g.result.Skipped["special"]++
		return true
	case info.Size > maxSearched:
		g.result.Skipped["too large"]++
		return true
	case !g.server.rules.Suffix(info.Path):
		g.result.Skipped["suffix"]++
		return true
	}
	f, _, err := dir.Open(name)
	if err != nil {
		reason := "unreadable"
		if errors.Is(err, &files.Conflict{Reason: files.ManyNames}) {
			reason = "hard link"
		}
		g.result.Skipped[reason]++
		return true
	}
	defer f.Close()
	if looksBinary(f) {
		g.result.Skipped["binary"]++
		return true
	}
	return g.lines(path.Clean(info.Path), io.LimitReader(f, maxSearched)) // it may grow meanwhile
}

// looksBinary looks at the first part, and goes back.
func looksBinary(f *os.File) bool {
	head := make([]byte, 8000)
	n, _ := f.ReadAt(head, 0)
	form := edit.FormOf(wholeRunes(head[:n]))
	return form == edit.Binary || form == edit.Wide
}

// lines searches line by line, keeping those before a match for its context.
func (g *search) lines(p string, r io.Reader) bool {
	in := bufio.NewReaderSize(r, 64<<10)
	var before []files.Match
	after, last := 0, 0
	for n := 1; ; n++ {
		line, clipped, err := readLine(in)
		if err != nil {
			return true
		}
		m := files.Match{Path: p, Line: n, Text: line, Clipped: clipped}
		switch {
		case g.re.MatchString(line):
			if g.found == g.limit {
				g.result.Truncated = true
				return false
			}
			for _, b := range before {
				if b.Line > last {
					g.result.Matches = append(g.result.Matches, b)
				}
			}
			g.found++
			g.add(m)
			before, after, last = before[:0], g.req.Context, n
		case after > 0:
			after--
			m.Context, last = true, n
			g.add(m)
		case g.req.Context > 0:
			m.Context = true
			if before = append(before, shown(m)); len(before) > g.req.Context {
				before = before[1:]
			}
		}
	}
}

func (g *search) add(m files.Match) { g.result.Matches = append(g.result.Matches, shown(m)) }

// shown cuts a long line, around nothing in particular.
func shown(m files.Match) files.Match {
	m.Text = strings.ToValidUTF8(m.Text, "\ufffd")
	if len(m.Text) > maxShown {
		m.Text, m.Clipped = strings.ToValidUTF8(m.Text[:maxShown], ""), true
	}
	return m
}

// readLine reads a line without its end; of an endless one only the first 64 KiB.
func readLine(in *bufio.Reader) (line string, clipped bool, err error) {
	data, err := in.ReadSlice('\n')
	line = string(data)
	for err == bufio.ErrBufferFull {
		clipped = true
		_, err = in.ReadSlice('\n')
	}
	if err == io.EOF && line != "" {
		err = nil
	}
	return strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r"), clipped, err
}
