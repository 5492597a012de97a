package ipc_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain lets the test binary play its own peers, and fails when a test
// leaves a goroutine behind.
func TestMain(m *testing.M) {
	if act := os.Getenv("IPC_TEST_ACT"); act != "" {
		os.Exit(play(act))
	}
	goleak.VerifyTestMain(m)
}
