package daemon

import (
	"fmt"
	"os"
	"path/filepath"

	"sandboxd/cmd/internal/paths"
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
		if err := paths.Trustworthy(name); err != nil {
			return "", fmt.Errorf("find sandboxd beside %q: %w; install both together, or start sandboxd yourself", self, err)
		}
	}
	return program, nil
}

// ensureDir makes dir for this user alone, or checks that it is.
func ensureDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return paths.Private(dir, os.Geteuid())
}
