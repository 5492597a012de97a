package aftermath

import (
	"maps"
	"slices"
	"sync"
	"time"

	"sandboxd/profile"
	"sandboxd/profile/abspath"
	"sandboxd/watch"
)

// Cache keeps the contents of protected files and of the directories around them
// between runs, so that a run in an unchanged tree reads none of them. The
// zero value is empty and ready.
type Cache struct {
	// Watch reports the directories that changed; the others are not read. nil: all are.
	Watch *watch.Set

	mu    sync.Mutex
	file  map[string]cached
	size  int64
	views map[viewKey]*view
	runs  map[*Snapshot]bool // that are not done; true: the scan before the run has not ended

	// checks is held during a check after a run.
	checks sync.Mutex
}

// begin registers a run whose look before it begins.
func (c *Cache) begin(s *Snapshot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for other, looks := range c.runs {
		s.others = append(s.others, other)
		if looks {
			other.others = append(other.others, s)
		}
	}
	if c.runs == nil {
		c.runs = map[*Snapshot]bool{}
	}
	c.runs[s] = true
}

// looked ends that look, and returns the runs that were not done at some moment of it.
func (c *Cache) looked(s *Snapshot) []*Snapshot {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.runs[s] = false
	others := s.others
	s.others = nil
	return others
}

func (c *Cache) done(s *Snapshot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.runs, s)
}

// tell gives the other runs the entry that the check after one left at a path; nil: none.
func (c *Cache) tell(by *Snapshot, at string, left *entry) {
	c.mu.Lock()
	others := slices.Collect(maps.Keys(c.runs))
	c.mu.Unlock()
	for _, s := range others {
		if s != by {
			s.correct(by, at, left)
		}
	}
}

// othersWrite reports whether another active run can write at a path.
func (c *Cache) othersWrite(by *Snapshot, at string) bool {
	c.mu.Lock()
	others := slices.Collect(maps.Keys(c.runs))
	c.mu.Unlock()
	return slices.ContainsFunc(others, func(s *Snapshot) bool {
		return s != by && slices.ContainsFunc(s.found().roots, func(root string) bool { return abspath.Contains(root, at) })
	})
}

// Needed reports whether p lets anything be written in a tree in which it holds names. Else there is nothing to scan.
func Needed(p profile.Profile) bool { return len(writable(p)) > 0 }

// maxNodes bounds the directories that are remembered.
const maxNodes = 65536

// view returns the view of a tree. The least recently used views are dropped while
// all together have too many directories.
func (c *Cache) view(key viewKey) *view {
	c.mu.Lock()
	defer c.mu.Unlock()
	v := c.views[key]
	if v == nil {
		if c.views == nil {
			c.views = map[viewKey]*view{}
		}
		v = &view{group: c.Watch.Group(), age: 1, root: &node{}}
		c.views[key] = v
	}
	v.used = time.Now()
	for len(c.views) > 1 {
		all, oldest := int64(len(c.views)), key
		for k, o := range c.views {
			if all += o.nodes.Load(); o.used.Before(c.views[oldest].used) {
				oldest = k
			}
		}
		if all <= maxNodes || oldest == key {
			break
		}
		c.views[oldest].group.Close()
		delete(c.views, oldest)
	}
	return v
}

type cached struct {
	stamp
	content []byte
}

func (c *Cache) get(at string, s stamp) ([]byte, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, ok := c.file[at]
	return known.content, ok && known.stamp == s
}

func (c *Cache) put(at string, s stamp, content []byte) {
	if !watch.Settled(s.ctime, time.Now()) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.file == nil || c.size > 2*maxContents {
		c.file, c.size = map[string]cached{}, 0
	}
	c.size += int64(len(content)) - int64(len(c.file[at].content))
	c.file[at] = cached{s, content}
}
