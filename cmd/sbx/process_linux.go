package main

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// notDumpable keeps other processes of the same user from tracing the one that
// answers for a person and putting a yes into its mouth (R-OP-06; prctl(2), PR_SET_DUMPABLE).
func notDumpable() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("become undumpable: %w", err)
	}
	return nil
}
