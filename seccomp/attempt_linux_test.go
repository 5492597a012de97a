//go:build cgo

package seccomp

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sandboxd/profile"
)

const everyBit = "0xffffffffffffffff"

// nativeLine is a line for attempt.c.
func nativeLine(t *testing.T, name string, args ...any) string {
	t.Helper()
	c, ok := find(name)
	n, has := Native().number(c)
	if !ok || !has {
		t.Fatalf("%s is no system call here", name)
	}
	return strings.TrimSpace(fmt.Sprintln(append([]any{"native", n}, args...)...))
}

// R-OS-06, acceptance 4. Every call that the policy refuses whatever its arguments is attempted, as root and as an
// ordinary user, and gets the answer of the policy. For EPERM the bare kernel answers root otherwise; ENOSYS is what a
// kernel without the call says too, and some kernels are.
func TestEveryDeniedCall(t *testing.T) {
	policy, _, err := For(profile.Profile{}, Native())
	if err != nil {
		t.Fatal(err)
	}
	var denied, lines []string
	for _, name := range syscalls(Native()) {
		bits := [6]uint64{0: 1<<64 - 1, 1: 1<<64 - 1, 2: 1<<64 - 1, 3: 1<<64 - 1, 4: 1<<64 - 1, 5: 1<<64 - 1}
		if policy.Answer(name, bits[:]...) == Allow {
			continue
		}
		denied = append(denied, name)
		lines = append(lines, nativeLine(t, name, everyBit, everyBit, everyBit, everyBit, everyBit, everyBit))
	}
	if len(denied) < 90 {
		t.Fatalf("only %d calls are denied", len(denied))
	}
	filter := filterOf(t, profile.NetNone)
	for _, uid := range users() {
		for i, answer := range attempts(t, filter, uid, lines) {
			if want := policy.Answer(denied[i], 1<<64-1, 1<<64-1, 1<<64-1, 1<<64-1, 1<<64-1,
				1<<64-1); answer != fmt.Sprintf("-1 %d", want) {
				t.Errorf("uid %d: %s answered %q, want %v", uid, denied[i], answer, want)
			}
		}
	}
	if os.Getuid() != 0 {
		return // an ordinary user gets many an EPERM from the kernel itself
	}
	for i, answer := range attempts(t, nil, 0, lines) {
		want := policy.Answer(denied[i], 1<<64-1, 1<<64-1, 1<<64-1, 1<<64-1, 1<<64-1, 1<<64-1)
		if want == EPERM && answer == "-1 1" {
			t.Errorf("%s: the bare kernel says %q too, so the test does not show the filter", denied[i], answer)
		}
	}
}

// An argument filter at work: the calls, and the filter's answers ("" lets a call through: the
// answer is the bare kernel's).
type argued struct {
	name   string
	args   []any
	answer Answer
}

func arguments(file string) []argued {
	const sig = 17 // SIGCHLD
	list := []argued{
		{"ioctl", []any{"tty", "0x5412", "/"}, EPERM},             // TIOCSTI
		{"ioctl", []any{"tty", "0x100005412", "/"}, EPERM},        // with bits nobody looks at
		{"ioctl", []any{"tty", "0xffffffff00005412", "/"}, EPERM}, // sign-extended
		{"ioctl", []any{"tty", "0x541C", "/"}, EPERM},             // TIOCLINUX
		{"ioctl", []any{"tty", "0x8000541C", "/"}, Allow},         // no command at all
		{"ioctl", []any{"tty", "0xdead0000541C", "/"}, EPERM},     //
		{"ioctl", []any{"tty", "0x541D"}, EPERM},                  // TIOCCONS
		{"ioctl", []any{"tty", "0x5423", "/"}, EPERM},             // TIOCSETD
		{"ioctl", []any{"tty", "0x5413", "/"}, Allow},             // TIOCGWINSZ
		{"fcntl", []any{"tty", "0x400", 1}, EPERM},                // F_SETLEASE, F_WRLCK
		{"fcntl", []any{"tty", "0x100000400", 0}, EPERM},          // F_SETLEASE, F_RDLCK, with bits nobody looks at
		{"fcntl", []any{"tty", "0x410", "/"}, EPERM},              // F_SETDELEG
		{"fcntl", []any{"tty", "0x401", 0}, Allow},                // F_GETLEASE
		{"fcntl", []any{"tty", "3", 0}, Allow},                    // F_GETFL
		{"chmod", []any{file, "0755"}, Allow},
		{"chmod", []any{file, "01777"}, Allow},
		{"chmod", []any{file, "04755"}, EPERM},
		{"chmod", []any{file, "02755"}, EPERM},
		{"fchmodat", []any{"0xffffffffffffff9c", file, "06755"}, EPERM},
		{"fchmodat", []any{"0xffffffffffffff9c", file, "0700"}, Allow},
		{"mknodat", []any{"0xffffffffffffff9c", file + ".fifo", "010600", 0}, Allow},
		{"mknodat", []any{"0xffffffffffffff9c", file + ".reg", "0100600", 0}, Allow},
		{"mknodat", []any{"0xffffffffffffff9c", file + ".null", "020600", 0x103}, EPERM},
		{"mknodat", []any{"0xffffffffffffff9c", file + ".whiteout", "020600", 0}, EPERM},
		{"mknodat", []any{"0xffffffffffffff9c", file + ".disk", "060600", 0x700}, EPERM},
		{"mknodat", []any{"0xffffffffffffff9c", file + ".setgid", "0102755", 0}, EPERM},
		{"mknodat", []any{"0xffffffffffffff9c", file + ".setuid", "04755", 0}, EPERM},
		{"openat", []any{"0xffffffffffffff9c", file + ".new", "0101", "02755"}, EPERM},
		{"openat", []any{"0xffffffffffffff9c", filepath.Dir(file), "020200001", "04755"}, EPERM}, // O_TMPFILE
		{"openat", []any{"0xffffffffffffff9c", file, "1", "06755"}, Allow},
		{"creat", []any{file + ".new", "02755"}, EPERM},
		{"open", []any{file + ".new", "0101", "02755"}, EPERM},
		{"personality", []any{"0xffffffff"}, Allow},
		{"personality", []any{"0x40000"}, Allow},
		{"personality", []any{"0x400000"}, EPERM}, // READ_IMPLIES_EXEC
		{"personality", []any{"0x100000"}, EPERM}, // MMAP_PAGE_ZERO
		{"unshare", []any{"0x600"}, Allow},        // CLONE_FS | CLONE_FILES
		{"unshare", []any{"0x80"}, EPERM},         // CLONE_NEWTIME
		{"seccomp", []any{1, 8, 0}, EPERM},        // SECCOMP_FILTER_FLAG_NEW_LISTENER
		{"seccomp", []any{1, 0, 0}, Allow},
		{"socketpair", []any{2, 1, 0, "/"}, EAFNOSUPPORT},
	}
	for _, f := range []uint{17, 25, 26, 27, 28, 29, 30} { // CLONE_NEWNS, CGROUP, UTS, IPC, USER, PID, NET
		list = append(list,
			argued{"clone", []any{uint64(1)<<f | sig, 0, 0, 0, 0}, EPERM},
			argued{"clone", []any{0xbad<<32 | uint64(1)<<f | sig, 0, 0, 0, 0}, EPERM},
			argued{"unshare", []any{uint64(1) << f}, EPERM})
	}
	return list
}

// R-OS-06, acceptance 4. Calls that are let in or not by what they say, TIOCSTI and namespaces among them.
func TestArguments(t *testing.T) {
	for _, uid := range users() {
		dir := newCage(t, nil, uid).dir
		file := filepath.Join(dir, "f")
		if err := os.WriteFile(file, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(file, uid, -1); err != nil {
			t.Fatal(err)
		}
		var list []argued
		var lines []string
		for _, a := range arguments(file) {
			if c, _ := find(a.name); Native() == ARM64 && c.arm64 < 0 {
				continue
			}
			list, lines = append(list, a), append(lines, nativeLine(t, a.name, a.args...))
		}
		check(t, uid, list, lines, attempts(t, filterOf(t, profile.NetNone), uid, lines))
		if uid != 0 {
			continue
		}
		for i, answer := range attempts(t, nil, 0, lines) { // bare: without a filter
			if refused := fmt.Sprintf("-1 %d", list[i].answer); list[i].answer != Allow && answer == refused {
				t.Errorf("%s%v: the bare kernel says %q too, so the test does not show the filter", list[i].name, list[i].args,
					answer)
			}
		}
	}
}

func check(t *testing.T, uid int, list []argued, lines, answers []string) {
	t.Helper()
	for i, answer := range answers {
		want := fmt.Sprintf("-1 %d", list[i].answer)
		if list[i].answer != Allow && answer != want {
			t.Errorf("uid %d: %s%v answered %q, want %v", uid, list[i].name, list[i].args, answer, list[i].answer)
		}
		if list[i].answer == Allow && (answer == "-1 1" || answer == "-1 38" || strings.HasPrefix(answer, "signal")) {
			t.Errorf("uid %d: %s%v answered %q, want it let through", uid, list[i].name, list[i].args, answer)
		}
	}
}

// Families, types and protocols, by network mode: es-068 of the escape catalogue and multipath TCP.
func TestSockets(t *testing.T) {
	type socket struct{ family, kind, protocol int }
	unix, route, tcp4, udp6 := socket{1, 1, 0}, socket{16, 3, 0}, socket{2, 1 | 0x80800, 6}, socket{10, 2, 0}
	raw, packet, mptcp, sctp := socket{2, 3, 1}, socket{17, 3, 0}, socket{10, 1, 262}, socket{2, 1, 132}
	ping, vsock, alg, audit := socket{2, 2, 1}, socket{40, 1, 0}, socket{38, 5, 0}, socket{16, 3, 9}
	raw6, old, high := socket{10, 3, 58}, socket{2, 10, 0x300}, socket{5 << 32, 1, 0}
	for mode, want := range map[profile.NetMode]map[socket]Answer{
		profile.NetNone: {unix: Allow, route: Allow, tcp4: EPERM, udp6: EPERM, raw: EPERM, packet: EAFNOSUPPORT, mptcp: EPERM,
			vsock: EAFNOSUPPORT, alg: EAFNOSUPPORT, audit: EAFNOSUPPORT, high: EAFNOSUPPORT},
		profile.NetLoopback: {unix: Allow, route: Allow, tcp4: Allow, udp6: Allow, raw: EPERM, raw6: EPERM, old: EPERM,
			packet: EAFNOSUPPORT, mptcp: EPROTONOSUPPORT, sctp: EAFNOSUPPORT, ping: EAFNOSUPPORT, vsock: EAFNOSUPPORT},
		profile.NetAllowlist: {tcp4: Allow, udp6: Allow, raw: EPERM, mptcp: EPROTONOSUPPORT, ping: EAFNOSUPPORT},
		profile.NetFull:      {tcp4: Allow, udp6: Allow, raw: EPERM, mptcp: EPROTONOSUPPORT, packet: EAFNOSUPPORT},
	} {
		var list []argued
		var lines []string
		for s, answer := range want {
			a := argued{"socket", []any{s.family, s.kind, s.protocol}, answer}
			list, lines = append(list, a), append(lines, nativeLine(t, "socket", a.args...))
		}
		for family := range 46 { // also with bits that the kernel does not look at
			a := argued{"socket", []any{family | 1<<33, 2, 0}, EAFNOSUPPORT}
			if family == 1 || family == 16 || (family == 2 || family == 10) && mode != profile.NetNone {
				a.answer = Allow
			} else if family == 2 || family == 10 {
				a.answer = EPERM
			}
			list, lines = append(list, a), append(lines, nativeLine(t, "socket", a.args...))
		}
		for _, uid := range users() {
			check(t, uid, list, lines, attempts(t, filterOf(t, mode), uid, lines))
		}
	}
}
