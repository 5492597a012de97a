package audit

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"time"
)

// Filter selects records. A zero field does not narrow.
type Filter struct {
	Session  string
	Agent    string
	Tool     string
	Category string
	Decision string
	ExecID   string
	// Grep matches the lines of Record.text: compile it with the flag (?m).
	Grep     *regexp.Regexp
	Since    time.Time // at or after
	Until    time.Time // before
	AfterSeq uint64
	Limit    int  // 0: 1000
	Last     bool // the newest Limit instead of the oldest; the order is oldest first in both cases
}

// match reports whether e is wanted.
func (f Filter) match(e *Entry) bool {
	eq := func(want, have string) bool { return want == "" || want == have }
	return e.Seq > f.AfterSeq &&
		eq(f.Session, e.Session) && eq(f.Agent, e.Agent) && eq(f.Tool, e.Tool) &&
		eq(f.Category, e.Category) && eq(f.Decision, e.Decision) && eq(f.ExecID, e.ExecID) &&
		(f.Grep == nil || f.Grep.MatchString(e.text())) &&
		(f.Since.IsZero() || !e.Time.Before(f.Since)) &&
		(f.Until.IsZero() || e.Time.Before(f.Until))
}

// Page is the result of a query.
type Page struct {
	Entries []Entry
	More    bool // there are more that match
	// Bad are lines that are not as they were written, and so are not among the
	// Entries. A query looks at each line by itself; [Verify] looks at the chain.
	Bad []BadRecord
}

// Query reads records. The log may be in use: an incomplete last line is not
// looked at.
func Query(dir string, f Filter) (Page, error) {
	if f.Limit <= 0 {
		f.Limit = 1000
	}
	numbers, err := segments(dir)
	if err != nil {
		return Page{}, fmt.Errorf("query %q: %w", dir, err)
	}
	var page Page
	if f.Last {
		slices.Reverse(numbers)
	}
	for _, n := range numbers {
		part, err := queryFile(dir, n, f)
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed because of its age, meanwhile
		}
		if err != nil {
			return Page{}, fmt.Errorf("query %q: %w", dir, err)
		}
		page.Bad = append(page.Bad, part.Bad...)
		if f.Last {
			page.Entries = append(part.Entries, page.Entries...)
		} else {
			page.Entries = append(page.Entries, part.Entries...)
		}
		if len(page.Entries) > f.Limit {
			break
		}
	}
	if page.More = len(page.Entries) > f.Limit; page.More {
		if f.Last {
			page.Entries = page.Entries[len(page.Entries)-f.Limit:]
		} else {
			page.Entries = page.Entries[:f.Limit]
		}
	}
	return page, nil
}

// queryFile looks through one file. It returns no more than Limit+1 entries.
func queryFile(dir string, n int, f Filter) (Page, error) {
	name := fileName(n)
	file, err := openToRead(filepath.Join(dir, name))
	if err != nil {
		return Page{}, err
	}
	defer file.Close()
	var page Page
	lines := newLineReader(file)
	for {
		line, ended, err := lines.next()
		if err == io.EOF || err == nil && !ended {
			page.Entries = newest(page.Entries, f.Limit+1)
			return page, nil
		}
		if err != nil {
			return page, err
		}
		e, err := unseal(line)
		if err == nil {
			err = e.open()
		}
		if err != nil {
			page.Bad = append(page.Bad, BadRecord{Dir: dir, File: name, Line: lines.line, Seq: e.Seq, Problem: err.Error()})
			continue
		}
		e.File, e.Line = name, lines.line
		if !f.match(&e) {
			continue
		}
		page.Entries = append(page.Entries, e)
		switch {
		case len(page.Entries) <= f.Limit:
		case !f.Last:
			return page, nil // a record beyond Limit: there are more
		case len(page.Entries) > 2*f.Limit+2:
			page.Entries = newest(page.Entries, f.Limit+1)
		}
	}
}

// newest copies the last n entries, so that the others' memory is free.
func newest(e []Entry, n int) []Entry {
	return slices.Clone(e[max(0, len(e)-n):])
}
