package watch

import (
	"encoding/binary"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// mostDirs bounds the directories that a Set watches.
	mostDirs = 16384
	// idle is after how long without a question a group is let go.
	idle = 10 * time.Minute
	// maxReads bounds how often the queue is read for one answer: a program may fill
	// it as fast as it is emptied. It holds 16,384 events by default, of some 300 a read.
	maxReads = 256

	mask = unix.IN_CREATE | unix.IN_DELETE | unix.IN_MOVED_FROM | unix.IN_MOVED_TO | unix.IN_ATTRIB |
		unix.IN_DELETE_SELF | unix.IN_MOVE_SELF | unix.IN_ONLYDIR
)

// Set is one instance of inotify(7) for all groups of a process. Its methods may be
// called concurrently. A nil Set watches nothing.
type Set struct {
	mu     sync.Mutex
	fd     int // 0: none; not an os.File, whose poller nobody needs
	most   int
	dirs   map[int32][]*Dir // by watch descriptor
	groups map[*Group]bool  // that watch something
	mounts Mounts
	seen   uint64 // generation of the mounts
	timer  *time.Timer
	buffer []byte
}

// New returns a Set that watches nothing yet.
func New() *Set { return &Set{} }

// Group is the directories that one looker watches. A nil Group watches nothing.
type Group struct {
	set     *Set
	dirs    map[*Dir]bool
	news    []*Dir
	lost    bool      // all of it
	refused time.Time // when there was no room; zero: there was
	closed  bool
	used    time.Time
}

// Dir is a directory that is watched.
type Dir struct {
	group   *Group
	wd      int32
	about   any
	queued  bool // it is among the group's news
	kinds   bool
	removed bool
}

// News reports a changed directory.
type News struct {
	About any
	// Directories: directories may have been added, removed or changed there. Else the names of
	// directories in it are unchanged.
	Directories bool
	// Gone: the directory is not watched from now on.
	Removed bool
}

// Group returns a new group.
func (s *Set) Group() *Group {
	if s == nil {
		return nil
	}
	return &Group{set: s, dirs: map[*Dir]bool{}}
}

// Add watches the open directory fd, of which News will say about. nil: it can't be
// watched, so it must be asked every time.
func (g *Group) Add(fd int, about any) *Dir {
	if g == nil || !local(fd) {
		return nil
	}
	s := g.set
	s.mu.Lock()
	defer s.mu.Unlock()
	if g.lost || g.closed || !s.open() {
		return nil
	}
	if len(s.dirs) >= s.most {
		g.refused = time.Now()
		return nil
	}
	wd, err := unix.InotifyAddWatch(s.fd, "/proc/self/fd/"+strconv.Itoa(fd), mask)
	if err != nil {
		g.refused = time.Now()
		return nil
	}
	d := &Dir{group: g, wd: int32(wd), about: about}
	s.dirs[d.wd] = append(s.dirs[d.wd], d)
	g.dirs[d] = true
	g.used = time.Now()
	s.groups[g] = true
	return d
}

// open makes the instance where there is none; s.mu is held.
func (s *Set) open() bool {
	if s.fd != 0 {
		return true
	}
	generation, err := s.mounts.Generation()
	if err != nil {
		return false
	}
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		return false
	}
	s.fd, s.seen, s.most = fd, generation, min(mostDirs, userWatches()/4)
	s.dirs, s.groups = map[int32][]*Dir{}, map[*Group]bool{}
	if s.buffer == nil {
		s.buffer = make([]byte, 16<<10)
	}
	s.timer = time.AfterFunc(idle, s.expire)
	return true
}

// userWatches is how many directories all programs of our user may watch.
func userWatches() int {
	b, _ := os.ReadFile("/proc/sys/fs/inotify/max_user_watches")
	n, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return 8192 // the kernel's least (fs/notify/inotify/inotify_user.c)
	}
	return n
}

// Drop stops watching. There may be news of it that was taken before. A nil Dir is
// none.
func (d *Dir) Drop() {
	if d == nil {
		return
	}
	s := d.group.set
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(d)
}

// drop is Drop; s.mu is held.
func (s *Set) drop(d *Dir) {
	g := d.group
	if !g.dirs[d] {
		return
	}
	delete(g.dirs, d)
	if len(g.dirs) == 0 {
		delete(s.groups, g)
	}
	g.news = slices.DeleteFunc(g.news, func(o *Dir) bool { return o == d })
	left := slices.DeleteFunc(s.dirs[d.wd], func(o *Dir) bool { return o == d })
	s.dirs[d.wd] = left
	if len(left) == 0 {
		delete(s.dirs, d.wd)
		unix.InotifyRmWatch(s.fd, uint32(d.wd)) // or it is gone already
	}
}

// Close stops watching all of a group, which watches nothing from now on.
func (g *Group) Close() {
	if g == nil {
		return
	}
	g.set.mu.Lock()
	defer g.set.mu.Unlock()
	g.closed = true
	g.set.lose(g)
}

// lose removes a group's watches; s.mu is held.
func (s *Set) lose(g *Group) {
	g.lost, g.refused = true, time.Time{}
	g.news = nil
	for d := range g.dirs {
		s.drop(d)
	}
}

// News returns the changes since the last call. lost: nothing is known of any directory, and
// nothing is watched, until it is added again.
func (g *Group) News() (news []News, lost bool) {
	if g == nil {
		return nil, false
	}
	s := g.set
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fd != 0 {
		s.take()
	}
	g.used = time.Now()
	if !g.refused.IsZero() && time.Since(g.refused) >= idle { // there may be room now: from the beginning
		s.lose(g)
	}
	if g.lost {
		g.lost, g.news = false, nil
		return nil, true
	}
	for _, d := range g.news {
		news = append(news, News{d.about, d.kinds, d.removed})
		d.queued, d.kinds = false, false
	}
	g.news = nil
	return news, false
}

// take empties the queue; s.mu is held.
func (s *Set) take() {
	if generation, err := s.mounts.Generation(); err != nil || generation != s.seen {
		s.loseAll()
		return
	}
	for range maxReads {
		n, err := unix.Read(s.fd, s.buffer)
		switch {
		case err == unix.EAGAIN:
			return
		case err == unix.EINTR:
		case err != nil || !s.hear(s.buffer[:max(n, 0)]):
			s.loseAll()
			return
		}
	}
	s.loseAll()
}

// hear notes events; false: some were lost. s.mu is held.
func (s *Set) hear(b []byte) bool {
	if len(b) == 0 {
		return false
	}
	for len(b) >= unix.SizeofInotifyEvent {
		wd, what, name := int32(binary.NativeEndian.Uint32(b)), binary.NativeEndian.Uint32(b[4:]),
			int(binary.NativeEndian.Uint32(b[12:]))
		if what&unix.IN_Q_OVERFLOW != 0 || len(b) < unix.SizeofInotifyEvent+name {
			return false
		}
		b = b[unix.SizeofInotifyEvent+name:]
		for _, d := range s.dirs[wd] {
			d.tell(what)
		}
		if what&unix.IN_IGNORED != 0 { // the directory is no more, or unmounted
			for _, d := range s.dirs[wd] {
				delete(d.group.dirs, d)
			}
			delete(s.dirs, wd)
		}
	}
	return len(b) == 0
}

// tell adds an event to the news of a directory.
func (d *Dir) tell(what uint32) {
	d.kinds = d.kinds || what&unix.IN_ISDIR != 0
	d.removed = d.removed || what&(unix.IN_IGNORED|unix.IN_UNMOUNT) != 0
	if !d.queued {
		d.queued = true
		d.group.news = append(d.group.news, d)
	}
}

// loseAll lets everything go; s.mu is held.
func (s *Set) loseAll() {
	go unix.Close(s.fd) // the kernel may take some milliseconds to free all marks
	s.timer.Stop()
	for g := range s.groups {
		g.lost, g.refused, g.news, g.dirs = true, time.Time{}, nil, map[*Dir]bool{}
	}
	s.fd, s.dirs, s.groups, s.buffer = 0, nil, nil, nil
}

// Close lets everything go.
func (s *Set) Close() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fd != 0 {
		s.loseAll()
	}
	s.mounts.Close()
}

// expire removes watches that are not asked about.
func (s *Set) expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fd == 0 {
		return
	}
	for g := range s.groups {
		if time.Since(g.used) >= idle {
			s.lose(g)
		}
	}
	if len(s.groups) == 0 {
		s.loseAll()
		return
	}
	s.timer.Reset(idle / 2)
}

// Watched is how many directories are watched, for tests and reports.
func (s *Set) Watched() int {
	if s == nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.dirs)
}

// onFileSystem reports whether an open directory is on a file system of one of the types.
func onFileSystem(fd int, types ...int64) bool {
	var in unix.Statfs_t
	return unix.Fstatfs(fd, &in) == nil && slices.Contains(types, int64(in.Type))
}

// local reports whether every change of an open directory goes through this
// kernel's virtual file system.
func local(fd int) bool {
	return onFileSystem(fd, unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.TMPFS_MAGIC,
		unix.F2FS_SUPER_MAGIC)
}

// Stamped reports whether the times of an open directory change with every entry
// that is created, removed or replaced, and by our own clock.
func Stamped(fd int) bool { return local(fd) || onFileSystem(fd, unix.OVERLAYFS_SUPER_MAGIC) }
