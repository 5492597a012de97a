package supervisor

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// gitDirs finds the git directory of the working tree dir, and the one that it shares with others: the same, but in
// a linked worktree (gitrepository-layout(5)). Both are empty where dir/.git is a file that names none; not ok where
// there is no dir/.git.
func gitDirs(dir string) (own, common string, ok bool) {
	git := filepath.Join(dir, ".git")
	info, err := os.Lstat(git)
	switch {
	case err != nil:
		return "", "", false
	case !info.Mode().IsRegular():
		return git, git, true
	}
	if own = follow(git, "gitdir: ", dir); own == "" {
		return "", "", true
	}
	if common = follow(filepath.Join(own, "commondir"), "", own); common == "" {
		common = own
	}
	return own, common, true
}

// elsewhere finds the git directory that a command in root needs and that lies outside of it: that of the repository
// to which a linked worktree belongs, or of the one around a submodule. It is believed only where it knows of root, too,
// as root's own files may have been written by a command.
func elsewhere(root string) string {
	own, common, ok := gitDirs(root)
	if !ok || common == "" || within(common, root) {
		return ""
	}
	if own != common {
		if follow(filepath.Join(own, "gitdir"), "", own) != filepath.Join(root, ".git") {
			return ""
		}
		return common
	}
	around, _, ok := strings.Cut(own, "/.git/modules/")
	if _, err := os.Lstat(filepath.Join(own, "HEAD")); !ok || err != nil || !within(root, around) {
		return ""
	}
	return filepath.Join(around, ".git")
}

// follow reads a path from a small file of git's, relative to base.
func follow(file, prefix, base string) string {
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return ""
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() > 4096 {
		return ""
	}
	b, err := io.ReadAll(io.LimitReader(f, 4097))
	text, ok := strings.CutPrefix(strings.TrimSpace(string(b)), prefix)
	if err != nil || len(b) > 4096 || !ok || text == "" {
		return ""
	}
	if filepath.IsAbs(text) {
		return filepath.Clean(text)
	}
	return filepath.Join(base, text)
}
