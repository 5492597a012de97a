package main

import (
	"os"
	"path/filepath"
	"testing"

	"sandboxd/cmd/sbx/internal/term/termtest"
)

// R-UX-07: the walk of docs/walk.sh, as a person takes
// it: run, deny, allow for the session, see why a path is refused, permit it, undo
// a file edit, find it all in the log.
func TestWalk(t *testing.T) {
	t.Parallel()
	script, err := filepath.Abs("../../docs/walk.sh")
	if err != nil {
		t.Fatal(err)
	}
	env := []string{"SBX_BIN=" + build(t), "PATH=" + os.Getenv("PATH")}
	d := &approverSocket{Tmux: termtest.OpenTmux(t, 100, 160, env, script), t: t}
	d.steps(
		"?press n, then Enter", "?echo hi > notes.md  ", "?s old", "+", "n", "?> 4. Deny:", "Enter", "?exit status 126",
		"?press s, then Enter", "?(?s)Allow for this session.*s old", "+", "s", "?> 2. Allow for this session", "Enter",
		"?Approved for session", "?(?s)5\\. A file outside.*s old", "+", "y", "?(?s)5\\. A file outside.*> 1\\. Once, with",
		"Enter", "?(?s)5\\. A file.*^42$", "?(?s)For other commands.*an empty place of their own.*to show it: \\[sandbox\\] "+
			"read = ",
		"?(?s)6\\. Permit it.*cat [^\n]*answer.txt\n.*^42$",
		"?(?s)7\\. Edit a file.*^bye$.*\\+hi.*s old", "+", "y", "?(?s)7\\. Edit.*> 1\\. Allow once", "Enter",
		"?(?s)7\\. Edit.*cat notes.md\n.*^bye$.*cat notes.md\n.*^hi$", "?(?s)8\\. All of it.*denied +echo hi > notes.md",
		"?(?s)8\\. All of it.*approved +echo hi > notes.md.*scope session", "?(?s)8\\. All of it.*edit.*notes.md",
		"?(?s)log verify.*(good|intact|verifies|holds|ok|records)",
	)
	if got := d.Status(); got != 0 {
		t.Errorf("exit status %d\n%s", got, d.Screen())
	}
}
