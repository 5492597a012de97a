package supervisor

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"sandboxd/files/snapshot"
	"sandboxd/git"
	"sandboxd/layer"
	"sandboxd/profile/abspath"
)

// deletions finds what a change set deletes from the project at root, whose files are as before the landing.
type deletions struct {
	root  string
	after git.Host // as after the landing
	built func(rel string) bool
	repos map[string]bool // by path; see repository
}

func deletionsOf(root string, after git.Host) deletions {
	return deletions{root, after, buildTrees(root), map[string]bool{}}
}

// repository reports whether git takes a directory of the project for a git directory, by its path from the root.
func (d deletions) repository(rel string) bool {
	is, known := d.repos[rel]
	if !known {
		dir := filepath.Join(d.root, rel)
		if _, err := os.Lstat(filepath.Join(dir, "HEAD")); err == nil {
			is = git.Look(git.Disk, dir) != git.Invalid
		}
		d.repos[rel] = is
	}
	return is
}

// tidied are the parts of a git directory in which git deletes files.
var tidied = []string{"objects", "refs", "logs"}

// inRepository reports whether a path is in a directory .git that is a git directory, or in a part of another in
// which git deletes files.
func (d deletions) inRepository(rel string) bool {
	for at := rel; at != "."; at = path.Dir(at) {
		dir := path.Dir(at)
		if (path.Base(dir) == ".git" || at != rel && slices.Contains(tidied, path.Base(at))) && d.repository(dir) {
			return true
		}
	}
	return false
}

// ask asks about the deletion of more than most files, or of all that the project has. A file that the set creates
// elsewhere with the same size, mode, time of modification and content was moved, as mv(1) copies it. Those of git
// directories and of dependencies' and build trees do not count, nor among many those that git ignores.
func (d deletions) ask(changes []layer.Change, most int, ignores func() *git.Ignores) []landAsk {
	type copied struct {
		size, time int64
		mode       uint32
	}
	of := func(s layer.State) copied { return copied{s.Size, s.MTime, s.Mode} }
	created := map[copied]map[string]int{} // by hash
	for _, c := range changes {
		if c.Old.Kind == layer.Absent && c.New.Kind == layer.File {
			if created[of(c.New)] == nil {
				created[of(c.New)] = map[string]int{}
			}
			created[of(c.New)][c.New.Hash]++
		}
	}
	var deleted []string
	var moved []layer.Change
	for _, c := range changes {
		switch {
		case c.New.Kind != layer.Absent || c.Old.Kind != layer.File && c.Old.Kind != layer.Symlink:
		case d.built(string(c.Path)), d.inRepository(string(c.Path)):
		case c.Old.Kind == layer.File && created[of(c.Old)] != nil:
			moved = append(moved, c)
		default:
			deleted = append(deleted, string(c.Path))
		}
	}
	if budget := int64(maxHashed); len(deleted)+len(moved) > most {
		for _, c := range moved {
			if !d.movedTo(c, created[of(c.Old)], &budget) {
				deleted = append(deleted, string(c.Path))
			}
		}
	}
	n, left := len(deleted), maxLooked
	if n > most {
		n -= ignored(ignores(), deleted)
	}
	switch {
	case n > most:
		return []landAsk{{Why: fmt.Sprintf("it deletes %d files", n)}}
	case len(deleted) > 0 && d.emptied(".", &left):
		return []landAsk{{Why: "it deletes all files of the project"}}
	}
	return nil
}

// maxHashed bounds the bytes that are read of deleted files. Where more may have moved, the rest counts as deleted.
const maxHashed = 1 << 30

// movedTo takes one of the new files with the content of a deleted one, which the project still has.
func (d deletions) movedTo(c layer.Change, created map[string]int, budget *int64) bool {
	if *budget -= c.Old.Size; *budget < 0 {
		return false
	}
	root, err := os.OpenRoot(d.root)
	if err != nil {
		return false
	}
	defer root.Close()
	f, err := root.OpenFile(string(c.Path), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	h := sha256.New()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return false
	}
	if n, err := io.Copy(h, io.LimitReader(f, c.Old.Size)); err != nil || n != c.Old.Size {
		return false
	}
	sum := hex.EncodeToString(h.Sum(nil))
	created[sum]--
	return created[sum] >= 0
}

// ignored counts the files that the rules ignore, if there are some.
func ignored(rules *git.Ignores, files []string) (n int) {
	for _, at := range files {
		if rules == nil {
			return 0
		}
		if top, err := rules.Top(at, false); err == nil && top != "" {
			n++
		}
	}
	return n
}

// maxLooked bounds the entries that are looked at for one file that a landing leaves. Where that many hold none, none
// counts as left.
const maxLooked = 10_000

// emptied reports whether no file and no symbolic link is left in a directory after the landing, besides those of git
// directories and of dependencies' and build trees. A directory that can't be read counts as empty.
func (d deletions) emptied(rel string, left *int) bool {
	entries, err := d.after.ReadDir(filepath.Join(d.root, rel))
	if err != nil {
		return true
	}
	*left -= len(entries)
	var dirs []string
	for _, e := range entries {
		switch at := path.Join(rel, e.Name()); {
		case e.Name() == ".git":
		case e.Type().IsRegular(), e.Type() == fs.ModeSymlink:
			return false
		case e.IsDir() && !d.built(at+"/."):
			dirs = append(dirs, at)
		}
	}
	for _, at := range dirs {
		if *left > 0 && git.Look(d.after, filepath.Join(d.root, at)) == git.Invalid && !d.emptied(at, left) {
			return false
		}
	}
	return true
}

// askRepositories asks about each git directory that loses its HEAD, objects or refs, which it needs to be one, or all
// of it. Those in dependencies' and build trees, and those that the set creates, do not count.
func (d deletions) askRepositories(set *layer.Set, chosen func(int) bool) (asks []landAsk) {
	lost := map[string][]string{} // the parts, by git directory; none: all of it
	for i, op := range set.Ops {
		for _, n := range op.Old {
			at := string(n.Path.Below(op.Path))
			dir, part := path.Dir(at), path.Base(at)
			switch {
			case !chosen(i), part != "HEAD" && part != "objects" && part != "refs":
			case d.built(at), !d.repository(dir), d.pruned(dir):
			case part == "HEAD" && slices.ContainsFunc(op.New, func(m layer.Node) bool {
				return m.Path == n.Path && (m.Kind == layer.File || m.Kind == layer.Symlink && n.Kind == m.Kind)
			}): // git replaces it
			case dir != "." && abspath.Contains(string(op.Path), dir):
				lost[dir] = nil
			default:
				if parts, begun := lost[dir]; !begun || parts != nil {
					lost[dir] = append(parts, part)
				}
			}
		}
	}
	whole := ""
	for _, dir := range slices.Sorted(maps.Keys(lost)) {
		what := strings.Join(lost[dir], " and ") + " of this git directory"
		switch {
		case abspath.Contains(whole, dir):
			continue
		case lost[dir] == nil:
			what, whole = "this git directory", dir
		}
		asks = append(asks, landAsk{Path: filepath.Join(d.root, dir), Why: "it removes " + what, Guarded: true})
	}
	return asks
}

// pruned reports whether a git directory is a linked work tree's own part, and the work tree is gone after the landing,
// as after git worktree remove (gitrepository-layout(5)).
func (d deletions) pruned(rel string) bool {
	dir := filepath.Join(d.root, rel)
	if common, err := git.CommonDir(git.Disk, dir); err != nil || common == dir {
		return false
	}
	text, err := git.Disk.ReadFile(filepath.Join(dir, "gitdir"), 4096)
	if err != nil {
		return false
	}
	at := strings.TrimRight(string(text), "\r\n")
	if !filepath.IsAbs(at) {
		at = filepath.Join(dir, at)
	}
	_, err = d.after.Lstat(at)
	return errors.Is(err, fs.ErrNotExist)
}

// buildTrees returns whether a path is in a dependencies' or build tree of the project.
func buildTrees(root string) func(rel string) bool {
	index := sync.OnceValue(func() []byte {
		b, _ := os.ReadFile(filepath.Join(root, ".git", "index"))
		return b
	})
	return func(rel string) bool {
		for dir := filepath.Dir(rel); dir != "."; dir = filepath.Dir(dir) {
			has := func(name string) bool {
				_, err := os.Lstat(filepath.Join(root, filepath.Dir(dir), name))
				return err == nil
			}
			if snapshot.Skips(dir, index, has) {
				return true
			}
		}
		return false
	}
}
