package layer

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sandboxd/internal/modes"
)

// step is one operation of a script. Paths are quoted names relative to the tree.
type step struct {
	Do   string
	Path Name
	To   Name
	Mode uint32
	Size int64
	Data string
	Time int64 // of utimes, in nanoseconds
}

// perform does a step in the current directory, as a program would; mv copies where a rename fails with EXDEV.
func (s step) perform() error {
	p, to := string(s.Path), string(s.To)
	switch s.Do {
	case "create":
		return os.WriteFile(p, []byte(s.Data), fs.FileMode(s.Mode))
	case "append":
		return write(p, os.O_WRONLY|os.O_APPEND, func(f *os.File) error { _, err := f.WriteString(s.Data); return err })
	case "open": // for writing, without a write
		return write(p, os.O_RDWR, func(*os.File) error { return nil })
	case "truncate":
		return os.Truncate(p, s.Size)
	case "sparse":
		return write(p, os.O_WRONLY|os.O_CREATE, func(f *os.File) error {
			_, err := f.WriteAt([]byte(s.Data), s.Size)
			return err
		})
	case "mkdir":
		return os.Mkdir(p, fs.FileMode(s.Mode))
	case "mv":
		return move(p, to)
	case "link":
		return os.Link(p, to)
	case "symlink":
		return os.Symlink(s.Data, p)
	case "chmod":
		if s, err := os.Lstat(p); err != nil || !s.Mode().IsRegular() && !s.IsDir() {
			return err
		}
		return unix.Fchmodat(unix.AT_FDCWD, p, s.Mode, 0)
	case "chmoddir": // set-id bits of a directory land, those of a file do not
		return unix.Fchmodat(unix.AT_FDCWD, p+"/.", s.Mode, 0)
	case "chown":
		return os.Lchown(p, int(s.Mode), int(s.Size))
	case "xattr":
		return unix.Lsetxattr(p, "user."+s.Data, []byte(s.Data), 0)
	case "unxattr":
		return unix.Lremovexattr(p, "user."+s.Data)
	case "acl":
		return unix.Lsetxattr(p, "system.posix_acl_"+s.Data, acl(), 0)
	case "utimes":
		return setTime(unix.AT_FDCWD, p, s.Time)
	case "rm":
		return os.Remove(p)
	case "rmtree":
		return os.RemoveAll(p)
	case "swap": // of a directory it would be EXDEV in a layer, and no program replaces it by copies
		for _, name := range []string{p, to} {
			if s, err := os.Lstat(name); err != nil || s.IsDir() {
				return err
			}
		}
		return unix.Renameat2(unix.AT_FDCWD, p, unix.AT_FDCWD, to, unix.RENAME_EXCHANGE)
	case "sh":
		out, err := exec.Command("sh", "-c", s.Data).CombinedOutput()
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s", out)
		}
		return err
	case "fifo":
		return unix.Mkfifo(p, s.Mode)
	}
	return fmt.Errorf("unknown step %q", s.Do)
}

func setTime(dir int, name string, mtime int64) error {
	times := []unix.Timespec{{Nsec: unix.UTIME_OMIT}, unix.NsecToTimespec(mtime)}
	return unix.UtimesNanoAt(dir, name, times, unix.AT_SYMLINK_NOFOLLOW)
}

func write(p string, flags int, f func(*os.File) error) error {
	file, err := os.OpenFile(p, flags, 0o644)
	if err != nil {
		return err
	}
	defer file.Close()
	return f(file)
}

// acl is an access control list with an entry for the caller by name (linux/posix_acl_xattr.h).
func acl() []byte {
	b := []byte{2, 0, 0, 0}
	entry := func(tag, perm uint16, id uint32) {
		b = append(b, byte(tag), 0, byte(perm), 0, byte(id), byte(id>>8), byte(id>>16), byte(id>>24))
	}
	entry(0x01, 7, ^uint32(0))
	entry(0x02, 6, uint32(os.Getuid()))
	entry(0x04, 5, ^uint32(0))
	entry(0x10, 7, ^uint32(0))
	entry(0x20, 4, ^uint32(0))
	return b
}

func move(from, to string) error {
	err := os.Rename(from, to)
	if !errors.Is(err, unix.EXDEV) {
		return err
	}
	if s, err := stat(unix.AT_FDCWD, to); err != nil || s.Kind != Absent {
		if err := unix.Rmdir(to); err != nil {
			return err
		}
	}
	if out, err := exec.Command("cp", "-a", "-T", "--", from, to).CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return modes.RemoveAll(from) // unwritable directories, too, which a rename moves
}

// order is the task of a child process of the test.
type order struct {
	Overlay []string // lower, upper, work and the place of the mount; nil: none
	Dir     string   // where the script runs
	Script  []step
	Task    *task // done instead
	Traced  bool  // a tracer waits for the task's beginning
	User    int   // who does it; 0: the caller
	Place   *place
	Small   string // options of a small file system for fullDisk
}

// child carries out an order and exits.
func child(text string) {
	runtime.LockOSThread() // capabilities are a thread's
	var o order
	err := json.Unmarshal([]byte(text), &o)
	unix.Umask(0o022)
	if err == nil && o.Task != nil {
		if err := o.Task.perform(o.Traced); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if err == nil && o.Small != "" {
		if err := fullDisk(o.Overlay[0], o.Small); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if err == nil && o.Place != nil {
		if err := o.Place.print(o.Overlay[0]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if err == nil && o.Overlay != nil {
		err = unix.Mount("overlay", o.Overlay[3], "overlay", 0, "userxattr,lowerdir="+
			o.Overlay[0]+",upperdir="+o.Overlay[1]+",workdir="+o.Overlay[2])
		if err == nil {
			o.Overlay = nil
			err = o.again()
		}
	}
	if err == nil {
		err = os.Chdir(o.Dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for _, s := range o.Script {
		if err := s.perform(); err != nil && os.Getenv("LAYER_VERBOSE") != "" {
			fmt.Fprintln(os.Stderr, s.Do, s.Path, err)
		}
	}
}

// again executes this program without the capabilities that the mount took, as the command in a sandbox has none.
func (o order) again() error {
	text, err := json.Marshal(o)
	if err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return err
	}
	if err := os.Setenv(childVariable, string(text)); err != nil {
		return err
	}
	return unix.Exec("/proc/self/exe", os.Args, os.Environ())
}

const childVariable = "LAYER_TEST_CHILD"

// command is a child process with an order. An overlay is mounted in a user and a mount namespace of its own.
func (o order) command() *exec.Cmd {
	text, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), childVariable+"="+string(text))
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	uid, gid := os.Getuid(), os.Getgid()
	if o.User != 0 {
		uid, gid = o.User, o.User
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid), NoSetGroups: o.Overlay != nil}
	}
	if o.Overlay != nil {
		size := 1
		if uid == 0 {
			size = 65536
		}
		cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: size}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: size}}
		cmd.SysProcAttr.GidMappingsEnableSetgroups = uid == 0
		for c := range uintptr(unix.CAP_LAST_CAP + 1) {
			cmd.SysProcAttr.AmbientCaps = append(cmd.SysProcAttr.AmbientCaps, c)
		}
	}
	return cmd
}

func (o order) run(t testing.TB) {
	t.Helper()
	if out, err := o.command().CombinedOutput(); err != nil {
		t.Fatalf("child: %v\n%s", err, out)
	} else if len(out) > 0 {
		t.Logf("%s", out)
	}
}

// bench is a root, with a layer above it.
type bench struct {
	t    testing.TB
	dir  string
	user int // whose they are, and who moves the layer; 0: the caller
	root *os.File
	*Layer
	held []*Layer // below the layer, the lowest first
}

// Places of benches. In memory a sync costs nothing.
const (
	disk   = ""
	memory = "/dev/shm"
)

// newBench makes a root by a script, below a place.
func newBench(t testing.TB, place string, script ...step) *bench {
	t.Helper()
	return newBenchOf(t, 0, place, script...)
}

// newBenchOf makes a root that is a user's. The caller is root then, and sees what modes hide from the user.
func newBenchOf(t testing.TB, user int, place string, script ...step) *bench {
	t.Helper()
	if _, err := unix.Getxattr(place, "user.overlay.origin", nil); err == unix.ENOTSUP { // tmpfs before Linux 6.6
		place = disk
	}
	dir, err := os.MkdirTemp(place, "layer")
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, dir: dir, user: user}
	if user != 0 {
		if err := os.Chown(dir, user, user); err != nil {
			t.Fatal(err)
		}
	}
	order{Dir: b.tree("root"), Script: script, User: user}.run(t)
	if b.root, err = os.Open(filepath.Join(dir, "root")); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bench) close() {
	b.root.Close()
	if err := modes.RemoveAll(b.dir); err != nil {
		b.t.Error(err)
	}
}

// tree makes a directory.
func (b *bench) tree(name string) string {
	dir := filepath.Join(b.dir, name)
	err := os.Mkdir(dir, 0o755)
	if err == nil && b.user != 0 {
		err = os.Chown(dir, b.user, b.user)
	}
	if err != nil {
		b.t.Fatal(err)
	}
	return dir
}

// layer runs a script in a new layer, and leaves it mounted by nobody.
func (b *bench) layer(name string, script ...step) *bench {
	b.t.Helper()
	return b.layerWith(name, func() {}, script...)
}

// layerWith calls during after the layer is made, while the script runs.
func (b *bench) layerWith(name string, during func(), script ...step) *bench {
	b.t.Helper()
	var err error
	if b.user != 0 {
		b.Layer = &Layer{dir: filepath.Join(b.dir, name)}
		err = b.move("new")
	} else {
		b.Layer, err = New(filepath.Join(b.dir, name), b.root, b.held...)
	}
	if err != nil {
		b.t.Fatal(err)
	}
	l := b.Layer
	at := b.tree(name + "-merged")
	lower := b.root.Name()
	for _, h := range b.held {
		lower = h.Upper() + ":" + lower
	}
	cmd := order{Overlay: []string{lower, l.Upper(), l.Work(), at}, Dir: at, Script: script, User: b.user}.command()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	during()
	if err := cmd.Wait(); err != nil {
		b.t.Fatalf("script: %v\n%s", err, &out)
	}
	return b
}

// move makes a move of the layer, as the bench's user.
func (b *bench) move(do string) error {
	b.t.Helper()
	if b.user == 0 {
		return task{Do: do}.move(b.Layer, b.root)
	}
	o := task{do, b.root.Name(), b.Layer.dir}
	out, err := order{Task: &o, User: b.user}.command().CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", do, err, out)
	}
	b.Layer, err = Open(o.Layer)
	return err
}

func (b *bench) take() *bench {
	b.t.Helper()
	var err error
	if b.user != 0 {
		err = b.move("take")
	} else {
		err = b.Take(b.root, b.held...)
	}
	if err != nil {
		b.t.Fatal(err)
	}
	return b
}

func (b *bench) snapshot() map[string]string {
	b.t.Helper()
	return snapshot(b.t, b.root.Name())
}

// snapshot describes each object of a tree: all that lands. first is where an object with several names was seen first.
func snapshot(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	first := map[uint64]string{}
	dirfd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(dirfd)
	l := lister{left: maxEntries}
	nodes, err := l.list(dirfd, ".")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes {
		text := fmt.Sprintf("%s %04o %d:%d %d %q %s", n.Kind, n.Mode, n.UID, n.GID, n.Size, n.Target,
			time.Unix(0, n.MTime).UTC().Format(time.RFC3339Nano))
		for _, name := range slices.Sorted(maps.Keys(n.Xattrs)) {
			text += fmt.Sprintf(" %s=%x", name, n.Xattrs[name])
		}
		if n.Kind == File {
			if first[n.Inode] == "" {
				first[n.Inode] = string(n.Path)
			}
			text += " is " + first[n.Inode] + " " + contentOf(t, dirfd, string(n.Path))
		}
		out[string(n.Path)] = text
	}
	return out
}

func contentOf(t testing.TB, dir int, name string) string {
	t.Helper()
	above, base := Name(name).split()
	for at := range strings.SplitSeq(string(above), "/") {
		below, leave, err := enter(dir, at)
		if err != nil {
			t.Fatal(err)
		}
		defer leave()
		dir = below
	}
	fd, err := openLoose(dir, base, unix.O_RDONLY, 0o400)
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	h := sha256.New()
	if _, err := f.WriteTo(h); err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// recent replaces times of modification since start, which differ between two runs of one script.
func recent(s map[string]string, start time.Time) map[string]string {
	out := map[string]string{}
	for name, text := range s {
		fields := strings.SplitAfter(text, " ")
		for i, f := range fields {
			if at, err := time.Parse(time.RFC3339Nano, strings.TrimSpace(f)); err == nil && !at.Before(start) {
				fields[i] = "recent "
			}
		}
		out[name] = strings.TrimSpace(strings.Join(fields, ""))
	}
	return out
}

// differences lists where two snapshots differ.
func differences(got, want map[string]string) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if got[name] != want[name] {
			out = append(out, fmt.Sprintf("%q:\n  got  %s\n  want %s", name, got[name], want[name]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[name]; !ok {
			out = append(out, fmt.Sprintf("%q: got %s, want nothing", name, got[name]))
		}
	}
	return strings.Join(out, "\n")
}
