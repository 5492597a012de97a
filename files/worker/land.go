package worker

import (
	"bytes"
	"errors"
	"io"
	"os"

	"sandboxd/files"
	"sandboxd/files/internal/fault"
	"sandboxd/files/tree"
)

// landing is a new file for a name: its content and attributes.
type landing struct {
	dir  *tree.Dir
	name string
	temp string
	// old is the entry under the name; its Kind is Absent for none.
	old tree.Stat
	// open returns the content, which is closed as soon as it was read: a change has more contents than a process may
	// have descriptors. hash and size are the expected ones.
	open func() (io.ReadCloser, error)
	hash string
	size int64
	// want is how the file looks; nil leaves that to the umask and the folder.
	want *files.State
	// predicted is owner and mode of a file that could not be made at once.
	predicted *files.State
	// inPlace permits to write the file where it is, where nothing can be made beside it. rewrites has it done so.
	inPlace, rewrites bool
	// perm is reduced by the umask; mode, where not 0, is set as it is.
	perm, mode uint32
	fresh      *tree.Fresh
}

// bytesOf is the source of a content in memory.
func bytesOf(content []byte) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }
}

// fileOf is the source of an opened file, from its start. The file stays open.
func fileOf(f *os.File) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) { return io.NopCloser(io.NewSectionReader(f, 0, 1<<62)), nil }
}

func (l *landing) close() {
	if l.fresh != nil {
		l.fresh.Close()
		l.fresh = nil
	}
}

// stage writes an unnamed file, if the file system supports that, and returns its state.
func (l *landing) stage(umask uint32) (after files.State, err error) {
	fresh, ok, err := l.dir.Unnamed(l.temp, l.perm)
	if err != nil {
		return after, err
	}
	if !ok {
		return l.predict(umask, l.dir)
	}
	l.fresh = fresh
	if l.keepsOwner() {
		l.close()
		return l.wanted(), nil
	}
	if err := l.fillLasting(); err != nil {
		return after, err
	}
	fault.Point("staged")
	st, err := fresh.Stat()
	if err != nil {
		return after, err
	}
	after = st.State
	after.Hash, after.Size = l.hash, l.size
	return after, nil
}

// predict returns the state of a file that cannot be made yet. folder is its folder, or the nearest
// that exists: new folders inherit from that.
func (l *landing) predict(umask uint32, folder *tree.Dir) (files.State, error) {
	if l.want != nil {
		return l.wanted(), nil
	}
	st, err := folder.Self()
	if err != nil {
		return files.State{}, err
	}
	l.predicted = &files.State{Kind: files.File, UID: uint32(os.Geteuid()), GID: uint32(os.Getegid()), Mode: l.mode,
		Hash: l.hash, Size: l.size}
	if l.mode == 0 {
		l.predicted.Mode = folder.Permits(l.perm, umask)
	}
	if st.Mode&0o2000 != 0 || groupOfFolder {
		l.predicted.GID = st.GID
	}
	return *l.predicted, nil
}

// wanted returns the state of a file whose attributes are all given.
func (l *landing) wanted() files.State {
	after := *l.want
	after.ModTime, after.Hash, after.Size = 0, l.hash, l.size
	if l.mode != 0 {
		after.Mode = l.mode
	}
	return after
}

// fillLasting is fill that makes the file last.
func (l *landing) fillLasting() error {
	if err := l.fill(); err != nil {
		return err
	}
	return l.fresh.Sync()
}

// fill writes content and looks.
func (l *landing) fill() error {
	src, err := l.open()
	if err != nil {
		return err
	}
	sum, size, err := tree.Hash(io.TeeReader(io.LimitReader(src, l.size+1), l.fresh))
	src.Close()
	if err != nil {
		return err
	}
	if sum != l.hash || size != l.size {
		return &files.Conflict{Path: l.dir.Path(l.name), Reason: files.Changed, Expected: l.hash, Found: sum,
			Hint: "the content changed while it was copied"}
	}
	if l.want != nil {
		err = l.fresh.Dress(*l.want)
	} else if l.predicted != nil {
		err = l.fresh.Own(*l.predicted)
	} else if l.mode != 0 {
		err = l.fresh.Chmod(l.mode)
	}
	return err
}

// land gives the file its name.
func (l *landing) land() error {
	if l.rewrites {
		if done, err := l.rewrite(); done {
			return err
		}
	}
	if l.fresh == nil {
		fresh, err := l.dir.Named(l.temp, 0o600)
		if l.fresh = fresh; err == nil && l.keepsOwner() || l.inPlace && errors.Is(err, cantMake) {
			if done, err := l.rewrite(); done {
				return err
			}
			fresh, err = l.dir.Named(l.temp, 0o600)
		}
		if l.fresh = fresh; err != nil {
			return err
		}
		if err := l.fillLasting(); err != nil {
			return err
		}
	}
	if l.old.Kind == files.Absent {
		return l.fresh.Place(l.name)
	}
	return l.fresh.Replace(l.name, l.old)
}

// cantMake is the conflict of a folder in which no file can be made.
var cantMake = &files.Conflict{Reason: files.Forbidden}

// keepsOwner reports whether the file has an owner or group that a new one can't get: it is written where it is then.
func (l *landing) keepsOwner() bool {
	l.rewrites = l.want != nil && l.old.Kind == files.File && l.old.UID == l.want.UID && l.old.GID == l.want.GID &&
		!l.fresh.Give(*l.want)
	return l.rewrites
}

// rewrite writes the file where it is; not done where it can't be opened so.
func (l *landing) rewrite() (done bool, err error) {
	l.close()
	if l.old.Kind != files.File {
		return false, nil
	}
	if l.fresh, err = l.dir.InPlace(l.name, l.old); err != nil {
		l.fresh = nil
		return false, nil
	}
	if err := l.fillLasting(); err != nil {
		return true, &tree.MadeError{Err: err}
	}
	return true, nil
}
