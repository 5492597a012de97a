package sandbox

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"sandboxd/profile/abspath"
)

// Bounds of the report of paths that are not kept: the paths of one command, those below each of them, and their depth
// there.
const (
	maxUnkept      = 32
	maxUnkeptBelow = 64
	unkeptDepth    = 3
)

// Unkept is a path that a command created in a directory of the sandbox's own, which ends with it.
type Unkept struct {
	Path string
	// Below are the paths that it created below Path, in the first levels. Cut reports that there are more in those.
	Below []string
	Cut   bool
}

// unkept collects the created paths. Removed paths leave it.
type unkept struct {
	mu   sync.Mutex
	list []Unkept
	more int
}

func (u *unkept) created(path string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	i := slices.IndexFunc(u.list, func(k Unkept) bool { return abspath.Contains(k.Path, path) })
	switch {
	case i < 0 && len(u.list) == maxUnkept:
		u.more++
	case i < 0:
		u.list = append(u.list, Unkept{Path: path})
	default:
		u.list[i].add(path)
	}
}

func (k *Unkept) add(path string) {
	depth := strings.Count(path, "/") - strings.Count(k.Path, "/")
	switch {
	case depth == 0 || depth > unkeptDepth || slices.Contains(k.Below, path):
	case len(k.Below) == maxUnkeptBelow:
		k.Cut = true
	default:
		k.Below = append(k.Below, path)
	}
}

func (u *unkept) removed(path string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.list = slices.DeleteFunc(u.list, func(k Unkept) bool { return abspath.Contains(path, k.Path) })
	for i := range u.list {
		k := &u.list[i]
		k.Below = slices.DeleteFunc(k.Below, func(p string) bool { return abspath.Contains(path, p) })
	}
}

// Unkept returns the paths that the command created in directories of the sandbox's own, as far as the host reports
// calls that create names. more counts those that are not listed.
func (p *Process) Unkept() (list []Unkept, more int) {
	p.unkept.mu.Lock()
	defer p.unkept.mu.Unlock()
	list = slices.Clone(p.unkept.list)
	slices.SortFunc(list, func(a, b Unkept) int { return cmp.Compare(a.Path, b.Path) })
	return list, p.unkept.more
}
