package profile

import (
	"fmt"
	"slices"
	"strings"

	"sandboxd/profile/abspath"
)

// Verdict is the answer of the oracle.
type Verdict struct {
	// Allowed: it may be done.
	Allowed bool
	// Private: it is done to the sandbox's own file of that name, never to
	// the host's. Directories that are only walked through on the way to
	// something are neither.
	Private bool
	// Rule decided; the zero Rule if it is no rule's doing.
	Rule Rule
	// Why says it in words.
	Why string
}

// Allows is the reference for every mechanism: it reports whether a program may do op to path,
// which is a real path, absolute, clean and free of symbolic links. The kernel must never let an op
// through that Allows forbids.
//
// Directories above a grant, or above a listed socket, can be walked through (OpStat) though not
// listed; so can the names directly inside a granted directory, hidden ones included.
func (p Profile) Allows(op Op, path string) Verdict {
	if err := validatePath(path); err != nil {
		return Verdict{Why: err.Error()}
	}
	b := p.get()
	var above state
	here := b.tree.cursor()
	for rest := path[1:]; rest != ""; {
		above = here.state
		element, tail, _ := strings.Cut(rest, "/")
		here, rest = here.Child(element), tail
	}
	v := Verdict{Private: here.state.private}
	if here.rule != nil {
		v.Rule = *here.rule
	}
	switch op {
	case OpRead, OpList:
		v.Allowed = here.state.access.Has(Read)
	case OpWrite, OpMetadata, OpLink:
		v.Allowed = here.state.access.Has(Write)
	case OpCreate, OpRemove:
		v.Allowed = here.state.access.Has(Write) && above.access.Has(Write)
	case OpExec:
		v.Allowed = here.state.access.Has(Exec)
	case OpStat:
		v.Allowed = here.state.access != 0 || above.access != 0 || b.leadsTo(path, here)
	case OpConnect:
		_, listed := slices.BinarySearch(b.sockets, path)
		v.Allowed = here.state.access.Has(Write) || listed
	}
	v.Private = v.Private && v.Allowed
	note := ""
	switch own := here.state.access; {
	case op == OpStat && v.Allowed && own == 0 && above.access != 0:
		note = ", but the directory around it is seen"
	case op == OpStat && v.Allowed && own == 0:
		note = ", but it leads to something granted"
	case (op == OpCreate || op == OpRemove) && !v.Allowed && own.Has(Write):
		note = ", since the directory around it is not writable"
	case op == OpConnect && v.Allowed && !own.Has(Write):
		note = ", but the socket is listed"
	case here.state.private:
		note = ", which is the sandbox's own"
	}
	v.Why = v.why(op, path) + note
	return v
}

// leadsTo reports whether there is a visible path, or a listed socket, below path.
func (b *body) leadsTo(path string, here Cursor) bool {
	if here.node != nil && here.node.visible {
		return true
	}
	return slices.ContainsFunc(b.sockets, func(s string) bool { return abspath.Contains(path, s) })
}

// AllowsRename reports whether the file or directory from may become to, both real paths, with its
// entries below: paths relative to from. Everything that moves must be writable at its source and
// destination, so a protected or hidden path pins every directory above it.
func (p Profile) AllowsRename(from, to string, below []string) Verdict {
	for _, end := range []string{from, to} {
		if v := p.Allows(OpCreate, end); !v.Allowed {
			return v
		}
		for _, rel := range below {
			if v := p.Allows(OpWrite, abspath.Join(end, rel)); !v.Allowed {
				v.Why = fmt.Sprintf("moving %q moves %q: %s", from, abspath.Join(end, rel), v.Why)
				return v
			}
		}
	}
	v := p.Allows(OpWrite, to)
	v.Why = fmt.Sprintf("%q and %q are writable, with all that moves", from, to)
	return v
}

func (v Verdict) why(op Op, path string) string {
	out := op.String() + " " + path + " is allowed"
	if !v.Allowed {
		out = op.String() + " " + path + " is not allowed"
	}
	switch {
	case v.Rule == Rule{}:
		return out + ": no rule grants it"
	case v.Rule.Origin == "":
		return out + " by " + v.Rule.String()
	}
	return out + " by " + v.Rule.String() + " (" + v.Rule.Origin + ")"
}
