package approval_test

import (
	"slices"
	"testing"

	"sandboxd/approval"
)

// R-LY-05: a yes may be for some of the paths that the question has, and for no other; an answer that says otherwise
// changes nothing, and its repetition is the same answer.
func TestPaths(t *testing.T) {
	bubble(t, approval.Options{}, func(t *testing.T, c *approval.Controller) {
		call := asking("s")
		call.Paths = []string{"src/a", "src/b", "made"}
		result := start(t.Context(), c, call)
		p := only(t, c)
		for name, change := range map[string]func(*approval.Answer){
			"another path":       func(a *approval.Answer) { a.Paths = []string{"src/a", "other"} },
			"below one":          func(a *approval.Answer) { a.Paths = []string{"made/x"} },
			"a part of a name":   func(a *approval.Answer) { a.Paths = []string{"sr"} },
			"nothing":            func(a *approval.Answer) { a.Paths = []string{""} },
			"for the session":    func(a *approval.Answer) { a.Paths, a.Scope = []string{"made"}, approval.ScopeSession },
			"a no":               func(a *approval.Answer) { a.Paths, a.Verb = []string{"made"}, approval.VerbDeny },
			"all of a batch":     func(a *approval.Answer) { a.Paths, a.Verb = []string{"made"}, approval.VerbAllowAll },
			"the agent's client": func(a *approval.Answer) { a.Paths, a.By.Via = []string{"made"}, approval.ViaClient },
		} {
			a := p.Allow(alice)
			change(&a)
			if r, err := c.Answer(t.Context(), p.ID, a); err == nil || r.Decided {
				t.Errorf("%s: %+v, %v", name, r, err)
			}
		}
		a := p.Allow(alice)
		a.Paths = []string{"src", "made"}
		if _, err := c.Answer(t.Context(), p.ID, a); err != nil {
			t.Fatal(err)
		}
		if d := <-result; !d.Approved || !slices.Equal(d.Paths, a.Paths) {
			t.Errorf("%+v", d)
		}
		if r, err := c.Answer(t.Context(), p.ID, a); err != nil || !r.Decided {
			t.Errorf("again: %+v, %v", r, err)
		}
		a.Paths = []string{"src"}
		if _, err := c.Answer(t.Context(), p.ID, a); err == nil {
			t.Error("another part passes for the same answer")
		}
	})
}
