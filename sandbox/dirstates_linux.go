package sandbox

import (
	"path"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"sandboxd/watch"
)

const (
	// mostAround bounds the directories that are watched here; beyond, all are forgotten.
	mostAround = 512
	// againAround is after how long a directory that could not be watched is tried again.
	againAround = time.Minute
)

// dirStates reports whether a directory of the host may have changed, or its path may
// lead elsewhere, since its entries were last read. It watches the directory and all
// directories above it. The zero value is empty and ready.
type dirStates struct {
	mu    sync.Mutex
	group *watch.Group
	dirs  map[string]*surrounding
	count uint64 // of changes, of any of them
}

// DirStates answers for all that was complete when it was called: another number after each change in a directory
// of the host and of where its path leads, which no link is part of; 0 where that can't be known. Of no host it is nil.
func (h *Host) DirStates() func(dir string) uint64 {
	if h == nil || h.watch == nil {
		return nil
	}
	h.around.look(h.watch)
	return h.around.state
}

type surrounding struct {
	change   uint64     // the latest of it, or of where its path leads
	watched  *watch.Dir // nil: it is not
	tried    time.Time  // when it could not be
	dev, ino uint64
}

// look reads the kernel's events. Afterwards state accounts for every change that
// was complete when look was called.
func (s *dirStates) look(set *watch.Set) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.group == nil {
		s.group, s.dirs = set.Group(), map[string]*surrounding{}
	}
	news, lost := s.group.News()
	if lost {
		for _, d := range s.dirs {
			s.changed(d)
			d.watched = nil
		}
		return
	}
	for _, n := range news {
		dir := n.About.(string)
		d := s.dirs[dir]
		if d == nil {
			continue
		}
		s.changed(d)
		if n.Removed {
			d.watched = nil
		}
		if n.Directories {
			s.below(dir, func(at string, d *surrounding) {
				if !d.unchanged(at) {
					s.changed(d)
					d.watched.Drop()
					d.watched = nil
				}
			})
		}
	}
}

func (s *dirStates) changed(d *surrounding) {
	s.count++
	d.change = s.count
}

// below calls do for each known directory below dir.
func (s *dirStates) below(dir string, do func(string, *surrounding)) {
	prefix := strings.TrimSuffix(dir, "/") + "/"
	for at, d := range s.dirs {
		if at != dir && strings.HasPrefix(at, prefix) {
			do(at, d)
		}
	}
}

// unchanged reports whether a path leads to the same directory still.
func (d *surrounding) unchanged(at string) bool {
	fd, err := openNoLinks(at, unix.O_PATH)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	return unix.Fstat(fd, &st) == nil && uint64(st.Dev) == d.dev && st.Ino == d.ino
}

// state is another number after each change in a directory and of where its path
// leads; 0: the directory is not watched.
func (s *dirStates) state(dir string) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.watched(dir) {
		return 0
	}
	return s.dirs[dir].change
}

// watched watches a directory, once those above it are watched.
func (s *dirStates) watched(dir string) bool {
	d := s.dirs[dir]
	switch {
	case d != nil && d.watched != nil:
		return dir == "/" || s.watched(path.Dir(dir))
	case d != nil && time.Since(d.tried) < againAround:
		return false
	case dir != "/" && !s.watched(path.Dir(dir)):
		return false
	case d == nil:
		if len(s.dirs) >= mostAround {
			for _, d := range s.dirs {
				d.watched.Drop()
			}
			s.dirs = map[string]*surrounding{}
			return false
		}
		d = &surrounding{}
		s.dirs[dir] = d
	}
	s.changed(d) // nothing reported changes until now
	s.below(dir, func(_ string, d *surrounding) { s.changed(d) })
	fd, err := openNoLinks(dir, unix.O_RDONLY)
	if err != nil {
		d.tried = time.Now()
		return false
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if unix.Fstat(fd, &st) == nil {
		d.dev, d.ino = uint64(st.Dev), st.Ino
		d.watched = s.group.Add(fd, dir)
	}
	if d.watched == nil {
		d.tried = time.Now()
	}
	return d.watched != nil
}
