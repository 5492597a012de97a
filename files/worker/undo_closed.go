package worker

import (
	"errors"
	"maps"
	"os"
	"path"
	"slices"

	"sandboxd/files"
	"sandboxd/files/tree"
	"sandboxd/internal/modes"
)

// open lets the undo of a run read and search the folders of its steps that close themselves to their owner. u.closed
// has their modes, and look and folder return these.
func (u *undoing) open(steps []files.Step) error {
	if !u.how.Run || !modes.Bind() {
		return nil
	}
	var dirs []string
	for _, s := range steps {
		dirs = append(dirs, s.Path, path.Dir(s.Path))
	}
	slices.Sort(dirs) // those around others first
	for _, abs := range slices.Compact(dirs) {
		err := u.closing(abs, func(dir *tree.Dir, mode uint32) error {
			if mode&0o500 == 0o500 {
				return nil
			}
			u.closed[abs] = mode
			return dir.Loosen()
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// close gives the folders their modes again, but where a finished undo gave them another one.
func (u *undoing) close(steps []files.Step, undone bool) error {
	wanted := map[string]uint32{}
	for _, s := range steps {
		if undone && s.Before.Kind == files.Dir {
			wanted[s.Path] = s.Before.Mode
		}
	}
	var all error
	for _, abs := range slices.Backward(slices.Sorted(maps.Keys(u.closed))) { // those inside others first
		was := u.closed[abs]
		all = errors.Join(all, u.closing(abs, func(dir *tree.Dir, mode uint32) error {
			if want, ok := wanted[abs]; mode != was|0o700 || ok && want == mode {
				return nil
			}
			return dir.Chmod(was)
		}))
	}
	return all
}

// closing calls f with a folder of this user, if there is one at a path, and its mode.
func (u *undoing) closing(abs string, f func(dir *tree.Dir, mode uint32) error) error {
	t, rel, err := u.server.at(abs)
	if err != nil {
		return nil // the steps say so
	}
	dir, err := t.Dir(rel)
	if err != nil {
		return nil
	}
	defer dir.Close()
	st, err := dir.Self()
	if err != nil || st.Kind != files.Dir || int(st.UID) != os.Geteuid() {
		return err
	}
	return f(dir, st.Mode)
}

// asClosed is an entry with the mode that it has when no undo works in it.
func (u *undoing) asClosed(abs string, st tree.Stat) tree.Stat {
	if mode, ok := u.closed[abs]; ok && st.Kind == files.Dir {
		st.Mode = mode
	}
	return st
}
