package git

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"sandboxd/profile/abspath"
)

// Repository is a git directory with its work tree.
type Repository struct {
	Dir      string // the git directory, without links in its path
	Common   string // the part that linked work trees share; Dir itself elsewhere
	Worktree string // "" for a bare repository
	// Doubt is set where git may also refuse this one and continue with the next.
	Doubt bool
}

// Validity is the answer to whether git takes a directory for a git directory.
type Validity int

const (
	// Invalid directories are none to any git.
	Invalid Validity = iota
	// Doubtful ones have the names of a git directory. Whether git uses them depends on its user or version, or they
	// were damaged.
	Doubtful
	// Valid directories are used by every git.
	Valid
)

// Find returns the repositories that git could use in dir, nearest first: each doubtful one, and the first valid one
// (setup.c, setup_git_directory_gently_1). It fails where git would fail or where a path can't be read.
func Find(h Host, dir string) ([]Repository, error) {
	var out []Repository
	add := func(dir, worktree string, v Validity) error {
		r, err := open(h, dir, worktree)
		r.Doubt = v == Doubtful
		if err == nil {
			out = append(out, r)
		}
		return err
	}
	for at := dir; ; at = path.Dir(at) {
		dot := path.Join(at, ".git")
		info, err := stat(h, dot)
		v := Invalid
		if pipe := waits(h, dot, at); pipe != "" {
			return nil, fmt.Errorf("read %q: git would wait for a pipe or device", pipe)
		}
		switch {
		case err != nil && !absent(err):
			return nil, fmt.Errorf("look at %q: %s", dot, reason(err))
		case err == nil && info.Mode().IsRegular():
			to, err := GitFile(h, dot)
			if pipe := waits(h, to); err == nil && pipe != "" {
				err = fmt.Errorf("read %q: git would wait for a pipe or device", pipe)
			} else if v = Look(h, to); err == nil && v == Invalid {
				err = fmt.Errorf("read %q: it names no git directory", dot)
			}
			if err != nil {
				return nil, err // git fails here, too
			}
			return out, add(to, at, v)
		case err == nil:
			if v = Look(h, dot); v != Invalid {
				if err := add(dot, at, v); err != nil {
					return nil, err
				}
			}
		}
		if v != Valid {
			if v = Look(h, at); v != Invalid {
				if err := add(at, "", v); err != nil {
					return nil, err
				}
			}
		}
		if v == Valid || at == "/" {
			return out, nil
		}
	}
}

// waits returns the HEAD of one of the directories that is neither a file nor a directory: git opens it, and waits for
// somebody to write.
func waits(h Host, dirs ...string) string {
	for _, dir := range dirs {
		name := path.Join(dir, "HEAD")
		if info, err := stat(h, name); err == nil && !info.IsDir() && !info.Mode().IsRegular() {
			return name
		}
	}
	return ""
}

// GitFile reads the git directory that a .git file names, without links followed (setup.c, read_gitfile_gently).
func GitFile(h Host, name string) (string, error) {
	text, err := h.ReadFile(name, 1<<20)
	if err != nil {
		return "", fmt.Errorf("read %q: %s", name, reason(err))
	}
	to, ok := strings.CutPrefix(strings.TrimRight(string(text), "\r\n"), "gitdir: ")
	if !ok || to == "" || strings.ContainsRune(to, 0) {
		return "", fmt.Errorf("read %q: it does not name a git directory", name)
	}
	if !path.IsAbs(to) {
		to = path.Dir(name) + "/" + to // not path.Join: link/.. is where the link leads
	}
	return to, nil
}

// CommonDir returns the directory that the git directory dir shares with other work trees, without links in its path:
// the one that its file commondir names, or dir itself.
func CommonDir(h Host, dir string) (string, error) {
	name := path.Join(dir, "commondir")
	if _, err := h.Lstat(name); absent(err) {
		return dir, nil
	}
	text, err := h.ReadFile(name, 4096)
	if err != nil {
		return "", fmt.Errorf("read %q: %s", name, reason(err))
	}
	to := strings.TrimRight(string(text), "\r\n")
	if !path.IsAbs(to) {
		to = dir + "/" + to
	}
	real, missing, err := Resolve(h, to)
	if err != nil || missing || len(text) == 0 || strings.ContainsRune(to, 0) {
		return "", fmt.Errorf("read %q: the directory that it names cannot be followed", name)
	}
	return real, nil
}

// Look reports whether git accepts dir as a git directory (setup.c, is_git_directory).
func Look(h Host, dir string) Validity {
	dir, missing, err := Resolve(h, dir)
	switch {
	case missing:
		return Invalid
	case err != nil:
		return Doubtful
	}
	head := head(h, path.Join(dir, "HEAD"))
	if head == Invalid {
		return Invalid
	}
	common, err := CommonDir(h, dir)
	if err != nil {
		return Doubtful // git fails
	}
	v := head
	for _, name := range []string{dir, path.Join(common, "objects"), path.Join(common, "refs")} {
		switch info, err := stat(h, name); {
		case absent(err):
			return Invalid
		case err != nil || !info.IsDir() || info.Mode()&0o111 != 0o111:
			v = Doubtful // git asks access(2) for X_OK, which a file can have, too
		}
	}
	return v
}

var headRef = regexp.MustCompile(`^(ref:[ \t\n\v\f\r]*refs/|[0-9a-fA-F]{40})`)

// head reports whether git accepts the file name as a HEAD (setup.c, validate_headref). One that exists and that no
// git should accept is doubtful, too.
func head(h Host, name string) Validity {
	info, err := h.Lstat(name)
	switch {
	case absent(err):
		return Invalid
	case err != nil:
		return Doubtful
	case info.Mode()&fs.ModeSymlink != 0:
		if to, err := h.Readlink(name); err == nil && strings.HasPrefix(to, "refs/") {
			return Valid // wherever it leads
		}
		return Doubtful
	case !info.Mode().IsRegular() || info.Mode()&0o444 != 0o444 || info.Size() > 1<<20:
		return Doubtful
	}
	text, err := h.ReadFile(name, 1<<20)
	if err != nil || !headRef.Match(text[:min(len(text), 255)]) {
		return Doubtful
	}
	return Valid
}

// open follows a git directory to its real path and its shared part.
func open(h Host, dir, worktree string) (Repository, error) {
	real, missing, err := Resolve(h, dir)
	if err != nil || missing {
		return Repository{}, fmt.Errorf("open the git directory %q: it cannot be followed", dir)
	}
	common, err := CommonDir(h, real)
	if err != nil {
		return Repository{}, err
	}
	return Repository{Dir: real, Common: common, Worktree: worktree}, nil
}

// holds reports whether a file belongs to the repository, not to the person or the system.
func (r Repository) holds(file string) bool {
	return abspath.Contains(r.Dir, file) || abspath.Contains(r.Common, file) || abspath.Contains(r.Worktree, file)
}
