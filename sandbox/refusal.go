package sandbox

import (
	"sync"

	"sandboxd/profile"
)

// Kinds of refusals.
const (
	RefusedPath    = "path"
	RefusedNetwork = "network"
	RefusedSyscall = "syscall"
)

// ByLayer is the mechanism of a refusal that a run without a layer does not have.
const ByLayer = "layer"

// Refusal is something that a command asked for and the sandbox did not let it
// have. Refusals are seen where the command asks the kernel, never guessed from
// what it printed.
type Refusal struct {
	Kind   string // "path", "network" or "syscall"
	Op     string // the operation: "write", "create", "connect", "call", …
	Object string // the real path, the address or the call
	Rule   string // the deciding rule, in words
	By     string // the mechanisms that hold it
	Count  int    // how often
	// Access is the operation on the path Object; Path says that it is one.
	Access profile.Op
	Path   bool
}

// maxRefusals is how many different refusals of one command are kept.
const maxRefusals = 32

// refusals collects the refusals of one command.
type refusals struct {
	mu   sync.Mutex
	list []Refusal
	more int // refusals that found no room
}

func (r *refusals) add(n Refusal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n.Count = 1
	for i := range r.list {
		if old := &r.list[i]; old.Kind == n.Kind && old.Op == n.Op && old.Object == n.Object && old.Rule == n.Rule {
			old.Count++
			return
		}
	}
	if len(r.list) == maxRefusals {
		r.more++
		return
	}
	r.list = append(r.list, n)
}

// Refused returns the refusals so far, in the order of their first
// request, and the number of further ones that were not kept.
func (p *Process) Refused() (list []Refusal, more int) {
	p.refusals.mu.Lock()
	defer p.refusals.mu.Unlock()
	return append(list, p.refusals.list...), p.refusals.more
}
