package acceptance

import (
	"math"
	"strings"
	"testing"
	"time"

	"sandboxd/ipc"
)

// R-AP-18: a time that is too long is a bad request that names the limit, and the log has no mode that never was.
//
//   - Row 001-76 yes: the audit log is right about approve-all
func TestModeForTooLong(t *testing.T) {
	t.Parallel()
	eachUser(t, func(t *testing.T, a *actor) {
		a.start()
		person := a.personPeer("ann", true)
		agent := a.fileAgent(a.agentPeer("editor"), ipc.KindAPI)
		set := func(ms int64) (ipc.Mode, error) {
			return person.approver.SetMode(t.Context(), ipc.Mode{Session: agent.session, Mode: "approve_all", ForMS: ms})
		}
		for _, ms := range []int64{2 * time.Hour.Milliseconds(), math.MaxInt64 / 1000, math.MaxInt64} {
			if _, err := set(ms); ipc.CodeOf(err) != ipc.CodeBadRequest || !strings.Contains(err.Error(), "3600000 ms") {
				t.Errorf("for_ms %d: %v, want a bad request that names the limit", ms, err)
			}
		}
		recorded := func() int {
			page, err := person.approver.Audit(t.Context(), ipc.AuditRequest{Session: agent.session, Category: "mode"})
			if err != nil {
				t.Fatal(err)
			}
			return len(page.Records)
		}
		if n := recorded(); n != 0 {
			t.Errorf("%d records of modes that never were", n)
		}
		if m, err := set(time.Hour.Milliseconds()); err != nil || m.Mode != "approve_all" || recorded() != 1 {
			t.Errorf("an hour: %+v, %v, %d records", m, err, recorded())
		}
	})
}
