package paths

import (
	"strings"
	"testing"
)

// A hook's failures are refusals, nobody else's are. R-UX-06
func TestExitOwn(t *testing.T) {
	for line, want := range map[string]int{
		"": 125, "run -- hook claude": 125, "hook install claude --user": 125, "--socket-dir hook status": 125,
		"run -c hook": 125, "hook claude": 2, "hook": 2, "hook elsewhere": 2, "--socket-dir /s hook codex --mode decide": 2,
		"--config=c --new-flag hook claude more": 2,
	} {
		if got := ExitOwn(strings.Fields(line)); got != want {
			t.Errorf("%q: %d, want %d", line, got, want)
		}
	}
}
