//go:build !linux

package seccomp

import (
	"fmt"
	"runtime"
)

func load([]byte, []Option) error {
	return fmt.Errorf("seccomp load: %s has no seccomp", runtime.GOOS)
}
