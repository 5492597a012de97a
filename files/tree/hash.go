package tree

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
)

// Hash reads to the end and returns the hash, in the form of files.Sum, and how
// much there was.
func Hash(r io.Reader) (sum string, size int64, err error) {
	h := sha256.New()
	size, err = io.Copy(h, r)
	if err != nil {
		return "", 0, err
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), size, nil
}

// Xattrs reads the extended attributes of an opened file.
func Xattrs(f *os.File) (map[string][]byte, error) {
	m, err := readXattrs(int(f.Fd()))
	return m, conflict(f.Name(), err)
}
