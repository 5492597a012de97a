// Package durable replaces files so that a power cut leaves the old or the new text.
package durable

import (
	"os"
	"path/filepath"
)

// Replace writes a file beside name and renames it to name; both are on disk when it returns. After an error name
// has its old text, unless only its directory could not be synchronised.
func Replace(name string, data []byte) error {
	temp := name + ".new"
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(temp, name)
	}
	if err != nil {
		os.Remove(temp)
		return err
	}
	return SyncDir(filepath.Dir(name))
}

// SyncDir puts the entries of a directory on disk.
func SyncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}
