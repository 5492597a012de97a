package main

import (
	"context"
	"runtime/debug"
	"time"
)

// When nothing has run for as long, the daemon returns memory to the system: that of the last
// commands, and, once their results have expired, that of the results and their
// events. A small live object can retain a whole page: the runtime frees pages only.
var restAfter = []time.Duration{20 * time.Second, 6 * time.Minute}

// rest gives memory back whenever a time of work is over.
func (b *backend) rest(ctx context.Context) {
	var work time.Time // the last that was seen
	rested := 0        // how often since
	every(ctx, 5*time.Second, func() {
		last, _ := b.sup.IdleSince()
		if b.sup.Running() > 0 || !last.Equal(work) {
			work, rested = last, 0
		}
		if b.sup.Running() == 0 && rested < len(restAfter) && time.Since(last) > restAfter[rested] {
			rested++
			b.approvals.ForgetEvents(time.Now().Add(-restAfter[1]))
			debug.FreeOSMemory()
		}
	})
}
