package profiletest_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"sandboxd/profile"
	"sandboxd/profile/profiletest"
)

// Nested keeps its word: enough rules, every kind, names, one inside the
// other, and probes of which neither all nor none are allowed.
func TestNested(t *testing.T) {
	u := profiletest.Tree("/srv/tree")
	paths := u.Paths()
	allowed, tried := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		rules := u.Nested().Draw(t, "rules")
		if len(rules) < 7 {
			t.Fatalf("only %d rules", len(rules))
		}
		for _, kind := range []profile.Kind{profile.Allow, profile.Private, profile.Protect, profile.Hide} {
			if !slices.ContainsFunc(rules, func(r profile.Rule) bool { return r.Kind == kind }) {
				t.Fatalf("no %s", kind)
			}
		}
		if !slices.ContainsFunc(rules, func(r profile.Rule) bool { return r.Name != "" }) {
			t.Fatal("no rule by name")
		}
		p, err := profile.New(profile.Spec{Rules: rules})
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range rapid.SliceOfN(rapid.SampledFrom(paths), 20, 20).Draw(t, "paths") {
			for _, op := range profile.Ops() {
				tried++
				if p.Allows(op, path).Allowed {
					allowed++
				}
			}
		}
	})
	if share := 100 * allowed / tried; share < 20 || share > 80 {
		t.Errorf("%d %% of the probes are allowed", share)
	}
}

func TestPathsAreDistinctAndOrdered(t *testing.T) {
	u := profiletest.Small()
	seen := map[string]bool{}
	for _, path := range u.Paths() {
		if seen[path] {
			t.Fatalf("%s comes twice", path)
		}
		seen[path] = true
	}
	if len(seen) != 1+5+25+125 {
		t.Errorf("%d paths", len(seen))
	}
}
