package profile_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"sandboxd/profile"
	"sandboxd/profile/profiletest"
)

// R-OS-01: commutative, associative, idempotent, with everything as the one
// and nothing as the zero.
func TestIntersectIsASemilattice(t *testing.T) {
	t.Parallel()
	u := profiletest.Small()
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := u.Profile().Draw(t, "a"), u.Profile().Draw(t, "b"), u.Profile().Draw(t, "c")
		same(t, "commutative", a.Intersect(b), b.Intersect(a))
		same(t, "associative", a.Intersect(b).Intersect(c), a.Intersect(b.Intersect(c)))
		same(t, "idempotent", a.Intersect(a), a)
		same(t, "one", a.Intersect(profile.Everything()), a)
		same(t, "absorbs", a.Intersect(b).Intersect(b), a.Intersect(b))
		if zero := a.Intersect(profile.Profile{}); !zero.Within(profile.Profile{}) {
			t.Errorf("something is left of nothing:\n%s", zero)
		}
	})
}

func same(t *rapid.T, law string, a, b profile.Profile) {
	t.Helper()
	if !a.Equal(b) {
		t.Fatalf("%s:\n%s\nand\n%s", law, a, b)
	}
}

// R-OS-01: at every path the result has exactly what both have; a rule that
// is lost or won in either direction fails here.
func TestIntersectIsTheMeetAtEveryPath(t *testing.T) {
	t.Parallel()
	u := profiletest.Small()
	paths := u.Paths()
	rapid.Check(t, func(t *rapid.T) {
		a, b := u.PathProfile().Draw(t, "a"), u.PathProfile().Draw(t, "b")
		both := a.Intersect(b)
		for _, at := range paths {
			want := meaningOf(a, at).meet(meaningOf(b, at))
			if got := meaningOf(both, at); got != want {
				t.Fatalf("%s: %+v, want %+v\na: %s\nb: %s\nboth: %s", at, got, want, a.Explain(at), b.Explain(at), both.Explain(at))
			}
		}
	})
}

// Every operation but walking through is allowed exactly where both allow it;
// walking through needs both.
func TestIntersectAllowsWhatBothAllow(t *testing.T) {
	t.Parallel()
	u := profiletest.Small()
	rapid.Check(t, func(t *rapid.T) {
		a, b := u.Profile().Draw(t, "a"), u.Profile().Draw(t, "b")
		both := a.Intersect(b)
		at := u.Path(0).Draw(t, "path")
		for _, op := range profile.Ops() {
			want := a.Allows(op, at).Allowed && b.Allows(op, at).Allowed
			got := both.Allows(op, at).Allowed
			if got != want && (op != profile.OpStat || got) {
				t.Fatalf("%s %s: %v, want %v\n%s\n%s\n%s", op, at, got, want, a, b, both)
			}
		}
	})
}

func TestIntersectIsWithinBoth(t *testing.T) {
	t.Parallel()
	u := profiletest.Small()
	rapid.Check(t, func(t *rapid.T) {
		a, b := u.Profile().Draw(t, "a"), u.Profile().Draw(t, "b")
		both := a.Intersect(b)
		for _, p := range []profile.Profile{a, b, profile.Everything()} {
			if more := both.Exceeds(p); more != nil {
				t.Fatalf("the intersection allows %v, which\n%s does not\n%s", more, p, both)
			}
		}
	})
}

// Within says what trying every operation at every path says, and shows where
// when it says no; both with profiles that are and that are not within.
func TestWithinAgreesWithAllows(t *testing.T) {
	t.Parallel()
	u := profiletest.Small()
	paths := u.Paths()
	within := 0
	rapid.Check(t, func(t *rapid.T) {
		a, b := u.PathProfile().Draw(t, "a"), u.PathProfile().Draw(t, "b")
		switch rapid.IntRange(0, 2).Draw(t, "related") {
		case 0:
			a = a.Intersect(b)
		case 1:
			grant := profile.Grant{Path: u.Path(0).Draw(t, "path"), Access: profiletest.Access().Draw(t, "access")}
			var err error
			if b, err = a.With(grant); err != nil {
				t.Fatal(err)
			}
		}
		tried := true
		for _, at := range rapid.SliceOfN(rapid.SampledFrom(paths), 40, 40).Draw(t, "paths") {
			for _, op := range profile.Ops() {
				tried = tried && !allowsMore(a, b, op, at)
			}
		}
		more := a.Exceeds(b)
		switch {
		case more == nil && !tried:
			t.Fatalf("Within holds, Allows does not\n%s\n%s", a, b)
		case a.Within(b) != (more == nil):
			t.Fatalf("Within %v, Exceeds %v", a.Within(b), more)
		case more == nil:
			within++
		case more[0].What != "path":
			t.Fatalf("exceeds %v, but only paths differ", more)
		case !slices.ContainsFunc(profile.Ops(), func(op profile.Op) bool { return allowsMore(a, b, op, more[0].Object) }):
			t.Fatalf("%v is no witness\n%s\n%s", more, a, b)
		}
	})
	if within == 0 {
		t.Error("no pair was within")
	}
}

// allowsMore compares two verdicts. Whose directory is walked through on the
// way to something does not count: that of a private tree and that above a
// grant are both the sandbox's own.
func allowsMore(a, b profile.Profile, op profile.Op, at string) bool {
	va, vb := a.Allows(op, at), b.Allows(op, at)
	return va.Allowed && !vb.Allowed || va.Allowed && !va.Private && vb.Private && op != profile.OpStat
}

// Within is an order: reflexive, transitive, kept by Intersect; and two
// profiles that are equal are within each other.
func TestWithinIsAnOrder(t *testing.T) {
	t.Parallel()
	u := profiletest.Small()
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := u.Profile().Draw(t, "a"), u.Profile().Draw(t, "b"), u.Profile().Draw(t, "c")
		if !a.Within(a) {
			t.Fatalf("not within itself: %v\n%s", a.Exceeds(a), a)
		}
		small, middle := a.Intersect(b).Intersect(c), a.Intersect(b)
		if !small.Within(middle) || !middle.Within(a) || !small.Within(a) {
			t.Fatal("not transitive")
		}
		if a.Within(b) && !a.Intersect(c).Within(b.Intersect(c)) {
			t.Fatal("not monotone")
		}
		// What is within another is its own intersection with it, as far as
		// Allows can tell.
		if a.Within(b) {
			both := a.Intersect(b)
			if !a.Within(both) || !both.Within(a) {
				t.Fatalf("a is within b but not a ∩ b\n%s\n%s", a, b)
			}
		}
	})
}

// Equal digests mean equal profiles and the other way round: compared with
// every field of the normal form one by one.
func TestDigestIsIdentity(t *testing.T) {
	t.Parallel()
	u := profiletest.Small()
	paths := u.Paths()
	rapid.Check(t, func(t *rapid.T) {
		a, b := u.Profile().Draw(t, "a"), u.Profile().Draw(t, "b")
		if rapid.IntRange(0, 3).Draw(t, "related") > 0 {
			b = oneOther(t, a, b)
		}
		equal := a.String() == b.String() && sameSettings(a, b)
		if equal != (a.Digest() == b.Digest()) || equal != a.Equal(b) {
			t.Fatalf("equal %v, digests equal %v\n%s\n%s", equal, a.Digest() == b.Digest(), a, b)
		}
		if !equal {
			return
		}
		for _, at := range paths {
			if meaningOf(a, at) != meaningOf(b, at) {
				t.Fatalf("equal, yet different at %s", at)
			}
		}
	})
}

// oneOther is a with one field of its normal form taken from b.
func oneOther(t *rapid.T, a, b profile.Profile) profile.Profile {
	spec, other := respec(a), respec(b)
	switch rapid.IntRange(0, 10).Draw(t, "field") {
	case 0:
		spec.Rules = other.Rules
	case 1:
		spec.Guards = other.Guards
	case 2:
		spec.Network = other.Network
	case 3:
		spec.UnixSockets = other.UnixSockets
	case 4:
		spec.Env = other.Env
	case 5:
		spec.Limits = other.Limits
	case 6:
		spec.Syscalls = other.Syscalls
	case 7:
		spec.Processes = other.Processes
	case 8:
		spec.Env.Block = append(spec.Env.Block, "A*", "AB")
	case 9:
		spec.Env.PassSecrets = !spec.Env.PassSecrets
	case 10:
		spec.Network.ListenAny = !spec.Network.ListenAny
	}
	p, err := profile.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// sameSettings compares what String leaves out.
func sameSettings(a, b profile.Profile) bool {
	ea, eb := a.Environment(), b.Environment()
	if len(ea.Set) != len(eb.Set) {
		return false
	}
	for name, value := range ea.Set {
		if eb.Set[name] != value {
			return false
		}
	}
	return true
}

// Two profiles without names or guards that have the same at every path are
// one and the same: no rule that says nothing new is kept.
func TestNormalFormOfPathsIsUnique(t *testing.T) {
	t.Parallel()
	u := profiletest.Small()
	paths := u.Paths()
	rapid.Check(t, func(t *rapid.T) {
		var spec profile.Spec
		for _, at := range rapid.SliceOfN(u.Path(0), 0, 5).Draw(t, "paths") {
			spec.Rules = append(spec.Rules, profile.Rule{Kind: profile.Allow, Access: profiletest.Access().Draw(t, "access"),
				Path: at})
		}
		a, err := profile.New(spec)
		if err != nil {
			t.Fatal(err)
		}
		// Spelled out at every path, with whatever order.
		var long profile.Spec
		for _, at := range paths {
			if kind, access, _ := a.Effective(at); kind == profile.Allow {
				long.Rules = append(long.Rules, profile.Rule{Kind: profile.Allow, Access: access, Path: at})
			}
		}
		b, err := profile.New(long)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "unique", a, b)
		if a.Within(b) && b.Within(a) != a.Equal(b) {
			t.Fatal("within each other and not equal")
		}
	})
}
