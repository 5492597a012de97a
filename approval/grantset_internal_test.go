package approval

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// The lookup by first word finds the same grants as a scan of all grants. R-AP-05
func TestLookupFindsWhatMatches(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	word := func() string { return []string{"git", "go", "ls", ""}[r.IntN(4)] }
	words := func() []string {
		var list []string
		for range r.IntN(3) {
			list = append(list, word())
		}
		return list
	}
	value := func() any {
		switch r.IntN(6) {
		case 0:
			return word()
		case 1:
			return words()
		case 2:
			return [][]string{words(), words()}
		case 3:
			list := []any{}
			for _, w := range words() {
				list = append(list, w)
			}
			return list
		case 4:
			return []any{[]any{word()}, []any{word(), word()}}
		}
		return []any{[]any{word()}, word(), 1}
	}
	found := 0
	for i := range 20000 {
		g := &Grant{ID: fmt.Sprint(i), Effect: Allow, Scope: ScopeGlobal,
			Match: Pattern{Tool: "bash", Free: []string{"argv", "asks"}}}
		for range 1 + r.IntN(2) {
			key := []string{"argv", "asks"}[r.IntN(2)]
			if r.IntN(3) == 0 {
				g.Match.Where = append(g.Match.Where, Equal(key, value()))
			} else {
				g.Match.Where = append(g.Match.Where, Prefix(key, append(words(), word())...))
			}
		}
		var set grantSet
		set.add(g)
		call := &Call{Tool: "bash", Payload: map[string]any{"argv": value(), "asks": value()}}
		l := lookup{call: call, now: time.Unix(1, 0)}
		l.in(&set)
		want := g.Match.Matches("bash", call.Payload)
		if got := l.best != nil; got != want {
			t.Fatalf("%v and %v: found %v, matches %v", g.Match, call.Payload, got, want)
		}
		if want {
			found++
		}
	}
	if found < 100 {
		t.Errorf("only %d grants matched", found)
	}
}
