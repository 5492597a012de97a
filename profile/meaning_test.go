package profile_test

import (
	"path"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sandboxd/profile"
	"sandboxd/profile/profiletest"
)

const all = profile.Read | profile.Write | profile.Exec

// meaning is what a path has, by the plainest reading of the rules: a second
// implementation that shares nothing with the first.
type meaning struct {
	access             profile.Access
	private, protected bool
}

func (m meaning) normal() meaning {
	if m.access == 0 {
		return meaning{}
	}
	m.protected = m.protected && !m.private
	return m
}

func (m meaning) meet(n meaning) meaning {
	return meaning{m.access & n.access, m.private || n.private, m.protected || n.protected}.normal()
}

// read walks from "/" to p and applies at each step what the rules say.
func read(rules []profile.Rule, p string) meaning {
	var now meaning
	at := "/"
	for _, element := range append([]string{""}, strings.Split(strings.TrimPrefix(p, "/"), "/")...) {
		if element != "" {
			at = path.Join(at, element)
		}
		now = step(rules, at, now)
	}
	return now
}

func step(rules []profile.Rule, at string, now meaning) meaning {
	granted := false
	for _, r := range rules {
		given := meaning{access: r.Access, private: r.Kind == profile.Private, protected: r.Kind == profile.Protect}
		if r.Kind == profile.Private && r.Access == 0 {
			given.access = all
		}
		if r.Name != "" || r.Path != at || given.access == 0 {
			continue
		}
		if granted {
			given = given.meet(now)
		}
		now, granted = given, true
	}
	for _, r := range rules {
		if r.Kind < profile.Protect || r.Name == "" && r.Path != at || r.Name != "" && (granted || !matches(r, at)) {
			continue
		}
		if now.access &^= profile.Write; r.Kind == profile.Hide {
			now.access = 0
		}
		now.protected = true
		now = now.normal()
	}
	return now
}

// matches reports whether the last elements of at match the name, all of them
// below the rule's path.
func matches(r profile.Rule, at string) bool {
	below, ok := strings.CutPrefix(at, strings.TrimSuffix(r.Path, "/")+"/")
	if !ok || at == "/" {
		return false
	}
	got, want := strings.Split(below, "/"), strings.Split(r.Name, "/")
	if len(got) < len(want) {
		return false
	}
	got = got[len(got)-len(want):]
	for i := range want {
		if ok, err := path.Match(want[i], got[i]); err != nil || !ok {
			return false
		}
	}
	return true
}

func meaningOf(p profile.Profile, at string) meaning {
	kind, access, _ := p.Effective(at)
	return meaning{access, kind == profile.Private, kind == profile.Protect}
}

// The normal form means at every path what the rules say (R-OS-01).
func TestEffectiveIsWhatTheRulesSay(t *testing.T) {
	t.Parallel()
	u := profiletest.Small()
	paths := u.Paths()
	rapid.Check(t, func(t *rapid.T) {
		rules := u.Rules().Draw(t, "rules")
		p, err := profile.New(profile.Spec{Rules: rules})
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range paths {
			if got, want := meaningOf(p, at), read(rules, at); got != want {
				t.Fatalf("%s: %+v, want %+v\n%s", at, got, want, p.Explain(at))
			}
		}
	})
}

// Rules of a normal form make that normal form again, in any order.
func TestNewOfRulesIsIdentity(t *testing.T) {
	t.Parallel()
	u := profiletest.Small()
	rapid.Check(t, func(t *rapid.T) {
		spec := u.Spec().Draw(t, "spec")
		p, err := profile.New(spec)
		if err != nil {
			t.Fatal(err)
		}
		spec.Rules = rapid.Permutation(spec.Rules).Draw(t, "shuffled")
		shuffled, err := profile.New(spec)
		if err != nil {
			t.Fatal(err)
		}
		again, err := profile.New(respec(p))
		if err != nil {
			t.Fatal(err)
		}
		if !shuffled.Equal(p) {
			t.Errorf("the order of rules matters:\n%s\nand\n%s", p, shuffled)
		}
		if !again.Equal(p) {
			t.Errorf("not the same again:\n%s\nand\n%s", p, again)
		}
	})
}

// respec is the spec that spells out a profile's normal form.
func respec(p profile.Profile) profile.Spec {
	return profile.Spec{
		Rules: p.Rules(), Guards: p.Guards(), Network: p.Network(), UnixSockets: p.UnixSockets(),
		Env: p.Environment(), Limits: p.Limits(), Syscalls: p.Syscalls(), Processes: p.Processes(),
	}
}

// A cursor that walks sees what Effective sees, and Settled keeps its word.
func TestCursorAgreesWithEffective(t *testing.T) {
	t.Parallel()
	u := profiletest.Small()
	rapid.Check(t, func(t *rapid.T) {
		p := u.PathProfile().Draw(t, "p")
		var walk func(c profile.Cursor, at string, depth int, settled bool)
		walk = func(c profile.Cursor, at string, depth int, settled bool) {
			kind, access, _ := c.Effective()
			if k, a, _ := p.Effective(at); k != kind || a != access {
				t.Fatalf("%s: cursor %s %s, Effective %s %s", at, kind, access, k, a)
			}
			if settled && c.Turned() {
				t.Fatalf("%s turned although everything was settled above it", at)
			}
			if depth == 0 {
				return
			}
			for _, element := range append(u.Elements, u.Extra...) {
				walk(c.Child(element), path.Join(at, element), depth-1, settled || c.Settled())
			}
		}
		walk(p.Cursor(), "/", 3, false)
	})
}
