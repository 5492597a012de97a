package sandbox

import (
	"slices"
	"strings"
	"sync"

	"sandboxd/profile/abspath"
)

// maxUnkept is how many paths of one command are reported as not kept.
const maxUnkept = 32

// unkept collects the paths that a command created in directories of the sandbox's own, which end with it. A path
// below one that is listed is not listed itself; one that was removed again is not, either.
type unkept struct {
	mu   sync.Mutex
	list []string
	full bool
}

func (u *unkept) created(path string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case slices.ContainsFunc(u.list, func(p string) bool { return abspath.Contains(p, path) }):
	case len(u.list) == maxUnkept:
		u.full = true
	default:
		u.list = append(u.list, path)
	}
}

func (u *unkept) removed(path string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.list = slices.DeleteFunc(u.list, func(p string) bool { return abspath.Contains(path, p) })
}

// Unkept returns the paths that the command created in directories of the sandbox's own, as far as the host reports
// calls that create names. full reports that there may be more.
func (p *Process) Unkept() (list []string, full bool) {
	p.unkept.mu.Lock()
	defer p.unkept.mu.Unlock()
	list = slices.Clone(p.unkept.list)
	slices.SortFunc(list, strings.Compare)
	return list, p.unkept.full
}
