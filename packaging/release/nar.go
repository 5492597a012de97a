package main

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
)

// narHash returns the SHA-256 of the Nix archive of a directory in the form of Nix's
// fixed-output hashes. Nix manual, "Nix Archive (NAR) format".
func narHash(dir string) (string, error) {
	h := sha256.New()
	str(h, "nix-archive-1")
	if err := nar(h, dir); err != nil {
		return "", err
	}
	return "sha256-" + base64.StdEncoding.EncodeToString(h.Sum(nil)), nil
}

// str writes strings, each with its length before it and padded to eight bytes.
func str(w io.Writer, texts ...string) {
	for _, s := range texts {
		binary.Write(w, binary.LittleEndian, uint64(len(s)))
		io.WriteString(w, s)
		w.Write(make([]byte, (8-len(s)%8)%8))
	}
}

// nar writes the node of one path. A hash's Write returns no error.
func nar(w io.Writer, path string) error {
	fi, err := os.Lstat(path)
	if err != nil {
		return err
	}
	str(w, "(", "type")
	switch {
	case fi.IsDir():
		str(w, "directory")
		entries, err := os.ReadDir(path) // sorted by name
		if err != nil {
			return err
		}
		for _, e := range entries {
			str(w, "entry", "(", "name", e.Name(), "node")
			if err := nar(w, filepath.Join(path, e.Name())); err != nil {
				return err
			}
			str(w, ")")
		}
	case fi.Mode()&os.ModeSymlink != 0:
		target, err := os.Readlink(path)
		if err != nil {
			return err
		}
		str(w, "symlink", "target", target)
	default:
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		str(w, "regular")
		if fi.Mode().Perm()&0o100 != 0 {
			str(w, "executable", "")
		}
		str(w, "contents", string(b))
	}
	str(w, ")")
	return nil
}
