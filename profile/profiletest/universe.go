// Package profiletest generates profiles for property tests and differential
// tests, over a small set of paths in which rules meet often.
//
//	u := profiletest.Small()
//	rapid.Check(t, func(t *rapid.T) {
//		a, b := u.Profile().Draw(t, "a"), u.Profile().Draw(t, "b")
//		for _, path := range u.Paths() {
//			// compare a, b and a.Intersect(b) at path
//		}
//	})
//
// A test that compares a mechanism with the oracle on a real tree takes
// [Universe.Nested] with Root set to a directory of its own: every spec it
// draws has at least five rules, one inside the other, of every kind that
// speaks of paths.
//
// # Limitations
//
// Generated paths are free of symbolic links and of names that documents
// cannot hold.
package profiletest

import (
	"path"
	"slices"

	"pgregory.net/rapid"

	"sandboxd/profile"
)

// Universe is the paths that generated rules speak of: every sequence of at
// most Depth of Elements below Root.
type Universe struct {
	Root     string   // absolute and clean
	Elements []string // names of files and directories
	Depth    int
	Names    []string // patterns of rules by name
	// Extra are elements that no generated path rule spells out; Paths
	// includes them, so that patterns meet names that nobody thought of.
	Extra []string
}

// Small returns the universe for the laws of the algebra: below "/", three
// deep, dense enough for rules to meet in most cases.
func Small() Universe {
	return Universe{
		Root:     "/",
		Elements: []string{"a", "b", ".git", "hooks"},
		Depth:    3,
		Names:    []string{"a", ".git", ".git/hooks", "hooks", ".*", "?", "[ab]", "a/b", "*/b", "[^a]*", "*oo*"},
		Extra:    []string{"z"},
	}
}

// Tree returns the universe for a real directory: names as they occur in
// projects.
func Tree(root string) Universe {
	return Universe{
		Root:     root,
		Elements: []string{"src", "lib", ".git", "hooks", "config", ".env"},
		Depth:    4,
		Names:    []string{".git/hooks", ".git/config", ".env*", "*.key", "secret", "lib/config"},
		Extra:    []string{"main", "id.key", ".env.local", "secret"},
	}
}

// Paths returns every path of the universe, Root first, Extra elements
// included, parents before children.
func (u Universe) Paths() []string {
	all := []string{u.Root}
	level := all
	for range u.Depth {
		var next []string
		for _, dir := range level {
			for _, element := range slices.Concat(u.Elements, u.Extra) {
				next = append(next, path.Join(dir, element))
			}
		}
		all, level = append(all, next...), next
	}
	return all
}

// Path draws a path of at least min elements below Root.
func (u Universe) Path(min int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		elements := rapid.SliceOfN(rapid.SampledFrom(u.Elements), min, u.Depth).Draw(t, "elements")
		return path.Join(append([]string{u.Root}, elements...)...)
	})
}

var accesses = []profile.Access{
	profile.Read,
	profile.Read | profile.Write,
	profile.Read | profile.Exec,
	profile.Read | profile.Write | profile.Exec,
}

// Access draws a valid access that is not empty.
func Access() *rapid.Generator[profile.Access] { return rapid.SampledFrom(accesses) }

// rule draws any valid rule.
func (u Universe) rule() *rapid.Generator[profile.Rule] {
	return rapid.Custom(func(t *rapid.T) profile.Rule {
		r := profile.Rule{Path: u.Path(0).Draw(t, "path")}
		switch rapid.IntRange(0, 9).Draw(t, "kind") {
		case 0, 1, 2, 3:
			r.Access = Access().Draw(t, "access")
		case 4:
			r.Kind = profile.Private
			r.Access = rapid.SampledFrom(append([]profile.Access{0}, accesses...)).Draw(t, "access")
		case 5:
			r.Kind = profile.Protect
			r.Access = rapid.SampledFrom([]profile.Access{0, 0, profile.Read, profile.Read | profile.Exec}).Draw(t, "access")
		case 6:
			r.Kind = profile.Hide
		case 7:
			r.Kind, r.Name = profile.Hide, rapid.SampledFrom(u.Names).Draw(t, "name")
		default:
			r.Kind, r.Name = profile.Protect, rapid.SampledFrom(u.Names).Draw(t, "name")
		}
		return r
	})
}

// guard draws a guard.
func (u Universe) guard() *rapid.Generator[profile.Rule] {
	return rapid.Custom(func(t *rapid.T) profile.Rule {
		r := profile.Rule{Kind: rapid.SampledFrom([]profile.Kind{profile.Protect, profile.Hide}).Draw(t, "kind"),
			Path: u.Path(0).Draw(t, "path")}
		if rapid.Bool().Draw(t, "named") {
			r.Name = rapid.SampledFrom(u.Names).Draw(t, "name")
		}
		return r
	})
}

// Rules draws any valid rules, few enough to differ and enough to meet.
func (u Universe) Rules() *rapid.Generator[[]profile.Rule] { return rapid.SliceOfN(u.rule(), 0, 7) }

// Spec draws a spec with all its fields.
func (u Universe) Spec() *rapid.Generator[profile.Spec] {
	return rapid.Custom(func(t *rapid.T) profile.Spec {
		return profile.Spec{
			Rules:       u.Rules().Draw(t, "rules"),
			Guards:      u.Guards().Draw(t, "guards"),
			Network:     Network().Draw(t, "network"),
			UnixSockets: rapid.SliceOfN(u.Path(1), 0, 2).Draw(t, "sockets"),
			Env:         Environment().Draw(t, "env"),
			Limits:      Limits().Draw(t, "limits"),
			Syscalls:    rapid.SliceOfN(rapid.SampledFrom(profile.SyscallGroups()), 0, 2).Draw(t, "syscalls"),
			Processes: rapid.SampledFrom([]profile.Visibility{profile.ProcessesOwn, profile.ProcessesHost}).Draw(t,
				"processes"),
		}
	})
}

// Profile draws any profile.
func (u Universe) Profile() *rapid.Generator[profile.Profile] { return profiles(u.Spec()) }

// PathProfile draws profiles that differ in nothing but rules.
func (u Universe) PathProfile() *rapid.Generator[profile.Profile] {
	return rapid.Custom(func(t *rapid.T) profile.Profile {
		return must(t, profile.Spec{Rules: u.Rules().Draw(t, "rules")})
	})
}

func profiles(specs *rapid.Generator[profile.Spec]) *rapid.Generator[profile.Profile] {
	return rapid.Custom(func(t *rapid.T) profile.Profile { return must(t, specs.Draw(t, "spec")) })
}

func must(t *rapid.T, spec profile.Spec) profile.Profile {
	p, err := profile.New(spec)
	if err != nil {
		t.Fatalf("a generated spec is refused: %v\n%+v", err, spec)
	}
	return p
}

// Guards draws any valid guards.
func (u Universe) Guards() *rapid.Generator[[]profile.Rule] { return rapid.SliceOfN(u.guard(), 0, 2) }
