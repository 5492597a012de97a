package git

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// Locks are the lock files in a git directory itself that keep git from writing to it.
var Locks = []string{"HEAD.lock", "config.lock", "index.lock", "packed-refs.lock"}

// Passing reports whether a path below a git directory is that of a file which git makes while it works and takes away
// itself (lockfile.h, tempfile.h, gc.c): where one is left, its process ended before.
func Passing(at string) bool {
	dir, name := path.Split(at)
	inGit := slices.ContainsFunc(strings.Split(dir, "/"), func(s string) bool { return strings.HasSuffix(s, ".git") })
	return inGit && (strings.HasSuffix(name, ".lock") || name == "gc.pid" ||
		strings.Contains(dir, "/objects/") && (strings.HasPrefix(name, "tmp_") || strings.HasPrefix(name, ".tmp-")))
}

// objectID finds the ids of objects in a file of references (gitrepository-layout(5)).
var objectID = regexp.MustCompile(`\b[0-9a-f]{40}([0-9a-f]{24})?\b`)

// IsDir reports whether a directory has the entries of a git directory, or of the own part of a linked work tree
// (gitrepository-layout(5)).
func IsDir(dir string, exists func(name string) bool) bool {
	has := func(name string) bool { return exists(path.Join(dir, name)) }
	return has("HEAD") && (has("objects") && has("refs") || has("commondir"))
}

// Enclosing returns the nearest git directory at or above a path, as isDir has them.
func Enclosing(at string, isDir func(dir string) bool) (dir string, ok bool) {
	for dir = at; ; dir = path.Dir(dir) {
		switch {
		case isDir(dir):
			return dir, true
		case dir == "." || dir == "/":
			return "", false
		}
	}
}

// IsReference reports whether a path below a git directory is that of a file of references.
func IsReference(rel string) bool {
	return rel == "HEAD" || rel == "packed-refs" || strings.HasPrefix(rel, "refs/")
}

// LockFiles returns the lock files, sorted, that keep git from the paths while they change: in each git directory with
// one of them all of Locks, and those of the changed references. A path itself is none of them.
func LockFiles(paths []string, isDir func(dir string) bool) []string {
	var out []string
	for _, at := range paths {
		dir, ok := Enclosing(path.Dir(at), isDir)
		if !ok {
			continue
		}
		for _, name := range Locks {
			out = append(out, path.Join(dir, name))
		}
		if strings.HasPrefix(at, path.Join(dir, "refs")+"/") && !strings.HasSuffix(at, ".lock") {
			out = append(out, at+".lock")
		}
	}
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(at string) bool { return slices.Contains(paths, at) })
}

// Missing returns the ids in the text of a file of references whose objects the git directory lacks.
func Missing(h Host, dir, text string) (ids []string, err error) {
	all := objectID.FindAllString(text, -1)
	if len(all) == 0 {
		return nil, nil
	}
	common, err := CommonDir(h, dir)
	if err != nil {
		return nil, err
	}
	objects := Objects{Host: h, Repo: Repository{Dir: dir, Common: common}}
	for _, id := range all {
		objects.Hash = len(id) / 2
		if kind, err := objects.Type(id); err != nil || kind == NoObject {
			ids = append(ids, id)
		}
	}
	return ids, nil
}
