package profiletest

import (
	"path"

	"pgregory.net/rapid"

	"sandboxd/profile"
)

// Nested draws path rules for a real tree at Root: an Allow of Root, then a chain in which each
// rule is inside the one before, of different kinds, then rules by name and a few anywhere. There
// are at least seven, and all of Allow, Protect, Hide and Private occur.
func (u Universe) Nested() *rapid.Generator[[]profile.Rule] {
	return rapid.Custom(func(t *rapid.T) []profile.Rule {
		wide := rapid.SampledFrom(accesses[1:]).Draw(t, "root access")
		rules := []profile.Rule{{Kind: profile.Allow, Access: wide, Path: u.Root}}
		at := u.Root
		chain := rapid.Permutation([]profile.Kind{profile.Protect, profile.Hide, profile.Allow, profile.Private}).Draw(t,
			"chain")
		for _, kind := range chain[:u.Depth-1] {
			at = path.Join(at, rapid.SampledFrom(u.Elements).Draw(t, "element"))
			rules = append(rules, u.of(t, kind, at))
		}
		for _, kind := range []profile.Kind{profile.Protect, profile.Hide, profile.Private, profile.Allow} {
			rules = append(rules, u.of(t, kind, u.Path(1).Draw(t, "path")))
		}
		for range rapid.IntRange(1, 3).Draw(t, "names") {
			rules = append(rules, profile.Rule{
				Kind: rapid.SampledFrom([]profile.Kind{profile.Protect, profile.Hide}).Draw(t, "kind"),
				Path: u.Path(0).Draw(t, "base"),
				Name: rapid.SampledFrom(u.Names).Draw(t, "name"),
			})
		}
		return append(rules, rapid.SliceOfN(u.rule(), 0, 3).Draw(t, "more")...)
	})
}

func (u Universe) of(t *rapid.T, kind profile.Kind, at string) profile.Rule {
	r := profile.Rule{Kind: kind, Path: at}
	if kind == profile.Allow {
		r.Access = Access().Draw(t, "access")
	}
	return r
}
