package aftermath

import (
	"sync"
	"time"
)

// Cache remembers the content of protected files between runs, so that a run in
// a tree where nothing changed reads none of them. The zero value is empty and
// ready.
type Cache struct {
	mu   sync.Mutex
	file map[string]cached
	size int64
}

type cached struct {
	stamp
	content []byte
}

// settled is how old a change must be before an equal stamp means equal content:
// a file system's clock ticks every few milliseconds.
const settled = 50 * time.Millisecond

func (c *Cache) get(at string, s stamp) ([]byte, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, ok := c.file[at]
	return known.content, ok && known.stamp == s
}

func (c *Cache) put(at string, s stamp, content []byte) {
	if time.Since(time.Unix(0, s.ctime)) < settled {
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
