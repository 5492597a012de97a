//go:build linux && cgo

package seccomp

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sandboxd/profile"
)

func compiled(t testing.TB, p profile.Profile, arch Arch, missing ...Wall) ([]instruction, Policy) {
	t.Helper()
	program, gaps, err := Compile(p, arch, missing...)
	if err != nil {
		t.Fatal(err)
	}
	list, err := decode(program)
	if err != nil {
		t.Fatal(err)
	}
	policy := policyOf(t, p, arch, missing...)
	if arch == Native() {
		for _, g := range gaps {
			if strings.Contains(g.Why, "libseccomp") {
				t.Errorf("gap on the machine's own architecture: %+v", g)
			}
		}
	} else { // What this libseccomp cannot translate falls to the default.
		for _, g := range gaps {
			if strings.Contains(g.Why, "libseccomp") {
				policy = policy.without(g.Object)
			}
		}
	}
	return list, policy
}

func (p Policy) without(name string) Policy {
	rules := slices.Clone(p.rules)
	for i, r := range rules {
		if n := slices.Index(r.Calls, name); n >= 0 {
			rules[i].Calls = slices.Delete(slices.Clone(r.Calls), n, n+1)
		}
	}
	p.rules = rules
	return p
}

// sameAnswer tolerates an answer that differs only in how it says no: an untranslated refusal falls to the default's.
func sameAnswer(got, want Answer, arch Arch) bool {
	return got == want || arch != Native() && want == EPERM && got == ENOSYS
}

// drawArgs prefers the values that the policy's own tests name, also with bits set where nobody should look.
func drawArgs(t *rapid.T, policy Policy, name string) (args [6]uint64) {
	for i := range args {
		args[i] = rapid.Uint64().Draw(t, fmt.Sprintf("arg%d", i))
	}
	for _, r := range policy.rules {
		if !slices.Contains(r.Calls, name) {
			continue
		}
		for _, test := range r.When {
			switch rapid.IntRange(0, 3).Draw(t, "how") {
			case 0:
				args[test.Arg] = test.Value
			case 1:
				args[test.Arg] = args[test.Arg]&^test.Mask | test.Value
			case 2:
				args[test.Arg] = args[test.Arg]&^low32 | test.Value
			}
		}
	}
	return args
}

// R-OS-06. What libseccomp assembled and chain joined means what the policy says, on both architectures, for every
// call and any arguments.
func TestProgramMeansThePolicy(t *testing.T) {
	for name, p := range everyKind(t) {
		for _, arch := range []Arch{AMD64, ARM64} {
			for _, missing := range [][]Wall{nil, {IPC, Net, PID}} {
				t.Run(fmt.Sprint(name, arch, len(missing)), func(t *testing.T) {
					program, policy := compiled(t, p, arch, missing...)
					all := syscalls(arch)
					rapid.Check(t, func(t *rapid.T) {
						for _, name := range all {
							args := drawArgs(t, policy, name)
							c, _ := find(name)
							n, _ := arch.number(c)
							got, _, _, err := evaluate(program, data{int32(n), arch.token(), args})
							if want := policy.Answer(name, args[:]...); err != nil || !sameAnswer(got, want, arch) {
								t.Fatalf("%s(%#x): program %v (%v), policy %v", name, args, got, err, want)
							}
						}
					})
				})
			}
		}
	}
}

// R-OS-06. Foreign entries: every architecture but the one, and x32's numbers, for any call.
func TestForeignCallsAreKilled(t *testing.T) {
	for _, arch := range []Arch{AMD64, ARM64} {
		program, _ := compiled(t, profile.Profile{}, arch)
		rapid.Check(t, func(t *rapid.T) {
			d := data{number: rapid.Int32().Draw(t, "number"), token: rapid.Uint32().Draw(t, "arch")}
			if d.token == arch.token() {
				return
			}
			if got, _, _, err := evaluate(program, d); err != nil || got != Kill {
				t.Fatalf("%v on %v: %v, %v", d, arch, got, err)
			}
		})
		for _, token := range []uint32{0x40000003 /* i386 */, 0x40000028 /* arm */} {
			if got, _, _, err := evaluate(program, data{number: 20, token: token}); err != nil || got != Kill {
				t.Errorf("getpid by %#x on %v: %v, %v", token, arch, got, err)
			}
		}
	}
	program, _ := compiled(t, profile.Profile{}, AMD64)
	for n := int32(0); n < 600; n++ {
		if got, _, _, err := evaluate(program, data{number: 0x40000000 + n, token: AMD64.token()}); err != nil ||
			got != Kill {
			t.Errorf("x32 call %d: %v, %v", n, got, err)
		}
	}
}

// Numbers that nobody has named yet are refused as a kernel that does not have them would.
func TestUnknownNumbers(t *testing.T) {
	for _, arch := range []Arch{AMD64, ARM64} {
		program, _ := compiled(t, profile.Profile{}, arch)
		known := map[int32]bool{}
		for _, name := range syscalls(arch) {
			c, _ := find(name)
			n, _ := arch.number(c)
			known[int32(n)] = true
		}
		for n := int32(0); n < 2000; n++ {
			if known[n] {
				continue
			}
			if got, _, _, err := evaluate(program, data{number: n, token: arch.token()}); err != nil || got != ENOSYS {
				t.Errorf("%v call %d: %v, %v", arch, n, got, err)
			}
		}
	}
}

// The kernel keeps a bitmap of calls that are allowed whatever their arguments and skips the filter for them: all but
// a handful must qualify, and no answer may take long.
func TestProgramIsQuick(t *testing.T) {
	program, policy := compiled(t, profile.Profile{}, AMD64)
	var slow []string
	longest := 0
	for _, name := range syscalls(AMD64) {
		c, _ := find(name)
		got, steps, args, err := evaluate(program, data{int32(c.amd64), AMD64.token(), [6]uint64{}})
		if err != nil {
			t.Fatal(err)
		}
		if got == Allow && args {
			slow = append(slow, name)
		}
		longest = max(longest, steps)
	}
	want := names("chmod clone creat fchmod fchmodat fchmodat2 fcntl ioctl mknod mknodat open openat personality " +
		"seccomp unshare")
	if !slices.Equal(slow, want) {
		t.Errorf("allowed depending on arguments: %v, want %v", slow, want)
	}
	if longest > 90 || len(program) > 800 {
		t.Errorf("longest way %d instructions of %d", longest, len(program))
	}
	t.Logf("%d instructions, longest way %d; %d rules", len(program), longest, len(policy.rules))
}

// Every rule is needed: a program without it answers something else. So the comparison above would notice a rule that
// went missing on the way.
func TestEveryRuleCounts(t *testing.T) {
	for _, name := range []string{"none", "groups"} {
		whole := policyOf(t, everyKind(t)[name], Native())
		for i, r := range whole.rules {
			without := whole
			without.rules = slices.Delete(slices.Clone(whole.rules), i, i+1)
			bytes, _, err := assemble(without)
			if err != nil {
				t.Fatal(err)
			}
			program, err := decode(bytes)
			if err != nil {
				t.Fatal(err)
			}
			var args [6]uint64
			for _, test := range r.When {
				args[test.Arg] |= test.Value
			}
			noticed := r.Answer == ENOSYS // says what is said anyway, for the reader
			for _, call := range r.Calls {
				c, _ := find(call)
				n, has := Native().number(c)
				for _, a := range [][6]uint64{args, every(1<<64 - 1), every(0x2345678), every(0x2000)} {
					got, _, _, err := evaluate(program, data{int32(n), Native().token(), a})
					noticed = noticed || has && (err != nil || got != whole.Answer(call, a[:]...))
				}
			}
			if !noticed {
				t.Errorf("%s: nothing changes without %v of %v (%s)", name, r.Answer, r.Calls, r.Why)
			}
		}
	}
}

func every(v uint64) [6]uint64 { return [6]uint64{v, v, v, v, v, v} }
