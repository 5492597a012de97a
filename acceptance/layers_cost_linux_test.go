package acceptance

import (
	"testing"
	"time"
)

// R-LY-10: the cost of a layered run grows with its changes only. A walk of 30,000 files takes several times as long as
// a run, and the shortest of ten runs is free of what else the machine does.
func TestLayerCostsItsChangesOnly(t *testing.T) {
	wholeMachine(t, "it measures time")
	eachUser(t, func(t *testing.T, a *actor) {
		a.layered()
		a.sh("cp /bin/true .")
		shortest := func() time.Duration {
			least := time.Minute
			for range 10 {
				begin := time.Now()
				r := a.run("./true")
				least = min(least, time.Since(begin))
				if r.code != 0 || r.Changes.Kind != "layered" {
					t.Fatalf("%d %s%s", r.code, r.out, r.err)
				}
			}
			return least
		}
		small := shortest()
		a.sh("for d in $(seq 100); do mkdir $d && (cd $d && seq 300 | xargs touch); done")
		if large := shortest(); large > 2*small {
			t.Errorf("a layered run takes %v in a project of one file, and %v in one of 30,000", small, large)
		}
	})
}
