package config

import (
	"strings"
	"testing"
)

// The error of a file that can't be written named a temporary one.
func TestWriteBackNamesTheFile(t *testing.T) {
	dir := t.TempDir()
	err := writeBack(dir, "x")
	if err == nil || !strings.HasPrefix(err.Error(), dir+" can't be written, and nothing was changed: ") ||
		strings.Count(err.Error(), "/") != strings.Count(dir, "/") {
		t.Error(err)
	}
}
