package sandbox

import (
	"path"
	"sync"

	"sandboxd/watch"
)

// statCache keeps the stat results of paths while the directories around them are watched
// and unchanged: creating, removing or replacing a file changes its directory, and so does
// unlinking it and linking it again. The zero value keeps nothing.
type statCache struct {
	around *dirStates
	set    *watch.Set

	mu sync.Mutex
	of map[existencePath]knownExistence
}

// existencePath is a path and the question about it.
type existencePath struct {
	path         string
	held, object bool
}

type knownExistence struct {
	state uint64 // of the directory, before it was asked
	existence
}

// maxStats bounds how many are kept.
const maxStats = 4096

// statsNow answers for one moment.
type statsNow struct{ *statCache }

// now applies the kernel's events until now.
func (k *statCache) now() statsNow {
	if k.around != nil {
		k.around.look(k.set)
	}
	return statsNow{k}
}

// of is existenceOf.
func (k statsNow) of(path string, held bool) (existence, bool) {
	return k.ask(existencePath{path, held, false}, func() (existence, bool) { return existenceOf(path, held) })
}

// object is objectOf.
func (k statsNow) object(path string) (existence, bool) {
	return k.ask(existencePath{path, false, true}, func() (existence, bool) { return objectOf(path) })
}

func (k statsNow) ask(at existencePath, ask func() (existence, bool)) (existence, bool) {
	if k.around == nil || at.path == "/" {
		return ask()
	}
	state := k.around.state(path.Dir(at.path))
	if state == 0 {
		return ask()
	}
	k.mu.Lock()
	known, ok := k.statCache.of[at]
	k.mu.Unlock()
	if ok && known.state == state {
		return known.existence, true
	}
	e, ok := ask()
	if ok {
		k.mu.Lock()
		if k.statCache.of == nil || len(k.statCache.of) >= maxStats {
			k.statCache.of = map[existencePath]knownExistence{}
		}
		k.statCache.of[at] = knownExistence{state, e}
		k.mu.Unlock()
	}
	return e, ok
}
