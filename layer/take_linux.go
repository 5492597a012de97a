package layer

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"sandboxd/internal/modes"
)

// taker reads a layer, whose writers may be hostile and still alive, and copies its new objects.
type taker struct {
	copier
	between below
	// replaced counts the Ops that replace or remove an object.
	replaced int
}

// take reads the layer at upper over root and the views between, and copies its new objects into the directory slots.
func take(root, upper, slots int, stamp int64, between below) (*Set, error) {
	t := taker{copier{
		lister: lister{left: maxEntries}, content: newContent(), into: slots, links: map[uint64]linked{},
		set: &Set{Stamp: stamp},
	}, between, 0}
	up, _, err := upperState(upper, ".")
	if err != nil {
		return nil, err
	}
	low, err := t.between.state(root, ".", ".")
	if err != nil {
		return nil, err
	}
	if err := t.merged(".", root, upper, State{}, low, up, 0); err != nil {
		return nil, fmt.Errorf("read layer: %w", err)
	}
	t.brokenLinks()
	return t.set, t.complete()
}

// brokenLinks notes the files that had further names, where one of these keeps the earlier file.
func (t *taker) brokenLinks() {
	replaced := map[uint64]uint64{}
	for _, op := range t.set.Ops {
		for _, n := range op.Old {
			replaced[n.Inode]++
		}
	}
	for _, op := range t.set.Ops {
		file := len(op.Old) > 0 && op.Old[0].Kind == File && len(op.New) > 0 && op.New[0].Kind == File
		if file && replaced[op.Old[0].Inode] < op.Old[0].Links {
			t.set.Altered = append(t.set.Altered,
				Note{op.Path, "lands under this name only; its other hard links keep the earlier file"})
		}
	}
}

// complete gives the copied directories their looks, the deepest first, and reads the identity of files that got
// further names.
func (t *taker) complete() error {
	for i, op := range t.set.Ops {
		for k := len(op.New) - 1; k >= 0; k-- {
			n := &op.New[k]
			to := string(join(Name(itoa(i)), n.Path))
			if n.Kind == Dir {
				if err := t.dressDir(to, n, join(op.Path, n.Path)); err != nil {
					return err
				}
			}
			if n.Kind == File && len(t.links) > 0 {
				now, err := stat(t.into, to)
				if err != nil {
					return err
				}
				n.CTime, n.Links = now.CTime, now.Links
			}
		}
	}
	return nil
}

// dressDir gives a copied directory its looks. Without the right to set its set-group-ID bit, which directories
// inherit, it lands without the bit.
func (t *taker) dressDir(to string, n *Node, at Name) error {
	err := t.dress(to, &n.State)
	var failed *os.SyscallError
	if errors.As(err, &failed) && failed.Syscall == "chmod" && n.Mode&0o6000 != 0 {
		t.set.Altered = append(t.set.Altered, Note{at, "lands without its set-group-ID bit: no sandbox can set it"})
		n.Mode &^= 0o6000
		err = t.dress(to, &n.State)
	}
	if err != nil && !exhausts(err) {
		t.conflict(at, unlandable(err))
		return nil
	}
	return locate(at, err)
}

// upperState returns an object of a layer, readable or not.
func upperState(dir int, name string) (s State, overlay map[string][]byte, err error) {
	s, overlay, err = full(dir, name)
	if errors.Is(err, unix.EACCES) && (s.Kind == File || s.Kind == Dir) {
		list := aclOf(dir, name, accessAttribute)
		restore, lerr := loosen(dir, name, 0o400)
		if lerr != nil {
			return s, nil, err
		}
		defer restore()
		if s.Xattrs, overlay, err = attributes(dir, name); s.Xattrs[accessAttribute] != nil {
			s.Xattrs[accessAttribute] = list
		}
	}
	return s, overlay, err
}

const accessAttribute = "system.posix_acl_access"

// aclOf returns an access control list of an object, nil where it has none. In that of its access a change of the mode
// shows (acl(5)).
func aclOf(dir int, name, list string) []byte {
	at, err := open(dir, name, unix.O_PATH)
	if err != nil {
		return nil
	}
	defer unix.Close(at)
	buf := make([]byte, maxXattrs)
	n, err := unix.Getxattr(procPath(at), list, buf)
	if err != nil {
		return nil
	}
	return buf[:n]
}

// merged compares a directory of the layer with the one of the root that it is merged with; parent is the root's above
// that.
func (t *taker) merged(rel Name, low, up int, parent, was, now State, depth int) error {
	if depth > maxDepth {
		return locate(rel, errDeep)
	}
	ops, dirs, replaced := len(t.set.Ops), len(t.set.Dirs), t.replaced
	entries, err := names(up, &t.left)
	if err != nil {
		return locate(rel, err)
	}
	for _, name := range entries {
		at := join(rel, Name(name))
		err := locate(at, t.entry(at, name, low, up, was, depth))
		if err == nil {
			continue
		}
		if exhausts(err) {
			return err
		}
		t.conflict(at, unlandable(err))
	}
	if len(t.set.Ops) == ops && len(t.set.Dirs) == dirs && was.sameMetadata(now) && was.MTime == now.MTime {
		return nil
	}
	if was.CTime >= t.set.Stamp {
		now.MTime = max(was.MTime, now.MTime)
		t.changedDir(rel, low, parent, was, now, t.replaced > replaced)
	}
	t.set.Dirs = append(t.set.Dirs, Change{rel, was, now})
	return nil
}

// changedDir notes the conflict of a directory of the root that changed since the run began, by its metadata or by
// entries, of which those of the change set are judged by themselves. Another directory may be in its place only where
// the one above it changed, too; then a change set that replaces something in it conflicts, and one that creates
// entries where the directory shows that it is another one.
func (t *taker) changedDir(rel Name, low int, parent, was, now State, replaces bool) {
	switch {
	case !was.sameMetadata(now):
		t.conflict(rel, "the directory's metadata may have changed since the run began")
	case parent.CTime >= t.set.Stamp && (replaces || t.arrived(low, was)):
		t.conflict(rel, "another directory may be in its place since the run began")
	}
}

// arrived reports whether a directory that changed since the run began was made since then, or only moved: an entry
// that comes or goes sets the time of modification as well, a move of the directory does not.
func (t *taker) arrived(dir int, was State) bool {
	if dir < 0 { // of a held change set
		return false
	}
	if was.MTime < t.set.Stamp {
		return true
	}
	var st unix.Statx_t
	err := unix.Statx(dir, "", unix.AT_EMPTY_PATH, unix.STATX_BTIME, &st)
	return err != nil || st.Mask&unix.STATX_BTIME == 0 || st.Btime.Sec*1e9+int64(st.Btime.Nsec) >= t.set.Stamp
}

// unlandable is the reason of a conflict with an object of which no copy can be made.
func unlandable(err error) string {
	if errors.Is(err, unix.EXDEV) {
		return "another file system is mounted there"
	}
	return "it can't land (a direct run has no such limit: sbx run --direct): " + err.Error()
}

func (t *taker) conflict(at Name, reason string) {
	t.set.Conflicts = append(t.set.Conflicts, Note{at, reason})
}

// entry compares one name of the layer with the same name of the root.
func (t *taker) entry(at Name, name string, low, up int, parent State, depth int) error {
	var st unix.Stat_t
	if err := unix.Fstatat(up, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return err
	}
	was, err := t.between.state(low, at, name)
	if err != nil {
		return err
	}
	if isWhiteout(&st) {
		if was.Kind != Absent {
			return t.op(at, name, low, up, State{})
		}
		return nil // the run removed it, and so did somebody else
	}
	now, overlay, err := upperState(up, name)
	switch {
	case err != nil:
		return err
	case overlay[overlayPrefix+"redirect"] != nil || overlay[overlayPrefix+"metacopy"] != nil:
		return errors.New("the layer refers to content elsewhere, which no layer of ours does")
	case now.Kind == Special:
		t.skip(up, name, at)
		return nil
	case now.Kind == File && was.Kind == Absent && t.passing(at):
		return nil
	}
	_, origin := overlay[overlayPrefix+"origin"]
	opaque := string(overlay[overlayPrefix+"opaque"]) == "y"
	switch {
	case now.Kind == Dir && origin && !opaque && was.Kind == Dir:
		return t.below(at, name, low, up, parent, was, now, depth)
	case now.Kind == Dir && origin && !opaque:
		t.conflict(at, "the directory was removed or replaced since the run began")
	case now.Kind == Dir && !opaque && was.Kind == Dir: // it would land in the place of all that is in the root's
		t.conflict(at, "the layer does not mark the directory as a new one")
	}
	// A link has no attributes, so that its time alone says that the command found it and did not make it.
	found := origin || now.Kind == Symlink && now.MTime < t.set.Stamp
	if found && was.Kind == Absent && parent.CTime >= t.set.Stamp {
		t.conflict(at, "it, or another entry of its directory, was removed since the run began")
	}
	if same, err := t.unchanged(name, low, up, was, now); err != nil || same {
		return err
	}
	return t.op(at, name, low, up, now)
}

func (t *taker) below(at Name, name string, low, up int, parent, was, now State, depth int) error {
	lowDir := -1
	if low >= 0 && !t.between.hides(at) {
		fd, leave, err := enter(low, name)
		if err == unix.EXDEV {
			t.conflict(at, "another file system is mounted there")
			return nil
		}
		if err != nil {
			return err
		}
		defer leave()
		lowDir = fd
	}
	upDir, leaveUp, err := enter(up, name)
	if err != nil {
		return err
	}
	defer leaveUp()
	return t.merged(at, lowDir, upDir, parent, was, now, depth+1)
}

// op adds the replacement of one name: a copy of the layer's object, and a list of the root's.
func (t *taker) op(at Name, name string, low, up int, now State) error {
	op := Op{Path: at}
	slot := itoa(len(t.set.Ops))
	var err error
	if op.Old, err = t.between.list(&t.lister, low, at, name); err != nil {
		if errors.Is(err, errTooMany) {
			return err
		}
		t.conflict(at, "its present state can't be read: "+err.Error())
	}
	for _, n := range op.Old {
		if n.CTime >= t.set.Stamp {
			t.conflict(join(at, n.Path), "it changed since the run began")
			break
		}
	}
	if now.Kind != Absent {
		if op.New, err = t.tree(up, name, now, slot, at); err != nil {
			return errors.Join(err, modes.RemoveAll(procPath(t.into)+"/"+slot))
		}
	}
	if len(op.Old) > 0 {
		t.replaced++
	}
	t.set.Ops = append(t.set.Ops, op)
	return nil
}

// unchanged reports whether the layer's object is equal to the root's: it was opened for writing, say, and not written.
func (t *taker) unchanged(name string, low, up int, was, now State) (bool, error) {
	if now.Kind == Dir || now.Links > 1 || !was.equal(now) {
		return false, nil
	}
	if now.Kind == Symlink {
		return true, nil
	}
	lower := was.Hash // of a held change set
	if lower == "" {
		a, err := open(low, name, unix.O_RDONLY|unix.O_NONBLOCK)
		if err != nil {
			return false, nil // it counts as changed
		}
		defer unix.Close(a)
		if lower, err = hashFile(a); err != nil {
			return false, nil
		}
	}
	b, err := openLoose(up, name, unix.O_RDONLY|unix.O_NONBLOCK, 0o400)
	if err != nil {
		return false, err
	}
	defer unix.Close(b)
	sum, err := hashFile(b)
	if err != nil {
		return false, err
	}
	return lower == sum, nil
}
