package audit_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"sandboxd/audit"
)

// A record is on the disk when Append returns, and Verify finds a changed one.
func Example() {
	dir, err := os.MkdirTemp("", "audit-example-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	log, err := audit.Open(dir, audit.Options{})
	if err != nil {
		panic(err)
	}
	for _, decision := range []string{"approved", "denied"} {
		if err := log.Append(audit.Record{Category: audit.Decision, Tool: "bash", Decision: decision}); err != nil {
			panic(err) // and the action is not performed
		}
	}
	if err := log.Close(); err != nil {
		panic(err)
	}
	_, err = audit.Verify(dir)
	fmt.Println("as written:", err)

	name := filepath.Join(dir, "00000001.jsonl")
	lines, err := os.ReadFile(name)
	if err != nil {
		panic(err)
	}
	if err := os.WriteFile(name, bytes.Replace(lines, []byte("denied"), []byte("asked!"), 1), 0o600); err != nil {
		panic(err)
	}
	_, err = audit.Verify(dir)
	var bad *audit.BadRecord
	fmt.Println("changed:", errors.As(err, &bad), "record", bad.Seq)
	// Output:
	// as written: <nil>
	// changed: true record 3
}
