package supervisor

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"sandboxd/files"
	"sandboxd/files/tree"
	"sandboxd/internal/modes"
	"sandboxd/profile/abspath"
	"sandboxd/supervisor/aftermath"
)

// Entries that a run left under protected names are in the trash: a folder for each
// run, with a manifest. An item's id is the run's and its number in the folder.

const manifest = "manifest.json"

// QuarantineID is the id for restoring an item; empty for one that was not moved.
func QuarantineID(i aftermath.Item) string {
	number, _, ok := strings.Cut(filepath.Base(i.Trash), "-")
	if i.Trash == "" || !ok {
		return ""
	}
	return i.Exec + "-" + number
}

// manifestOf reads a run's. The folder is the daemon's own.
func (s *Supervisor) manifestOf(exec string) ([]aftermath.Item, error) {
	b, err := os.ReadFile(filepath.Join(s.trash, exec, manifest))
	if err != nil {
		return nil, err
	}
	var items []aftermath.Item
	err = json.Unmarshal(b, &items)
	for _, i := range items {
		if err == nil && (!filepath.IsAbs(i.Path) || filepath.Dir(i.Trash) != filepath.Join(s.trash, exec)) {
			err = fmt.Errorf("%s: an entry has no path", manifest)
		}
	}
	return items, err
}

// quarantined finds one item, or everything that a run left, as a change that
// removed it.
func (s *Supervisor) quarantined(id string, sess *Session) (*undoing, error) {
	exec := id
	if parts := strings.Split(id, "-"); len(parts) == 3 {
		exec = parts[0] + "-" + parts[1]
	}
	if strings.ContainsAny(id, "/.") {
		return nil, noChange(id, "nothing of that name was quarantined")
	}
	items, err := s.manifestOf(exec)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && sess.Kind == KindCLI { // whose it is, is not known
		return nil, s.damagedTrash(exec, exec, err)
	}
	if err != nil {
		return nil, noChange(id, "nothing of that name was quarantined, or it is no longer kept")
	}
	u := &undoing{id: id, guarded: true}
	back := &keptInTrash{}
	var notes []string
	for _, i := range items {
		if id != exec && QuarantineID(i) != id || !s.ofSession(i, sess) {
			continue
		}
		sum, err := i.Hash()
		if err == nil && i.Sum != "" && sum != i.Sum {
			err = errors.New("it has another content than when it was taken away")
		}
		if err != nil {
			return nil, s.damagedTrash(exec, i.Path, fmt.Errorf("%s: %w", i.Trash, err))
		}
		if err := back.add(i.Trash, i.Path, 0); err != nil {
			return nil, fmt.Errorf("look at quarantined %q: %w", i.Path, err)
		}
		notes = append(notes, i.Why)
	}
	if len(back.steps) == 0 {
		return nil, noChange(id, "nothing of that name was quarantined here, or it is no longer kept")
	}
	u.kept, u.note = back, "quarantined: "+strings.Join(notes, "; ")
	return u, nil
}

// damagedTrash is the error of quarantined entries that can't be restored as they were.
func (s *Supervisor) damagedTrash(exec, what string, err error) error {
	return &files.Conflict{Op: files.Undo, Path: what, Reason: files.Damaged, Found: err.Error(),
		Hint: fmt.Sprintf("what is left of it is in %s: copy it from there; the run's other entries come back one by one "+
			"(sbx undo --list)", filepath.Join(s.trash, exec))}
}

// ofSession reports whether sess may restore an item: a program those of its own commands, a person at a
// terminal those of the project. The yes to it is a person's in any case.
func (s *Supervisor) ofSession(i aftermath.Item, sess *Session) bool {
	if !abspath.Contains(sess.Root, i.Path) {
		return false
	}
	if sess.Kind == KindCLI {
		return true
	}
	e, ok := s.ExecOf(i.Exec, sess.Peer.UID)
	return ok && e.Session == sess
}

// quarantinedIn lists the entries quarantined below a root; by maps an item to the change that
// restored it.
func (s *Supervisor) quarantinedIn(root string, by map[string]string) []Change {
	var list []Change
	entries, _ := os.ReadDir(s.trash) // none yet
	for _, e := range entries {
		items, err := s.manifestOf(e.Name())
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			continue // a folder of the undo store, or one that is being filled
		}
		if err != nil {
			c := Change{ID: e.Name(), Op: "quarantine", Guarded: true, Note: err.Error(),
				What: []string{"damaged: " + s.damagedTrash(e.Name(), e.Name(), err).Error()}}
			if info, err := e.Info(); err == nil {
				c.Time = info.ModTime()
			}
			list = append(list, c)
		}
		for _, i := range items {
			if !abspath.Contains(root, i.Path) {
				continue
			}
			list = append(list, Change{ID: QuarantineID(i), Time: i.Time, Op: "quarantine",
				What: []string{"take away " + i.Path}, Guarded: true, Note: i.Why, UndoneBy: by[QuarantineID(i)]})
		}
	}
	return list
}

// keptInTrash is the removal of entries in the trash, as files.Kept.
type keptInTrash struct {
	steps []files.Step
	from  []string // by step: the content's file
}

func (k *keptInTrash) Steps() []files.Step      { return k.steps }
func (k *keptInTrash) HasContent(step int) bool { return k.from[step] != "" }

// Content opens it. Nothing in the trash is followed: it was a command's.
func (k *keptInTrash) Content(step int) (*os.File, error) {
	return os.OpenFile(k.from[step], os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
}

// Bounds of one restoration.
const (
	maxRestored = 10_000
	maxDeep     = 64
)

// add records the entry at from, whose earlier path is at; the entries of a folder come before
// the folder: an undo begins with the last step.
func (k *keptInTrash) add(from, at string, level int) error {
	info, err := os.Lstat(from)
	if err != nil {
		return err
	}
	if level > maxDeep || len(k.steps) >= maxRestored {
		return fmt.Errorf("it holds more than can be brought back at once; it is kept in %s", from)
	}
	if !isText(at) {
		return fmt.Errorf("%q was not UTF-8, and could come back only under another name; it is kept in %s", at, from)
	}
	state := stateOf(info)
	step := files.Step{Kind: files.RemoveStep, Path: at, After: files.State{Kind: files.Absent}}
	content := ""
	switch {
	case info.IsDir():
		entries, err := os.ReadDir(from)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if err := k.add(filepath.Join(from, e.Name()), filepath.Join(at, e.Name()), level+1); err != nil {
				return err
			}
		}
		state.Kind, step.Kind = files.Dir, files.RmdirStep
	case info.Mode()&fs.ModeSymlink != 0:
		state.Kind = files.Symlink
		if state.Target, err = os.Readlink(from); err != nil {
			return err
		}
		if !isText(state.Target) {
			return fmt.Errorf("the link to %q is not UTF-8, and could come back only as another; it is kept in %s", state.Target,
				from)
		}
	case info.Mode().IsRegular():
		state.Kind, content = files.File, from
		if state.Hash, state.Size, err = hashOf(from); err != nil {
			return err
		}
	default:
		return nil // a pipe or socket: nothing to bring back
	}
	step.Before = state
	k.steps, k.from = append(k.steps, step), append(k.from, content)
	return nil
}

// isText reports whether a name is intact: JSON, which carried it here or will carry it
// further, replaces bytes that are not UTF-8 by a mark.
func isText(name string) bool {
	return utf8.ValidString(name) && !strings.ContainsRune(name, utf8.RuneError)
}

func stateOf(info fs.FileInfo) files.State {
	st := files.State{Mode: uint32(info.Mode().Perm()), ModTime: info.ModTime().UnixNano()}
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		st.UID, st.GID = sys.Uid, sys.Gid
	}
	return st
}

func hashOf(name string) (string, int64, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	return tree.Hash(f)
}

// pruneTrash deletes quarantined entries that are older, or take more bytes, than the undo
// store keeps of changes. Above the bound, the oldest entry of the project with
// the most bytes goes first, so that no project displaces the entries of a smaller one.
func (s *Supervisor) pruneTrash(keepFor time.Duration, keepBytes int64, now time.Time) error {
	type run struct {
		dir, project string
		time         time.Time
		size         int64
	}
	entries, err := os.ReadDir(s.trash)
	if err != nil {
		return nil // none yet
	}
	var runs []run
	var total int64
	of := map[string]int64{} // by project
	for _, e := range entries {
		dir := filepath.Join(s.trash, e.Name())
		info, err := os.Stat(filepath.Join(dir, manifest))
		if err != nil {
			continue
		}
		r := run{dir: dir, time: info.ModTime(), size: sizeBelow(dir)}
		if items, err := s.manifestOf(e.Name()); err == nil && len(items) > 0 {
			r.project = items[0].Project
		}
		runs, total = append(runs, r), total+r.size
		of[r.project] += r.size
	}
	slices.SortFunc(runs, func(a, b run) int { return a.time.Compare(b.time) })
	for len(runs) > 0 {
		next := 0
		if keepFor <= 0 || now.Sub(runs[0].time) <= keepFor {
			if keepBytes <= 0 || total <= keepBytes {
				break
			}
			for i, r := range runs {
				if of[r.project] > of[runs[next].project] {
					next = i
				}
			}
		}
		r := runs[next]
		if err := modes.RemoveAll(r.dir); err != nil {
			return err
		}
		runs = slices.Delete(runs, next, next+1)
		total -= r.size
		of[r.project] -= r.size
	}
	return nil
}

func sizeBelow(dir string) int64 {
	var n int64
	filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				n += info.Size()
			}
		}
		return nil
	})
	return n
}
