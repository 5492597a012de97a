package filestest

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"sandboxd/files/internal/fault"
)

const faultVar = "SANDBOXD_FILES_TEST_FAULT"

// The process that dies at a fault.
const (
	Self   = "self"
	Parent = "parent" // while this process continues
	Both   = "both"
)

// Fault describes a death for Options.Fault, or the environment of a process
// that plays a part: at the given occurrence of a point, from 1. The file marker
// appears first, so that it is known that the point was reached.
func Fault(point string, occurrence int, who, marker string) string {
	return fmt.Sprintf("%s|%d|%s|%s", point, occurrence, who, marker)
}

// FaultEnv is the environment variable that arms a process.
func FaultEnv(f string) string { return faultVar + "=" + f }

// Points runs f and returns the points that were reached, in order, with their
// occurrence.
func Points(f func()) []string {
	var mu sync.Mutex
	var out []string // guarded by mu: worker and daemon pass points
	fault.Set(func(p string) {
		mu.Lock()
		defer mu.Unlock()
		out = append(out, p)
	})
	f()
	fault.Set(nil)
	mu.Lock()
	defer mu.Unlock()
	return out
}

// armFault sets this process up to die where its environment says.
func armFault() {
	spec := os.Getenv(faultVar)
	if spec == "" {
		return
	}
	parts := strings.SplitN(spec, "|", 4)
	occurrence, err := strconv.Atoi(parts[1])
	if err != nil {
		panic(err)
	}
	var seen atomic.Int64
	fault.Set(func(p string) {
		if p != parts[0] || seen.Add(1) != int64(occurrence) {
			return
		}
		if err := os.WriteFile(parts[3], nil, 0o600); err != nil {
			panic(err)
		}
		if parts[2] != Self {
			_ = unix.Kill(os.Getppid(), unix.SIGKILL)
		}
		if parts[2] != Parent {
			_ = unix.Kill(os.Getpid(), unix.SIGKILL)
		}
	})
}
