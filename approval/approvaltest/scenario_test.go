package approvaltest

import (
	"context"
	"testing"
	"testing/synctest"
)

// TestScenarios plays the walks through the five source specifications
// against a Controller (acceptance 6; the harness of the daemon plays the same
// through its socket). R-AP-04, R-AP-05, R-AP-07, R-AP-08, R-AP-10, R-AP-12,
// R-AP-13, R-AP-14, R-AP-17, R-AP-18, R-AP-19, R-AP-24.
func TestScenarios(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range Scenarios() {
		name := s.Seed + "/" + s.Name
		if seen[name] {
			t.Fatalf("two scenarios are called %q", name)
		}
		seen[name] = true
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sys, err := NewSystem(s.Config, synctest.Wait)
				if err != nil {
					t.Fatal(err)
				}
				if err := Play(t.Context(), sys, s); err != nil {
					t.Error(err)
				}
				if err := sys.Controller.Close(context.Background()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestPlayNotices makes sure that a scenario that comes out otherwise fails.
func TestPlayNotices(t *testing.T) {
	for _, s := range []Scenario{
		{Name: "approved instead of asking", Steps: steps(made("", safe("x", "ls"), asks("x")))},
		{Name: "asking instead of approved", Steps: steps(made("", bash("x", "make"), runs("x", auto, "")))},
		{Name: "another reason", Steps: steps(made("", safe("x", "ls"), runs("x", auto, "grant")))},
		{Name: "another text", Steps: steps(made("", bash("x", "make")),
			said("", no("x", "a", soft), refused("x", "", "zebra")))},
		{Name: "no error", Steps: steps(made("", bash("x", "make")),
			said("", Answer{To: "x", Verb: "allow", WantError: "no"}))},
	} {
		synctest.Test(t, func(t *testing.T) {
			sys, err := NewSystem("", synctest.Wait)
			if err != nil {
				t.Fatal(err)
			}
			if err := Play(t.Context(), sys, s); err == nil {
				t.Errorf("%s: not noticed", s.Name)
			}
			if err := sys.Controller.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
}
