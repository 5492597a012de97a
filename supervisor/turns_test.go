package supervisor

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// Rule 16: of two runs in one project the second waits for ten seconds, and as long as it may where one of them locks
// its files.
func TestTurns(t *testing.T) {
	for _, c := range []struct {
		first, second bool
		ends          time.Duration // of the first run
		want          time.Duration
	}{
		{false, false, time.Minute, turnWait},
		{false, false, time.Second, time.Second},
		{true, false, time.Minute, time.Minute},
		{false, true, time.Minute, time.Minute},
		{true, true, 9 * time.Minute, 5 * time.Minute}, // the context's
	} {
		synctest.Test(t, func(t *testing.T) {
			var turns turns
			release, _ := turns.take(t.Context(), "/p", c.first)
			time.AfterFunc(c.ends, release)
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			release, waited := turns.take(ctx, "/p", c.second)
			release()
			if waited != c.want {
				t.Errorf("%+v: waited %v", c, waited)
			}
			time.Sleep(10 * time.Minute)
		})
	}
}
