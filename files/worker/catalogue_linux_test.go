package worker_test

import (
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"sandboxd/files"
	"sandboxd/files/filestest"
)

// ordinary is the uid of the ordinary user: ours, or where we are root one that
// owns nothing.
const ordinary = 61234

// row is one path of the catalogue with the answers for reading and writing it:
// "ok", or the reason of the conflict. user is what an ordinary user gets, where
// that is something else.
type row struct {
	name, path                       string // path: "$ROOT" is the root
	read, write, userRead, userWrite string
	rootOnly                         bool // only root can set it up
}

// Acceptance 4: the path catalogue.
var catalogue = []row{
	{name: "plain", path: "a.txt", read: "ok", write: "ok"},
	{name: "absolute", path: "$ROOT/a.txt", read: "ok", write: "ok"},
	{name: "dot", path: "./a.txt", read: "ok", write: "ok"},
	{name: "dots inside", path: "d/./../d/b.txt", read: "ok", write: "ok"},
	{name: "double slash", path: "d//b.txt", read: "ok", write: "ok"},
	{name: "double slash in front", path: "/$ROOT/a.txt", read: "ok", write: "ok"},
	{name: "slash behind a file", path: "a.txt/", read: "not_a_folder", write: "not_a_folder"},
	{name: "dot behind a file", path: "a.txt/.", read: "not_a_folder", write: "not_a_folder"},
	{name: "a file as a folder", path: "a.txt/x", read: "not_a_folder", write: "not_a_folder"},
	{name: "slash behind a folder", path: "d/", read: "not_a_file", write: "not_a_file"},
	{name: "a folder", path: "d", read: "not_a_file", write: "not_a_file"},
	{name: "the root", path: ".", read: "not_a_file", write: "forbidden"},
	{name: "empty", path: "", read: "bad_path", write: "bad_path"},
	{name: "blank", path: " ", read: "missing", write: "ok"},

	{name: "dots out", path: "../x", read: "outside", write: "outside"},
	{name: "dots out, later", path: "d/../../x", read: "outside", write: "outside"},
	{name: "dots out of an absolute path", path: "$ROOT/../x", read: "outside", write: "outside"},
	{name: "dots above everything", path: "../../../../../../../../etc/passwd", read: "outside", write: "outside"},
	{name: "absolute outside", path: "/etc/passwd", read: "outside", write: "outside"},
	{name: "a sibling with the same beginning", path: "$ROOT-evil/x", read: "outside", write: "outside"},
	{name: "home", path: "~/x", read: "bad_path", write: "bad_path"},
	{name: "home alone", path: "~", read: "bad_path", write: "bad_path"},
	{name: "a file called ~", path: "./~", read: "missing", write: "ok"},
	{name: "somebody's home", path: "~root", read: "missing", write: "ok"},
	{name: "a variable", path: "$HOME/x", read: "missing", write: "missing"},

	{name: "NUL", path: "a\x00.txt", read: "bad_path", write: "bad_path"},
	{name: "newline", path: "a\n.txt", read: "bad_path", write: "bad_path"},
	{name: "carriage return", path: "a\r", read: "bad_path", write: "bad_path"},
	{name: "escape", path: "a\x1b[2K", read: "bad_path", write: "bad_path"},
	{name: "delete", path: "a\x7f", read: "bad_path", write: "bad_path"},
	{name: "C1 control", path: "a\u0085", read: "bad_path", write: "bad_path"},
	{name: "not UTF-8", path: "a\xff", read: "bad_path", write: "bad_path"},
	{name: "255 bytes", path: strings.Repeat("n", 255), read: "missing", write: "ok"},
	{name: "256 bytes", path: strings.Repeat("n", 256), read: "bad_path", write: "bad_path"},
	{name: "255 bytes in a folder", path: "d/" + strings.Repeat("é", 127), read: "missing", write: "ok"},
	{name: "4095 bytes", path: strings.Repeat("p/", 2047) + "x", read: "missing", write: "missing"},
	{name: "4096 bytes", path: strings.Repeat("p/", 2047) + "xx", read: "bad_path", write: "bad_path"},

	{name: "another case", path: "A.TXT", read: "missing", write: "ok"},
	{name: "NFC", path: "caf\u00e9", read: "ok", write: "ok"},
	{name: "NFD", path: "cafe\u0301", read: "missing", write: "ok"},
	{name: "Cyrillic a", path: "\u0430.txt", read: "missing", write: "ok"},
	{name: "full width", path: "\uff41.txt", read: "missing", write: "ok"},
	{name: "zero width", path: "a\u200b.txt", read: "missing", write: "ok"},

	{name: "by /proc", path: "/proc/self/root$ROOT/a.txt", read: "outside", write: "outside"},
	{name: "by our cwd", path: "/proc/self/cwd/a.txt", read: "outside", write: "outside"},
	{name: "by /dev/fd", path: "/dev/fd/0", read: "outside", write: "outside"},
	{name: "/dev/stdin", path: "/dev/stdin", read: "outside", write: "outside"},
	{name: "another's environment", path: "/proc/1/environ", read: "outside", write: "outside"},

	{name: "link inside", path: "in", read: "ok", write: "ok"},
	{name: "link in a folder, up", path: "d/up", read: "ok", write: "ok"},
	{name: "link to a folder", path: "dlink/b.txt", read: "ok", write: "ok"},
	{name: "link, absolute, inside", path: "absin", read: "outside", write: "outside"},
	{name: "link out", path: "out", read: "outside", write: "outside"},
	{name: "link out and in again", path: "outin", read: "outside", write: "outside"},
	{name: "folder link out", path: "dout/x", read: "outside", write: "outside"},
	{name: "link to itself", path: "loop", read: "bad_path", write: "bad_path"},
	{name: "dangling link", path: "dangling", read: "missing", write: "ok"},
	{name: "link to /proc", path: "proc", read: "outside", write: "outside"},
	{name: "link to a descriptor", path: "fd", read: "outside", write: "outside"},

	{name: "hard link", path: "hard", read: "hard_link", write: "hard_link"},
	{name: "FIFO", path: "fifo", read: "special", write: "special"},
	{name: "socket", path: "socket", read: "special", write: "special"},
	{name: "device", path: "device", read: "special", write: "special", rootOnly: true},
	{name: "block device", path: "block", read: "special", write: "special", rootOnly: true},

	{name: "marked as read-only", path: "readonly", read: "ok", write: "forbidden"},
	{name: "unreadable", path: "unreadable", read: "ok", write: "forbidden", userRead: "forbidden"},
	{name: "in a folder without write", path: "locked/a", read: "ok", write: "ok", userWrite: "forbidden"},
	{name: "in a folder without search", path: "closed/a", read: "ok", write: "ok", userRead: "forbidden",
		userWrite: "forbidden"},
	{name: "somebody else's", path: "theirs", read: "ok", write: "ok", userWrite: "unkept", rootOnly: true},
	{name: "set-user-id", path: "setuid", read: "ok", write: "unkept"},

	{name: "10 GB", path: "huge", read: "ok", write: "too_large"},

	{name: "another file system", path: "mnt/x", read: "outside", write: "outside", rootOnly: true},
	{name: "the mount point itself", path: "mnt", read: "not_a_file", write: "not_a_file", rootOnly: true},
	{name: "bound from outside", path: "bound/secret", read: "outside", write: "outside", rootOnly: true},
	{name: "a file bound from outside", path: "boundfile", read: "outside", write: "outside", rootOnly: true},
	{name: "bound from elsewhere inside", path: "boundin/b.txt", read: "outside", write: "outside", rootOnly: true},
	{name: "bound onto itself", path: "pin/a", read: "ok", write: "ok", rootOnly: true},
}

func TestPathCatalogue(t *testing.T) {
	for _, user := range []struct {
		name string
		uid  int
	}{{"root", 0}, {"ordinary", ordinary}} {
		t.Run(user.name, func(t *testing.T) {
			switch euid := os.Geteuid(); {
			case euid != 0 && user.uid == 0:
				t.Log("the rows of root are run where the tests run as root")
				return
			case euid != 0:
				user.uid = euid
			}
			runCatalogue(t, user.uid)
		})
	}
}

func runCatalogue(t *testing.T, uid int) {
	dir := filestest.OpenFolder(t)
	root := filepath.Join(dir, "root")
	must(t, os.Mkdir(root, 0o755))
	fixtures(t, dir, root, uid)
	asRoot := os.Geteuid() == 0
	o := filestest.Options{Root: root, Process: true}
	if asRoot {
		o.UID = uid
	}
	b := filestest.New(t, o)
	for _, c := range catalogue {
		if c.rootOnly && !asRoot {
			continue
		}
		if uid != 0 {
			c.read, c.write = or(c.userRead, c.read), or(c.userWrite, c.write)
		}
		t.Run(c.name, func(t *testing.T) {
			p := strings.ReplaceAll(c.path, "$ROOT", root)
			_, _, err := b.Do(files.Request{Op: files.Read, Path: p, Limit: 100})
			if got := answer(err); got != c.read {
				t.Errorf("read: got %s (%v), want %s", got, err, c.read)
			}
			_, _, err = b.Do(files.Request{Op: files.Write, Path: p, Content: []byte("new\n")})
			if got := answer(err); got != c.write {
				t.Errorf("write: got %s (%v), want %s", got, err, c.write)
			}
		})
	}
	untouched(t, dir)
	for _, op := range []files.Request{
		{Op: files.Edit, Path: "huge", Edits: []files.Replacement{{Find: "a", Replace: "b"}}},
		{Op: files.Append, Path: "huge", Content: []byte("x")}, {Op: files.Delete, Path: "huge"},
		{Op: files.Copy, Path: "huge", To: "huge2"},
	} {
		if _, _, err := b.Do(op); answer(err) != "too_large" {
			t.Errorf("%s of 10 GB: %v", op.Op, err)
		}
	}
	if _, _, err := b.Do(files.Request{Op: files.Move, Path: "huge", To: "moved"}); err != nil {
		t.Errorf("move of 10 GB, which loses nothing: %v", err)
	}
	if kib := peak(t, b.Worker.Process.Pid); kib > 64<<10 {
		t.Errorf("the worker took %d KiB", kib)
	}
	if l := filestest.Litter(t, root); len(l) > 0 {
		t.Errorf("left behind: %v", l)
	}
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

const secret = "CANARY-SECRET\n"

// fixtures makes what the catalogue names. Everything belongs to the user but
// what says otherwise.
func fixtures(t *testing.T, dir, root string, uid int) {
	put := func(p, content string, mode fs.FileMode) {
		full := filepath.Join(root, p)
		must(t, os.MkdirAll(filepath.Dir(full), 0o755))
		must(t, os.WriteFile(full, []byte(content), 0o600))
		must(t, os.Chmod(full, mode))
	}
	outside := filepath.Join(dir, "outside")
	must(t, os.MkdirAll(outside, 0o777))
	must(t, os.WriteFile(filepath.Join(outside, "secret"), []byte(secret), 0o666))
	must(t, os.Mkdir(root+"-evil", 0o777))
	for _, f := range []string{"a.txt", "d/b.txt", "caf\u00e9", "in-target", "theirs", "pin/a", "boundfile"} {
		put(f, "x\n", 0o644)
	}
	put("readonly", "x\n", 0o444)
	put("unreadable", "x\n", 0o000)
	put("setuid", "x\n", 0o755|fs.ModeSetuid)
	put("locked/a", "x\n", 0o644)
	put("closed/a", "x\n", 0o644)
	for link, target := range map[string]string{
		"in": "in-target", "d/up": "../a.txt", "dlink": "d", "absin": filepath.Join(root, "a.txt"),
		"out": "../outside/secret", "outin": "../root/a.txt", "dout": "../outside", "loop": "loop", "dangling": "d/not-yet",
		"proc": "/proc/self/environ", "fd": "/dev/fd/0",
	} {
		must(t, os.Symlink(target, filepath.Join(root, link)))
	}
	must(t, os.WriteFile(filepath.Join(outside, "hard"), []byte(secret), 0o666))
	must(t, os.Link(filepath.Join(outside, "hard"), filepath.Join(root, "hard")))
	must(t, unix.Mkfifo(filepath.Join(root, "fifo"), 0o666))
	l, err := net.Listen("unix", filepath.Join(root, "socket"))
	must(t, err)
	t.Cleanup(func() { l.Close() })
	huge, err := os.Create(filepath.Join(root, "huge"))
	must(t, err)
	must(t, huge.Truncate(10<<30))
	huge.Close()
	if os.Geteuid() == 0 {
		rootFixtures(t, outside, root, uid)
	}
	must(t, os.Chmod(filepath.Join(root, "locked"), 0o555))
	must(t, os.Chmod(filepath.Join(root, "closed"), 0o000))
	t.Cleanup(func() { os.Chmod(filepath.Join(root, "closed"), 0o755); os.Chmod(filepath.Join(root, "locked"), 0o755) })
}

func rootFixtures(t *testing.T, outside, root string, uid int) {
	must(t, unix.Mknod(filepath.Join(root, "device"), unix.S_IFCHR|0o666, int(unix.Mkdev(1, 5))))
	must(t, unix.Mknod(filepath.Join(root, "block"), unix.S_IFBLK|0o666, int(unix.Mkdev(7, 0))))
	must(t, filepath.WalkDir(root, func(p string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := os.Lstat(p)
		if err != nil {
			return err
		}
		if err := os.Lchown(p, uid, uid); err != nil || info.Mode()&fs.ModeSymlink != 0 {
			return err
		}
		return os.Chmod(p, info.Mode()) // chown takes set-id bits
	}))
	must(t, os.Lchown(filepath.Join(root, "theirs"), ordinary+1, ordinary+1))
	mount := func(source, point, kind string, flags uintptr) {
		must(t, unix.Mount(source, point, kind, flags, ""))
		t.Cleanup(func() { unix.Unmount(point, unix.MNT_DETACH) })
	}
	for _, d := range []string{"mnt", "bound", "boundin"} {
		must(t, os.Mkdir(filepath.Join(root, d), 0o777))
	}
	mount("none", filepath.Join(root, "mnt"), "tmpfs", 0)
	must(t, os.WriteFile(filepath.Join(root, "mnt", "x"), []byte(secret), 0o666))
	mount(outside, filepath.Join(root, "bound"), "", unix.MS_BIND)
	mount(filepath.Join(outside, "secret"), filepath.Join(root, "boundfile"), "", unix.MS_BIND)
	mount(filepath.Join(root, "d"), filepath.Join(root, "boundin"), "", unix.MS_BIND)
	mount(filepath.Join(root, "pin"), filepath.Join(root, "pin"), "", unix.MS_BIND)
}

// untouched checks that nothing outside the root was changed.
func untouched(t *testing.T, dir string) {
	t.Helper()
	for name, want := range map[string]int{"outside": 2, "root-evil": 0} {
		entries, err := os.ReadDir(filepath.Join(dir, name))
		must(t, err)
		if len(entries) != want {
			t.Errorf("%s holds %v", name, entries)
		}
		for _, e := range entries {
			data, err := os.ReadFile(filepath.Join(dir, name, e.Name()))
			if err != nil || string(data) != secret {
				t.Errorf("%s/%s holds %q, %v", name, e.Name(), data, err)
			}
		}
	}
}

// peak is the most memory that a process had, in KiB (proc_pid_status(5), VmHWM).
func peak(t *testing.T, pid int) int {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	must(t, err)
	for _, line := range strings.Split(string(data), "\n") {
		var kib int
		if n, _ := fmt.Sscanf(line, "VmHWM: %d kB", &kib); n == 1 {
			return kib
		}
	}
	t.Fatal("no VmHWM")
	return 0
}
