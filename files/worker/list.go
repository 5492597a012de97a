package worker

import (
	"path"
	"slices"

	"sandboxd/files"
	"sandboxd/files/tree"
)

// Bounds of a listing.
const (
	defaultEntries = 1000
	maxEntries     = 20_000
)

func sortNames(names []string) { slices.Sort(names) }

// bound is a request's limit, or the built-in ones.
func bound(limit, ordinary, most int64) int {
	if limit <= 0 {
		return int(ordinary)
	}
	return int(min(limit, most))
}

// list returns the entries of a folder, with Recursive also those of its folders.
func (s *server) list(p *plan, r *files.Result) error {
	if err := checkGlob(p); err != nil {
		return err
	}
	limit := bound(p.req.Limit, defaultEntries, maxEntries)
	r.Skipped = map[string]int{}
	w := walker{server: s, skipped: r.Skipped, visit: func(dir *tree.Dir, name string, info files.Info) (bool, bool) {
		if !globMatches(p.req.Glob, name) {
			return p.req.Recursive, true
		}
		if len(r.Entries) == limit {
			r.Truncated = true
			return false, false
		}
		r.Entries = append(r.Entries, info)
		return p.req.Recursive, true
	}}
	goOn, err := w.walk(p.from, 0)
	r.Truncated = r.Truncated || !goOn
	return err
}

func globMatches(glob, name string) bool {
	if glob == "" {
		return true
	}
	ok, err := path.Match(glob, name)
	return ok && err == nil
}

func checkGlob(p *plan) error {
	if _, err := path.Match(p.req.Glob, ""); err != nil {
		return &files.Conflict{Op: p.req.Op, Path: p.req.Path, Reason: files.Invalid, Found: "a glob that is none: " + p.req.Glob}
	}
	return nil
}
