package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"sandboxd/bwrap"
	"sandboxd/watch"
)

// recorder is the host's file system for a compiler that notes every question and
// its answer. Compilers are pure: where all answers are still the same, so is
// their result. [questions.still] repeats the questions whose answers may have changed, which takes a
// hundredth of compiling.
type recorder struct {
	host   fs.ReadLinkFS
	group  *watch.Group // of the directories that were listed
	lists  *lists       // that were read before
	around *dirStates
	set    *watch.Set
	asked  map[string]*answers // by path, as package io/fs writes it
	// unsure: something can't be asked again cheaply, so nothing is kept.
	unsure bool
}

// answers are the host's answers for one path.
type answers struct {
	state  *pathState // of Lstat
	target *string    // of ReadLink; "" for an error
	list   *dirState  // of ReadDir

	watched bool // the directory that was listed
}

// pathState has the fields of a file's state that the compilers read.
type pathState struct {
	there bool
	kind  uint32 // unix.S_IFMT of its mode
	links bool   // a regular file or pipe with further names
	bars  bool   // a regular file that admits its owner only, who is another user (hosttree.Others)
}

// dirState distinguishes two lists of a directory's entries: each entry
// that is created, removed or replaced changes the directory's times.
type dirState struct {
	dev, ino     uint64
	mtime, ctime int64 // nanoseconds
}

func newRecorder(set *watch.Set, known *lists, around *dirStates) *recorder {
	return &recorder{host: bwrap.HostFS(), group: set.Group(), lists: known, around: around, set: set,
		asked: map[string]*answers{}}
}

func (l *recorder) of(name string) *answers {
	a := l.asked[name]
	if a == nil {
		a = &answers{}
		l.asked[name] = a
	}
	return a
}

// Open is never called by a compiler; it does not record the content.
func (l *recorder) Open(name string) (fs.File, error) {
	l.unsure = true
	return l.host.Open(name)
}

// Lstat implements fs.ReadLinkFS.
func (l *recorder) Lstat(name string) (fs.FileInfo, error) {
	info, err := l.host.Lstat(name)
	state := pathState{}
	switch {
	case err == nil:
		st, ok := info.Sys().(*unix.Stat_t)
		if !ok {
			l.unsure = true
			return info, nil
		}
		state = stateOf(st)
	case !errors.Is(err, fs.ErrNotExist):
		l.unsure = true
	}
	l.of(name).state = &state
	return info, err
}

func stateOf(st *unix.Stat_t) pathState {
	kind := st.Mode & unix.S_IFMT
	return pathState{there: true, kind: kind, links: counted(kind) && st.Nlink > 1,
		bars: kind == unix.S_IFREG && int(st.Uid) != os.Geteuid() && st.Mode&0o077 == 0}
}

// counted reports whether compilers read how many names a file of this kind has
// (hosttree.File).
func counted(kind uint32) bool { return kind == unix.S_IFREG || kind == unix.S_IFIFO }

// ReadLink implements fs.ReadLinkFS.
func (l *recorder) ReadLink(name string) (string, error) {
	target, err := l.host.ReadLink(name)
	l.of(name).target = &target
	return target, err
}

// ReadDir implements fs.ReadDirFS.
func (l *recorder) ReadDir(name string) ([]fs.DirEntry, error) {
	a := l.of(name)
	a.list = &dirState{}
	fail := func(err error) ([]fs.DirEntry, error) {
		l.unsure = true
		return nil, &fs.PathError{Op: "readdir", Path: "/" + name, Err: err}
	}
	fd, err := openNoLinks("/"+name, unix.O_RDONLY)
	if err != nil {
		return fail(err)
	}
	f := os.NewFile(uintptr(fd), "/"+name)
	defer f.Close()
	a.watched = l.group.Add(fd, name) != nil // before it is read
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fail(err)
	}
	*a.list = dirStateOf(&st)
	sure := watch.Stamped(fd) && watch.Settled(a.list.ctime, time.Now())
	l.unsure = l.unsure || !sure
	if entries, ok := l.lists.get(name, *a.list); ok {
		return entries, nil
	}
	entries, err := f.ReadDir(-1)
	if err != nil {
		return fail(err)
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	if sure {
		l.lists.put(name, *a.list, entries)
	}
	return entries, nil
}

// openNoLinks opens a directory to which no link leads.
func openNoLinks(dir string, flags uint64) (int, error) {
	return unix.Openat2(unix.AT_FDCWD, dir, &unix.OpenHow{
		Flags:   flags | unix.O_DIRECTORY | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	})
}

func dirStateOf(st *unix.Stat_t) dirState {
	return dirState{uint64(st.Dev), st.Ino, st.Mtim.Nano(), st.Ctim.Nano()}
}

// question is one path of which answers are known.
type question struct {
	base string
	*answers
}

// questions are a compilation's questions to the host.
type questions struct {
	places []*place
	// lists are those of directories that are watched, as is the parent directory of each:
	// without an event for any of them, all are unchanged.
	lists map[string][]question

	mu    sync.Mutex
	group *watch.Group
	quiet bool // no event came since lists were asked

	set    *watch.Set
	around *dirStates
}

// place is a directory with questions about entries in it.
type place struct {
	dir string
	all []question
	// files and lists are those of all whose answers can change and the directory not: a
	// file's number of links, and the own list of a directory that is watched.
	files, lists []question
	// state is of the directory when all were asked; 0: unknown.
	state uint64
}

func (p *place) add(q question) {
	p.all = append(p.all, q)
	switch {
	case q.list != nil && q.watched && q.target == nil:
		p.lists = append(p.lists, q)
	case q.list != nil, q.state != nil && q.state.there && counted(q.state.kind):
		p.files = append(p.files, q)
	}
}

// still repeats the questions whose answers may have changed; quiet: no list of a watched directory.
func (p *place) still(around *dirStates, quiet bool) bool {
	state := around.state(p.dir)
	if state == 0 || state != p.state {
		if !stillIn(p.dir, p.all) {
			return false
		}
		p.state = state
		return true
	}
	return (len(p.files) == 0 || stillIn(p.dir, p.files)) && (quiet || len(p.lists) == 0 || stillIn(p.dir, p.lists))
}

// withoutImplied drops the question whether a directory exists where questions about its
// entries follow: they begin with opening it by its path, which no link may be part of.
func withoutImplied(places map[string]*place) []*place {
	var left []*place
	for _, p := range places {
		p.all = slices.DeleteFunc(p.all, func(q question) bool {
			return q.list == nil && q.target == nil && q.state != nil && q.state.kind == unix.S_IFDIR && q.base != "." &&
				places[path.Join(p.dir, q.base)] != nil
		})
		if len(p.all) > 0 {
			left = append(left, p)
		}
	}
	return left
}

// questions returns the questions to repeat, nil if they can't be repeated.
func (l *recorder) questions() *questions {
	if l.unsure {
		l.group.Close()
		return nil
	}
	q := &questions{lists: map[string][]question{}, group: l.group, set: l.set, around: l.around}
	places := map[string]*place{}
	for name, a := range l.asked {
		dir, base := path.Split(name)
		dir = strings.TrimSuffix(dir, "/")
		at := "/" + dir
		if up := l.asked[dir]; a.watched && a.target == nil && (a.state == nil || a.state.kind == unix.S_IFDIR) &&
			up != nil && up.watched {
			q.lists[at] = append(q.lists[at], question{base, a})
			continue
		}
		if places[at] == nil {
			places[at] = &place{dir: at}
		}
		places[at].add(question{base, a})
	}
	q.places = withoutImplied(places)
	return q
}

// still reports whether every answer would be the same now.
func (q *questions) still() bool {
	if q == nil {
		return false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	news, lost := q.group.News()
	q.quiet = q.quiet && len(news) == 0 && !lost
	watched := !lost || q.watchAgain()
	q.around.look(q.set)
	for _, p := range q.places {
		if !p.still(q.around, q.quiet) {
			return false
		}
	}
	if !q.quiet && !allStill(q.lists) {
		return false
	}
	q.quiet = watched
	return true
}

// watchAgain watches all directories that were; false: one of them can't be.
func (q *questions) watchAgain() bool {
	again := func(dir string, list []question) bool {
		for _, a := range list {
			if a.watched && !q.watch(path.Join(dir, a.base)) {
				q.group.Close() // so that this is tried once
				return false
			}
		}
		return true
	}
	for _, p := range q.places {
		if !again(p.dir, p.all) {
			return false
		}
	}
	for dir, list := range q.lists {
		if !again(dir, list) {
			return false
		}
	}
	return true
}

func (q *questions) watch(dir string) bool {
	fd, err := openNoLinks(dir, unix.O_RDONLY)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	return q.group.Add(fd, dir) != nil
}

// close forgets them.
func (q *questions) close() {
	if q != nil {
		q.group.Close()
	}
}

func allStill(of map[string][]question) bool {
	for dir, list := range of {
		if !stillIn(dir, list) {
			return false
		}
	}
	return true
}

// stillIn asks again about entries of one directory, which no link leads to.
func stillIn(dir string, list []question) bool {
	fd, err := openNoLinks(dir, unix.O_PATH)
	if err != nil {
		return false // or a kernel without openat2: then everything is compiled again
	}
	defer unix.Close(fd)
	for _, a := range list {
		var st unix.Stat_t
		err := unix.Fstatat(fd, a.base, &st, unix.AT_SYMLINK_NOFOLLOW)
		if err != nil && err != unix.ENOENT {
			return false
		}
		now := pathState{}
		if err == nil {
			now = stateOf(&st)
		}
		if a.state != nil && *a.state != now || a.list != nil && (err != nil || *a.list != dirStateOf(&st)) {
			return false
		}
		if a.target != nil && *a.target != linkAt(fd, a.base) {
			return false
		}
	}
	return true
}

// linkAt is the text of a link, "" where there is none.
func linkAt(fd int, name string) string {
	buffer := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(fd, name, buffer)
	if err != nil {
		return ""
	}
	return string(buffer[:n])
}
