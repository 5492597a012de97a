package layer

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"sandboxd/internal/modes"
)

const (
	// maxEntries bounds the objects of one change set, the deleted ones included.
	maxEntries = 300_000
	// maxDepth bounds the directories above an object. Each holds descriptors during a walk.
	maxDepth = 256
	// maxXattrs bounds the attributes of one object (limits.h, XATTR_LIST_MAX and XATTR_SIZE_MAX).
	maxXattrs = 64 << 10
)

// errTooMany is returned where a tree has more entries than are read, errDeep where it has more directories in each
// other.
var (
	errTooMany = errors.New("too large a tree")
	errDeep    = fmt.Errorf("more than %d directories deep", maxDepth)
)

// exhausts reports whether an error is one of the host, of which no object is the cause.
func exhausts(err error) bool {
	causes := []error{
		errTooMany, unix.ENOSPC, unix.EDQUOT, unix.EIO, unix.EROFS, unix.ENOMEM, unix.EMFILE, unix.ENFILE,
	}
	return slices.ContainsFunc(causes, func(e error) bool { return errors.Is(err, e) })
}

// located is an error of an object of a tree, with its path once.
type located struct {
	at  Name
	err error
}

func (e *located) Error() string { return fmt.Sprintf("%q: %v", e.at, e.err) }
func (e *located) Unwrap() error { return e.err }

// locate has an error name the object, unless it names one below.
func locate(at Name, err error) error {
	if err == nil || errors.As(err, new(*located)) {
		return err
	}
	return &located{at, err}
}

// open opens a path below a directory. It follows no link, leaves the directory by no way and enters no mount.
func open(dir int, name string, flags int) (int, error) {
	how := unix.OpenHow{
		Flags:   uint64(flags | unix.O_CLOEXEC | unix.O_NOFOLLOW),
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_XDEV | unix.RESOLVE_NO_MAGICLINKS,
	}
	for try := 0; ; try++ {
		fd, err := unix.Openat2(dir, name, &how)
		if err == unix.EINTR || err == unix.EAGAIN && try < 100 { // EAGAIN: a rename meanwhile (openat2(2))
			continue
		}
		return fd, err
	}
}

const dirFlags = unix.O_RDONLY | unix.O_DIRECTORY

func procPath(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// openLoose opens a name with flags, as its owner could after a chmod: the mode is another one for this moment only.
func openLoose(dir int, name string, flags int, bits uint32) (int, error) {
	fd, err := open(dir, name, flags)
	if err != unix.EACCES {
		return fd, err
	}
	restore, err := loosen(dir, name, bits)
	if err != nil {
		return -1, unix.EACCES
	}
	defer restore()
	return open(dir, name, flags)
}

// enter opens a directory for a walk: its entries can be listed and opened until leave is called. Its owner gets the
// rights for that time where the mode lacks them.
func enter(dir int, name string) (fd int, leave func(), err error) {
	var st unix.Stat_t
	err = unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	if err != nil {
		return -1, nil, err
	}
	restore := func() {}
	if st.Mode&0o500 != 0o500 && int(st.Uid) == os.Geteuid() && modes.Bind() {
		if restore, err = loosen(dir, name, 0o500); err != nil {
			return -1, nil, err
		}
	}
	if fd, err = open(dir, name, dirFlags); err != nil {
		restore()
		return -1, nil, err
	}
	return fd, func() { unix.Close(fd); restore() }, nil
}

// reach opens a file below a directory for reading, through directories whose modes close them, as their owner could.
func reach(dir int, at Name) (*os.File, error) {
	elements := strings.Split(string(at), "/")
	last := len(elements) - 1
	for _, element := range elements[:last] {
		below, leave, err := enter(dir, element)
		if err != nil {
			return nil, err
		}
		defer leave()
		dir = below
	}
	fd, err := openLoose(dir, elements[last], unix.O_RDONLY|unix.O_NONBLOCK, 0o400)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), string(at)), nil
}

// loosen adds bits to the mode of a file or directory until restore is called.
func loosen(dir int, name string, bits uint32) (restore func(), err error) {
	at, err := open(dir, name, unix.O_PATH)
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(at, &st); err != nil {
		unix.Close(at)
		return nil, err
	}
	if kind := st.Mode & unix.S_IFMT; kind != unix.S_IFREG && kind != unix.S_IFDIR {
		unix.Close(at)
		return nil, unix.EACCES
	}
	mode := st.Mode & 0o7777
	if err := unix.Chmod(procPath(at), mode|bits); err != nil {
		unix.Close(at)
		return nil, err
	}
	return func() {
		_ = unix.Chmod(procPath(at), mode)
		unix.Close(at)
	}, nil
}

// stat returns the object under a name, links not followed, without its attributes and content. A name that does not
// exist is Absent.
func stat(dir int, name string) (State, error) {
	var st unix.Stat_t
	err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	if err == unix.ENOENT {
		return State{}, nil
	}
	if err != nil {
		return State{}, err
	}
	s := stateOf(&st)
	if s.Kind == Symlink {
		buf := make([]byte, 4096)
		n, err := unix.Readlinkat(dir, name, buf)
		if err != nil {
			return s, err
		}
		s.Target = Name(buf[:n])
	}
	return s, nil
}

func stateOf(st *unix.Stat_t) State {
	s := State{
		Mode: st.Mode & 0o7777, UID: st.Uid, GID: st.Gid, MTime: st.Mtim.Nano(),
		Inode: st.Ino, CTime: st.Ctim.Nano(), Links: uint64(st.Nlink),
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		s.Kind, s.Size = File, st.Size
	case unix.S_IFDIR:
		s.Kind, s.Links = Dir, 0
	case unix.S_IFLNK:
		s.Kind, s.Mode = Symlink, 0
	default:
		s.Kind = Special
	}
	return s
}

func fstat(fd int) (State, error) {
	var st unix.Stat_t
	err := unix.Fstat(fd, &st)
	return stateOf(&st), err
}

// attributes returns the attributes of a file or directory. overlay are those by which the kernel marks a layer.
func attributes(dir int, name string) (landing, overlay map[string][]byte, err error) {
	at, err := open(dir, name, unix.O_PATH)
	if err != nil {
		return nil, nil, err
	}
	defer unix.Close(at)
	return openedAttributes(at)
}

func openedAttributes(at int) (landing, overlay map[string][]byte, err error) {
	link := procPath(at)
	buf := make([]byte, maxXattrs)
	n, err := unix.Listxattr(link, buf)
	if err == unix.ENOTSUP || n == 0 {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	list := strings.Split(strings.TrimSuffix(string(buf[:n]), "\x00"), "\x00")
	for _, name := range list {
		marks := strings.HasPrefix(name, overlayPrefix)
		if !marks && !lands(name) {
			continue
		}
		n, err := unix.Getxattr(link, name, buf)
		if err == unix.ENODATA {
			continue
		}
		if err != nil {
			return nil, nil, fmt.Errorf("attribute %s: %w", name, err)
		}
		into := &landing
		if marks {
			into = &overlay
		}
		if *into == nil {
			*into = map[string][]byte{}
		}
		(*into)[name] = slices.Clone(buf[:n])
	}
	return landing, overlay, nil
}

// overlayPrefix marks a layer that is mounted with userxattr; a trusted one is never used.
const overlayPrefix = "user.overlay."

// lands reports whether an attribute is a person's: never security.* and trusted.*, by which a kernel decides.
func lands(name string) bool {
	return strings.HasPrefix(name, "user.") || strings.HasPrefix(name, "system.posix_acl_")
}

// full returns the object under a name with its attributes, and the marks of an overlay.
func full(dir int, name string) (s State, overlay map[string][]byte, err error) {
	s, err = stat(dir, name)
	if err != nil || s.Kind != File && s.Kind != Dir {
		return s, nil, err
	}
	s.Xattrs, overlay, err = attributes(dir, name)
	if errors.Is(err, unix.ENOENT) {
		return State{}, nil, nil
	}
	return s, overlay, err
}

// names returns the entries of an opened directory, sorted.
func names(dir int, left *int) ([]string, error) {
	fd, err := open(dir, ".", dirFlags)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "")
	defer f.Close()
	var out []string
	for {
		batch, err := f.Readdirnames(1024)
		out = append(out, batch...)
		if *left -= len(batch); *left < 0 {
			return nil, fmt.Errorf("%w: more than %d entries", errTooMany, maxEntries)
		}
		if err == io.EOF {
			slices.Sort(out)
			return out, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// lister lists trees.
type lister struct{ left int }

// list returns the tree under a name, without the content of files. It fails where a directory can't be read or another
// file system is mounted.
func (l *lister) list(dir int, name string) ([]Node, error) {
	s, _, err := full(dir, name)
	if err != nil || s.Kind == Absent {
		return nil, err
	}
	out := []Node{{".", s}}
	if s.Kind == Dir {
		err = l.below(dir, name, ".", 1, &out)
	}
	return out, err
}

func (l *lister) below(dir int, name, rel string, depth int, out *[]Node) error {
	if depth > maxDepth {
		return locate(Name(rel), errDeep)
	}
	fd, leave, err := enter(dir, name)
	if err != nil {
		return fmt.Errorf("%q: %w", rel, err)
	}
	defer leave()
	entries, err := names(fd, &l.left)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		at := path.Join(rel, entry)
		s, _, err := full(fd, entry)
		if err != nil {
			return fmt.Errorf("%q: %w", at, err)
		}
		if s.Kind == Absent {
			return fmt.Errorf("%q: %w", at, unix.ENOENT) // it changes under the walk
		}
		*out = append(*out, Node{Name(at), s})
		if s.Kind == Dir {
			if err := l.below(fd, entry, at, depth+1, out); err != nil {
				return err
			}
		}
	}
	return nil
}

// equal compares all that lands but the content of files.
func (s State) equal(t State) bool {
	return s.sameMetadata(t) && s.Target == t.Target &&
		(s.Kind == Dir || s.MTime == t.MTime) && (s.Kind != File || s.Size == t.Size)
}

// split returns the parent of a path and its last element.
func (n Name) split() (parent Name, base string) {
	return Name(path.Dir(string(n))), path.Base(string(n))
}

// within reports whether n is dir or below it.
func (n Name) within(dir Name) bool {
	return dir == "." || n == dir || strings.HasPrefix(string(n), string(dir)+"/")
}
