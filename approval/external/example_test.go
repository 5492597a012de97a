package external_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"sandboxd/approval"
	"sandboxd/approval/external"
)

// An operator's program, here a shell script, forbids what it does not like.
func ExampleProgram() {
	dir, err := os.MkdirTemp("", "rules")
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir) // of a program only the real path is taken
	}
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "policy")
	script := `#!/bin/sh
case "$(cat)" in
*curl*) echo '{"decision":"block","reason":"use the mirror instead of curl"}' ;;
*)      echo '{"decision":"none"}' ;;
esac
`
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		panic(err)
	}
	c, err := approval.New(approval.Options{Rules: []approval.Rule{&external.Program{Path: path}}})
	if err != nil {
		panic(err)
	}
	defer c.Close(context.Background())
	for _, line := range []string{"ls", "curl example.org"} {
		d, err := c.Preview(context.Background(), approval.Call{Session: "s", Tool: "bash", Class: approval.Class{Safe: true},
			Request: approval.SimpleRequest("bash", map[string]any{"command": line})})
		if err != nil {
			panic(err)
		}
		fmt.Printf("%s: %s: %s\n", line, d.Outcome, d.Why)
	}
	// Output:
	// ls: approved: it is on the safe list
	// curl example.org: denied: use the mirror instead of curl
}
