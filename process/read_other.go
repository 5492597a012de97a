//go:build !linux

package process

import "os"

// ReadFile reads a file whole.
func ReadFile(path string) ([]byte, error) { return os.ReadFile(path) }
