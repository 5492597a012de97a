package differential

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"sandboxd/profile"
)

// profiles is how many profiles are tried for each way.
func profiles(t testing.TB) int {
	if text := os.Getenv("DIFFERENTIAL_PROFILES"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("DIFFERENTIAL_PROFILES=%q: %v", text, err)
		}
		return n
	}
	if testing.Short() {
		return 20
	}
	return 80
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// system is what any program needs to start.
func system() []profile.Rule {
	var rules []profile.Rule
	for _, dir := range profile.SystemTrees() {
		rules = append(rules, profile.Rule{Kind: profile.Allow, Access: profile.Read | profile.Exec, Path: dir})
	}
	return append(rules,
		profile.Rule{Kind: profile.Private, Path: "/proc"},
		profile.Rule{Kind: profile.Private, Path: "/dev/pts"},
		profile.Rule{Kind: profile.Allow, Access: profile.Read | profile.Write, Path: "/dev/null"},
		profile.Rule{Kind: profile.Hide, Path: "/etc/shadow"},
	)
}

func newProfile(t testing.TB, rules ...profile.Rule) profile.Profile {
	t.Helper()
	p, err := profile.New(profile.Spec{Rules: append(system(), rules...)})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A tally counts what came out of the comparisons.
type tally struct {
	mu               sync.Mutex
	worlds           int
	probes, passed   int
	stricter, unheld int
	violations       []string
	unexplained      []string
	reasons          map[string]int
}

func (y *tally) String() string {
	return fmt.Sprintf("%d profiles, %d probes, %d %% allowed, %d stricter for a reason, %d in a reported gap, %d "+
		"violations, %d unexplained",
		y.worlds, y.probes, 100*y.passed/max(1, y.probes), y.stricter, y.unheld, len(y.violations), len(y.unexplained))
}

// compare tries the world's probes under b and tallies them.
func (y *tally) compare(t testing.TB, w *world, p profile.Profile, b built) {
	probes := w.probes()
	below := map[string][]string{}
	for _, pr := range probes {
		if strings.HasPrefix(pr.Do, "rename") {
			below[pr.Path] = slices.DeleteFunc(w.below(pr.Path), func(rel string) bool { return !b.shows(pr.Path + "/" + rel) })
		}
	}
	before := w.snapshot(t)
	outcomes := b.run(t, probes)
	after := w.snapshot(t)
	y.mu.Lock()
	defer y.mu.Unlock()
	y.worlds++
	excused := map[string]bool{}
	for i, pr := range probes {
		y.probes++
		v, private := oracle(p, pr, below[pr.Path])
		o := outcomes[i]
		if o.ok() {
			y.passed++
		}
		switch {
		case o.ok() && (!v.Allowed || v.Private && !b.mount): // without mounts, private is the host's
			if gap := b.unheld(p, pr, before); gap != "" {
				y.count("gap: " + gapName(gap))
				y.unheld++
				for _, at := range pr.paths() {
					excused[at] = true
				}
				continue
			}
			y.violations = append(y.violations, fmt.Sprintf("%s got through: %s\n%s", pr, v.Why, w.describe(p, b, pr)))
		case o.ok() && v.Private && strings.HasPrefix(o.Content, canary):
			y.violations = append(y.violations, fmt.Sprintf("%s read the host's file: %s\n%s", pr, v.Why, w.describe(p, b, pr)))
		case !o.ok() && v.Allowed:
			if why := b.stricter(p, pr, o, private); why != "" {
				y.stricter++
				y.count("stricter: " + gapName(why))
				continue
			}
			y.unexplained = append(y.unexplained, fmt.Sprintf("%s: %v (%d), but %s\n%s", pr, o.Errno, o.Errno, v.Why,
				w.describe(p, b, pr)))
		}
	}
	y.changes(p, w, before, after, excused, b)
}

func gapName(s string) string {
	if i := strings.IndexByte(s, '"'); i >= 0 {
		return s[:i]
	}
	return s
}

func (y *tally) count(reason string) {
	if y.reasons == nil {
		y.reasons = map[string]int{}
	}
	y.reasons[reason]++
}

// changes holds the tree itself against the oracle, whatever the probes
// reported: every difference must be one that the profile lets happen.
func (y *tally) changes(p profile.Profile, w *world, before, after map[string]string, excused map[string]bool,
	b built) {
	for at := range maps.Keys(union(before, after)) {
		was, is := before[at], after[at]
		op := profile.OpWrite
		switch {
		case was == is:
			continue
		case was == "":
			op = profile.OpCreate
		case is == "":
			op = profile.OpRemove
		}
		v := p.Allows(op, at)
		if (!v.Allowed || v.Private) && !excused[at] && b.unheld(p, probe{Do: "create", Path: at}, before) == "" {
			y.violations = append(y.violations, fmt.Sprintf("the host's %q changed from %q to %q: %s\n%s", at, was, is, v.Why,
				w.describe(p, b, probe{Path: at})))
		}
	}
}

func union(a, b map[string]string) map[string]bool {
	out := map[string]bool{}
	for k := range a {
		out[k] = true
	}
	for k := range b {
		out[k] = true
	}
	return out
}

// describe prints what was said of the paths of a probe, and of what is above
// and below them.
func (w *world) describe(p profile.Profile, b built, pr probe) string {
	var s strings.Builder
	fmt.Fprintf(&s, "\tprofile %d\n", w.seed)
	near := func(at string) bool {
		return slices.ContainsFunc(append(pr.paths(), pr.To), func(of string) bool {
			return of != "" && strings.HasPrefix(at, w.top+"/") && (within(at, of) || within(of, at))
		})
	}
	for _, r := range p.Rules() {
		if near(r.Path) {
			fmt.Fprintf(&s, "\trule %v\n", r)
		}
	}
	for _, link := range sorted(w.links) {
		if near(link) {
			fmt.Fprintf(&s, "\tlink %s → %s\n", link, w.links[link])
		}
	}
	for _, m := range b.mounts.Layout {
		if near(m.Path) {
			fmt.Fprintf(&s, "\tmount %v\n", m)
		}
	}
	for _, g := range b.gaps {
		if base, _, _ := strings.Cut(g.Object, "/**/"); near(base) {
			fmt.Fprintf(&s, "\tgap %v\n", g)
		}
	}
	for _, l := range b.layers {
		for _, r := range l.Paths {
			if near(r.Path) {
				fmt.Fprintf(&s, "\tlandlock %s %v\n", r.Path, r.Access)
			}
		}
	}
	return strings.ReplaceAll(s.String(), w.top, "…")
}

// TestDifferential: R-OS-02, R-OS-04.
func TestDifferential(t *testing.T) {
	for _, way := range ways(t) {
		t.Run(way.name, func(t *testing.T) {
			var y tally
			each(t, profiles(t), func(seed int) {
				w := newWorld(t, seed, way.euid, 50)
				defer w.remove()
				p := newProfile(t, w.rules...)
				y.compare(t, w, p, build(t, way, p))
			})
			t.Log(&y)
			for _, reason := range sorted(y.reasons) {
				t.Logf("%6d %s", y.reasons[reason], reason)
			}
			report(t, "violation", y.violations)
			report(t, "unexplained refusal", y.unexplained)
			if share := 100 * y.passed / y.probes; share < 20 || share > 80 {
				t.Errorf("%d %% of the probes were allowed: the test says too little", share)
			}
		})
	}
}

func report(t *testing.T, what string, all []string) {
	for i, s := range all {
		if i == 3 {
			t.Errorf("and %d more", len(all)-i)
			break
		}
		t.Errorf("%s: %s", what, s)
	}
}

// each calls f with the numbers from 0 to n, two at a time. A call that ends
// its goroutine with t.Fatal makes room for the next like any other.
func each(t *testing.T, n int, f func(seed int)) {
	var wait sync.WaitGroup
	room := make(chan struct{}, 2)
	for seed := range n {
		room <- struct{}{}
		if t.Failed() {
			break
		}
		wait.Go(func() {
			defer func() { <-room }()
			f(seed)
		})
	}
	wait.Wait()
}
