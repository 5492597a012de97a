package aftermath

import (
	"cmp"
	"errors"
	"io/fs"
	"path"

	"sandboxd/git"
)

// host is the disk as git finds it when a person opens the directories of the trees that their mode closes now.
type host struct {
	git.Host
	trees *found
}

// host returns the disk with the directories of the trees open.
func (f *found) host() git.Host { return host{cmp.Or(f.disk, git.Disk), f} }

func (h host) Lstat(name string) (info fs.FileInfo, err error) {
	h.open(path.Dir(name), func() error { info, err = h.Host.Lstat(name); return err })
	return info, err
}

func (h host) Readlink(name string) (to string, err error) {
	h.open(path.Dir(name), func() error { to, err = h.Host.Readlink(name); return err })
	return to, err
}

func (h host) ReadFile(name string, most int64) (text []byte, err error) {
	real, _, err := git.Resolve(h, name)
	if err != nil {
		return nil, err
	}
	h.open(path.Dir(real), func() error { text, err = h.Host.ReadFile(real, most); return err })
	return text, err
}

func (h host) ReadDir(name string) (list []fs.DirEntry, err error) {
	h.open(name, func() error { list, err = h.Host.ReadDir(name); return err })
	return list, err
}

// open calls look, and once more with the way to dir open where look may not pass.
func (h host) open(dir string, look func() error) {
	root := h.trees.rootAbove(dir + "/.")
	if errors.Is(look(), fs.ErrPermission) && root != "" {
		defer unlock(root, dir)()
		look()
	}
}

// stat returns the state of the file to which a name leads.
func (f *found) stat(name string) (fs.FileInfo, error) {
	real, _, err := git.Resolve(f.host(), name)
	if err != nil {
		return nil, err
	}
	return f.host().Lstat(real)
}
