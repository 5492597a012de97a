package daemon

import (
	"fmt"
	"os"
	"path/filepath"
)

// sibling is the sandboxd beside this very program. It must be a file that
// nobody but root and this user can have put there.
func sibling() (string, error) {
	self, err := os.Executable()
	if err == nil {
		self, err = filepath.EvalSymlinks(self)
	}
	if err != nil {
		return "", fmt.Errorf("find sandboxd: %w", err)
	}
	program := filepath.Join(filepath.Dir(self), "sandboxd")
	for _, name := range []string{program, filepath.Dir(program)} {
		if err := trustworthy(name); err != nil {
			return "", fmt.Errorf("find sandboxd beside %q: %w; install both together, or start sandboxd yourself", self, err)
		}
	}
	return program, nil
}

// trustworthy returns why another user could have made or changed name.
func trustworthy(name string) error {
	fi, err := os.Lstat(name)
	if err != nil {
		return err
	}
	uid, mode := ownerOf(fi), fi.Mode()
	switch {
	case !mode.IsRegular() && !mode.IsDir():
		return fmt.Errorf("%q is a %v", name, mode.Type())
	case uid != 0 && uid != os.Geteuid():
		return fmt.Errorf("%q belongs to uid %d", name, uid)
	case mode.Perm()&0o002 != 0:
		return fmt.Errorf("%q can be changed by everybody (mode %04o)", name, mode.Perm())
	case mode.Perm()&0o020 != 0 && groupOf(fi) != 0 && groupOf(fi) != os.Getegid():
		return fmt.Errorf("%q can be changed by group %d (mode %04o)", name, groupOf(fi), mode.Perm())
	}
	return nil
}

// ensureDir makes dir for this user alone, or checks that it is.
func ensureDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return private(dir, os.Geteuid())
}

// private returns why dir is not a directory of uid's that is closed to others.
func private(dir string, uid int) error {
	fi, err := os.Lstat(dir)
	switch {
	case err != nil:
		return err
	case !fi.IsDir():
		return fmt.Errorf("%q is not a directory", dir)
	case ownerOf(fi) != uid:
		return fmt.Errorf("%q belongs to uid %d, not to %d", dir, ownerOf(fi), uid)
	case fi.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("%q is open to others (mode %04o)", dir, fi.Mode().Perm())
	}
	return nil
}
