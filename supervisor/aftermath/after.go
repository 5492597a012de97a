package aftermath

import (
	"maps"
	"path"
	"slices"
	"sync"
	"time"

	"sandboxd/profile"
	"sandboxd/profile/abspath"
)

// Snapshot holds the entries under protected names before a run.
type Snapshot struct {
	profile profile.Profile
	cache   *Cache
	except  string      // not looked through; see Before
	others  []*Snapshot // see Cache.begin

	mu        sync.Mutex
	seen      found    // its maps are replaced, never changed
	meanwhile []func() // corrections that came before seen
}

// Before records the entries under protected names in the writable trees of p,
// which is the profile without the grants for this run alone. The run does not reach the
// tree except; "": it reaches all. [Snapshot.Done] must be called.
func Before(p profile.Profile, c *Cache, except string) *Snapshot {
	s := &Snapshot{profile: p, cache: c, except: except}
	c.begin(s)
	f := walk(p, c, except, nil)
	for _, other := range c.looked(s) {
		f.doubt(other.found())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = f
	for _, correct := range s.meanwhile {
		correct()
	}
	s.meanwhile = nil
	return s
}

// Done ends the snapshot: the run was checked, or did not begin. Later findings of other
// runs are not attributed to it. Done may be called more than once.
func (s *Snapshot) Done() { s.cache.done(s) }

func (s *Snapshot) found() found {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen
}

// correct replaces the recorded entry at a path by the one that the check after
// another run left; nil: none. Any later change there is attributed to this run.
func (s *Snapshot) correct(by *Snapshot, at string, left *entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	apply := func() {
		entries := maps.Clone(s.seen.entries)
		_, had := entries[at]
		maps.DeleteFunc(entries, func(name string, _ entry) bool { return abspath.Contains(at, name) })
		if left != nil && (had || s.profile.Digest() == by.profile.Digest()) { // else it may be no name of ours
			entries[at] = *left
		}
		s.seen.entries = entries
	}
	if s.seen.entries == nil {
		s.meanwhile = append(s.meanwhile, apply)
		return
	}
	apply()
}

// doubt marks the entries that differ from those before another run that could write
// there: that run may have made them.
func (f found) doubt(other found) {
	for at, e := range f.entries {
		was, had := other.entries[at]
		as := had && !was.doubtful && (was.same(e) || was.stamp == e.stamp && (was.content == nil || e.content == nil))
		if !as && slices.ContainsFunc(other.roots, func(root string) bool { return abspath.Contains(root, at) }) {
			e.doubtful = true
			f.entries[at] = e
		}
	}
	maps.DeleteFunc(f.repos, func(dir string, _ bool) bool {
		return !other.repos[dir] &&
			slices.ContainsFunc(other.roots, func(root string) bool { return abspath.Contains(root, dir) })
	})
}

// Run describes the run to a check.
type Run struct {
	ID         string
	Project    string // that it worked in; empty: none
	Start, End time.Time
	// Held are the paths of the run's mounts: whether each kept the run from changing
	// the entry there and the entries below it, down to the next mount.
	Held map[string]bool
	// Granted are paths that the run was allowed to change, with all below them.
	// Configurations of git are checked nevertheless.
	Granted []string
	// Asked: a person permitted the run by its words, with what is Granted: a granted configuration may lead git to
	// other addresses.
	Asked bool
	// Trash is a directory of the daemon's own; a folder in it is made when
	// something is moved there.
	Trash string
	// Late: the check runs some time after End, and others may have changed the
	// entries since. Entries that could be theirs are kept.
	Late bool
	// Dealt are paths that the check of another run dealt with, which are left
	// alone. nil: none.
	Dealt map[string]bool
}

// holds reports whether a mount kept the run from changing a path.
func (r *Run) holds(at string) bool {
	for {
		if held, ok := r.Held[at]; ok {
			return held
		}
		if at == "/" || at == "." {
			return false
		}
		at = path.Dir(at)
	}
}

// Item is one thing that was found.
type Item struct {
	Path string `json:"path"`
	Why  string `json:"why"`
	// Trash is where it is now; empty if Kept.
	Trash string `json:"trash,omitempty"`
	// Sum is the [Item.Hash]; "": unknown.
	Sum string `json:"sum,omitempty"`
	// Kept: it was left where it is, because it can't be the run's, or because
	// it could not be moved.
	Kept bool   `json:"kept,omitempty"`
	Mode uint32 `json:"mode,omitempty"`
	Exec string `json:"exec"`
	// Project is the run's, and not necessarily above Path.
	Project string    `json:"project,omitempty"`
	Time    time.Time `json:"time"`
}

// Found is the outcome of a check.
type Found struct {
	Items []Item
	// Partly: the trees could not be looked at in full.
	Partly bool
	// Missing are trees that were there before and are not now, or are others.
	Missing []string
}

// clock is how far a file system's clock may lag behind ours.
const clock = 15 * time.Millisecond

// After scans again, and removes the entries that the run made or changed. The run has
// ended: none of its processes is left.
func (s *Snapshot) After(r Run) Found {
	now := walk(s.profile, s.cache, s.except, s.found().named)
	if c := s.check(now, r); !r.Late && c.quiet() {
		return Found{Missing: c.missing()}
	}
	// Checks are serial: an entry that one removes or restores must not count as
	// another run's change.
	s.cache.checks.Lock()
	defer s.cache.checks.Unlock()
	c := s.check(walk(s.profile, s.cache, s.except, s.found().named), r)
	if r.Late {
		c.items = c.trash.resume()
	}
	c.all()
	c.trash.close(c.items)
	return Found{Items: c.items, Partly: c.was.partly || c.now.partly, Missing: c.missing()}
}

// all judges each path.
func (c *check) all() {
	for _, at := range slices.Sorted(maps.Keys(c.now.entries)) {
		if !c.done(at) && !c.settledByOther(at) {
			c.look(at, c.now.entries[at])
		}
	}
	for _, at := range slices.Sorted(maps.Keys(c.was.entries)) {
		if _, there := c.now.entries[at]; !there && !c.settledByOther(at) {
			c.removed(at, c.was.entries[at])
		}
	}
	c.redirected()
}

func (s *Snapshot) check(now found, r Run) *check {
	return &check{before: s, was: s.found(), now: now, run: r, trash: &trash{dir: path.Join(r.Trash, r.ID)}}
}

type check struct {
	before *Snapshot
	was    found // before
	now    found
	run    Run
	trash  *trash
	items  []Item
	dealt  []string            // with everything below
	copies map[string][]string // nil until it is asked for; see copied
	// ahead: now has not come to be. Every difference is that of one change set, and nothing is moved.
	ahead bool
}

// quiet reports whether nothing changed.
func (c *check) quiet() bool {
	if c.was.partly || c.now.partly || len(c.was.entries) != len(c.now.entries) ||
		!maps.Equal(c.was.repos, c.now.repos) || !maps.Equal(c.was.uses, c.now.uses) {
		return false
	}
	for at, e := range c.now.entries {
		was, had := c.was.entries[at]
		if had && e.directory() && !e.deep && was.same(e) {
			continue // what is below it is compared itself
		}
		if !had || was.stamp != e.stamp || c.young(e) {
			return false
		}
	}
	return true
}

// missing returns the trees that no longer exist or were replaced by others.
func (c *check) missing() []string {
	return slices.DeleteFunc(slices.Clone(c.was.roots), c.sameRoot)
}

func (c *check) done(at string) bool {
	return slices.ContainsFunc(c.dealt, func(dir string) bool { return abspath.Contains(dir, at) })
}
