//go:build linux && cgo

package seccomp

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"sandboxd/profile"
)

// isReported reports whether p sends a call to its listener.
func (p Policy) isReported(name string, args [6]uint64) bool {
	if r := p.decides(name, args); r.Answer != Allow {
		return r.reported()
	}
	return slices.ContainsFunc(watched, func(r rule) bool { return slices.Contains(r.Calls, name) && r.holds(args) })
}

// R-OS-11. A telling program lets through, kills and fails exactly the calls that the silent one
// does, and asks the listener about calls with the policy's EPERM, and about watched calls that
// would have passed.
func TestTellingMeansThePolicy(t *testing.T) {
	for name, p := range everyKind(t) {
		for _, arch := range []Arch{AMD64, ARM64} {
			for _, missing := range [][]Wall{nil, {IPC, Net, PID}} {
				t.Run(fmt.Sprint(name, arch, len(missing)), func(t *testing.T) {
					policy := policyOf(t, p, arch, missing...).Telling()
					encoded, _, err := policy.Program()
					if err != nil {
						t.Fatal(err)
					}
					program, err := decode(encoded)
					if err != nil {
						t.Fatal(err)
					}
					_, policy = compiled(t, p, arch, missing...) // without what can't be translated
					all := syscalls(arch)
					rapid.Check(t, func(t *rapid.T) {
						for _, name := range all {
							args := drawArgs(t, policy, name)
							c, _ := find(name)
							n, _ := arch.number(c)
							got, _, _, err := evaluate(program, data{int32(n), arch.token(), args})
							want := policy.Answer(name, args[:]...)
							isReported := policy.isReported(name, args)
							if isReported {
								want = reported
							}
							// Refusals without a translation fall to the default, ENOSYS.
							if err != nil || got != want && !(arch != Native() && isReported && got == ENOSYS) {
								t.Fatalf("%s(%#x): program %v (%v), policy %v", name, args, got, err, want)
							}
						}
					})
				})
			}
		}
	}
}

// R-OS-06. In a namespace of one user only other ids are refused, as the kernel refuses them outside, and nobody is
// told.
func TestOwned(t *testing.T) {
	policy := policyOf(t, profile.Profile{}, Native()).Owned(1000, 100).Telling()
	encoded, _, err := policy.Program()
	if err != nil {
		t.Fatal(err)
	}
	program, err := decode(encoded)
	if err != nil {
		t.Fatal(err)
	}
	const high = 7 << 32 // the kernel does not look there
	for _, c := range []struct {
		uid, gid uint64
		want     Answer
	}{
		{1000, 100, Allow}, {low32, 100, Allow}, {1<<64 - 1, low32, Allow}, {high | 1000, low32, Allow}, {0, low32, EPERM},
		{1000, 1000, EPERM}, {low32, 0, EPERM}, {high, 100, EPERM}, {100, 1000, EPERM},
	} {
		for name, at := range owners {
			call, _ := find(name)
			n, has := Native().number(call)
			var args [6]uint64
			args[at], args[at+1] = c.uid, c.gid
			got, _, _, err := evaluate(program, data{int32(n), Native().token(), args})
			if has && (err != nil || got != c.want || policy.Answer(name, args[:]...) != c.want) {
				t.Errorf("%s(%#x, %#x): %v, %v", name, c.uid, c.gid, got, err)
			}
		}
	}
}

// Every policy passes the calls that a listener continues, but those that make a file with a set-ID bit: a mistake of
// the listener can't pass anything else.
func TestWatchedCallsAreNeverRefused(t *testing.T) {
	for kind, p := range everyKind(t) {
		for _, missing := range [][]Wall{nil, {IPC, Net, PID}} {
			for _, r := range policyOf(t, p, Native(), missing...).rules {
				for _, name := range watchedCalls() {
					setID := r.Why == "set-user-ID" || r.Why == "set-group-ID"
					if slices.Contains(r.Calls, name) && !setID && (r.Answer != Allow || len(r.When) > 0) {
						t.Errorf("%s: %s has the rule %+v", kind, name, r)
					}
				}
			}
		}
	}
	if n := len(watchedCalls()); n < 15 {
		t.Errorf("only %d calls are watched", n)
	}
}

// R-OS-06. A telling program kills calls by another architecture's entry, as the silent one does.
func TestTellingKillsForeignCalls(t *testing.T) {
	for _, arch := range []Arch{AMD64, ARM64} {
		encoded, _, err := policyOf(t, everyKind(t)["full"], arch).Telling().Program()
		if err != nil {
			t.Fatal(err)
		}
		program, err := decode(encoded)
		if err != nil {
			t.Fatal(err)
		}
		for n := int32(0); n < 600; n++ {
			calls := []data{{number: n, token: 0x40000003 /* i386 */}, {number: n, token: 0x40000028 /* arm */}}
			if arch == AMD64 {
				calls = append(calls, data{number: 0x40000000 + n, token: arch.token()}) // x32
			}
			for _, d := range calls {
				if got, _, _, err := evaluate(program, d); err != nil || got != Kill {
					t.Errorf("%v on %v: %v, %v", d, arch, got, err)
				}
			}
		}
	}
}
