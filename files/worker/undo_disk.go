package worker

import (
	"errors"
	"io"
	"io/fs"
	"path"

	"sandboxd/files"
	"sandboxd/git"
)

// undone is the disk as a [git.Host], with the files that an undo brings back where there is none now.
type undone struct {
	git.Host
	u        *undoing
	contents map[string]int      // the steps, by path
	entries  map[string][]string // their names, by folder
}

func newUndone(u *undoing, steps []files.Step, blobs []bool) *undone {
	d := &undone{git.Disk, u, map[string]int{}, map[string][]string{}}
	for i, step := range steps {
		if blobs[i] && step.Kind != files.RenameStep && step.Before.Kind == files.File {
			d.contents[step.Path] = i
			dir, name := path.Split(step.Path)
			d.entries[path.Clean(dir)] = append(d.entries[path.Clean(dir)], name)
		}
	}
	return d
}

// read calls f with the restored content of a file that does not exist, which is err.
func (d *undone) read(name string, err error, f func(io.ReaderAt) ([]byte, error)) ([]byte, error) {
	step, ok := d.contents[path.Clean(name)]
	if !ok || !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	file, err := d.u.server.need(step)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return f(file)
}

// ReadFile implements [git.Host].
func (d *undone) ReadFile(name string, most int64) ([]byte, error) {
	text, err := d.Host.ReadFile(name, most)
	if err == nil {
		return text, nil
	}
	return d.read(name, err, func(f io.ReaderAt) ([]byte, error) {
		text, err := io.ReadAll(io.NewSectionReader(f, 0, most+1))
		if err == nil && int64(len(text)) > most {
			err = errors.New("too large")
		}
		return text, err
	})
}

// ReadAt implements [git.Host].
func (d *undone) ReadAt(name string, at int64, n int) ([]byte, error) {
	text, err := d.Host.ReadAt(name, at, n)
	if err == nil {
		return text, nil
	}
	return d.read(name, err, func(f io.ReaderAt) ([]byte, error) {
		return io.ReadAll(io.NewSectionReader(f, at, int64(n)))
	})
}

// ReadDir implements [git.Host].
func (d *undone) ReadDir(name string) ([]fs.DirEntry, error) {
	list, err := d.Host.ReadDir(name)
	back := d.entries[path.Clean(name)]
	if err != nil && (len(back) == 0 || !errors.Is(err, fs.ErrNotExist)) {
		return nil, err
	}
	for _, base := range back {
		if _, err := d.Host.Lstat(path.Join(name, base)); errors.Is(err, fs.ErrNotExist) {
			list = append(list, fs.FileInfoToDirEntry(restored{name: base}))
		}
	}
	return list, nil
}

// Lstat implements [git.Host].
func (d *undone) Lstat(name string) (fs.FileInfo, error) {
	info, err := d.Host.Lstat(name)
	name = path.Clean(name)
	if !errors.Is(err, fs.ErrNotExist) {
		return info, err
	}
	if _, file := d.contents[name]; file {
		return restored{name: path.Base(name)}, nil
	}
	if d.u.made[name] {
		return restored{name: path.Base(name), mode: fs.ModeDir}, nil
	}
	return nil, err
}

// restored is what git's rules ask about an entry that comes back.
type restored struct {
	fs.FileInfo
	name string
	mode fs.FileMode
}

// Name implements [fs.FileInfo].
func (r restored) Name() string { return r.name }

// Mode implements [fs.FileInfo].
func (r restored) Mode() fs.FileMode { return r.mode }
