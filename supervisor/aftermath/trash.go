package aftermath

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/google/renameio/v2"
	"golang.org/x/sys/unix"

	"sandboxd/files/tree"
)

// trash is one run's folder. The trees that things come from are the run's
// to arrange, so every name is used below an opened folder, without links.
type trash struct {
	dir   string
	open  *tree.Tree
	n     int
	lines *os.File // the journal, open to be written
}

const (
	manifest = "manifest.json"
	// journal has a line for everything that is moved, before it is, until the
	// manifest is written.
	journal = "moving.jsonl"
)

// resume continues in the folder of a check that was cut off, and
// returns the entries in it.
func (t *trash) resume() []Item {
	var moved []Item
	if b, err := os.ReadFile(filepath.Join(t.dir, manifest)); err == nil {
		json.Unmarshal(b, &moved) // it is written whole
	}
	b, _ := os.ReadFile(filepath.Join(t.dir, journal))
	for line := range bytes.Lines(b) {
		var i Item
		if json.Unmarshal(line, &i) != nil {
			continue // cut off: its entry was not moved
		}
		if !slices.ContainsFunc(moved, func(o Item) bool { return o.Trash == i.Trash }) {
			moved = append(moved, i)
		}
	}
	for _, i := range moved {
		number, _, _ := strings.Cut(filepath.Base(i.Trash), "-")
		n, _ := strconv.Atoi(number)
		t.n = max(t.n, n)
	}
	return slices.DeleteFunc(moved, func(i Item) bool {
		_, err := os.Lstat(i.Trash)
		return err != nil || filepath.Dir(i.Trash) != t.dir
	})
}

// take moves the entry at the item's path, below root, to the trash, and returns the item
// with its new path. The journal lists it before it is moved: after a death in between, no
// moved entry is missing from both lists.
func (t *trash) take(root string, item Item) (Item, error) {
	t.n++
	// The manifest is JSON: bytes of a name that are not UTF-8 would change.
	name := fmt.Sprintf("%03d-%s", t.n, strings.ToValidUTF8(path.Base(item.Path), "\ufffd"))
	if len(name) > 200 {
		name = strings.ToValidUTF8(name[:200], "")
	}
	item.Trash = path.Join(t.dir, name)
	if err := t.note(item); err != nil {
		return item, err
	}
	if err := t.fetch(root, item.Path, name); err != nil {
		return item, err
	}
	openUp(item.Trash)
	return item, nil
}

// openUp opens the directories and files that a run has closed to us: they must be listed to be
// removed one day, and read to be restored.
func openUp(dir string) {
	filepath.WalkDir(dir, func(at string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
		case d.IsDir():
			widen(at, unix.S_IFDIR, 0o700)
		case d.Type().IsRegular():
			widen(at, unix.S_IFREG, 0o400)
		}
		return err
	})
}

// note adds a line to the journal.
func (t *trash) note(item Item) error {
	if t.lines == nil {
		if err := os.MkdirAll(t.dir, 0o700); err != nil {
			return err
		}
		f, err := os.OpenFile(filepath.Join(t.dir, journal), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			return err
		}
		t.lines = f
	}
	b, err := json.Marshal(item)
	if err != nil {
		return err
	}
	_, err = t.lines.WriteString("\n" + string(b) + "\n") // after a line that may be cut off
	return err
}

func (t *trash) fetch(root, at, name string) error {
	to, err := t.folder()
	if err != nil {
		return err
	}
	defer to.Close()
	defer unlock(root, at)()
	from, closeAll, err := openFolder(root, path.Dir(at))
	if err != nil {
		return err
	}
	defer closeAll()
	return move(from, path.Base(at), to, name)
}

// unlock opens the way to at for the moment: the run may have closed folders of
// ours on it, at among them.
func unlock(root, at string) (lock func()) {
	var backs []func()
	parent, element := unix.AT_FDCWD, root
	for _, next := range append(strings.Split(strings.TrimPrefix(at, root), "/"), "")[1:] {
		if back := loosen(parent, element, unix.S_IFDIR, 0o700); back != nil {
			backs = append(backs, back)
		}
		fd, err := unix.Openat(parent, element, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			break // at is no folder
		}
		backs = append(backs, func() { unix.Close(fd) })
		parent, element = fd, next
	}
	return func() {
		for _, back := range slices.Backward(backs) {
			back()
		}
	}
}

// folder makes the run's folder and opens it.
func (t *trash) folder() (*tree.Dir, error) {
	if t.open == nil {
		if err := os.MkdirAll(t.dir, 0o700); err != nil {
			return nil, err
		}
		real, err := filepath.EvalSymlinks(t.dir)
		if err != nil {
			return nil, err
		}
		if t.open, err = tree.Open(real, tree.Options{}); err != nil {
			return nil, err
		}
	}
	return t.open.Dir(".")
}

func openFolder(root, dir string) (*tree.Dir, func(), error) {
	t, err := tree.Open(root, tree.Options{ManyNames: true})
	if err != nil {
		return nil, nil, err
	}
	rel := strings.TrimPrefix(strings.TrimPrefix(dir, root), "/")
	if rel == "" {
		rel = "."
	}
	d, err := t.Dir(rel)
	if err != nil {
		t.Close()
		return nil, nil, err
	}
	return d, func() { d.Close(); t.Close() }, nil
}

// restore restores an entry at a path that is free now.
func (t *trash) restore(root, at string, was entry) error {
	defer unlock(root, path.Dir(at))()
	d, closeAll, err := openFolder(root, path.Dir(at))
	if err != nil {
		return err
	}
	defer closeAll()
	name := path.Base(at)
	if was.directory() {
		r, err := os.OpenRoot(root)
		if err != nil {
			return err
		}
		defer r.Close()
		rel, mode := strings.TrimPrefix(at, root+"/"), os.FileMode(was.mode&0o777)
		if err := r.Mkdir(rel, mode); err != nil {
			return err
		}
		return r.Chmod(rel, mode) // without the umask
	}
	if was.kind() == unix.S_IFLNK {
		return settledError(d.Symlink(name, tree.TempName(), ownLink(string(was.content), was.mtime)))
	}
	fresh, err := begin(d)
	if err != nil {
		return err
	}
	defer fresh.Close()
	if _, err := fresh.Write(was.content); err != nil {
		return err
	}
	if err := fresh.Chmod(uint32(was.mode & 0o777)); err != nil {
		return err
	}
	return settledError(fresh.Place(name))
}

// close writes the manifest of the entries in the trash, as they are known now.
func (t *trash) close(items []Item) {
	if t.n == 0 {
		return // no folder was made
	}
	if t.open != nil {
		defer t.open.Close()
	}
	if t.lines != nil {
		defer t.lines.Close()
	}
	var moved []Item
	for _, i := range items {
		if i.Trash == "" {
			continue
		}
		if i.Sum == "" {
			i.Sum, _ = i.Hash() // of what can't be read nothing is restored
		}
		moved = append(moved, i)
	}
	if len(moved) == 0 {
		os.Remove(filepath.Join(t.dir, journal))
		os.Remove(t.dir) // only if it is empty
		return
	}
	b, err := json.MarshalIndent(moved, "", "  ")
	if err == nil {
		write := func() error { return renameio.WriteFile(filepath.Join(t.dir, manifest), append(b, '\n'), 0o600) }
		if err = write(); t.giveRoom(err) {
			err = write()
		}
	}
	if err == nil {
		os.Remove(filepath.Join(t.dir, journal))
		return
	}
	for i := range items {
		if items[i].Trash != "" {
			items[i].Why += "; no note could be left beside it: " + err.Error()
		}
	}
}
