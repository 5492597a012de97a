package profile

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"sandboxd/secret"
)

// Environment selects the variables of a command. An unnamed variable does not pass.
type Environment struct {
	// Pass names variables that pass with the host's value: a name, or a prefix and "*". A prefix
	// never passes an apparent secret (see [sandboxd/secret.Name]); a name does, since somebody
	// wrote it down.
	Pass []string
	// Block names variables, or prefixes, that never pass, also where Pass has them.
	Block []string
	// Set gives variables a value of our own, before Pass; Block beats it.
	Set map[string]string
	// PassSecrets lets prefixes pass secrets, too. It is for a ceiling that
	// leaves that question to the profile it is intersected with.
	PassSecrets bool
}

// Validate checks names and values.
func (e Environment) Validate() error {
	for _, name := range slices.Concat(e.Pass, e.Block) {
		if err := validateVariable(strings.TrimSuffix(name, "*"), strings.HasSuffix(name, "*")); err != nil {
			return err
		}
	}
	for name, value := range e.Set {
		if err := validateVariable(name, false); err != nil {
			return err
		}
		if strings.ContainsRune(value, 0) {
			return fmt.Errorf("value of %q holds a NUL", name)
		}
	}
	return nil
}

func validateVariable(name string, prefix bool) error {
	switch {
	case name == "" && !prefix:
		return fmt.Errorf("empty variable name")
	case strings.ContainsAny(name, "=\x00*"):
		return fmt.Errorf("variable name %q: no =, NUL, or * but at the end", name)
	}
	return nil
}

// coversName reports whether the pattern p matches everything that q matches.
func coversName(p, q string) bool {
	if prefix, ok := strings.CutSuffix(p, "*"); ok {
		return strings.HasPrefix(q, prefix)
	}
	return p == q
}

func anyCovers(patterns []string, q string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return coversName(p, q) })
}

// passes reports whether Pass alone lets the pattern or name q in.
func (e Environment) passes(q string) bool {
	return slices.ContainsFunc(e.Pass, func(p string) bool {
		if p == q {
			return true
		}
		credential := !strings.HasSuffix(q, "*") && secret.Name(q)
		return coversName(p, q) && (e.PassSecrets || !credential)
	})
}

// Passes reports whether the host's variable of this name gets in.
func (e Environment) Passes(name string) bool {
	_, set := e.Set[name]
	return !set && !anyCovers(e.Block, name) && e.passes(name)
}

// Apply filters the host's environment ("NAME=value") and returns the command's, sorted, and the
// names of the dropped variables, sorted. A value that looks like a secret is dropped unless its
// variable is passed by its full name. Of several entries with one name the last counts.
func (e Environment) Apply(host []string) (env, dropped []string) {
	values := map[string]string{}
	for _, entry := range host {
		if name, value, ok := strings.Cut(entry, "="); ok && name != "" {
			values[name] = value
		}
	}
	n := e.normal()
	for name, value := range values {
		exact := slices.Contains(n.Pass, name)
		switch {
		case !n.Passes(name), !exact && !n.PassSecrets && secret.Value(value):
			if _, set := n.Set[name]; !set {
				dropped = append(dropped, name)
			}
		default:
			env = append(env, name+"="+value)
		}
	}
	for name, value := range n.Set {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	slices.Sort(dropped)
	return env, dropped
}

func (e Environment) clone() Environment {
	e.Pass, e.Block, e.Set = slices.Clone(e.Pass), slices.Clone(e.Block), maps.Clone(e.Set)
	return e
}

func (e Environment) normal() Environment {
	out := Environment{Set: map[string]string{}}
	block := maximal(e.Block, coversName, strings.Compare)
	for name, value := range e.Set {
		if !anyCovers(block, name) {
			out.Set[name] = value
		}
	}
	pass := slices.DeleteFunc(slices.Clone(e.Pass), func(p string) bool {
		_, set := out.Set[p]
		return set || anyCovers(block, p)
	})
	covers := func(p, q string) bool {
		return coversName(p, q) && (e.PassSecrets || strings.HasSuffix(q, "*") || !secret.Name(q))
	}
	out.Pass = maximal(pass, covers, strings.Compare)
	out.PassSecrets = e.PassSecrets && slices.ContainsFunc(out.Pass,
		func(p string) bool { return strings.HasSuffix(p, "*") })
	for _, b := range block {
		_, set := out.Set[b]
		if !set && out.passes(b) {
			out.Block = append(out.Block, b)
		}
	}
	if len(out.Set) == 0 {
		out.Set = nil
	}
	return out
}

// Intersect returns the variables that both pass. Where one sets a variable and the other passes
// it, it is set; where they set it differently, it is dropped.
func (e Environment) Intersect(f Environment) Environment {
	e, f = e.normal(), f.normal()
	out := Environment{Set: map[string]string{}, Block: slices.Concat(e.Block, f.Block), PassSecrets: e.PassSecrets &&
		f.PassSecrets}
	for _, side := range [][2]Environment{{e, f}, {f, e}} {
		a, b := side[0], side[1]
		for name, value := range a.Set {
			other, set := b.Set[name]
			if set && other == value || b.Passes(name) {
				out.Set[name] = value
			} else {
				out.Block = append(out.Block, name)
			}
		}
		for _, p := range a.Pass {
			if b.passes(p) {
				out.Pass = append(out.Pass, p)
			}
		}
	}
	return out.normal()
}

// Within reports whether e lets nothing in that f does not, and sets nothing
// that f would not let through.
func (e Environment) Within(f Environment) bool { return e.Intersect(f).equal(e.normal()) }

func (e Environment) equal(f Environment) bool {
	return slices.Equal(e.Pass, f.Pass) && slices.Equal(e.Block, f.Block) && maps.Equal(e.Set, f.Set) &&
		e.PassSecrets == f.PassSecrets
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
