package sandbox

import (
	"io/fs"
	"strings"
	"sync"
)

// lists caches the entries of directories, so that after a change in one of a thousand only that
// one is read again. The zero value is empty and ready.
type lists struct {
	mu    sync.Mutex
	of    map[string]keptList
	bytes int
}

// keptList is the entries of a directory in one state.
type keptList struct {
	state dirState
	text  string // of each entry: its kind, its name and a NUL
	count int
}

// maxLists bounds the cached bytes; directories beyond it are read again.
const maxLists = 4 << 20

// entry is one of a kept list.
type entry struct {
	name string
	kind fs.FileMode // its type alone
}

func (e entry) Name() string               { return e.name }
func (e entry) IsDir() bool                { return e.kind.IsDir() }
func (e entry) Type() fs.FileMode          { return e.kind }
func (e entry) Info() (fs.FileInfo, error) { return nil, fs.ErrInvalid } // compilers ask by Lstat

// kinds are the types that a directory lists for its entries.
var kinds = []fs.FileMode{0, fs.ModeDir, fs.ModeSymlink, fs.ModeSocket, fs.ModeNamedPipe, fs.ModeDevice,
	fs.ModeDevice | fs.ModeCharDevice}

// get returns the entries of a directory that is in that state.
func (l *lists) get(dir string, state dirState) ([]fs.DirEntry, bool) {
	l.mu.Lock()
	kept, ok := l.of[dir]
	l.mu.Unlock()
	if !ok || kept.state != state {
		return nil, false
	}
	entries := make([]fs.DirEntry, 0, kept.count)
	for rest := kept.text; rest != ""; {
		end := strings.IndexByte(rest, 0)
		entries = append(entries, entry{rest[1:end], kinds[rest[0]-1]})
		rest = rest[end+1:]
	}
	return entries, true
}

// put keeps the entries that a directory has in a state.
func (l *lists) put(dir string, state dirState, entries []fs.DirEntry) {
	var text strings.Builder
	for _, e := range entries {
		kind := 0
		for kind < len(kinds) && kinds[kind] != e.Type() {
			kind++
		}
		if kind == len(kinds) {
			return // of no type that is known
		}
		text.WriteByte(byte(kind + 1))
		text.WriteString(e.Name())
		text.WriteByte(0)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bytes += text.Len() + len(dir) - len(l.of[dir].text)
	if l.of == nil || l.bytes > maxLists {
		l.of, l.bytes = map[string]keptList{}, text.Len()+len(dir)
	}
	l.of[dir] = keptList{state, strings.Clone(text.String()), len(entries)}
}
