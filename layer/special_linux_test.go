package layer

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestPreimageOfALinkedFile changes a displaced file through its other hard link: the change is reported before its
// copy goes, and undo makes the two names one file again without losing it. Rule 5. R-LY-04.
func TestPreimageOfALinkedFile(t *testing.T) {
	b := newBench(t, disk, file("a", "old"), step{Do: "link", Path: "a", To: "b"})
	t.Cleanup(b.close)
	past(t, b.root.Name())
	b.layer("run", step{Do: "append", Path: "a", Data: " new"}).take().land()
	if err := appendTo(b.at("b"), " later", 0); err != nil {
		t.Fatal(err)
	}
	if late, err := b.Late(); err != nil || !slices.Equal(late, []Name{"a"}) {
		t.Errorf("late: %v, %v", late, err)
	}
	if holds(b.at("a"), "later") || !holds(b.at("a"), "new") {
		t.Errorf("the other name's change is in the landed file: %v", b.snapshot())
	}
	if err := b.Undo(b.root); err != nil || !holds(b.at("a"), "old later") || !holds(b.at("b"), "old later") {
		t.Errorf("undone: %v, %v", err, b.snapshot())
	}
}

// TestDatabaseOutside has an idle connection to a SQLite database outside, in WAL mode, while a layer with a change of
// it lands: the landing is refused until the connection closes, and no commit is lost. Rule 2. R-LY-03.
func TestDatabaseOutside(t *testing.T) {
	const sql = `import sqlite3, sys
c = sqlite3.connect("a.db")
c.execute("pragma journal_mode = wal")
`
	b := newBench(t, disk, step{Do: "sh", Data: "python3 -c '" + sql + `c.execute("create table t (v text)")` + "'"})
	t.Cleanup(b.close)
	past(t, b.root.Name())
	outside := exec.Command("python3", "-c", sql+`
c.execute("insert into t values (1)"); c.commit(); print("ready", flush=True)
sys.stdin.readline()
c.execute("insert into t values (2)"); c.commit(); print("done", flush=True)
sys.stdin.readline()`)
	outside.Dir = b.root.Name()
	in, err := outside.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	pipe, err := outside.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := outside.Start(); err != nil {
		t.Fatal(err)
	}
	out := bufio.NewReader(pipe)
	said := func(want string) {
		t.Helper()
		if got, err := out.ReadString('\n'); got != want+"\n" {
			t.Fatalf("got %q, %v", got, err)
		}
	}
	said("ready")
	insert := sql + `c.execute("insert into t values (3)"); c.commit()`
	b.layer("run", step{Do: "sh", Data: "python3 -c '" + insert + "'"}).take()
	b.refuses("a.db")
	for _, want := range []string{"done", ""} {
		if _, err := io.WriteString(in, "\n"); err != nil {
			t.Fatal(err)
		}
		if want != "" {
			said(want)
		}
	}
	if err := outside.Wait(); err != nil {
		t.Fatal(err)
	}
	rows := func() string {
		cmd := exec.Command("python3", "-c", sql+`print(c.execute("select group_concat(v) from t").fetchone()[0])`)
		cmd.Dir = b.root.Name()
		got, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, got)
		}
		return string(got)
	}
	b.refuses("a.db") // it changed since the run began
	if got := rows(); got != "1,2\n" {
		t.Errorf("the database has %s", got)
	}
}

// TestFullDisk has the file system of root and layer full while a layer is taken: the error says what is missing, the
// root is as before, and with room it lands. Rule 10. R-LY-02.
func TestFullDisk(t *testing.T) {
	o := order{Overlay: []string{t.TempDir()}, Small: "size=3m"}
	if out, err := o.command().CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// fullDisk mounts a small file system in memory, and is what TestFullDisk does there.
func fullDisk(dir, options string) error {
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, options); err != nil {
		return err
	}
	for _, name := range []string{"root", "ballast"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			return err
		}
	}
	root, err := os.Open(filepath.Join(dir, "root"))
	if err != nil {
		return err
	}
	defer root.Close()
	l, err := New(filepath.Join(dir, "run"), root)
	if err != nil {
		return err
	}
	content := strings.Repeat("content ", 1<<17)
	if err := os.WriteFile(filepath.Join(l.Upper(), "file"), []byte(content), 0o600); err != nil {
		return err
	}
	ballast := filepath.Join(dir, "ballast", "file")
	_ = os.WriteFile(ballast, make([]byte, 8<<20), 0o600) // as much as there is room for
	st, err := os.Stat(ballast)
	if err == nil {
		err = os.Truncate(ballast, st.Size()-1<<18)
	}
	if err != nil {
		return err
	}
	err = l.Take(root)
	if !errors.Is(err, unix.ENOSPC) || !strings.Contains(err.Error(), `"file"`) || l.Status() != Mounted {
		return fmt.Errorf("taken on a full disk: %v, %s", err, l.Status())
	}
	if exists(filepath.Join(dir, "root", "file")) {
		return errors.New("a part of it is in the root")
	}
	if err := os.Remove(ballast); err != nil {
		return err
	}
	if err := errors.Join(l.Take(root), l.Land(root, yes)); err != nil {
		return err
	}
	if !holds(filepath.Join(dir, "root", "file"), content) {
		return errors.New("it did not land whole")
	}
	return nil
}

// TestSpecialFiles lands what few programs write: each file is as the command left it, or the set says how it differs.
// R-LY-02.
func TestSpecialFiles(t *testing.T) {
	const at = 1_234_567_890_123_456_789
	b := landBench(t, []step{file("kept", "old"), {Do: "acl", Path: "kept", Data: "access"}}, []step{
		{Do: "sparse", Path: "huge", Size: 4 << 30, Data: "end"},
		{Do: "append", Path: "kept", Data: " new"},
		file("listed", "1"), {Do: "acl", Path: "listed", Data: "access"}, {Do: "xattr", Path: "listed", Data: "mine"},
		{Do: "mkdir", Path: "dir", Mode: 0o755}, {Do: "acl", Path: "dir", Data: "default"}, file("dir/below", "2"),
		file("\x01\xff\n'\"", "3"), {Do: "utimes", Path: "\x01\xff\n'\"", Time: at},
		{Do: "symlink", Path: "link", Data: "/etc/shadow"}, {Do: "utimes", Path: "link", Time: at + 1},
		{Do: "create", Path: "tool", Mode: 0o755}, {Do: "chmod", Path: "tool", Mode: 0o4755},
		{Do: "mkdir", Path: "x.git", Mode: 0o755}, file("x.git/index.lock", ""), file("x.git/gc.pid", "7"),
		file("index.lock", "mine"), {Do: "fifo", Path: "pipe", Mode: 0o600}, {Do: "utimes", Path: "dir", Time: at + 2},
	})
	b.land()
	stat := func(name string) (st unix.Stat_t) {
		if err := unix.Lstat(b.at(name), &st); err != nil {
			t.Errorf("%q: %v", name, err)
		}
		return st
	}
	if huge := stat("huge"); huge.Size != 4<<30+3 || huge.Blocks > 1024 {
		t.Errorf("the sparse file has %d bytes in %d blocks", huge.Size, huge.Blocks)
	}
	for name, want := range map[string]int64{"\x01\xff\n'\"": at, "link": at + 1, "dir": at + 2} {
		if st := stat(name); st.Mtim.Nano() != want {
			t.Errorf("%q has the time %d, want %d", name, st.Mtim.Nano(), want)
		}
	}
	for name, list := range map[string]string{
		"kept": "access", "listed": "access", "dir": "default", "dir/below": "access",
	} {
		if n, err := unix.Getxattr(b.at(name), "system.posix_acl_"+list, nil); err != nil || n <= 28 {
			t.Errorf("%s has no named entry in its access control list: %d, %v", name, n, err)
		}
	}
	if mode := stat("tool").Mode & 0o7777; mode != 0o755 {
		t.Errorf("tool has mode %o", mode)
	}
	if exists(b.at("x.git/index.lock")) || exists(b.at("x.git/gc.pid")) || !exists(b.at("index.lock")) {
		t.Error("what git leaves landed, or what is none of it did not")
	}
	if exists(b.at("pipe")) || len(b.Set().Skipped) != 3 || len(b.Set().Altered) != 1 {
		t.Errorf("named %v and %v", b.Set().Skipped, b.Set().Altered)
	}
}

// immutable is FS_IMMUTABLE_FL (linux/fs.h).
const immutable = 0x10

// TestImmutable has a file or a directory of the root that nobody may change (FS_IOC_SETFLAGS): the landing names it,
// and all else is as before. Without the flag the rest lands. An ordinary user can't set the flag, and lands. R-LY-02.
func TestImmutable(t *testing.T) {
	for name, rest := range map[string][]Name{"dir/z": {"a"}, "dir": nil} {
		b := landBench(t, []step{file("a", "old"), {Do: "mkdir", Path: "dir", Mode: 0o755}, file("dir/z", "old")},
			[]step{file("a", "new"), file("dir/z", "new")})
		f, err := os.Open(b.at(name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		flag := func(flags int) error { return unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, flags) }
		before := b.snapshot()
		if err := flag(immutable); err == nil {
			err := b.Land(b.root, yes)
			if back := flag(0); back != nil {
				t.Fatal(back)
			}
			if err == nil || !strings.Contains(err.Error(), `"dir/z"`) || b.Status() != Held {
				t.Errorf("%s: got %v, %s; want an error that names dir/z", name, err, b.Status())
			}
			if d := differences(b.snapshot(), before); d != "" {
				t.Errorf("%s: refused, yet different:\n%s", name, d)
			}
		} else if os.Geteuid() == 0 {
			t.Fatal(err)
		}
		b.land(rest...)
		if !holds(b.at("a"), "new") {
			t.Errorf("%s: landed %v", name, b.snapshot())
		}
	}
}

// TestAccessListsOfUnreadable has an ordinary user give an access control list and each mode to an object, and the mode
// alone to one that has the list: a mode that denies its owner shows in the list, too, and both land and are undone.
// R-LY-02, R-LY-04.
func TestAccessListsOfUnreadable(t *testing.T) {
	for _, kind := range []step{{Do: "mkdir", Path: "x", Mode: 0o755}, file("x", "old")} {
		for mode := range uint32(0o10) {
			for _, list := range []string{"access", "default"} {
				chmod, acl := step{Do: "chmod", Path: "x", Mode: mode << 6}, step{Do: "acl", Path: "x", Data: list}
				for name, c := range map[string]struct{ tree, script []step }{
					"both": {[]step{kind}, []step{acl, chmod}},
					"mode": {[]step{kind, acl}, []step{chmod}},
				} {
					b := newBenchOf(t, ordinary, memory, c.tree...)
					past(t, b.root.Name())
					before := b.snapshot()
					b.layer("run", c.script...).take()
					if err := b.move("land"); err != nil {
						t.Errorf("%s, %s %s, mode %o: %v", name, kind.Do, list, mode, err)
					}
					if got, want := permissions(t, b.at("x")), mode<<6; got != want {
						t.Errorf("%s, %s %s: landed with mode %o, want %o", name, kind.Do, list, got, want)
					}
					if err := b.move("undo"); err != nil {
						t.Errorf("%s, %s %s, mode %o: %v", name, kind.Do, list, mode, err)
					}
					if d := differences(b.snapshot(), before); d != "" {
						t.Errorf("%s, %s %s, mode %o: undo:\n%s", name, kind.Do, list, mode, d)
					}
					b.close()
				}
			}
		}
	}
}

func permissions(t *testing.T, name string) uint32 {
	t.Helper()
	info, err := os.Lstat(name)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(info.Mode().Perm())
}
