package safelist

import (
	"testing"

	"sandboxd/shell/analysis"
)

// call reads one example, which must be one simple command.
func call(t *testing.T, line string) []analysis.Word {
	t.Helper()
	s := analysis.Line(line, analysis.Place{Cwd: "/p", Home: "/home/eve"})
	if len(s.Calls) == 0 {
		t.Fatalf("example %q: no command", line)
	}
	return s.Calls[0].Args
}

// R-SH-03: every entry's examples hold.
func TestExamples(t *testing.T) {
	index()
	for i := range entries {
		e := &entries[i]
		if len(e.Pass) == 0 || len(e.Refuse) == 0 {
			t.Errorf("entry %q: examples that pass and that do not are needed", e.Name)
		}
		if e.Manual == "" {
			t.Errorf("entry %q: no word on what it was reviewed against", e.Name)
		}
		for _, line := range e.Pass {
			if u, r := Match(call(t, line)); r != nil {
				t.Errorf("%s: %q is refused: %s", e.Name, line, r.Why)
			} else if u.Entry != e {
				t.Errorf("%s: %q is matched by %s", e.Name, line, u.Entry.Name)
			}
		}
		for _, line := range e.Refuse {
			if _, r := Match(call(t, line)); r == nil {
				t.Errorf("%s: %q passes", e.Name, line)
			}
		}
	}
}
