package supervisor

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"sandboxd/internal/modes"
	"sandboxd/profile"
	"sandboxd/profile/document"
	"sandboxd/sandbox"
)

// Bounds of the caches of presets' tools.
const (
	// lendEvery is the time after which the person's caches are read again.
	lendEvery = time.Minute
	// measureEvery is the time after which a project's cache is measured again.
	measureEvery = 10 * time.Minute
	// maxLent bounds the entries of a person's cache that are read.
	maxLent = 1 << 20
)

// toolCache is the state of one project's cache.
type toolCache struct {
	mu       sync.Mutex // held while it is filled or emptied
	lent     time.Time
	measured time.Time
	over     bool // it had more than sandbox.cache when it was measured
}

// prepareCache readies the project's cache before a run: it is emptied where it was too large, and has links to the
// files of the person's own caches. The links are entries like others to the command, and what they lead to
// is read-only by the profile. The result says where it was emptied, and the function that is returned measures the
// cache after the run.
func (s *Supervisor) prepareCache(e *Exec, j *judgement, r *Result) (measure func()) {
	compiled, err := s.compile(e.Session)
	if err != nil {
		return func() {}
	}
	dir := s.cacheOf(compiled.cfg, e.Session, s.trusted(e.Session, compiled.cfg), j.agentPreset)
	if dir == "" {
		return func() {}
	}
	most := compiled.cfg.Sandbox.Cache
	c := s.toolCache(dir)
	measure = func() { c.measure(dir, int64(most)) }
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over && !s.usesCache(e) {
		c.over, c.lent = false, time.Time{}
		if err := emptyCache(dir); err == nil {
			r.Warnings = append(r.Warnings,
				fmt.Sprintf("the caches of this project's tools had more than %s (sandbox.cache) and were emptied", most))
		}
	}
	if time.Since(c.lent) < lendEvery {
		return measure
	}
	for _, p := range compiled.cfg.ProfilePresets() {
		lendAll(dir, e.Session.Home, p, j.names)
	}
	c.lent = time.Now()
	return measure
}

// measure compares the size of a cache with the most it may have, 0: no limit, at most every ten minutes.
func (c *toolCache) measure(dir string, most int64) {
	c.mu.Lock()
	due := most > 0 && time.Since(c.measured) >= measureEvery
	if due {
		c.measured = time.Now()
	}
	c.mu.Unlock()
	if !due {
		return
	}
	over := sandbox.Use(dir) > most
	c.mu.Lock()
	c.over = over
	c.mu.Unlock()
}

func (s *Supervisor) toolCache(dir string) *toolCache {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.caches[dir]
	if c == nil {
		c = &toolCache{}
		s.caches[dir] = c
	}
	return c
}

// usesCache reports whether another run or a job of the project may use its cache.
func (s *Supervisor) usesCache(e *Exec) bool {
	s.mu.Lock()
	for _, other := range s.live {
		if other != e && other.Session.Root == e.Session.Root {
			s.mu.Unlock()
			return true
		}
	}
	s.mu.Unlock()
	for _, sess := range s.Sessions(e.Session.Peer.UID) {
		if sess.Root == e.Session.Root && sess.anyJob() {
			return true
		}
	}
	return false
}

// dropCache empties the cache of a project's tools, where there is one.
func (s *Supervisor) dropCache(home, root string) {
	dir := cacheDir(home, root, "")
	if !ownDir(dir) {
		return
	}
	c := s.toolCache(dir)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lent, c.over = time.Time{}, false
	_ = emptyCache(dir)
}

// emptyCache moves the entries of a cache aside at once, and deletes them meanwhile. The directory itself stays, as
// sandboxes that wait have it mounted. What the death of a daemon leaves aside goes with the next emptying.
func emptyCache(dir string) error {
	emptied := dir + ".emptied"
	err := os.MkdirAll(emptied, 0o700)
	if err != nil {
		return fmt.Errorf("empty %q: %w", dir, err)
	}
	defer func() { go modes.RemoveAll(emptied) }()
	aside, err := os.MkdirTemp(emptied, "")
	if err != nil {
		return fmt.Errorf("empty %q: %w", dir, err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("empty %q: %w", dir, err)
	}
	for _, entry := range entries {
		if err := os.Rename(filepath.Join(dir, entry.Name()), filepath.Join(aside, entry.Name())); err != nil {
			return fmt.Errorf("empty %q: %w", dir, err)
		}
	}
	return nil
}

// lendAll makes the links of a preset in a cache, to what commands may read. Commands write to the cache meanwhile:
// nothing is opened or followed that leads out of it ([os.Root]), and entries that exist stay as they are.
func lendAll(dir, home string, p document.Preset, shown profile.Profile) {
	cache, err := os.OpenRoot(dir)
	if err != nil {
		return
	}
	defer cache.Close()
	left := maxLent
	for at, from := range p.Lend {
		from = RealPath(filepath.Join(home, strings.TrimPrefix(from, "~/")))
		info, err := os.Lstat(from)
		if err != nil || !shown.Allows(profile.OpRead, from).Allowed || cache.MkdirAll(filepath.Dir(at), 0o755) != nil {
			continue
		}
		if !info.IsDir() {
			_ = cache.Symlink(from, at)
		} else if into, err := makeRoot(cache, at); err == nil {
			lend(from, into, &left)
		}
	}
}

// makeRoot opens a directory below a root, made where it is missing.
func makeRoot(root *os.Root, name string) (*os.Root, error) {
	_ = root.Mkdir(name, 0o755)
	return root.OpenRoot(name)
}

// lend makes a link in into for each file in from, directory by directory, and closes into. Empty files are locks,
// and those of a git repository's last fetch are written in place: the tools make their own.
func lend(from string, into *os.Root, left *int) {
	defer into.Close()
	entries, err := os.ReadDir(from)
	if err != nil {
		return
	}
	for _, entry := range entries {
		if *left--; *left < 0 {
			return
		}
		name, full := entry.Name(), filepath.Join(from, entry.Name())
		switch {
		case entry.IsDir():
			if below, err := makeRoot(into, name); err == nil {
				lend(full, below, left)
			}
		case entry.Type().IsRegular() && lendable(entry):
			_ = into.Symlink(full, name)
		}
	}
}

func lendable(entry fs.DirEntry) bool {
	switch name := entry.Name(); {
	case strings.HasSuffix(name, ".lock"), strings.HasSuffix(name, ".lastUpdated"), name == "list", name == "FETCH_HEAD":
		return false
	}
	info, err := entry.Info()
	return err == nil && info.Size() > 0
}
