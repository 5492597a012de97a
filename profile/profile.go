package profile

import (
	"slices"
	"sync/atomic"
)

// Profile describes a command's access. It is immutable; the zero value grants nothing. Compare
// with [Profile.Equal], not with ==.
type Profile struct{ body *body }

type body struct {
	tree      *tree
	turns     []Rule // canonical, by path
	guards    []Rule // canonical
	network   Network
	sockets   []string
	env       Environment
	limits    Limits
	syscalls  []SyscallGroup
	processes Visibility
	digest    Digest
	readOnly  atomic.Pointer[body] // what ReadOnly returns, once it was asked
	leasing   atomic.Pointer[body] // the same of WithLeases
}

var nothing = assemble(draft{})

func (p Profile) get() *body {
	if p.body == nil {
		return nothing
	}
	return p.body
}

// Rules returns the path rules and then the rules by name in their normal form, each group in the
// order of paths, a directory before its entries. Every rule carries its final access. Given to
// [New] they make the same paths again.
func (p Profile) Rules() []Rule { return append(p.PathRules(), p.NameRules()...) }

// PathRules returns the rules for one path and everything below it: every path at which something
// changes for another reason than its name.
func (p Profile) PathRules() []Rule { return slices.Clone(p.get().turns) }

// NameRules returns the rules that match by name at any depth.
func (p Profile) NameRules() []Rule { return p.get().nameRules() }

func (b *body) nameRules() []Rule {
	var out []Rule
	for _, n := range b.tree.names {
		out = append(out, n.rule)
	}
	return out
}

// Guards returns the rules that [Profile.With] applies inside its grants, in canonical order.
func (p Profile) Guards() []Rule { return slices.Clone(p.get().guards) }

// Network returns the network, in canonical order.
func (p Profile) Network() Network { return p.get().network.clone() }

// UnixSockets returns the sockets, outside of writable paths, that may be connected to, sorted.
func (p Profile) UnixSockets() []string { return slices.Clone(p.get().sockets) }

// Environment returns which variables get in.
func (p Profile) Environment() Environment { return p.get().env.clone() }

// Limits returns the limits; zero is unlimited.
func (p Profile) Limits() Limits { return p.get().limits }

// Syscalls returns the groups granted besides the ordinary ones, sorted.
func (p Profile) Syscalls() []SyscallGroup { return slices.Clone(p.get().syscalls) }

// Processes returns whose processes are seen.
func (p Profile) Processes() Visibility { return p.get().processes }

// Cursor returns a cursor at "/".
func (p Profile) Cursor() Cursor { return p.get().tree.cursor() }

// At returns a cursor at path, which is absolute and clean.
func (p Profile) At(path string) Cursor { return p.get().tree.at(path) }

// Effective returns the state at path: the kind of thing it shows, the access, and the rule that
// decided. Nothing granted is Hide with no access, and the zero Rule if it is no rule's doing. A
// path that is not absolute and clean has nothing.
func (p Profile) Effective(path string) (Kind, Access, Rule) {
	if validatePath(path) != nil {
		return Hide, 0, Rule{}
	}
	return p.get().tree.at(path).Effective()
}
