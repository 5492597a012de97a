package acceptance

import (
	"testing"
	"time"
)

// R-LY-10: the cost of a layered run grows with its changes only. A walk of 30,000 files takes several times as long as
// a run. The two projects take turns, because what else the machine does slows down both, and the shortest of their
// runs count: of ten, or of more while those do not suffice.
func TestLayerCostsItsChangesOnly(t *testing.T) {
	wholeMachine(t, "it measures time")
	eachUser(t, func(t *testing.T, small *actor) {
		large := newActor(t, "")
		if small.cred != nil {
			large = ordinaryActor(t)
		}
		for _, a := range []*actor{small, large} {
			a.layered()
			a.sh("cp /bin/true .")
		}
		large.sh("for d in $(seq 100); do mkdir $d && (cd $d && seq 300 | xargs touch); done")
		run := func(a *actor, least time.Duration) time.Duration {
			begin := time.Now()
			r := a.run("./true")
			if r.code != 0 || r.Changes.Kind != "layered" {
				t.Fatalf("%d %s%s", r.code, r.out, r.err)
			}
			return min(least, time.Since(begin))
		}
		few, many := time.Hour, time.Hour
		for i := 0; i < 10 || many > 2*few && i < 60; i++ {
			few, many = run(small, few), run(large, many)
		}
		if many > 2*few {
			t.Errorf("a layered run takes %v in a project of one file, and %v in one of 30,000", few, many)
		}
	})
}
