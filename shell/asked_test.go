package shell_test

import (
	"testing"

	"sandboxd/shell"
)

// R-SH-07: a command of the safe list that asks because of a rule, a permission, or
// with the list switched off, warns of what it reads as it would otherwise: only
// what the list would have let run is a low risk.
func TestAskedReads(t *testing.T) {
	no := false
	cat, err := shell.ParsePermission("Bash(cat *)")
	if err != nil {
		t.Fatal(err)
	}
	for name, config := range map[string]shell.Config{
		"switched off":    {AutoSafe: &no},
		"by a permission": {Permissions: shell.Permissions{Ask: []shell.Permission{cat}}},
	} {
		tool := newTool(t, config)
		for line, want := range map[string]struct {
			risk    shell.Risk
			outside bool
		}{
			"cat README":            {shell.RiskLow, false},
			"cat ../other/README":   {shell.RiskNormal, true},
			"cat /home/eve/.ssh/id": {shell.RiskHigh, true},
		} {
			if name == "by a permission" {
				want.risk = max(want.risk, shell.RiskNormal) // somebody wanted to be asked
			}
			v := judgePlain(tool, shell.Command{Line: line, Cwd: "/src/app", Project: "/src/app", Home: "/home/eve"})
			if v.Decision != shell.Ask || v.Risk != want.risk || v.Outside != want.outside {
				t.Errorf("%s, %q: %s, risk %s, outside %t: %s", name, line, v.Decision, v.Risk, v.Outside, v.Why)
			}
		}
	}
}
