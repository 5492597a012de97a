package tree

import (
	"errors"
	"fmt"
	"io/fs"

	"golang.org/x/sys/unix"

	"sandboxd/files"
)

var (
	errMount = errors.New("another mount covers it")
	errLeft  = errors.New("a symbolic link leads out")
)

// conflict puts an error of the system into the words of the file tool.
func conflict(path string, err error) error {
	if err == nil {
		return nil
	}
	var c *files.Conflict
	if errors.As(err, &c) {
		return err
	}
	out := &files.Conflict{Path: path, Reason: files.Failed, Found: err.Error()}
	switch {
	case errors.Is(err, errMount):
		out.Reason = files.Outside
		out.Hint = "name the mounted folder as a sandbox of its own in files.paths"
	case errors.Is(err, errLeft), errors.Is(err, unix.EXDEV):
		out.Reason, out.Found = files.Outside, errLeft.Error()
	case errors.Is(err, unix.ELOOP):
		out.Reason, out.Found = files.Changed, "a symbolic link where there was none"
	case errors.Is(err, fs.ErrNotExist):
		out.Reason, out.Found = files.NotThere, ""
	case errors.Is(err, unix.ENOTEMPTY): // which fs.ErrExist takes for its own
		out.Reason, out.Found = files.NotEmpty, ""
	case errors.Is(err, fs.ErrExist):
		out.Reason, out.Found = files.Exists, ""
	case errors.Is(err, unix.ENOTDIR):
		out.Reason, out.Found = files.NotAFolder, ""
	case errors.Is(err, unix.EISDIR):
		out.Reason, out.Found = files.NotAFile, ""
	case errors.Is(err, fs.ErrPermission), errors.Is(err, unix.EROFS), errors.Is(err, unix.EBUSY):
		out.Reason = files.Forbidden
		out.Found = fmt.Sprintf("%q from the system", err)
	case errors.Is(err, unix.ENAMETOOLONG):
		out.Reason = files.BadPath
	case errors.Is(err, unix.ENXIO), errors.Is(err, unix.ENODEV):
		out.Reason = files.Special
	}
	return out
}

func changed(path, found string) error {
	return &files.Conflict{Path: path, Reason: files.Changed, Found: found}
}
