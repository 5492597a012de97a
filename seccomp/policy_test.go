package seccomp

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sandboxd/profile"
)

var update = flag.Bool("update", false, "rewrite the golden files of the policy")

// everyKind is one profile for each thing that changes the policy.
func everyKind(t testing.TB) map[string]profile.Profile {
	t.Helper()
	kinds := map[string]profile.Profile{}
	for name, spec := range map[string]profile.Spec{
		"none":      {},
		"loopback":  {Network: profile.Network{Mode: profile.NetLoopback}},
		"allowlist": {Network: profile.Network{Mode: profile.NetAllowlist, Hosts: []profile.HostPort{{Host: "example.org"}}}},
		"full":      {Network: profile.Network{Mode: profile.NetFull}},
		"debug":     {Syscalls: []profile.SyscallGroup{profile.SyscallsDebug}},
		"groups":    {Network: profile.Network{Mode: profile.NetFull}, Syscalls: profile.SyscallGroups()},
	} {
		p, err := profile.New(spec)
		if err != nil {
			t.Fatal(err)
		}
		kinds[name] = p
	}
	return kinds
}

func policyOf(t testing.TB, p profile.Profile, arch Arch, missing ...Wall) Policy {
	t.Helper()
	policy, _, err := For(p, arch, missing...)
	if err != nil {
		t.Fatal(err)
	}
	return policy
}

// Nothing is answered by accident: every call of the table is in a rule, and every name in a rule
// is a call.
func TestEveryCallHasItsAnswer(t *testing.T) {
	named := map[string]bool{}
	for _, r := range policyOf(t, everyKind(t)["groups"], AMD64).rules {
		for _, name := range r.Calls {
			if _, ok := find(name); !ok {
				t.Errorf("a rule names %q, which is no call", name)
			}
			named[name] = true
		}
	}
	if !slices.IsSortedFunc(calls[:], func(a, b call) int { return strings.Compare(a.name, b.name) }) {
		t.Error("the table of calls is not sorted")
	}
	for _, c := range calls {
		if !named[c.name] {
			t.Errorf("no rule names %q", c.name)
		}
	}
}

// The zero profile's policy for each architecture, whole; for every other kind of profile, the lines in which it
// differs.
func TestGolden(t *testing.T) {
	for _, arch := range []Arch{AMD64, ARM64} {
		golden(t, fmt.Sprintf("policy-%v.golden", arch), policyOf(t, profile.Profile{}, arch).String())
	}
	bare := policyOf(t, profile.Profile{}, AMD64)
	kinds := everyKind(t)
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		golden(t, "policy-"+name+".golden", difference(bare, policyOf(t, kinds[name], AMD64)))
		golden(t, "policy-"+name+"-shared.golden", difference(bare, policyOf(t, kinds[name], AMD64, IPC, Net, PID)))
	}
}

func difference(from, to Policy) string {
	a, b := strings.Split(from.String(), "\n"), strings.Split(to.String(), "\n")
	var out strings.Builder
	for _, line := range a {
		if !slices.Contains(b, line) {
			fmt.Fprintf(&out, "- %s\n", line)
		}
	}
	for _, line := range b {
		if !slices.Contains(a, line) {
			fmt.Fprintf(&out, "+ %s\n", line)
		}
	}
	return out.String()
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != got {
		t.Errorf("%s: the policy changed; look at it, then run go test -update\n%s", name, got)
	}
}

// Rules do not depend on who is asked first: at most one refusal of a stage answers, or all answer the same.
func TestRefusalsAgree(t *testing.T) {
	for name, p := range everyKind(t) {
		policy := policyOf(t, p, AMD64)
		for _, call := range syscalls(AMD64) {
			answers := map[Answer]bool{}
			for _, r := range policy.rules {
				if stages[2].holds(r) && slices.Contains(r.Calls, call) {
					answers[r.Answer] = true
				}
			}
			if len(answers) > 1 {
				t.Errorf("%s: %s has the answers %v", name, call, answers)
			}
		}
	}
}

func TestGroupsNeedTheirWall(t *testing.T) {
	p := everyKind(t)["debug"]
	if got := policyOf(t, p, AMD64).Answer("ptrace"); got != Allow {
		t.Errorf("ptrace with its group: %v", got)
	}
	policy, gaps, err := For(p, AMD64, PID)
	if err != nil {
		t.Fatal(err)
	}
	if got := policy.Answer("ptrace"); got != EPERM || len(gaps) != 1 || gaps[0].Object != "debug" {
		t.Errorf("ptrace without a process namespace: %v, %v", got, gaps)
	}
	host, err := profile.New(profile.Spec{Syscalls: p.Syscalls(), Processes: profile.ProcessesHost})
	if err != nil {
		t.Fatal(err)
	}
	if got := policyOf(t, host, AMD64).Answer("ptrace"); got != EPERM {
		t.Errorf("ptrace with the host's processes in sight: %v", got)
	}
	for _, g := range profile.SyscallGroups() {
		if _, ok := groups[g]; !ok {
			t.Errorf("profiles may name the group %q, and there is no rule for it", g)
		}
	}
}

// Leases are for the daemon's own workers: no profile has them that grants every group which documents can.
func TestLeases(t *testing.T) {
	leases := profile.Profile{}.WithLeases()
	for want, p := range map[Answer]profile.Profile{Allow: leases, EPERM: profile.Everything()} {
		if got := policyOf(t, p, AMD64, PID).Answer("fcntl", 3, 0x400); got != want {
			t.Errorf("F_SETLEASE: %v instead of %v", got, want)
		}
	}
	if got := policyOf(t, leases, AMD64).Answer("fcntl", 3, 0x410); got != EPERM {
		t.Errorf("F_SETDELEG with leases: %v", got)
	}
}

func TestNoTable(t *testing.T) {
	if _, _, err := For(profile.Profile{}, 0); err == nil {
		t.Error("a policy for no architecture")
	}
}

// The numbers are those that golang.org/x/sys generates from the kernel's headers.
func TestNumbers(t *testing.T) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "golang.org/x/sys").Output()
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^\s+SYS_(\w+)\s+=\s+(\d+)$`)
	for _, arch := range []Arch{AMD64, ARM64} {
		text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "unix", "zsysnum_linux_"+arch.String()+".go"))
		if err != nil {
			t.Fatal(err)
		}
		theirs := map[string]int{}
		for _, m := range line.FindAllStringSubmatch(string(text), -1) {
			theirs[strings.ToLower(m[1])], _ = strconv.Atoi(m[2])
		}
		delete(theirs, "arch_specific_syscall") // a mark, not a call
		for _, c := range calls {
			n, ok := arch.number(c)
			if want, has := theirs[c.name]; has != ok || ok && n != want {
				t.Errorf("%v %s: %d, %v; the kernel says %d, %v", arch, c.name, n, ok, want, has)
			}
			delete(theirs, c.name)
		}
		for name := range theirs {
			t.Errorf("%v %s: not in the table", arch, name)
		}
	}
}
