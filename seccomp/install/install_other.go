//go:build !linux

package install

import (
	"fmt"
	"runtime"
)

func install([]byte, uintptr) (int, error) {
	return -1, fmt.Errorf("seccomp load: %s has no seccomp", runtime.GOOS)
}
