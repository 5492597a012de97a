package aftermath

import (
	"cmp"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"sandboxd/git"
	"sandboxd/profile/abspath"
)

// gitUse is how git outside would use the repositories of the trees.
type gitUse struct {
	// uses are the git directories that git can find.
	uses map[use]bool
	// commons are the shared parts of those git directories.
	commons map[string]bool
	// named are the files, not under protected names, of which git's configuration or a link makes git run or read
	// one. They need not exist.
	named map[string]naming
}

// use is a git directory, and the directory in which git finds it: a work tree, or a bare repository itself.
type use struct{ dir, git string }

// naming says how a file was named.
type naming struct {
	config bool  // git reads it as configuration
	by     []use // in which it counts; none: a link under a protected name
}

func (u gitUse) same(o gitUse) bool {
	return maps.Equal(u.uses, o.uses) && maps.Equal(u.commons, o.commons) &&
		maps.EqualFunc(u.named, o.named, func(a, b naming) bool { return a.config == b.config && slices.Equal(a.by, b.by) })
}

// git works out how git uses the repositories that the walk found, and notes the files that are named, with those that
// an earlier walk names.
func (w *walker) git(before map[string]naming) {
	w.gitUse = gitUse{uses: map[use]bool{}, commons: map[string]bool{}, named: map[string]naming{}}
	for dir := range w.repos {
		if strings.EqualFold(path.Base(dir), ".git") {
			w.uses[use{path.Dir(dir), dir}] = true
		} else {
			w.uses[use{dir, dir}] = true
		}
	}
	for at, e := range w.entries {
		if gitLink(at, e) {
			w.uses[use{path.Dir(at), w.leadsTo(at)}] = true
		}
	}
	for _, u := range slices.SortedFunc(maps.Keys(w.uses), use.compare) {
		w.nameUse(u)
	}
	for at, e := range w.entries {
		if e.kind() != unix.S_IFLNK || gitLink(at, e) {
			continue
		}
		if real, ok := w.inside(at); ok && !w.folder(real) {
			w.name(real, false, use{})
		}
	}
	for _, names := range []map[string]naming{w.named, before} {
		for at := range names {
			if _, known := w.entries[at]; !known && w.rootAbove(at) != "" {
				w.recordAt(at)
				w.apart = append(w.apart, at)
			}
		}
	}
}

func (u use) compare(o use) int { return cmp.Or(cmp.Compare(u.dir, o.dir), cmp.Compare(u.git, o.git)) }

// gitLink reports whether an entry is a .git file, or a link in its place.
func gitLink(at string, e entry) bool {
	return strings.EqualFold(path.Base(at), ".git") && !e.directory()
}

// leadsTo returns the git directory to which a .git file or link leads; "" where it names none.
func (f *found) leadsTo(at string) string {
	to := at
	if info, err := f.stat(at); err == nil && !info.IsDir() {
		if to, err = git.GitFile(f.host(), at); err != nil {
			return ""
		}
	}
	real, _, err := git.Resolve(f.host(), to)
	if err != nil {
		return ""
	}
	return real
}

// common returns the part of a git directory that linked work trees share.
func (f *found) common(u use) string {
	dir, err := git.CommonDir(f.host(), u.git)
	if err != nil {
		return u.git
	}
	return dir
}

// complete reports whether a git directory, or the part that linked work trees share, has the parts of one.
func (w *walker) complete(dir string) bool {
	if dir == "" || w.rootAbove(dir) != "" {
		return w.repos[dir]
	}
	return git.Look(w.host(), dir) != git.Invalid
}

// nameUse notes the files that git reads or runs because of the configuration of a repository.
func (w *walker) nameUse(u use) {
	common := w.common(u)
	if !w.complete(u.git) || !w.complete(common) {
		return // a later run could complete it, and nothing of it is a person's
	}
	w.commons[common] = true
	home, _ := os.UserHomeDir()
	settings, _ := git.Reader{Host: w.host(), Home: home}.Config(git.Repository{Dir: u.git, Common: common,
		Worktree: u.dir})
	hooks := path.Join(common, "hooks")
	for _, s := range settings {
		w.name(s.File, true, u)
		switch kind := git.KindOf(s); {
		case (s.Section == "include" || s.Section == "includeif") && s.Name == "path":
			w.name(expand(s.Value, path.Dir(s.File), home), true, u)
		case s.Section == "core" && s.Name == "hookspath" && s.Value != "":
			hooks = expand(s.Value, u.dir, home)
		case kind == git.Program || kind == git.Unknown:
			w.nameWords(s.Value, u, home)
		}
	}
	for _, config := range []string{path.Join(common, "config"), path.Join(common, "config.worktree"),
		path.Join(u.git, "config.worktree")} {
		w.name(config, true, u)
	}
	if real, ok := w.inside(hooks); !ok || real == path.Join(common, "hooks") {
		return // it is protected
	}
	for _, hook := range git.Hooks {
		w.name(path.Join(hooks, hook), false, u)
	}
}

// nameWords notes the files of which the words of a command line name one.
func (w *walker) nameWords(line string, u use, home string) {
	words := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t\n'\";!&|()`=$<>", r) })
	for i, word := range words {
		if i == 0 && !strings.Contains(word, "/") {
			continue // found on $PATH
		}
		if at := expand(word, u.dir, home); w.regular(at) {
			w.name(at, false, u)
		}
	}
}

// expand makes a path of git's absolute.
func expand(value, base, home string) string {
	if below, ok := strings.CutPrefix(value, "~/"); ok {
		return path.Join(home, below)
	}
	if path.IsAbs(value) {
		return value
	}
	return base + "/" + value // not path.Join: link/.. is where the link leads
}

// name notes a file where it really is. One that is protected already needs no note.
func (w *walker) name(at string, config bool, by use) {
	if at == "" {
		return
	}
	real, ok := w.inside(at)
	if _, known := w.entries[real]; !ok || known && real == path.Clean(at) {
		return
	}
	n := w.named[real]
	n.config = n.config || config
	if by != (use{}) && !slices.Contains(n.by, by) {
		n.by = append(n.by, by)
	}
	w.named[real] = n
}

// inside resolves a path, and reports whether it is in one of the trees.
func (w *walker) inside(at string) (real string, ok bool) {
	real, _, err := git.Resolve(w.host(), at)
	return real, err == nil && w.rootAbove(real) != ""
}

// rootAbove returns the tree that a path is in, or "".
func (f *found) rootAbove(at string) string {
	for _, root := range f.roots {
		if abspath.Contains(root, at) && at != root {
			return root
		}
	}
	return ""
}

func (f *found) folder(at string) bool {
	info, err := f.host().Lstat(at)
	return err == nil && info.IsDir()
}

func (f *found) regular(at string) bool {
	info, err := f.stat(at)
	return err == nil && info.Mode().IsRegular()
}

// recordAt notes one file by its path.
func (w *walker) recordAt(at string) {
	if w.disk != nil {
		if info, err := w.host().Lstat(at); err == nil && !info.IsDir() {
			w.recordAfter(at, at, 0)
		}
		return
	}
	defer unlock(w.rootAbove(at), path.Dir(at))()
	fd, shut, err := openDir(unix.AT_FDCWD, path.Dir(at))
	if err != nil {
		w.partly = w.partly || err != unix.ENOENT && err != unix.ENOTDIR && err != unix.ELOOP
		return
	}
	defer unix.Close(fd)
	if shut != nil {
		defer shut()
	}
	var st unix.Stat_t
	if unix.Fstatat(fd, path.Base(at), &st, unix.AT_SYMLINK_NOFOLLOW) == nil && st.Mode&unix.S_IFMT != unix.S_IFDIR {
		w.record(fd, path.Base(at), at, at, 0)
	}
}
