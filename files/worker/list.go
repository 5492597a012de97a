package worker

import (
	"cmp"
	"slices"

	"sandboxd/files"
	"sandboxd/files/tree"
	"sandboxd/pattern"
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
	glob, err := globOf(p.req)
	if err != nil {
		return err
	}
	limit := bound(p.req.Limit, defaultEntries, maxEntries)
	r.Skipped = map[string]int{}
	w := walker{server: s, skipped: r.Skipped, visit: func(dir *tree.Dir, name string, info files.Info) (bool, bool) {
		if !glob.Match(name) {
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

// globOf returns the request's glob; an empty one matches every name.
func globOf(req files.Request) (pattern.Element, error) {
	glob, err := pattern.ParseElement(cmp.Or(req.Glob, "*"))
	if err != nil {
		return glob, &files.Conflict{Op: req.Op, Path: req.Path, Reason: files.Invalid, Found: "a glob that is none: " +
			req.Glob}
	}
	return glob, nil
}
