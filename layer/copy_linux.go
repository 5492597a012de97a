package layer

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"os"
	"path"
	"slices"

	"golang.org/x/sys/unix"

	"sandboxd/git"
)

// block is the unit in which content is hashed, and holes are made.
const block = 64 << 10

// content reads a file once: into its SHA-256 sum, and into a copy if there is one. In the copy a block of zeros is a
// hole, allocated or not.
type content struct {
	sum hash.Hash
	dst int // -1: none
	buf []byte
}

func newContent() *content { return &content{sum: sha256.New(), buf: make([]byte, 16*block)} }

// hashFile returns the hash of an opened file's content.
func hashFile(src int) (string, error) {
	c := newContent()
	c.dst = -1
	_, err := c.read(src)
	return c.hash(), err
}

func (c *content) hash() string { return hex.EncodeToString(c.sum.Sum(nil)) }

// read reads src from its start to its end, and returns its size. Where somebody writes meanwhile, hash, copy and size
// still agree.
func (c *content) read(src int) (size int64, err error) {
	c.sum.Reset()
	var st unix.Stat_t
	if err := unix.Fstat(src, &st); err != nil {
		return 0, err
	}
	for size < st.Size {
		data, err := unix.Seek(src, size, unix.SEEK_DATA)
		if err == unix.ENXIO { // a hole up to the end
			data = st.Size
		} else if err == nil {
			data = max(size, data/block*block)
		} else {
			data = size
		}
		size = c.hole(size, min(data, st.Size))
		if size >= st.Size {
			break
		}
		n, err := preadFull(src, c.buf, size)
		if err != nil {
			return 0, err
		}
		if n == 0 {
			break
		}
		if err := c.blocks(c.buf[:n], size); err != nil {
			return 0, err
		}
		size += int64(n)
	}
	if c.dst >= 0 {
		return size, unix.Ftruncate(c.dst, size)
	}
	return size, nil
}

var zeros [16 * block]byte

// hole adds the zeros between two offsets to the sum, and returns the second.
func (c *content) hole(from, to int64) int64 {
	for from < to {
		n := min(to-from, int64(len(zeros)))
		c.sum.Write(zeros[:n]) // a hash does not fail
		from += n
	}
	return from
}

func (c *content) blocks(b []byte, at int64) error {
	c.sum.Write(b)
	for part := range slices.Chunk(b, block) {
		if c.dst >= 0 && !zero(part) {
			if err := pwriteFull(c.dst, part, at); err != nil {
				return err
			}
		}
		at += int64(len(part))
	}
	return nil
}

func zero(b []byte) bool {
	for len(b) >= 8 {
		if binary.NativeEndian.Uint64(b) != 0 {
			return false
		}
		b = b[8:]
	}
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

func preadFull(fd int, b []byte, at int64) (n int, err error) {
	for n < len(b) {
		k, err := unix.Pread(fd, b[n:], at+int64(n))
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return n, err
		}
		if k == 0 {
			break
		}
		n += k
	}
	return n, nil
}

func pwriteFull(fd int, b []byte, at int64) error {
	for len(b) > 0 {
		k, err := unix.Pwrite(fd, b, at)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		if k == 0 {
			return io.ErrShortWrite
		}
		b, at = b[k:], at+int64(k)
	}
	return nil
}

// copier makes private copies of objects in a directory that nobody else reaches.
type copier struct {
	lister
	content *content
	into    int               // the directory of the copies
	links   map[uint64]linked // copies of files with several names
	sizes   int64             // bytes of content that were copied
	set     *Set              // gets notes
}

// linked is the copy of a file, with its path below the directory of the copies.
type linked struct {
	State
	path string
}

// tree copies the object under a name, with everything below it, to the path to, and returns its nodes. path is the
// object's in the root, for notes.
func (c *copier) tree(dir int, name string, was State, to string, at Name) ([]Node, error) {
	var out []Node
	err := c.node(dir, name, was, to, at, ".", 0, &out)
	return out, err
}

func (c *copier) node(dir int, name string, s State, to string, at, rel Name, depth int, out *[]Node) error {
	i := len(*out)
	*out = append(*out, Node{Path: rel})
	var err error
	switch s.Kind {
	case Symlink:
		if err = unix.Symlinkat(string(s.Target), c.into, to); err == nil {
			err = c.dress(to, &s)
		}
	case File:
		err = c.file(dir, name, &s, to, join(at, rel))
	case Dir:
		err = c.dir(dir, name, &s, to, at, rel, depth, out)
	}
	(*out)[i].State = s
	return err
}

// file copies a file, or links a copy that was made of it under another name.
func (c *copier) file(dir int, name string, s *State, to string, at Name) error {
	if s.Links > 1 {
		if first, ok := c.links[s.Inode]; ok && unix.Linkat(c.into, first.path, c.into, to, 0) == nil {
			*s = first.State // complete reads the identity again
			return nil
		}
		defer func(inode uint64) { c.links[inode] = linked{*s, to} }(s.Inode)
	}
	src, err := openLoose(dir, name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0o400)
	if err != nil {
		return err
	}
	defer unix.Close(src)
	if now, err := fstat(src); err != nil || now.Kind != File {
		return fmt.Errorf("another object under the name: %w", unix.ESTALE)
	}
	dst, err := unix.Openat(c.into, to, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	defer unix.Close(dst)
	c.content.dst = dst
	if s.Size, err = c.content.read(src); err != nil {
		return err
	}
	c.sizes += s.Size
	s.Hash = c.content.hash()
	c.dropSetID(s, at)
	return c.dress(to, s)
}

// dropSetID takes the set-user-ID and set-group-ID bits from a file.
func (c *copier) dropSetID(s *State, at Name) {
	if s.Mode&0o6000 != 0 {
		c.set.Altered = append(c.set.Altered, Note{at, "lands without its set-user-ID and set-group-ID bits"})
		s.Mode &^= 0o6000
	}
}

func (c *copier) dir(dir int, name string, s *State, to string, at, rel Name, depth int, out *[]Node) error {
	if depth >= maxDepth {
		return errDeep
	}
	if err := unix.Mkdirat(c.into, to, 0o700); err != nil {
		return err
	}
	src, leave, err := enter(dir, name)
	if err != nil {
		return err
	}
	defer leave()
	own, err := open(c.into, to, dirFlags)
	if err != nil {
		return err
	}
	defer unix.Close(own)
	entries, err := names(src, &c.left)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		rel := join(rel, Name(entry))
		e, _, err := upperState(src, entry)
		if err != nil {
			return locate(join(at, rel), err)
		}
		if e.Kind == Absent || e.Kind == Special {
			c.skip(src, entry, join(at, rel))
			continue
		}
		if e.Kind == File && c.passing(join(at, rel)) {
			continue
		}
		below := path.Join(to, entry)
		if len(below) >= unix.PathMax {
			return locate(join(at, rel), unix.ENAMETOOLONG)
		}
		if err := c.node(src, entry, e, below, at, rel, depth+1, out); err != nil {
			return locate(join(at, rel), err)
		}
	}
	return nil // complete dresses it: nothing has to be reached through it then
}

// skip notes a special file. A whiteout in a new directory hides nothing and is passed by.
func (c *copier) skip(dir int, name string, at Name) {
	var st unix.Stat_t
	if unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil || isWhiteout(&st) {
		return
	}
	c.leave(at, "a FIFO, socket or device does not land")
}

func (c *copier) leave(at Name, why string) { c.set.Skipped = append(c.set.Skipped, Note{at, why}) }

// passing notes a file that a process of git left which ended before it was done. Landed, a lock of it would keep every
// later git from its work.
func (c *copier) passing(at Name) bool {
	left := git.Passing(string(at))
	if left {
		c.leave(at, "git left it when it was ended, and makes it again")
	}
	return left
}

func isWhiteout(st *unix.Stat_t) bool { return st.Mode&unix.S_IFMT == unix.S_IFCHR && st.Rdev == 0 }

// dress gives a copy the owner, mode, attributes and times of a state, and the state the identity of the copy.
func (c *copier) dress(to string, s *State) error {
	at, err := open(c.into, to, unix.O_PATH)
	if err != nil {
		return err
	}
	defer unix.Close(at)
	if err := dressOpened(at, *s, State{Kind: s.Kind}); err != nil {
		return err
	}
	now, err := fstat(at)
	s.Inode, s.CTime, s.Links = now.Inode, now.CTime, now.Links
	return err
}

// dressOpened gives an object owner, mode, attributes and times. was are the attributes that it may have already: those
// that want has not are removed.
func dressOpened(at int, want, was State) error {
	now, err := fstat(at)
	if err != nil {
		return err
	}
	if now.Kind != want.Kind {
		return unix.ESTALE
	}
	if now.UID != want.UID || now.GID != want.GID {
		if err := unix.Fchownat(at, "", int(want.UID), int(want.GID), unix.AT_EMPTY_PATH); err != nil {
			return fmt.Errorf("give it to uid %d, gid %d: %w", want.UID, want.GID, err)
		}
	}
	if want.Kind == Symlink {
		times := []unix.Timespec{{Nsec: unix.UTIME_OMIT}, unix.NsecToTimespec(want.MTime)}
		return os.NewSyscallError("utimensat", unix.UtimesNanoAt(at, "", times, unix.AT_EMPTY_PATH))
	}
	if err := setAttributes(procPath(at), want, was); err != nil {
		return err
	}
	// The mode comes after the access control list, which changes it.
	if now, err = fstat(at); err != nil {
		return err
	}
	if now.Mode != want.Mode {
		if err := unix.Chmod(procPath(at), want.Mode); err != nil {
			return os.NewSyscallError("chmod", err)
		}
	}
	return setMTime(at, want.MTime)
}

// setMTime sets the time of modification of an opened file or directory, which may be opened for its path only.
func setMTime(at int, mtime int64) error {
	times := []unix.Timespec{{Nsec: unix.UTIME_OMIT}, unix.NsecToTimespec(mtime)}
	return os.NewSyscallError("utimensat", unix.UtimesNanoAt(unix.AT_FDCWD, procPath(at), times, 0))
}

func setAttributes(link string, want, was State) error {
	for name := range was.Xattrs {
		if _, ok := want.Xattrs[name]; !ok {
			if err := unix.Removexattr(link, name); err != nil && err != unix.ENODATA {
				return fmt.Errorf("attribute %s: %w", name, err)
			}
		}
	}
	for name, value := range want.Xattrs {
		if old, ok := was.Xattrs[name]; ok && bytes.Equal(old, value) {
			continue
		}
		if err := unix.Setxattr(link, name, value, 0); err != nil {
			return fmt.Errorf("attribute %s: %w", name, err)
		}
	}
	return nil
}
