//go:build !linux

package seccomptest

import (
	"fmt"
	"runtime"
)

func install([]byte, uintptr) (int, error) {
	return -1, fmt.Errorf("seccomp load: %s has no seccomp", runtime.GOOS)
}
