//go:build !linux

package modes

import (
	"io/fs"
	"os"
	"path/filepath"
)

// RemoveAll removes a path and all below it, also directories whose modes close them to their owner.
func RemoveAll(path string) error {
	if os.RemoveAll(path) == nil {
		return nil
	}
	_ = filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(name, 0o700) // RemoveAll says where it fails
		}
		return nil
	})
	return os.RemoveAll(path)
}
