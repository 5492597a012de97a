package git

import (
	"io/fs"
	"path"
	"strings"

	"sandboxd/profile/abspath"
)

// dirs returns the git directory of the work tree at dir, and the one that it shares with others: the same, but in a
// linked work tree (gitrepository-layout(5)). Both are empty where dir/.git is a file that names none; ok is false
// where there is no dir/.git. Links are not followed.
func dirs(h Host, dir string) (own, common string, ok bool) {
	name := path.Join(dir, ".git")
	info, err := h.Lstat(name)
	switch {
	case err != nil:
		return "", "", false
	case !info.Mode().IsRegular():
		return name, name, true
	}
	if own = named(h, name, "gitdir: ", dir); own == "" {
		return "", "", true
	}
	if common = named(h, path.Join(own, "commondir"), "", own); common == "" {
		common = own
	}
	return own, common, true
}

// Outside returns the git directory that a command in root needs and that is outside of it: that of the repository to
// which a linked work tree belongs, of the one around a submodule, or that of a checkout of Android's repo; "" where
// there is none. Only one that names root in turn counts, as a command may have written root's own files.
func Outside(h Host, root string) string {
	if info, err := h.Lstat(path.Join(root, ".git")); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return linked(h, root)
	}
	own, common, ok := dirs(h, root)
	if !ok || common == "" || abspath.Contains(root, common) {
		return ""
	}
	if own != common {
		if named(h, path.Join(own, "gitdir"), "", own) != path.Join(root, ".git") {
			return ""
		}
		return common
	}
	around, _, ok := strings.Cut(own, "/.git/modules/")
	if _, err := h.Lstat(path.Join(own, "HEAD")); !ok || err != nil || !abspath.Contains(around, root) {
		return ""
	}
	return path.Join(around, ".git")
}

// linked returns the git directory to which the link root/.git leads in a checkout of Android's repo, whose place above
// root follows from root's own: TOP/.repo/projects/PATH.git for TOP/PATH. "" for any other link.
func linked(h Host, root string) string {
	real, missing, err := Resolve(h, path.Join(root, ".git"))
	if err != nil || missing {
		return ""
	}
	top, name, found := strings.Cut(real, "/.repo/projects/")
	if !found || path.Join(top, strings.TrimSuffix(name, ".git")) != root || !strings.HasSuffix(name, ".git") {
		return ""
	}
	return real
}

// ConfigFiles returns the configuration files of the repository around dir that exist below root, without links in
// their paths.
func ConfigFiles(h Host, dir, root string) []string {
	for ; dir != "" && abspath.Contains(root, dir); dir = path.Dir(dir) {
		own, common, ok := dirs(h, dir)
		switch {
		case !ok && dir != "/":
			continue
		case own == "":
			return nil
		}
		var out []string
		for _, name := range []string{path.Join(common, "config"), path.Join(own, "config.worktree")} {
			if real, missing, err := Resolve(h, name); err == nil && !missing && real == name && abspath.Contains(root, name) {
				out = append(out, name)
			}
		}
		return out
	}
	return nil
}

// named reads a path from a small file of git's that is no link, relative to base.
func named(h Host, file, prefix, base string) string {
	info, err := h.Lstat(file)
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	b, err := h.ReadFile(file, 4096)
	text, ok := strings.CutPrefix(strings.TrimSpace(string(b)), prefix)
	if err != nil || !ok || text == "" {
		return ""
	}
	if path.IsAbs(text) {
		return path.Clean(text)
	}
	return path.Join(base, text)
}
