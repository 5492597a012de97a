package profile_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"sandboxd/profile"
	"sandboxd/profile/profiletest"
)

// R-OS-09: what both networks reach, and nothing else.
func TestNetworkIntersectIsTheMeet(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := profiletest.Network().Draw(t, "a"), profiletest.Network().Draw(t, "b")
		both := a.Intersect(b)
		if !both.Within(a) || !both.Within(b) {
			t.Fatalf("%s is not within %s and %s", both, a, b)
		}
		for _, host := range []string{"example.com", "api.example.com", "x.api.example.com", "10.0.0.1", "10.0.0.2", "::1",
			"com"} {
			for _, port := range []uint16{1, 22, 443} {
				if got, want := both.AllowsHost(host, port), a.AllowsHost(host, port) && b.AllowsHost(host, port); got != want {
					t.Fatalf("%s:%d: %v, want %v: %s ∩ %s = %s", host, port, got, want, a, b, both)
				}
			}
		}
		for _, port := range []uint16{0, 80, 8080, 9} {
			if got, want := both.AllowsListen(port), a.AllowsListen(port) && b.AllowsListen(port); got != want {
				t.Fatalf("listen %d: %v, want %v: %s ∩ %s = %s", port, got, want, a, b, both)
			}
		}
	})
}

// R-OS-08: a variable gets in exactly where both let it in, with a value that
// both would give it.
func TestEnvironmentIntersectIsTheMeet(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := profiletest.Environment().Draw(t, "a"), profiletest.Environment().Draw(t, "b")
		both := a.Intersect(b)
		if !both.Within(a) || !both.Within(b) {
			t.Fatalf("%s is not within %s and %s", both, a, b)
		}
		for _, name := range append([]string{"ABX", "A_X", "X", "X_TOKEN"}, profiletest.Variables...) {
			if got, want := value(both, name), meetValues(value(a, name), value(b, name)); got != want {
				t.Fatalf("%s: %q, want %q\n%+v ∩\n%+v =\n%+v", name, got, want, a, b, both)
			}
		}
	})
}

const (
	absent = "absent"
	passed = "the host's"
)

// value says what a command finds in a variable, as Apply does it.
func value(e profile.Environment, name string) string {
	env, _ := e.Apply([]string{name + "=host"})
	switch {
	case slices.Contains(env, name+"=host"):
		return passed
	case slices.Contains(env, name+"=1"):
		return "1"
	case slices.Contains(env, name+"=2"):
		return "2"
	}
	return absent
}

func meetValues(a, b string) string {
	switch {
	case a == passed:
		return b
	case b == passed || a == b:
		return a
	}
	return absent
}

func TestLimitsIntersectIsTheSmaller(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := profiletest.Limits().Draw(t, "a"), profiletest.Limits().Draw(t, "b")
		both := a.Intersect(b)
		if !both.Within(a) || !both.Within(b) || both != b.Intersect(a) || both.Intersect(a) != both {
			t.Fatalf("%s ∩ %s = %s", a, b, both)
		}
		want := a.Processes
		if a.Processes == 0 || b.Processes != 0 && b.Processes < a.Processes {
			want = b.Processes
		}
		if both.Processes != want {
			t.Fatalf("processes: %s ∩ %s = %s", a, b, both)
		}
		if a.Within(b) != (both == a) {
			t.Fatalf("%s within %s", a, b)
		}
	})
}
