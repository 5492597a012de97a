package filestest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"sandboxd/files"
)

// Snapshot describes everything below a folder, one line each: kind, mode,
// owner, modification time to the second, number of names, extended attributes,
// and content or target.
func Snapshot(t testing.TB, root string) string {
	t.Helper()
	var lines []string
	inodes := map[uint64]string{}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		st := info.Sys().(*syscall.Stat_t)
		rel, _ := filepath.Rel(root, p)
		line := fmt.Sprintf("%q %v %d:%d %s", rel, info.Mode(), st.Uid, st.Gid,
			info.ModTime().UTC().Format("2006-01-02T15:04:05"))
		switch {
		case info.Mode().IsRegular():
			content, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			line += fmt.Sprintf(" %d %s %s", st.Nlink, files.Sum(content), xattrs(p))
			if st.Nlink > 1 {
				if first, ok := inodes[st.Ino]; ok {
					line += " = " + first
				} else {
					inodes[st.Ino] = rel
				}
			}
		case info.Mode()&fs.ModeSymlink != 0:
			target, _ := os.Readlink(p)
			line += " -> " + target
		}
		lines = append(lines, line)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}

func xattrs(p string) string {
	buf := make([]byte, 4096)
	n, err := unix.Listxattr(p, buf)
	if err != nil || n == 0 {
		return ""
	}
	var out []string
	for _, name := range strings.Split(strings.TrimSuffix(string(buf[:n]), "\x00"), "\x00") {
		value := make([]byte, 4096)
		n, err := unix.Getxattr(p, name, value)
		if err == nil {
			out = append(out, fmt.Sprintf("%s=%q", name, value[:n]))
		}
	}
	slices.Sort(out)
	return strings.Join(out, ",")
}

// Litter lists the entries with temporary names below a folder.
func Litter(t testing.TB, root string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrPermission) {
			return nil // a folder that we may not enter: nor may the worker
		}
		if err == nil && strings.HasPrefix(d.Name(), files.TempPrefix) {
			out = append(out, p)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
