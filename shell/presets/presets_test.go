package presets

import (
	"testing"

	"sandboxd/shell/analysis"
)

// R-UX-08: every rule's examples hold.
func TestExamples(t *testing.T) {
	for _, p := range All() {
		for _, r := range p.Rules {
			if len(r.Pass) == 0 || len(r.Refuse) == 0 || r.Why == "" {
				t.Errorf("preset %s, %q: it needs a word on why, examples that pass and examples that do not", p.Name, r.Pattern)
			}
			for _, line := range r.Pass {
				if !r.match(first(t, line)) {
					t.Errorf("preset %s, %q does not match %q", p.Name, r.Pattern, line)
				}
			}
			for _, line := range r.Refuse {
				if got, ok := p.Match(first(t, line)); ok && len(analysis.Line(line, analysis.Place{}).Calls) == 1 {
					t.Errorf("preset %s: %q matches %q", p.Name, got.Pattern, line)
				}
			}
		}
	}
}

func first(t *testing.T, line string) []analysis.Word {
	t.Helper()
	s := analysis.Line(line, analysis.Place{Cwd: "/p"})
	if len(s.Calls) == 0 {
		t.Fatalf("example %q: no command", line)
	}
	return s.Calls[0].Args
}

func TestLookup(t *testing.T) {
	if _, err := Lookup("go"); err != nil {
		t.Error(err)
	}
	if _, err := Lookup("gone"); err == nil {
		t.Error("an unknown preset was found")
	}
}
