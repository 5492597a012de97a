package layer

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"sandboxd/internal/modes"
)

// mover brings a root from one selection of a change set's parts to another. Each name changes by one rename between
// the root and the layer's slots: at every moment one of the two objects is in the root and the other in the slot.
type mover struct {
	l           *Layer
	set         *Set
	root, slots int
	at, to      []bool
	// resume: an earlier move was cut off, so that times of change and directories differ from the noted ones.
	resume bool
	todo   []int         // Ops that move
	index  map[Name]int  // of Dirs
	dirs   map[int]*spot // those that the move touches
	leases []int
	// parents are opened directories of the root. backward: ops go back in them, even in one that moved meanwhile.
	parents  map[Name]int
	backward bool
	copied   bool // differs compares with what may be a copy of a displaced object
}

// spot is a directory of the root as the move found it.
type spot struct {
	seen    bool
	mode    uint32
	mtime   int64
	foreign bool // somebody else changed its entries: its times are left alone
}

// maxLeases bounds the files that a move holds open, and the directories; other files it only asks for writers.
const maxLeases = 400

// torn is an object that could be neither moved nor moved back.
const torn = "another program changed it during the landing; both versions are kept"

func (l *Layer) move(root *os.File, want []bool, resume bool) error {
	slots, err := os.Open(l.slots())
	if err != nil {
		return err
	}
	defer slots.Close()
	m := &mover{l: l, set: l.set, root: int(root.Fd()), slots: int(slots.Fd()), to: want, resume: resume,
		parents: map[Name]int{}, index: map[Name]int{}}
	for k, d := range l.set.Dirs {
		m.index[d.Path] = k
	}
	defer m.close()
	if m.at, err = m.applied(); err != nil {
		return err
	}
	m.plan()
	if err := m.begin(); err != nil {
		return err
	}
	if err = m.carryOut(); err != nil {
		return m.back(err)
	}
	before := l.state.At
	if err := m.finish(want); err != nil {
		return err
	}
	// A program that found the displaced file before the exchange waits for its lease: the file goes back first.
	if m.leased() && (l.move(root, before, false) == nil || !slices.Equal(l.state.At, want)) {
		return errLeased
	}
	return nil
}

func (m *mover) close() {
	for _, fd := range m.leases {
		unix.Close(fd) // which ends the lease
	}
	for _, fd := range m.parents {
		unix.Close(fd)
	}
}

// applied reads from the slots which Ops the root has: a slot holds the new object before, and the old one after. A
// slot that has neither is a conflict only where the move needs it.
func (m *mover) applied() ([]bool, error) {
	at := slices.Clone(m.l.state.At)
	for i := range m.set.Ops {
		now, err := m.applied1(i)
		if errors.As(err, new(*ConflictError)) && !m.resume && m.to[i] == at[i] {
			continue
		}
		if at[i] = now; err != nil {
			return nil, err
		}
	}
	return at, nil
}

// applied1 reports whether the root has the new object of an Op. A slot that contradicts the state proves nothing by
// inodes, unless a move is under way: a state directory that was copied or restored has others.
func (m *mover) applied1(i int) (bool, error) {
	if m.l.dropped(i) { // its slot is empty
		return false, nil
	}
	op, noted := m.set.Ops[i], m.l.state.At[i]
	s, err := stat(m.slots, itoa(i))
	if err != nil {
		return false, err
	}
	_, slot := op.side(noted)
	_, other := op.side(!noted)
	switch {
	case s.tops(slot):
		return noted, nil
	case s.tops(other) && m.l.state.To != nil:
		return !noted, nil
	}
	return m.compared(i)
}

// tops reports whether an object is the top of a tree, by its identity.
func (s State) tops(tree []Node) bool {
	if len(tree) == 0 {
		return s.Kind == Absent
	}
	return s.Kind == tree[0].Kind && s.Inode == tree[0].Inode
}

// compared is applied1 by content. What the state denies holds only where the root shows it, too.
func (m *mover) compared(i int) (bool, error) {
	m.copied = true
	defer func() { m.copied = false }()
	op, noted := m.set.Ops[i], m.l.state.At[i]
	for _, at := range []bool{noted, !noted} {
		root, slot := op.side(at)
		if reason, err := m.differs(m.slots, itoa(i), slot, 0, true); err != nil || reason != "" {
			continue
		}
		if at == noted {
			return at, nil
		}
		dir, base, err := m.parentOf(op.Path)
		if err != nil {
			continue
		}
		if reason, err := m.differs(dir, base, root, 0, true); err == nil && reason == "" {
			return at, nil
		}
	}
	return noted, &ConflictError{[]Note{{op.Path, damaged}}}
}

// damaged is an object that is neither in the root nor, as it was, in the layer.
const damaged = "its copy in the state directory is missing or damaged, and does not land"

// every returns the numbers below n.
func every(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

func itoa(i int) string { return strconv.Itoa(i) }

// plan finds the ops to move, and the directories that they touch.
func (m *mover) plan() {
	m.dirs = map[int]*spot{}
	touch := func(at Name) {
		for {
			if k, ok := m.index[at]; ok {
				if m.dirs[k] != nil {
					return
				}
				m.dirs[k] = &spot{}
			}
			if at == "." {
				return
			}
			at, _ = at.split()
		}
	}
	for i, op := range m.set.Ops {
		if m.at[i] != m.to[i] {
			m.todo = append(m.todo, i)
		}
		if m.at[i] != m.to[i] || m.resume {
			parent, _ := op.Path.split()
			touch(parent)
		}
	}
	for k, d := range m.set.Dirs {
		if i := len(m.set.Ops) + k; m.at[i] != m.to[i] || m.resume {
			touch(d.Path)
		}
	}
}

// begin writes the journal: the state that says where the move leads, and which locks it takes.
func (m *mover) begin() error {
	s := &m.l.state
	if m.resume {
		return m.unlock() // the locks may be there already
	}
	var paths []Name
	for _, i := range m.todo {
		paths = append(paths, m.set.Ops[i].Path)
	}
	s.At, s.To = m.at, m.to
	s.Lock, s.Locks = token(), lockFiles(m.root, paths)
	if err := m.l.save(); err != nil {
		s.To, s.Lock, s.Locks = nil, "", nil
		return err
	}
	return nil
}

// carryOut moves the planned ops. Where it fails, some of them may have moved.
func (m *mover) carryOut() error {
	if err := m.checkDirs(); err != nil {
		return err
	}
	if m.resume {
		m.modes()
	}
	if err := m.lock(); err != nil {
		return err
	}
	var conflicts []Note
	for _, i := range m.todo {
		note, err := m.check(i)
		if err != nil {
			return err
		}
		if note.Reason != "" {
			conflicts = append(conflicts, note)
		}
	}
	if !m.resume {
		conflicts = append(conflicts, m.gitReads()...)
	}
	if len(conflicts) > 0 {
		return &ConflictError{conflicts}
	}
	for _, i := range m.todo {
		if err := m.swap(i, m.to[i]); err != nil {
			return err
		}
	}
	if err := m.refresh(); err != nil {
		return err
	}
	if missing := m.pruned(); len(missing) > 0 {
		return &ConflictError{missing}
	}
	if m.leased() {
		return errLeased
	}
	return m.settle(m.to)
}

// finish makes the result last, and closes the journal.
func (m *mover) finish(at []bool) error {
	if err := syncfs(m.root); err != nil {
		return os.NewSyscallError("syncfs", err)
	}
	s := &m.l.state
	if s.CTimes == nil {
		s.CTimes, s.MTimes = map[int]int64{}, map[int]int64{}
	}
	moved := m.todo
	if m.resume {
		moved = every(len(m.set.Ops))
	}
	for _, i := range moved {
		delete(s.CTimes, i)
		if dir, base, err := m.parentOf(m.set.Ops[i].Path); err == nil {
			if now, err := stat(dir, base); err == nil && now.Kind != Absent {
				s.CTimes[i] = now.CTime
			}
		}
	}
	for k := range m.dirs {
		if fd, now, err := m.openDir(k); err == nil {
			s.MTimes[k] = now.MTime
			unix.Close(fd)
		}
	}
	s.At, s.To, s.Lock, s.Locks = at, nil, "", nil
	return m.l.save()
}

// back undoes the part of a move that is done, after the error because of which it ends. Where the error is errLeased,
// and a file can't go back as the writer did not wait for the lease and has written to the landed one, back carries the
// move out after all.
func (m *mover) back(cause error) error {
	m.backward = true
	stuck, err := m.swapAll(m.l.state.At)
	if err == nil && len(stuck) > 0 && cause == errLeased {
		var left []Note
		if left, err = m.swapAll(m.to); err == nil && len(left) == 0 {
			m.backward = false
			return errors.Join(m.settle(m.to), m.finish(m.to))
		}
	}
	if err != nil {
		return errors.Join(cause, err)
	}
	now, err := m.applied()
	if err == nil {
		err = errors.Join(m.settle(now), m.finish(now))
	}
	if err != nil {
		return errors.Join(cause, err)
	}
	var conflict *ConflictError
	switch {
	case len(stuck) == 0:
		return cause
	case errors.As(cause, &conflict):
		stuck = append(slices.Clone(conflict.Conflicts), stuck...)
	}
	return &ConflictError{stuck}
}

// swapAll swaps every op that is not as the goal has it, the last first, and returns those that can't be.
func (m *mover) swapAll(goal []bool) (stuck []Note, err error) {
	now, err := m.applied()
	if err != nil {
		return nil, err
	}
	for i := len(m.set.Ops) - 1; i >= 0; i-- {
		if now[i] == goal[i] {
			continue
		}
		note, err := m.check(i)
		if err == nil && note.Reason == "" {
			err = m.swap(i, goal[i])
		}
		if err != nil || note.Reason != "" {
			stuck = append(stuck, Note{m.set.Ops[i].Path, torn})
		}
	}
	return stuck, nil
}

// side returns the tree that the root has at an op, and the one in its slot.
func (op Op) side(at bool) (root, slot []Node) {
	if at {
		return op.New, op.Old
	}
	return op.Old, op.New
}

// parentOf returns the opened parent of a path and the path's last element. The parent must be the directory that the
// change set saw. It stays open until the move ends, or until many others were opened.
func (m *mover) parentOf(at Name) (dir int, base string, err error) {
	path, base := at.split()
	if fd, ok := m.parents[path]; ok {
		return fd, base, nil
	}
	k, ok := m.index[path]
	if !ok {
		return -1, "", fmt.Errorf("%q: the change set has no parent of it", at)
	}
	fd, err := open(m.root, string(path), dirFlags)
	if errors.Is(err, unix.EACCES) {
		fd, err = open(m.root, string(path), unix.O_PATH|unix.O_DIRECTORY)
	}
	if err != nil {
		return -1, "", &ConflictError{[]Note{{path, "the directory can't be opened: " + err.Error()}}}
	}
	now, err := fstat(fd)
	if err == nil && now.Inode != m.set.Dirs[k].Old.Inode {
		err = &ConflictError{[]Note{{path, "another directory is in its place"}}}
	}
	if err != nil {
		unix.Close(fd)
		return -1, "", err
	}
	if len(m.parents) >= maxLeases {
		for other, fd := range m.parents {
			unix.Close(fd)
			delete(m.parents, other)
			break
		}
	}
	m.parents[path] = fd
	return fd, base, nil
}

// swap exchanges the object that the root has at an op with the one in its slot. The displaced object must be the one
// that the change set expects; else swap exchanges them back and returns a ConflictError.
func (m *mover) swap(i int, forward bool) error {
	op, slot := m.set.Ops[i], itoa(i)
	dir, base, err := m.parentOf(op.Path)
	if err != nil {
		return err
	}
	out, in := op.side(!forward)
	if forward && len(in) > 0 {
		if reason, err := m.differs(m.slots, slot, in, in[0].CTime, false); err != nil || reason != "" {
			return &ConflictError{[]Note{{op.Path, damaged}}}
		}
	}
	err = m.exchange(dir, base, slot, out, in)
	switch err {
	case nil:
	case unix.EEXIST, unix.ENOENT:
		return &ConflictError{[]Note{{op.Path, "it changed during the landing"}}}
	case unix.EXDEV:
		return fmt.Errorf("%q: another subvolume or quota project than the layer's has it, and nothing can be renamed "+
			"between them (a direct run has no such limit: sbx run --direct)", op.Path)
	default:
		return fmt.Errorf("%q: %w", op.Path, os.NewSyscallError("rename", err))
	}
	reason := ""
	if len(out) > 0 {
		if reason, err = m.differs(m.slots, slot, out, out[0].CTime, true); err != nil {
			reason = err.Error()
		}
	}
	if reason == "" {
		return nil
	}
	if err := m.exchange(dir, base, slot, in, out); err != nil {
		return fmt.Errorf("%q: %s, and it can't be put back: %w", op.Path, reason, err)
	}
	return &ConflictError{[]Note{{op.Path, reason}}}
}

// exchange renames between a name of the root, which holds the tree out, and a slot, which holds the tree in. A
// directory gets another parent, for which its owner needs the right to write to it (rename(2)).
func (m *mover) exchange(dir int, base, slot string, out, in []Node) error {
	for _, end := range []struct {
		dir  int
		name string
		tree []Node
	}{{dir, base, out}, {m.slots, slot, in}} {
		if len(end.tree) > 0 && end.tree[0].Kind == Dir && end.tree[0].Mode&0o200 == 0 && modes.Bind() {
			restore, err := loosen(end.dir, end.name, 0o200)
			if err != nil {
				return err
			}
			defer restore()
		}
	}
	switch {
	case len(out) > 0 && len(in) > 0:
		return unix.Renameat2(m.slots, slot, dir, base, unix.RENAME_EXCHANGE)
	case len(in) > 0:
		return unix.Renameat2(m.slots, slot, dir, base, unix.RENAME_NOREPLACE)
	}
	return unix.Renameat2(dir, base, m.slots, slot, unix.RENAME_NOREPLACE)
}
