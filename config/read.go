package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"unicode/utf8"
)

const (
	maxFile        = 1 << 20   // bytes of the operator's and the user's layers
	maxProjectFile = 256 << 10 // bytes of a project's file
)

// readTrusted reads a trusted file: a regular file of root or of the user, not writable by
// others, in a folder of the same kind. A file that does not exist yields "", false, nil; a
// dangling link is an error.
func readTrusted(path string) (text string, found bool, err error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, dangles(path)
	}
	if err != nil {
		return "", false, fmt.Errorf("read: %w", pathless(err))
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", false, fmt.Errorf("read: %w", pathless(err))
	}
	if !info.Mode().IsRegular() {
		return "", false, errors.New("not a regular file; replace it by one, or remove it")
	}
	if err := trusted(path, info); err != nil {
		return "", false, err
	}
	dir, err := os.Stat(filepath.Dir(path))
	if err != nil {
		return "", false, fmt.Errorf("read: %w", pathless(err))
	}
	if err := trusted(filepath.Dir(path), dir); err != nil {
		return "", false, err
	}
	text, err = readText(f, maxFile)
	return text, err == nil, err
}

// dangles returns an error if path is a dangling link: its creator expected a configuration to
// be in force.
func dangles(path string) error {
	to, err := os.Readlink(path)
	if err != nil {
		return nil
	}
	return fmt.Errorf("a link to %q, which is not there; fix the link, or remove it", to)
}

// trusted returns an error if a user other than root and the current one can write the file or
// folder. In a folder with the sticky bit, others cannot replace files that they do not own
// (chmod(1), "restricted deletion flag").
func trusted(path string, info fs.FileInfo) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return errors.New("the owner cannot be determined on this system")
	}
	uid := os.Geteuid()
	if st.Uid != 0 && int(st.Uid) != uid {
		return fmt.Errorf("%q belongs to uid %d, neither to root nor to uid %d; `chown` it, or remove it", path, st.Uid, uid)
	}
	if perm := info.Mode().Perm(); perm&0o022 != 0 && info.Mode()&fs.ModeSticky == 0 {
		return fmt.Errorf("%q can be written by others (mode %04o); `chmod go-w %s`", path, perm, path)
	}
	return nil
}

func readText(f io.Reader, limit int64) (string, error) {
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return "", fmt.Errorf("read: %w", pathless(err))
	}
	if int64(len(data)) > limit {
		return "", fmt.Errorf("larger than %s", Size(limit))
	}
	if !utf8.Valid(data) {
		return "", errors.New("not UTF-8 text")
	}
	return string(data), nil
}

// pathless removes the path from an error whose message follows the path anyway.
func pathless(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// errNoProject is returned for a project whose directory does not exist any longer.
var errNoProject = errors.New("its directory was moved or removed")

// readProject reads the untrusted file of a project. It follows symbolic links only inside the
// project (os.Root), and reads only a regular file. A project without the file yields "",
// false, nil.
func readProject(dir string) (text string, found bool, err error) {
	// Most projects have none.
	if _, err := os.Lstat(filepath.Join(dir, ProjectFile)); errors.Is(err, fs.ErrNotExist) {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return "", false, nil
		}
	}
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, errNoProject
	}
	if err != nil {
		return "", false, fmt.Errorf("open: %w", pathless(err))
	}
	defer root.Close()
	if _, err := root.Lstat(ProjectFile); errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	f, err := root.OpenFile(ProjectFile, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return "", false, fmt.Errorf("read: %w", pathless(err))
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", false, fmt.Errorf("read: %w", pathless(err))
	}
	if !info.Mode().IsRegular() {
		return "", false, errors.New("not a regular file")
	}
	text, err = readText(f, maxProjectFile)
	return text, err == nil, err
}
