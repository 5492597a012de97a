package layer

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path"

	"golang.org/x/sys/unix"

	"sandboxd/git"
)

// maxRefreshed bounds the bytes of an index, and those of a file that is read for it.
const maxRefreshed = 64 << 20

// refreshed is an index that took the place of the one that an Op had, unless it is still in its slot.
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
		dir, base := path.Split(string(op.Path))
		if base != "index" || path.Base(dir) != ".git" || len(op.New) != 1 || op.New[0].Kind != File || !m.to[i] ||
			m.at[i] && !m.resume || op.New[0].Size > maxRefreshed || !isGitDir(m.root, Name(path.Clean(dir))) {
			continue
		}
		if landed == nil {
			landed = m.landedFiles()
		}
		if err := m.refreshIndex(i, Name(path.Dir(path.Clean(dir))), landed); err != nil {
			return err
		}
	}
	return nil
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

// refreshIndex replaces the index of an Op, of the work tree at a path. The journal says so first.
func (m *mover) refreshIndex(i int, tree Name, landed map[Name]State) error {
	dir, base, err := m.parentOf(m.set.Ops[i].Path)
	if err != nil {
		return err
	}
	text, err := m.readLanded(dir, base, m.set.Ops[i].New[0].State)
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
	r := refreshed{i, m.set.Ops[i].New[0], "index" + itoa(len(*list))}
	if err := m.write(r.Slot, text, &r.Node.State); err != nil {
		return err
	}
	*list = append(*list, r)
	if err := m.l.save(); err != nil {
		return err
	}
	if err := unix.Renameat(m.slots, r.Slot, dir, base); err != nil {
		return os.NewSyscallError("rename", err)
	}
	m.set.Ops[i].New = []Node{r.Node}
	return nil
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
			l.set.Ops[r.Op].New = []Node{r.Node}
		}
	}
}
