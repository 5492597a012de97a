//go:build cgo

package seccomp

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"sandboxd/profile"
)

// R-OS-06, acceptance 4, es-064 to es-066. Every number through int $0x80 and with x32's bit ends the process with
// SIGSYS, and it is the filter that does it: without one the same door answers, x32's with ENOSYS where the kernel was
// built without it.
func TestForeignCalls(t *testing.T) {
	var lines []string
	for n := range 480 {
		lines = append(lines, fmt.Sprintf("i386 %d %s %s %s", n, everyBit, everyBit, everyBit), fmt.Sprintf("x32 %d", n))
	}
	killed := fmt.Sprintf("signal %d", syscall.SIGSYS)
	for _, uid := range users() {
		for i, answer := range attempts(t, filterOf(t, profile.NetFull, profile.SyscallGroups()...), uid, lines) {
			if answer != killed {
				t.Errorf("uid %d: %q answered %q, want %q", uid, lines[i], answer, killed)
			}
		}
		bare := attempts(t, nil, uid, []string{"i386 20", "i386 359 1 1 0", "x32 39", "x32 41 1 1 0"})
		for i, answer := range bare {
			if strings.HasPrefix(answer, "signal") {
				t.Errorf("uid %d: bare attempt %d ended by %s: the kernel closes this door itself, so the test shows nothing", uid,
					i, answer)
			}
		}
		for i, ok := range []bool{strings.HasSuffix(bare[0], " 0"), strings.HasSuffix(bare[1], " 0")} {
			if !ok {
				t.Errorf("uid %d: bare int $0x80 attempt %d answered %q: no IA32 emulation?", uid, i, bare[i])
			}
		}
	}
}
