package supervisor

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"sandboxd/config"
	"sandboxd/profile/abspath"
)

// links resolves the paths of the configuration at one moment and notes every
// answer, so that their results can be reused as long as each would be
// the same ([links.still]). But for that it serves one goroutine.
type links struct {
	names []string // of the trees that commands can write to
	trees []string // the same, and where they really are; nil: not resolved yet
	asked map[string]resolved
	// state is [sandbox.Host.DirStates]; nil: there is none.
	state func(dir string) uint64

	mu    sync.Mutex // of the fields that still replaces
	known map[string]entry
	dirs  map[string]*lookedIn
}

// lookedIn is a directory with known entries: its state before the first was asked for, and their paths.
type lookedIn struct {
	state uint64
	paths []string
}

// resolved is where a path leads; loose: through a link in one of the trees.
type resolved struct {
	real  string
	loose bool
}

// entry is the entry at a path of which every parent is real.
type entry struct {
	there, dir bool
	target     string // of a symbolic link; "": it is none
}

// linksOf returns a resolver for a session's configuration. A command can change
// the links of its project, of every other project of the user, of their caches, and of the paths
// that the configuration lets it write.
func (s *Supervisor) linksOf(cfg *config.Config, sess *Session) *links {
	trees := slices.Concat([]string{sess.Root}, cfg.Daemon.Roots,
		cfg.Writable(config.Session{Project: sess.Root, Home: sess.Home}))
	if s.Trust != nil {
		for _, t := range s.Trust.List(sess.Peer.UID) {
			trees = append(trees, t.Dir)
		}
	}
	if sess.Home != "" {
		trees = append(trees, filepath.Join(sess.Home, ".cache", "sandboxd"))
	}
	trees = slices.DeleteFunc(trees, func(dir string) bool { return !filepath.IsAbs(dir) })
	l := newLinks(trees)
	l.state = s.Host.DirStates()
	return l
}

func newLinks(trees []string) *links {
	l := &links{asked: map[string]resolved{}, known: map[string]entry{}, dirs: map[string]*lookedIn{}}
	for _, dir := range trees {
		l.names = append(l.names, filepath.Clean(dir))
	}
	return l
}

// inTree reports whether commands can write to the directory of a path.
func (l *links) inTree(path string) bool {
	if l.trees == nil {
		l.trees = append(make([]string, 0, 2*len(l.names)), l.names...)
		for _, dir := range l.names {
			l.trees = append(l.trees, l.follow(dir).real)
		}
	}
	return slices.ContainsFunc(l.trees, func(tree string) bool { return path != tree && abspath.Contains(tree, path) })
}

// resolve is a [sandboxd/profile/document.Resolve].
func (l *links) resolve(path string) (real string, loose bool) {
	r, ok := l.asked[path]
	if !ok {
		r = l.follow(path)
		l.asked[path] = r
	}
	return r.real, r.loose
}

// still reports whether every answer would be the same by now. It asks again only in directories that may have
// changed. now serves nothing else afterwards.
func (l *links) still(now *links) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if slices.Equal(l.names, now.names) && l.sameEntries(now) {
		return true
	}
	for path, was := range l.asked {
		if real, loose := now.resolve(path); was != (resolved{real, loose}) {
			return false
		}
	}
	l.names, l.trees, l.known, l.dirs = now.names, now.trees, now.known, now.dirs
	return true
}

// sameEntries reports whether every entry is unchanged.
func (l *links) sameEntries(now *links) bool {
	for dir, was := range l.dirs {
		at := now.dir(dir)
		if at.state != 0 && at.state == was.state {
			continue
		}
		for _, path := range was.paths {
			if now.look(dir, path) != l.known[path] {
				return false
			}
		}
		was.state = at.state
	}
	return true
}

// dir is a directory as it was when it was first asked for.
func (l *links) dir(name string) *lookedIn {
	at := l.dirs[name]
	if at == nil {
		at = &lookedIn{}
		if l.state != nil {
			at.state = l.state(name)
		}
		l.dirs[name] = at
	}
	return at
}

// follow resolves as much of an absolute path as exists, also behind a link that
// leads nowhere.
func (l *links) follow(path string) (r resolved) {
	path = filepath.Clean(path)
	real, err := abspath.Follow(path, func(at string) (string, error) {
		text := l.look(abspath.Parent(at), at).target
		r.loose = r.loose || text != "" && l.inTree(at)
		return text, nil
	})
	if err != nil {
		return resolved{path, true}
	}
	r.real = real
	return r
}

// look returns the entry at path, which is in dir.
func (l *links) look(dir, path string) entry {
	e, ok := l.known[path]
	if ok {
		return e
	}
	if above, ok := l.known[dir]; ok && !above.dir {
		l.known[path] = e
		return e
	}
	at := l.dir(dir)
	at.paths = append(at.paths, path)
	var st unix.Stat_t
	if unix.Lstat(path, &st) == nil {
		e.there, e.dir = true, st.Mode&unix.S_IFMT == unix.S_IFDIR
		if st.Mode&unix.S_IFMT == unix.S_IFLNK {
			e.target, _ = os.Readlink(path)
		}
	}
	l.known[path] = e
	return e
}

// targets adds to a list of paths, "PATH/**/NAME" and bare names where the paths
// really are. Paths may begin with "~/".
func (l *links) targets(list []string, home string) []string {
	out := slices.Clone(list)
	for _, target := range list {
		path, name, named := strings.Cut(inHome(target, home), "/**")
		if !filepath.IsAbs(path) {
			continue
		}
		real, _ := l.resolve(filepath.Clean(path))
		if real == filepath.Clean(path) {
			continue
		}
		if named {
			real = strings.TrimSuffix(real, "/") + "/**" + name
		}
		if !slices.Contains(out, real) {
			out = append(out, real)
		}
	}
	return out
}

// grants returns where paths really are, without those that a loose link leads to.
func (l *links) grants(list []string, home string) []string {
	var out []string
	for _, path := range list {
		if path = inHome(path, home); filepath.IsAbs(path) {
			real, loose := l.resolve(filepath.Clean(path))
			if loose {
				continue
			}
			path = real
		}
		out = append(out, path)
	}
	return out
}

// inHome writes a path below "~" in full.
func inHome(path, home string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && home != "" {
		return filepath.Join(home, rest)
	}
	return path
}

// RealPath resolves as much of path as exists.
func RealPath(path string) string {
	if !filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return newLinks(nil).follow(path).real
}
