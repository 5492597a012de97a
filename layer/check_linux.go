package layer

import (
	"errors"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"sandboxd/internal/modes"
)

// check compares the object that the root has at an op with the one that the change set expects, and takes a lease on
// it. The note has a reason where they differ.
func (m *mover) check(i int) (Note, error) {
	op := m.set.Ops[i]
	dir, base, err := m.parentOf(op.Path)
	var conflict *ConflictError
	if errors.As(err, &conflict) {
		return conflict.Conflicts[0], nil
	}
	if err != nil {
		return Note{}, err
	}
	now, err := m.applied1(i)
	if err != nil {
		return Note{}, err
	}
	expect, _ := op.side(now)
	// A move leaves its own times of change, and so does who keeps what it displaced by hard links.
	ctime, moved := m.l.state.CTimes[i]
	if len(expect) > 0 && !moved {
		ctime = expect[0].CTime
	}
	reason, err := m.differs(dir, base, expect, ctime, moved || m.resume || now != m.l.state.At[i])
	if err != nil {
		reason = "its present state can't be read: " + err.Error()
	}
	if reason == "" {
		reason = m.lease(dir, base, expect)
	}
	return Note{op.Path, reason}, nil
}

// differs returns in which way the object under a name is not the tree that is expected, "" where it is that tree.
// ctime is the expected time of change of the top. Where the object has another, metadata and content decide. moved
// means that a rename of ours may be the only cause: content that was never read is then equal where size and time of
// modification are.
func (m *mover) differs(dir int, name string, expect []Node, ctime int64, moved bool) (string, error) {
	l := lister{left: maxEntries}
	have, err := l.list(dir, name)
	if errors.Is(err, unix.EACCES) && len(expect) > 0 && expect[0].Kind == File { // attributes that nobody can read
		var s State
		s, err = stat(dir, name)
		s.Xattrs = expect[0].Xattrs
		have = []Node{{".", s}}
	}
	if err != nil {
		return "", err
	}
	if len(have) == 0 || len(expect) == 0 {
		if len(have) != len(expect) {
			return "it was created or removed meanwhile", nil
		}
		return "", nil
	}
	for k, n := range expect {
		if k >= len(have) || have[k].Path != n.Path {
			return "entries of the directory were added or removed meanwhile", nil
		}
		found := have[k].State
		if k > 0 {
			ctime = n.CTime
		}
		known := found.Inode == n.Inode
		if found.Kind != n.Kind || !known && !m.copied && n.Kind == File && n.Hash == "" {
			return inside("another object is in its place", n.Path), nil
		}
		// Before Linux 6.13 two changes within a tick of the clock have the same time.
		if known && found.CTime == ctime && (n.Kind != File || found.Size == n.Size && found.MTime == n.MTime) {
			continue
		}
		if !n.equal(found) || n.Kind == File && !m.sameFile(dir, name, n, moved) {
			return inside("it changed meanwhile", n.Path), nil
		}
	}
	if len(have) > len(expect) {
		return "entries of the directory were added meanwhile: " + string(have[len(expect)].Path), nil
	}
	return "", nil
}

// inside adds the path of an object to a reason, unless it is the top of the tree, which the note names.
func inside(reason string, at Name) string {
	if at == "." {
		return reason
	}
	return reason + ": " + string(at)
}

// sameFile compares the content of a file below name with the hash of it, if there is one.
func (m *mover) sameFile(dir int, name string, n Node, moved bool) bool {
	if n.Hash == "" {
		return moved
	}
	fd, err := openLoose(dir, string(join(Name(name), n.Path)), unix.O_RDONLY|unix.O_NONBLOCK, 0o400)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	sum, err := hashFile(fd)
	return err == nil && sum == n.Hash
}

// lease finds out whether another program has a file of the tree open for writing, whose later writes the landing would
// cut off from the name. On a single file it keeps a lease until the journal is closed (fcntl(2), F_SETLEASE). A file
// of another owner, or one that can't be read, has no lease.
func (m *mover) lease(dir int, name string, tree []Node) (reason string) {
	for _, n := range tree {
		if n.Kind != File {
			continue
		}
		fd, err := open(dir, string(join(Name(name), n.Path)), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY)
		if err != nil {
			continue
		}
		_, err = unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_RDLCK)
		if err == nil && len(tree) == 1 && len(m.leases) < maxLeases {
			m.leases = append(m.leases, fd)
			continue
		}
		unix.Close(fd)
		if err == unix.EAGAIN {
			return inside("another program has it open for writing", n.Path)
		}
	}
	return ""
}

// errLeased is the conflict of a move with a program that wants to write to a file that the move displaced.
var errLeased = &ConflictError{[]Note{{".", "another program opened a changed file for writing during the landing"}}}

// leased reports whether there was such a program. It may wait still.
func (m *mover) leased() bool {
	return slices.ContainsFunc(m.leases, func(fd int) bool {
		kind, err := unix.FcntlInt(uintptr(fd), unix.F_GETLEASE, 0)
		return err == nil && kind != unix.F_RDLCK
	})
}

// openDir opens a directory of the change set for its path, and returns its state.
func (m *mover) openDir(k int) (fd int, now State, err error) {
	d := m.set.Dirs[k]
	if fd, err = open(m.root, string(d.Path), unix.O_PATH|unix.O_DIRECTORY); err != nil {
		return -1, now, &ConflictError{[]Note{{d.Path, "the directory can't be opened: " + err.Error()}}}
	}
	if now, err = fstat(fd); err == nil && now.Inode != d.Old.Inode {
		err = &ConflictError{[]Note{{d.Path, "another directory is in its place"}}}
	}
	if err == nil {
		now.Xattrs, _, err = openedAttributes(fd)
	}
	if err != nil {
		unix.Close(fd)
	}
	return fd, now, err
}

// checkDirs reads the directories that the move touches, the highest first, and gives their owner the right to change
// them until settle. It fails where one is not the expected one.
func (m *mover) checkDirs() error {
	for k := len(m.set.Dirs) - 1; k >= 0; k-- {
		if m.dirs[k] == nil {
			continue
		}
		if err := m.checkDir(k); err != nil && !m.resume {
			return err
		}
	}
	return nil
}

func (m *mover) checkDir(k int) error {
	fd, now, err := m.openDir(k)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	d, spot := m.set.Dirs[k], m.dirs[k]
	if m.resume { // death may have left it in between
		spot.mode = d.Old.Mode
	} else {
		expect := d.Old
		if m.at[len(m.set.Ops)+k] {
			expect = d.New
		}
		if !d.Old.sameMetadata(d.New) && !expect.sameMetadata(now) {
			return &ConflictError{[]Note{{d.Path, "its mode, owner or attributes changed meanwhile"}}}
		}
		mtime := d.Old.MTime
		if at, moved := m.l.state.MTimes[k]; moved {
			mtime = at
		}
		spot.mode, spot.mtime, spot.foreign = now.Mode, now.MTime, now.MTime != mtime
	}
	spot.seen = true
	if now.Mode&0o300 != 0o300 && modes.Bind() {
		return os.NewSyscallError("chmod", unix.Chmod(procPath(fd), now.Mode|0o700))
	}
	return nil
}

// settle takes git's locks away and gives the touched directories their metadata and times, the deepest first.
func (m *mover) settle(at []bool) error {
	errs := []error{m.unlock()}
	whole := m.whole(at)
	for k := range m.set.Dirs {
		if spot := m.dirs[k]; spot != nil && spot.seen {
			errs = append(errs, m.settleDir(k, at[len(m.set.Ops)+k], whole[k]))
		}
	}
	return errors.Join(errs...)
}

// extent is how much of a directory's own part of a change set is in the root.
type extent struct{ all, none bool }

// whole returns the extent of each directory.
func (m *mover) whole(at []bool) []extent {
	out := make([]extent, len(m.set.Dirs))
	for k := range out {
		landed := at[len(m.set.Ops)+k]
		out[k] = extent{landed, !landed}
	}
	for i, op := range m.set.Ops {
		parent, _ := op.Path.split()
		k := m.index[parent]
		out[k] = extent{out[k].all && at[i], out[k].none && !at[i]}
	}
	return out
}

func (m *mover) settleDir(k int, landed bool, part extent) error {
	fd, now, err := m.openDir(k)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	d, spot := m.set.Dirs[k], m.dirs[k]
	want, was := d.Old, d.New
	if landed {
		want, was = d.New, d.Old
	}
	if d.Old.sameMetadata(d.New) {
		want, was = now, now
		want.Mode = spot.mode
	}
	switch {
	case spot.foreign && m.backward:
		want.MTime = spot.mtime
	case spot.foreign || !part.all && !part.none:
		want.MTime = now.MTime
	case part.all:
		want.MTime = d.New.MTime
	default:
		want.MTime = d.Old.MTime
	}
	if d.Old.sameMetadata(d.New) && want.Mode == now.Mode && want.MTime == now.MTime {
		return nil // its time of change stays, which layers beside this one compare
	}
	if err := dressOpened(fd, want, was); err != nil {
		return &ConflictError{[]Note{{d.Path, "its metadata can't be set: " + err.Error()}}}
	}
	return nil
}

// modes restores the modes of directories between whose two names death came; see swap.
func (m *mover) modes() {
	restore := func(dir int, name string, tree []Node) {
		if len(tree) == 0 || tree[0].Kind != Dir || tree[0].Mode&0o200 != 0 {
			return
		}
		if fd, err := open(dir, name, unix.O_PATH|unix.O_DIRECTORY); err == nil {
			if now, err := fstat(fd); err == nil && now.Inode == tree[0].Inode && now.Mode == tree[0].Mode|0o200 {
				_ = unix.Chmod(procPath(fd), tree[0].Mode)
			}
			unix.Close(fd)
		}
	}
	for i, op := range m.set.Ops {
		at, err := m.applied1(i)
		if err != nil || !modes.Bind() {
			continue
		}
		root, slot := op.side(at)
		if dir, base, err := m.parentOf(op.Path); err == nil {
			restore(dir, base, root)
		}
		restore(m.slots, itoa(i), slot)
	}
}
