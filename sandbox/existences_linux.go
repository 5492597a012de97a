package sandbox

import (
	"path"
	"sync"

	"sandboxd/watch"
)

// existences keeps what lies at paths, as long as the directories around them are told
// of and unchanged: what comes, goes or is replaced changes its directory, and so does
// what is unlinked and linked again. The zero value keeps nothing.
type existences struct {
	around *surroundings
	set    *watch.Set

	mu sync.Mutex
	of map[existencePath]knownExistence
}

// existencePath is a path and what is asked of it.
type existencePath struct {
	path         string
	held, object bool
}

type knownExistence struct {
	state uint64 // of the directory, before it was asked
	existence
}

// maxExistences bounds how many are kept.
const maxExistences = 4096

// existencesNow answers for one moment.
type existencesNow struct{ *existences }

// now takes what the kernel has told of until now.
func (k *existences) now() existencesNow {
	if k.around != nil {
		k.around.look(k.set)
	}
	return existencesNow{k}
}

// of is existenceOf.
func (k existencesNow) of(path string, held bool) (existence, bool) {
	return k.ask(existencePath{path, held, false}, func() (existence, bool) { return existenceOf(path, held) })
}

// object is objectOf.
func (k existencesNow) object(path string) (existence, bool) {
	return k.ask(existencePath{path, false, true}, func() (existence, bool) { return objectOf(path) })
}

func (k existencesNow) ask(at existencePath, ask func() (existence, bool)) (existence, bool) {
	if k.around == nil || at.path == "/" {
		return ask()
	}
	state := k.around.state(path.Dir(at.path))
	if state == 0 {
		return ask()
	}
	k.mu.Lock()
	known, ok := k.existences.of[at]
	k.mu.Unlock()
	if ok && known.state == state {
		return known.existence, true
	}
	e, ok := ask()
	if ok {
		k.mu.Lock()
		if k.existences.of == nil || len(k.existences.of) >= maxExistences {
			k.existences.of = map[existencePath]knownExistence{}
		}
		k.existences.of[at] = knownExistence{state, e}
		k.mu.Unlock()
	}
	return e, ok
}
