package tree

import (
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"sandboxd/files"
)

// Last is the treatment of a symbolic link at the end of a path.
type Last uint8

const (
	Follow Last = iota // go where it leads
	Keep               // mean the link itself
)

// Spot is where a path leads.
type Spot struct {
	// Rel is relative to the tree and free of symbolic links; "." is the tree. It includes missing
	// names.
	Rel string
	// Missing counts the folders on the way that do not exist.
	Missing int
	Stat
}

// maxLinks is how many symbolic links one path may go through, as in the
// kernel (path_resolution(7)).
const maxLinks = 40

// Resolve follows the symbolic links of a relative, clean path. It never looks
// outside the tree: a link that is absolute, or climbs above the tree, is a
// conflict, even if it came back in.
func (t *Tree) Resolve(rel string, last Last) (Spot, error) {
	for try := 0; ; try++ {
		w := &resolver{tree: t, stack: []int{int(t.root.Fd())}, todo: split(rel)}
		spot, err := w.run(last)
		w.close()
		// A folder became a link between two lookups (ELOOP), or a link another entry (EINVAL):
		// retry.
		if (err == unix.ELOOP || err == unix.EINVAL) && try < 20 {
			continue
		}
		if err == unix.EINVAL {
			err = unix.ELOOP
		}
		return spot, conflict(path.Join(t.path, rel), err)
	}
}

// resolver descends one name at a time. stack has the opened folders from the tree to its position,
// names their names.
type resolver struct {
	tree  *Tree
	stack []int
	names []string
	todo  []string
	links int
}

func (w *resolver) close() {
	for _, fd := range w.stack[1:] {
		unix.Close(fd)
	}
}

func (w *resolver) here() int { return w.stack[len(w.stack)-1] }

func split(rel string) []string {
	var out []string
	for part := range strings.SplitSeq(rel, "/") {
		if part != "" && part != "." {
			out = append(out, part)
		}
	}
	return out
}

func (w *resolver) rel(rest ...string) string {
	return path.Join(append(append([]string{"."}, w.names...), rest...)...)
}

func (w *resolver) run(last Last) (Spot, error) {
	for len(w.todo) > 0 {
		name := w.todo[0]
		w.todo = w.todo[1:]
		if name == ".." {
			if err := w.up(); err != nil {
				return Spot{}, err
			}
			continue
		}
		st, err := fstatat(w.here(), name)
		if err != nil {
			return Spot{}, err
		}
		final := len(w.todo) == 0
		switch {
		case st.Kind == files.Absent:
			return w.missing(name)
		case st.Kind == files.Symlink && !(final && last == Keep):
			if err := w.follow(name); err != nil {
				return Spot{}, err
			}
		case final:
			return Spot{Rel: w.rel(name), Stat: st}, nil
		case st.Kind != files.Dir:
			return Spot{}, unix.ENOTDIR
		default:
			if err := w.down(name); err != nil {
				return Spot{}, err
			}
		}
	}
	st, err := fstat(w.here())
	return Spot{Rel: w.rel(), Stat: st}, err
}

// missing is the answer where a name is not there: it and all behind it do not
// exist, so nothing behind it can be a link. ".." behind it has no meaning.
func (w *resolver) missing(name string) (Spot, error) {
	for _, rest := range w.todo {
		if rest == ".." {
			return Spot{}, unix.ENOENT
		}
	}
	rest := append([]string{name}, w.todo...)
	return Spot{
		Rel: w.rel(rest...), Missing: len(rest) - 1,
		Stat: Stat{State: files.State{Kind: files.Absent}},
	}, nil
}

func (w *resolver) up() error {
	if len(w.names) == 0 {
		return errLeft
	}
	unix.Close(w.here())
	w.stack = w.stack[:len(w.stack)-1]
	w.names = w.names[:len(w.names)-1]
	return nil
}

func (w *resolver) down(name string) error {
	fd, err := lookup(w.here(), name, pathOnly|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	w.stack = append(w.stack, fd)
	w.names = append(w.names, name)
	return w.tree.checkMount(fd)
}

// follow prepends a link's target to the remaining path.
func (w *resolver) follow(name string) error {
	if w.links++; w.links > maxLinks {
		return &files.Conflict{Reason: files.BadPath, Found: "more than 40 symbolic links",
			Path: path.Join(w.tree.path, w.rel(name))}
	}
	target, err := readlinkat(w.here(), name)
	if err != nil {
		return err
	}
	if strings.HasPrefix(target, "/") {
		return errLeft
	}
	w.todo = append(split(target), w.todo...)
	return nil
}

func readlinkat(dir int, name string) (string, error) {
	buf := make([]byte, 4096)
	n := 0
	err := ignoringEINTR(func() (err error) {
		n, err = unix.Readlinkat(dir, name, buf)
		return err
	})
	if err != nil {
		return "", err
	}
	return string(buf[:n]), nil
}
