package layer

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"sandboxd/git"
)

// maxRefreshed bounds the bytes of an index, and those of a file that is read for it.
const maxRefreshed = 64 << 20

// refreshed is an index that took the place of the one that an Op had under the same path, unless it is still in its
// slot.
type refreshed struct {
	Op   int    `json:"op"`
	Node Node   `json:"node"`
	Slot string `json:"slot"`
}

// refresh has the landed indexes of git note the identity of the landed files, which the command's git saw in the
// layer: each git status that may not write would read all of them again, and each other one would write the index, so
// that an undo finds it changed. It runs no filter. What can't be refreshed stays as it landed.
func (m *mover) refresh() error {
	var landed map[Name]State
	for i, op := range m.set.Ops {
		for k, n := range op.New {
			at := join(op.Path, n.Path)
			if path.Base(string(at)) != "index" || n.Kind != File || n.Size > maxRefreshed || !m.to[i] || m.at[i] && !m.resume {
				continue
			}
			tree, ok := m.workTree(Name(path.Dir(string(at))))
			if !ok {
				continue
			}
			if landed == nil {
				landed = m.landedFiles()
			}
			if err := m.refreshIndex(i, k, tree, landed); err != nil {
				return err
			}
		}
	}
	return nil
}

// workTree returns where the files are that the index of a git directory lists: beside it, where a linked work tree's
// own file says, or a submodule's configuration (gitrepository-layout(5)).
func (m *mover) workTree(dir Name) (tree Name, ok bool) {
	if !isGitDir(m.root, dir) {
		return "", false
	}
	if path.Base(string(dir)) == ".git" {
		return Name(path.Dir(string(dir))), true
	}
	to := ""
	if text := m.text(join(dir, "gitdir")); text != nil {
		to = path.Dir(strings.TrimRight(string(text), "\r\n"))
	} else if settings, err := git.ParseConfig(m.text(join(dir, "config"))); err == nil {
		for _, s := range settings {
			if s.Key() == "core.worktree" {
				to = s.Value
			}
		}
	}
	root, err := os.Readlink(procPath(m.root))
	if err != nil || to == "" {
		return "", false
	}
	if !path.IsAbs(to) {
		to = path.Join(root, string(dir), to)
	}
	to, ok = strings.CutPrefix(path.Clean(to), root+"/")
	return Name(to), ok
}

// text reads a small file of the root, nil where there is none.
func (m *mover) text(at Name) []byte {
	s, err := stat(m.root, string(at))
	if err != nil || s.Kind != File || s.Size > 1<<16 {
		return nil
	}
	text, err := m.readLanded(m.root, string(at), s)
	if err != nil {
		return nil
	}
	return text
}

// landedFiles are the files that the root has from the change set.
func (m *mover) landedFiles() map[Name]State {
	files := map[Name]State{}
	for i, op := range m.set.Ops {
		for _, n := range op.New {
			if n.Kind == File && m.to[i] {
				files[join(op.Path, n.Path)] = n.State
			}
		}
	}
	return files
}

// refreshIndex replaces the index that is a node of an Op, of a work tree. The journal says so first.
func (m *mover) refreshIndex(i, k int, tree Name, landed map[Name]State) error {
	op := m.set.Ops[i]
	at, r := join(op.Path, op.New[k].Path), refreshed{Op: i, Node: op.New[k]}
	dir, err := open(m.root, path.Dir(string(at)), unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return nil
	}
	defer unix.Close(dir)
	text, err := m.readLanded(dir, "index", r.Node.State)
	if err != nil {
		return nil // somebody replaced it
	}
	changed, err := git.Refresh(text, func(at string) (git.Stat, bool) {
		name := join(tree, Name(at))
		want, ok := landed[name]
		now, err := stat(m.root, string(name))
		return git.Stat{CTime: now.CTime, MTime: now.MTime, Ino: now.Inode, UID: now.UID, GID: now.GID, Size: now.Size,
			Content: func() []byte { return m.content(name, now) }}, ok && err == nil && now.Inode == want.Inode
	})
	if err != nil || !changed {
		return nil
	}
	list := &m.l.state.Refreshed
	r.Slot = "index" + itoa(len(*list))
	if err := m.write(r.Slot, text, &r.Node.State); err != nil {
		return err
	}
	above, err := fstat(dir)
	if err != nil {
		return err
	}
	*list = append(*list, r)
	if err := m.l.save(); err != nil {
		return err
	}
	if err := unix.Renameat(m.slots, r.Slot, dir, "index"); err != nil {
		return nil // a directory that denies its owner to write
	}
	if m.set.Ops[i].New[k] = r.Node; r.Node.Path == "." {
		return nil // the directory is the root's, whose times come last
	}
	return setMTime(dir, above.MTime)
}

// write makes a file in the slots.
func (m *mover) write(name string, text []byte, s *State) error {
	file := path.Join(m.l.slots(), name)
	if err := os.Remove(file); err != nil && !os.IsNotExist(err) { // of an attempt that was cut off
		return err
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	s.Hash = hex.EncodeToString(sum[:])
	return (&copier{into: m.slots}).dress(name, s)
}

// readLanded reads a file that landed.
func (m *mover) readLanded(dir int, name string, want State) ([]byte, error) {
	fd, err := openLoose(dir, name, unix.O_RDONLY|unix.O_NONBLOCK, 0o400)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	if now, err := fstat(fd); err != nil || now.Inode != want.Inode {
		return nil, unix.ESTALE
	}
	return io.ReadAll(io.LimitReader(f, maxRefreshed))
}

// content reads a file that landed; nil where that fails.
func (m *mover) content(at Name, now State) []byte {
	if now.Size > maxRefreshed {
		return nil
	}
	text, err := m.readLanded(m.root, string(at), now)
	if err != nil {
		return nil
	}
	return text
}

// refresh has the change set contain the refreshed indexes.
func (l *Layer) refresh() {
	for _, r := range l.state.Refreshed {
		if _, err := os.Lstat(path.Join(l.slots(), r.Slot)); os.IsNotExist(err) {
			list := l.set.Ops[r.Op].New
			if k := slices.IndexFunc(list, func(n Node) bool { return n.Path == r.Node.Path }); k >= 0 {
				list[k] = r.Node
			}
		}
	}
}
