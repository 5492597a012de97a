package layer

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"sandboxd/internal/durable"
	"sandboxd/internal/modes"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Layer is one run's layer, or the change set made from it, in a directory of its own. Its methods must not be called
// concurrently.
type Layer struct {
	dir   string
	set   *Set // nil until Take
	state state
}

// state is the part of a layer on disk that changes. The change set beside it never does.
type state struct {
	Stamp int64 `json:"stamp"`
	// Taken: the change set is complete.
	Taken bool `json:"taken,omitempty"`
	// At has a flag for each Op and then for each of Dirs: whether the root has the new one. For Ops the slots
	// decide; see [Layer.applied].
	At []bool `json:"at,omitempty"`
	// Dropped has a flag for each of At: it never lands, as a person dropped it. Empty: nothing was dropped.
	Dropped []bool `json:"dropped,omitempty"`
	// To is where a move leads that is under way, and Lock the content of the lock files that it made.
	To    []bool `json:"to,omitempty"`
	Lock  string `json:"lock,omitempty"`
	Locks []Name `json:"locks,omitempty"`
	// CTimes are the times of change of the objects that a move has put into the root, by the index of the Op; MTimes
	// the times of modification that a move has given directories, by the index in Dirs.
	CTimes map[int]int64 `json:"ctimes,omitempty"`
	MTimes map[int]int64 `json:"mtimes,omitempty"`
	// Refreshed are indexes of git in the place of those of the change set, the latest last.
	Refreshed []refreshed `json:"refreshed,omitempty"`
}

// syncfs is syncfs(2). The kernel passes it to no file system in user space, so tests of power cuts have their own.
var syncfs = unix.Syncfs

func (l *Layer) slots() string     { return filepath.Join(l.dir, "slots") }
func (l *Layer) stateFile() string { return filepath.Join(l.dir, "state.json") }

// Upper and Work are the directories for the overlay mount: upperdir and workdir, with userxattr, redirect_dir=off and
// metacopy=off.
func (l *Layer) Upper() string { return filepath.Join(l.dir, "upper") }

// Work is the workdir; see [Layer.Upper].
func (l *Layer) Work() string { return filepath.Join(l.dir, "work") }

// Set returns the change set; nil before [Layer.Take].
func (l *Layer) Set() *Set { return l.set }

// Untouched reports whether the command changed nothing: the upper directory is empty, and equal to the root. held are
// as for New.
func (l *Layer) Untouched(root *os.File, held ...*Layer) bool {
	upper, err := os.Open(l.Upper())
	if err != nil {
		return false
	}
	defer upper.Close()
	entries, err := upper.Readdirnames(1)
	if len(entries) > 0 || !errors.Is(err, io.EOF) {
		return false
	}
	now, _, err := full(int(upper.Fd()), ".")
	was, werr := viewsOf(held).state(int(root.Fd()), ".", ".")
	return err == nil && werr == nil && now.sameMetadata(was) && now.MTime == was.MTime
}

// Take reads the layer and copies its new objects; upper is of use only for a mount above it then. The command's
// processes should have ended: a write during Take may be in a copy or not, a later one is in none. The layer is then
// held. held are as for New; the layer can land after they have.
func (l *Layer) Take(root *os.File, held ...*Layer) error {
	if err := l.take(root, viewsOf(held)); err != nil {
		return fmt.Errorf("take layer %q over %q: %w", l.dir, root.Name(), err)
	}
	return nil
}

func (l *Layer) take(root *os.File, between below) error {
	if l.state.Taken {
		return errors.New("it was taken before")
	}
	if err := modes.RemoveAll(l.slots()); err != nil { // of an attempt that was cut off
		return err
	}
	if err := os.Mkdir(l.slots(), 0o700); err != nil {
		return err
	}
	slots, err := os.Open(l.slots())
	if err != nil {
		return err
	}
	defer slots.Close()
	upper, err := os.Open(l.Upper())
	closed := errors.Is(err, fs.ErrPermission) // its mode is the root's
	if closed {
		if err = os.Chmod(l.Upper(), 0o700); err == nil {
			upper, err = os.Open(l.Upper())
		}
	}
	if err != nil {
		return err
	}
	defer upper.Close()
	if l.set, err = take(int(root.Fd()), int(upper.Fd()), int(slots.Fd()), l.state.Stamp, between); err != nil {
		l.set = nil
		return errors.Join(err, modes.RemoveAll(l.slots())) // the next attempt needs their room
	}
	if closed {
		l.set.Altered = append(l.set.Altered, Note{".", "lands with mode 0700: nothing in it could be undone otherwise"})
	}
	data, err := json.Marshal(l.set)
	if err != nil {
		return err
	}
	if err := durable.Replace(filepath.Join(l.dir, "set.json"), durable.Seal(data)); err != nil {
		return err
	}
	if err := syncfs(int(slots.Fd())); err != nil {
		return os.NewSyscallError("syncfs", err)
	}
	l.state.Taken, l.state.At = true, make([]bool, len(l.set.Ops)+len(l.set.Dirs))
	return errors.Join(l.save(), l.Prune())
}

// Open opens a layer that New made. It fails where its files can't be read; nothing is changed.
func Open(dir string) (*Layer, error) {
	l := &Layer{dir: dir}
	err := read(l.stateFile(), &l.state)
	if err == nil && l.state.Taken {
		l.set = &Set{}
		err = read(filepath.Join(dir, "set.json"), l.set)
	}
	if all := len(l.state.At); err == nil && l.set != nil &&
		(all != len(l.set.Ops)+len(l.set.Dirs) || len(l.state.Dropped) > 0 && len(l.state.Dropped) != all) {
		err = errors.New("its state is of another change set")
	}
	if err != nil {
		return nil, fmt.Errorf("open layer %q: %w", dir, err)
	}
	l.refresh()
	return l, nil
}

func read(name string, into any) error {
	data, err := os.ReadFile(name)
	if err == nil {
		data, err = durable.Unseal(data)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(name), err)
	}
	return json.Unmarshal(data, into)
}

func (l *Layer) save() error {
	data, err := json.Marshal(l.state)
	if err != nil {
		return err
	}
	return durable.Replace(l.stateFile(), durable.Seal(data))
}

// Status says how far a layer has come.
type Status string

const (
	// Mounted: the run may still write, or died before Take.
	Mounted Status = "mounted"
	// Held: the root has nothing of the change set.
	Held Status = "held"
	// Partly: the root has a part that a person chose.
	Partly Status = "partly"
	// Landed: the root has all of it that was not dropped.
	Landed Status = "landed"
	// Moving: a landing or an undo was cut off. [Layer.Recover] is needed.
	Moving Status = "moving"
)

// Status returns how far the layer has come.
func (l *Layer) Status() Status {
	switch {
	case !l.state.Taken:
		return Mounted
	case l.state.To != nil:
		return Moving
	case !slices.Contains(l.state.At, true):
		return Held
	case !l.ended():
		return Partly
	}
	return Landed
}

// Land puts the change set into the root: all of it if no paths are given, else the part at, above and below the paths.
// Either all of that lands, or nothing and Land fails: with a [*RefusedError] where the judge refused a change, with a
// [*ConflictError] where the root changed since the run began. The changes in one git directory land together, and so
// do those of one SQLite database.
func (l *Layer) Land(root *os.File, judge Judge, paths ...Name) error {
	return l.land(root, judge, l.choose(root, paths), l.conflicts(func(at Name) bool { return related(at, paths) }))
}

// LandBeside is Land of all but [Layer.Beside] the paths. Conflicts there do not count.
func (l *Layer) LandBeside(root *os.File, judge Judge, paths ...Name) error {
	return l.land(root, judge, l.beside(root, paths), l.conflicts(func(at Name) bool { return !related(at, paths) }))
}

func (l *Layer) land(root *os.File, judge Judge, chosen map[int]bool, conflicts []Note) error {
	var refused []Note
	if l.state.Taken {
		for _, c := range l.set.ChangesOf(func(i int) bool { return chosen[i] }) {
			if err := judge(c); err != nil {
				refused = append(refused, Note{c.Path, err.Error()})
			}
		}
	}
	if len(refused) > 0 {
		return fmt.Errorf("land layer %q over %q: %w", l.dir, root.Name(), &RefusedError{refused})
	}
	if len(conflicts) > 0 {
		return fmt.Errorf("land layer %q over %q: %w", l.dir, root.Name(), &ConflictError{conflicts})
	}
	return l.change(root, "land", l.with(chosen, true))
}

// related reports whether a path is at, above or below one of the paths, or there is none.
func related(at Name, paths []Name) bool {
	return len(paths) == 0 || slices.ContainsFunc(paths, func(p Name) bool { return at.within(p) || p.within(at) })
}

// conflicts returns those at the chosen paths.
func (l *Layer) conflicts(chosen func(Name) bool) []Note {
	return slices.DeleteFunc(l.Conflicts(), func(n Note) bool { return !chosen(n.Path) })
}

// Part reports which of the set's Ops, and then of its Dirs, Land with these paths would land.
func (l *Layer) Part(root *os.File, paths ...Name) func(i int) bool {
	chosen := l.choose(root, paths)
	return func(i int) bool { return chosen[i] && l.Left(i) }
}

// Units returns the smallest parts of the chosen Ops and Dirs, each as the path by which it lands alone: a git
// directory, a path of a SQLite database, that of an Op, or that of a directory with other attributes, with a slash
// behind it, which lands with everything below.
func (l *Layer) Units(root *os.File, chosen func(i int) bool) (list []Name) {
	repository, known := repositories(int(root.Fd())), map[Name]bool{}
	for i, op := range l.set.Ops {
		of, name := unit(repository, op.Path), op.Path
		if repo, ok := repository(op.Path); ok {
			name = repo
		}
		if chosen(i) && !known[of] {
			known[of] = true
			list = append(list, name)
		}
	}
	for k, d := range l.set.Dirs {
		if chosen(len(l.set.Ops)+k) && !d.Old.sameMetadata(d.New) {
			list = append(list, d.Path+"/")
		}
	}
	return list
}

// Beside reports which of the set's Ops, and then of its Dirs, LandBeside with these paths would land: those that Land
// with them would not.
func (l *Layer) Beside(root *os.File, paths ...Name) func(i int) bool {
	chosen := l.beside(root, paths)
	return func(i int) bool { return chosen[i] && l.Left(i) }
}

func (l *Layer) beside(root *os.File, paths []Name) map[int]bool {
	chosen := l.choose(root, nil)
	for i := range l.choose(root, paths) {
		delete(chosen, i)
	}
	return chosen
}

// MTime returns the modification time with which the latest move left one of the set's Dirs, in nanoseconds since 1970.
func (l *Layer) MTime(dir int) (ns int64, ok bool) {
	ns, ok = l.state.MTimes[dir]
	return ns, ok
}

// At reports for each of the set's Ops, and then for each of its Dirs, whether the root has the new one.
func (l *Layer) At() []bool { return slices.Clone(l.state.At) }

// Undo puts the displaced objects back into the root, and keeps the landed ones so that they can land again. Paths are
// as for Land. It fails with a [*ConflictError] where a landed object changed since.
func (l *Layer) Undo(root *os.File, paths ...Name) error {
	return l.change(root, "undo", l.with(l.choose(root, paths), false))
}

// Restore brings the root back to an earlier [Layer.At]; nil is none of the change set. It recovers first where a move
// was cut off. It fails as Undo does.
func (l *Layer) Restore(root *os.File, at []bool) error {
	if err := l.Recover(root); err != nil {
		return err
	}
	if at == nil {
		return l.Undo(root)
	}
	return l.change(root, "restore", slices.Clone(at))
}

// with returns the flags after a move of the chosen parts.
func (l *Layer) with(chosen map[int]bool, to bool) []bool {
	want := slices.Clone(l.state.At)
	for i := range chosen {
		want[i] = to
	}
	return want
}

func (l *Layer) change(root *os.File, verb string, want []bool) error {
	wrap := func(err error) error {
		if err == nil {
			return nil
		}
		return fmt.Errorf("%s layer %q over %q: %w", verb, l.dir, root.Name(), err)
	}
	switch {
	case !l.state.Taken:
		return wrap(errors.New("the change set is not complete"))
	case l.state.To != nil:
		return wrap(errors.New("an earlier one was cut off: recover it first"))
	case len(want) != len(l.state.At):
		return wrap(errors.New("the parts are those of another change set"))
	}
	return wrap(l.move(root, want, false))
}

// Recover finishes a landing or an undo that a death cut off: forward where the root allows it, else back to the state
// before. It does nothing where none was cut off. A layer that was not taken stays [Mounted].
func (l *Layer) Recover(root *os.File) error {
	if l.state.To == nil {
		return nil
	}
	if err := l.move(root, l.state.To, true); err != nil {
		return fmt.Errorf("recover layer %q over %q: %w", l.dir, root.Name(), err)
	}
	return nil
}

// choose returns the indexes of flags that belong to paths: all if there is none. It adds the rest of each git
// directory and of each database that has one of them, and the times of directories where nothing else would be left.
func (l *Layer) choose(root *os.File, paths []Name) map[int]bool {
	chosen, units := map[int]bool{}, map[Name]bool{}
	if l.set == nil {
		return chosen
	}
	of, repository := make([]Name, len(l.set.Ops)), repositories(int(root.Fd()))
	for i, op := range l.set.Ops {
		of[i] = unit(repository, op.Path)
		if related(op.Path, paths) {
			units[of[i]] = true
		}
	}
	for i := range l.set.Ops {
		chosen[i] = units[of[i]]
	}
	for k, d := range l.set.Dirs {
		chosen[len(l.set.Ops)+k] = len(paths) == 0 || slices.ContainsFunc(paths, d.Path.within)
	}
	maps.DeleteFunc(chosen, func(i int, yes bool) bool { return !yes || l.dropped(i) })
	l.chooseTimes(chosen)
	return chosen
}

// unit returns the path that all paths of one unit have in common: a git directory, a SQLite database, or else the path
// itself.
func unit(repository func(Name) (Name, bool), at Name) Name {
	if repo, ok := repository(at); ok {
		return repo
	}
	for _, suffix := range []Name{"-wal", "-shm", "-journal"} {
		if db, ok := strings.CutSuffix(string(at), string(suffix)); ok {
			return Name(db)
		}
	}
	return at
}

// Late returns the displaced files that another program has written to since their landing, through a descriptor from
// before it. Their content is lost by [Layer.Drop].
func (l *Layer) Late() ([]Name, error) {
	slots, err := os.Open(l.slots())
	if err != nil {
		return nil, fmt.Errorf("read displaced files of layer %q: %w", l.dir, err)
	}
	defer slots.Close()
	m := &mover{l: l, set: l.set, slots: int(slots.Fd())}
	var late []Name
	for i, op := range l.set.Ops {
		landed, err := m.applied1(i)
		if err != nil || !landed || len(op.Old) == 0 {
			continue
		}
		if reason, err := m.differs(m.slots, itoa(i), op.Old, 0, true); reason != "" || err != nil {
			late = append(late, op.Path)
		}
	}
	return late, nil
}

// Displaced calls f with each regular file that the landing took out of the root, opened for reading, by its path below
// the root; f closes it. It stops at f's first error, and passes over a file that can't be read.
func (l *Layer) Displaced(f func(Name, *os.File) error) error {
	slots, err := os.Open(l.slots())
	if err != nil {
		return fmt.Errorf("read displaced files of layer %q: %w", l.dir, err)
	}
	defer slots.Close()
	m := &mover{l: l, set: l.set, slots: int(slots.Fd())}
	for i, op := range l.set.Ops {
		if landed, err := m.applied1(i); err != nil || !landed {
			continue
		}
		for _, n := range op.Old {
			if n.Kind != File {
				continue
			}
			file, err := reach(m.slots, join(Name(itoa(i)), n.Path))
			if err != nil {
				continue
			}
			if err := f(join(op.Path, n.Path), file); err != nil {
				return err
			}
		}
	}
	return nil
}

// Content opens the regular file that the change set has for a path and the root does not have yet, for reading.
func (l *Layer) Content(at Name) (*os.File, error) {
	fail := func(err error) (*os.File, error) {
		return nil, fmt.Errorf("read %q of layer %q: %w", at, l.dir, err)
	}
	slots, err := os.Open(l.slots())
	if err != nil {
		return fail(err)
	}
	defer slots.Close()
	for i, op := range l.set.Ops {
		for _, n := range op.New {
			if l.state.At[i] || n.Kind != File || join(op.Path, n.Path) != at {
				continue
			}
			file, err := reach(int(slots.Fd()), join(Name(itoa(i)), n.Path))
			if err != nil {
				return fail(err)
			}
			return file, nil
		}
	}
	return fail(fs.ErrNotExist)
}

// token returns a text that no other layer has.
func token() string { return "sandboxd " + rand.Text() + "\n" }
