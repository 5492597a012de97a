package worker_test

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"sandboxd/files"
	"sandboxd/files/filestest"
)

// runUsers are the worker's users of the tests of runs: ours, and where that is root an ordinary one.
func runUsers() []int {
	if os.Geteuid() == 0 {
		return []int{0, 65533}
	}
	return []int{0}
}

// world describes a tree in everything that undo restores, times to the nanosecond.
func world(t interface{ Fatal(...any) }, root string) []string {
	var lines []string
	err := filepath.WalkDir(root, func(p string, _ fs.DirEntry, err error) error {
		var st unix.Stat_t
		if err := errors.Join(err, unix.Lstat(p, &st)); err != nil {
			return err
		}
		line := fmt.Sprintf("%q %o %d:%d", strings.TrimPrefix(p, root), st.Mode, st.Uid, st.Gid)
		if st.Mode&unix.S_IFMT != unix.S_IFLNK {
			line += fmt.Sprintf(" %v", st.Mtim)
		}
		switch st.Mode & unix.S_IFMT {
		case unix.S_IFREG:
			b, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			line += fmt.Sprintf(" %d %s", st.Nlink, files.Sum(b))
			value := make([]byte, 64)
			if n, err := unix.Lgetxattr(p, "user.test", value); err == nil {
				line += fmt.Sprintf(" user.test=%q", value[:n])
			}
		case unix.S_IFLNK:
			target, _ := os.Readlink(p)
			line += fmt.Sprintf(" -> %q", target)
		}
		lines = append(lines, line)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// diffWorlds names the lines that differ.
func diffWorlds(want, got []string) string {
	var out []string
	for _, l := range want {
		if !slices.Contains(got, l) {
			out = append(out, "- "+l)
		}
	}
	for _, l := range got {
		if !slices.Contains(want, l) {
			out = append(out, "+ "+l)
		}
	}
	return strings.Join(out, "\n")
}

// entries are the paths below root, sorted.
func entries(root string, want func(fs.DirEntry) bool) []string {
	var out []string
	_ = filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err == nil && p != root && want(d) {
			out = append(out, p)
		}
		return nil
	})
	return out
}

var fifo = regexp.MustCompile(` 10[0-7]{3} `)

var runNames = []string{"a", "b", "c.go", "node_modulesx", "\xff\xfe", "with\nnewline", " ", ".hidden", "Ü"}

// drawOp does one random operation below root.
func drawOp(t *rapid.T, root string) {
	dirs := append([]string{root}, entries(root, fs.DirEntry.IsDir)...)
	anyFile := entries(root, func(d fs.DirEntry) bool { return d.Type().IsRegular() })
	all := entries(root, func(fs.DirEntry) bool { return true })
	fresh := func() string {
		return filepath.Join(rapid.SampledFrom(dirs).Draw(t, "dir"), rapid.SampledFrom(runNames).Draw(t, "name"))
	}
	one := func(list []string) string {
		if len(list) == 0 {
			return fresh()
		}
		return rapid.SampledFrom(list).Draw(t, "path")
	}
	content := func() []byte { return []byte(rapid.StringN(0, 40, -1).Draw(t, "content")) }
	// Errors are the operation's own affair: a script continues.
	switch rapid.SampledFrom([]string{
		"create", "create", "append", "truncate", "rename", "link", "symlink", "chmod", "times", "xattr",
		"remove", "mkdir", "kind", "sparse", "fifo",
	}).Draw(t, "op") {
	case "create":
		const how = os.O_WRONLY | os.O_CREATE | os.O_TRUNC | unix.O_NONBLOCK // never waits for a FIFO
		if f, err := os.OpenFile(fresh(), how, 0o644); err == nil {
			_, _ = f.Write(content())
			f.Close()
		}
	case "append":
		if f, err := os.OpenFile(one(anyFile), os.O_WRONLY|os.O_APPEND|unix.O_NONBLOCK, 0); err == nil {
			_, _ = f.Write(content())
			f.Close()
		}
	case "truncate":
		_ = os.Truncate(one(anyFile), int64(rapid.IntRange(0, 9).Draw(t, "size")))
	case "rename":
		_ = os.Rename(one(all), fresh())
	case "link":
		_ = os.Link(one(anyFile), fresh())
	case "symlink":
		_ = os.Symlink(
			rapid.SampledFrom([]string{"a", "/nonexistent/target", "\xff", "nowhere"}).Draw(t, "target"),
			fresh(),
		)
	case "chmod":
		p := one(all)
		if st, err := os.Lstat(p); err == nil && st.Mode()&fs.ModeSymlink == 0 {
			mode := fs.FileMode(rapid.SampledFrom([]uint32{0o600, 0o644, 0o755, 0o500, 0o444, 0o750}).Draw(t, "mode"))
			if st.IsDir() {
				mode |= 0o500 // what the user of the script could not look into is not covered
			}
			_ = os.Chmod(p, mode)
		}
	case "times":
		p := one(all)
		if st, err := os.Lstat(p); err == nil && st.Mode()&fs.ModeSymlink == 0 {
			_ = os.Chtimes(p, time.Time{}, time.Unix(int64(rapid.IntRange(0, 1<<31).Draw(t, "time")), 123456789))
		}
	case "xattr":
		_ = unix.Lsetxattr(one(anyFile), "user.test", content(), 0)
	case "remove":
		_ = os.RemoveAll(one(all))
	case "mkdir":
		_ = os.Mkdir(fresh(), 0o755)
	case "kind":
		p := one(all)
		_ = os.RemoveAll(p)
		if rapid.Bool().Draw(t, "to directory") {
			_ = os.Mkdir(p, 0o700)
			_ = os.WriteFile(filepath.Join(p, "inner"), content(), 0o640)
		} else {
			_ = os.WriteFile(p, content(), 0o600)
		}
	case "sparse":
		if f, err := os.OpenFile(one(anyFile), os.O_WRONLY|unix.O_NONBLOCK, 0); err == nil {
			_, _ = f.WriteAt([]byte("x"), 200_000)
			f.Close()
		}
	case "fifo":
		_ = unix.Mkfifo(fresh(), 0o644)
	}
}

// R-LY-11: for random trees and random scripts, undo of a direct run gives the tree from before in
// everything, and undoing that gives the run's again.
func TestUndoOfARunRestoresTheTree(t *testing.T) {
	checks(t, "15")
	for _, uid := range runUsers() {
		t.Run(fmt.Sprint(uid), func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				base, err := os.MkdirTemp("", "run")
				if err != nil {
					t.Fatal(err)
				}
				defer removeAll(base)
				_ = os.Chmod(base, 0o755)
				root := filepath.Join(base, "project")
				_ = os.Mkdir(root, 0o755)
				for range rapid.IntRange(0, 12).Draw(rt, "before") {
					drawOp(rt, root)
				}
				special := func(d fs.DirEntry) bool { return d.Type()&fs.ModeNamedPipe != 0 }
				for _, p := range entries(root, special) {
					_ = os.Remove(p) // a FIFO is not made again
				}
				unlinked(root)
				if uid != 0 {
					chownAll(t, root, uid)
				}
				b, err := filestest.Start(
					filestest.Options{Root: root, Store: filepath.Join(base, "state"), Process: true, UID: uid},
				)
				if err != nil {
					rt.Fatal(err)
				}
				b.T = t
				defer b.Stop()
				was := world(rt, root)
				id, _, err := b.Run(func() {
					for range rapid.IntRange(1, 30).Draw(rt, "script") {
						drawOp(rt, root)
					}
					if uid != 0 {
						chownAll(t, root, uid)
					}
				})
				if err != nil {
					rt.Fatal(err)
				}
				is := world(rt, root)
				if id == "" {
					if d := diffWorlds(was, is); d != "" {
						rt.Fatalf("a change was not found:\n%s", d)
					}
					return
				}
				_, back, err := b.UndoRun(id, files.UndoHow{})
				if err != nil {
					rt.Fatalf("undo: %v", err)
				}
				if d := diffWorlds(was, world(rt, root)); d != "" {
					rt.Fatalf("after undo:\n%s", d)
				}
				if len(
					entries(root, func(d fs.DirEntry) bool { return strings.HasPrefix(d.Name(), files.TempPrefix) }),
				) > 0 {
					rt.Fatal("temporary names are left")
				}
				if slices.ContainsFunc(is, fifo.MatchString) { // a FIFO: its removal is not undone
					return
				}
				if _, _, err := b.UndoRun(back, files.UndoHow{}); err != nil {
					rt.Fatalf("undo of the undo: %v", err)
				}
				if d := diffContent(is, world(rt, root)); d != "" {
					rt.Fatalf("after the undo of the undo:\n%s", d)
				}
			})
		})
	}
}

// checks bounds the cases of a property, unless -rapid.checks does.
func checks(t *testing.T, n string) {
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "rapid.checks" })
	if f := flag.Lookup("rapid.checks"); !given {
		was := f.Value.String()
		t.Cleanup(func() { _ = f.Value.Set(was) })
		if err := f.Value.Set(n); err != nil {
			t.Fatal(err)
		}
	}
}

// diffContent is diffWorlds without the number of names, which an undo can't join again.
func diffContent(want, got []string) string {
	plain := func(list []string) (out []string) {
		for _, l := range list {
			if i := strings.LastIndex(l, "} "); i > 0 {
				if j := strings.IndexByte(l[i+2:], ' '); j > 0 {
					l = l[:i+2] + l[i+2+j:]
				}
			}
			out = append(out, l)
		}
		return out
	}
	return diffWorlds(plain(want), plain(got))
}

// unlinked leaves each file one name.
func unlinked(root string) {
	for _, p := range entries(root, func(d fs.DirEntry) bool { return d.Type().IsRegular() }) {
		if st, err := os.Lstat(p); err == nil && st.Sys().(*syscall.Stat_t).Nlink > 1 {
			_ = os.Remove(p)
		}
	}
}

func chownAll(t *testing.T, root string, uid int) {
	for _, p := range append(entries(root, func(fs.DirEntry) bool { return true }), root) {
		if err := os.Lchown(p, uid, uid); err != nil {
			t.Fatal(err)
		}
	}
}

// removeAll removes also directories that can't be written to.
func removeAll(dir string) {
	_ = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(p, 0o700)
		}
		return nil
	})
	_ = os.RemoveAll(dir)
}
