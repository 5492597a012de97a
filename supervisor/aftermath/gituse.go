package aftermath

import (
	"cmp"
	"maps"
	"os"
	"path"
	"reflect"
	"regexp"
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
	// named are the files, not under protected names, of which git's configuration or a link makes programs run or read
	// one, with the folders and links on the way to them: a link in the place of a folder leads to another file. They
	// need not exist.
	named map[string]naming
	// routes are where git fetches from and pushes to, by use.
	routes map[use]git.Routes
}

// use is a git directory, and the directory in which git finds it: a work tree, or a bare repository itself.
type use struct{ dir, git string }

// naming says how a file was named.
type naming struct {
	config bool  // git reads it as configuration
	whole  bool  // a folder, with all in it: a link under a protected name leads there
	by     []use // in which it counts; none: a link under a protected name
}

// names reports whether an entry at a path is named, by itself or with its folder.
func (u gitUse) names(at string, e entry) bool {
	_, itself := u.named[at]
	_, folder := u.named[e.anchor]
	return itself || folder
}

func (u gitUse) same(o gitUse) bool {
	return maps.Equal(u.uses, o.uses) && maps.Equal(u.commons, o.commons) &&
		maps.EqualFunc(u.named, o.named, func(a, b naming) bool {
			return a.config == b.config && a.whole == b.whole && slices.Equal(a.by, b.by)
		}) && reflect.DeepEqual(u.routes, o.routes)
}

// git works out how git uses the repositories that the walk found, and notes the files that are named, with those that
// an earlier walk names.
func (w *walker) git(before map[string]naming) {
	w.gitUse = gitUse{uses: map[use]bool{}, commons: map[string]bool{}, named: map[string]naming{},
		routes: map[use]git.Routes{}}
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
	w.nameLinks(before)
}

// nameLinks notes where the links under protected names lead, and records all that is named: where that is a link
// again, with what it leads to.
func (w *walker) nameLinks(before map[string]naming) {
	followed := map[string]bool{}
	for known := -1; known != len(w.entries); {
		known = len(w.entries)
		for at, e := range w.entries {
			if e.kind() == unix.S_IFLNK && !gitLink(at, e) && !w.toOthers[at] && !followed[at] {
				followed[at] = true
				w.name(at, naming{whole: true}, path.Dir(at))
			}
		}
		for _, names := range []map[string]naming{w.named, before} {
			for _, at := range slices.Sorted(maps.Keys(names)) {
				if _, known := w.entries[at]; !known && w.rootAbove(at) != "" {
					w.noted[at] = true
					w.recordAt(at, names[at].whole)
					w.apart = append(w.apart, at)
				}
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
	w.routes[u] = git.RoutesOf(settings)
	hooks := []string{path.Join(common, "hooks")}
	for i, s := range settings {
		if i == 0 || s.File != settings[i-1].File {
			w.nameFor(u, s.File, true)
		}
		switch kind := git.KindOf(s); {
		case (s.Section == "include" || s.Section == "includeif") && s.Name == "path":
			w.nameFor(u, expand(s.Value, path.Dir(s.File), home), true)
		case s.Section == "core" && s.Name == "hookspath" && s.Value != "":
			hooks = append(hooks, expand(s.Value, u.dir, home))
		case s.Section == "init" && s.Name == "templatedir" && s.Value != "":
			dir := expand(s.Value, u.dir, home)
			hooks = append(hooks, dir+"/hooks")
			w.nameFor(u, dir+"/config", true)
		case kind == git.Program || kind == git.Unknown:
			w.nameWords(s.Value, u, home)
		}
	}
	for _, config := range []string{path.Join(common, "config"), path.Join(common, "config.worktree"),
		path.Join(u.git, "config.worktree")} {
		w.nameFor(u, config, true)
	}
	for _, dir := range hooks {
		real, _, steps, _ := git.Way(w.host(), dir)
		if real == dir && real == path.Join(common, "hooks") || // it is protected
			!slices.ContainsFunc(steps, func(at string) bool { return w.rootAbove(at) != "" }) {
			continue
		}
		for _, hook := range git.Hooks {
			w.nameFor(u, dir+"/"+hook, false)
		}
	}
}

// variables are what a shell replaces in a line: most often by the work tree's top directory, where git runs it.
var variables = regexp.MustCompile("\\$\\([^()]*\\)|`[^`]*`|\\$\\{[^}]*\\}|\\$[A-Za-z_][A-Za-z_0-9]*")

// nameWords notes the files of which the words of a command line name one: each with a slash, and others that exist.
func (w *walker) nameWords(line string, u use, home string) {
	split := func(line string) []string {
		return strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t\n'\";!&|()`=$<>{}", r) })
	}
	words := split(line)
	if strings.ContainsAny(line, "$`") {
		atHome := strings.NewReplacer("${HOME}", home, "$HOME", home).Replace(line)
		words = append(words, split(variables.ReplaceAllString(atHome, "."))...)
	}
	dirs := []string{u.dir}
	for i, word := range words {
		if i > 0 && words[i-1] == "cd" {
			dirs = append(dirs, expand(word, u.dir, home))
		}
		slash := strings.Contains(word, "/")
		if i == 0 && !slash {
			continue // found on $PATH
		}
		for _, dir := range dirs {
			if at := expand(word, dir, home); slash || w.regular(at) {
				w.nameFor(u, at, false)
			}
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

// nameFor notes a file that a repository names. Its own directories are not on the way: who moves them moves the
// repository.
func (w *walker) nameFor(u use, at string, config bool) {
	w.name(at, naming{config: config, by: []use{u}}, u.dir, u.git)
}

// name notes a file where it really is, and the way to it but for the directories of from and those above them. What is
// protected already needs no note.
func (w *walker) name(at string, as naming, from ...string) {
	if at == "" {
		return
	}
	real, _, steps, err := git.Way(w.host(), at)
	for _, step := range steps {
		e, known := w.entries[step]
		if known && !w.noted[e.anchor] || w.rootAbove(step) == "" ||
			slices.ContainsFunc(from, func(dir string) bool { return abspath.Contains(step, dir) }) {
			continue
		}
		n, end := w.named[step], err == nil && step == real
		n.config = n.config || as.config && end
		n.whole = n.whole || as.whole && end && w.folder(real)
		for _, by := range as.by {
			if !slices.Contains(n.by, by) {
				n.by = append(n.by, by)
			}
		}
		w.named[step] = n
	}
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

// recordAt notes the entry at a path; whole: with all below it.
func (w *walker) recordAt(at string, whole bool) {
	if w.disk != nil {
		if info, err := w.host().Lstat(at); err == nil && (whole || !info.IsDir()) {
			w.recordAfter(at, at, 0)
		} else if st, ok := statOf(info, err); ok {
			w.entries[at] = entry{stamp: stampOf(st), anchor: at}
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
	switch err := unix.Fstatat(fd, path.Base(at), &st, unix.AT_SYMLINK_NOFOLLOW); {
	case err != nil:
	case whole || st.Mode&unix.S_IFMT != unix.S_IFDIR:
		w.record(fd, path.Base(at), at, at, 0)
	default:
		w.entries[at] = entry{stamp: stampOf(&st), anchor: at}
	}
}
