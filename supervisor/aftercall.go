package supervisor

import (
	"context"
	"time"

	"sandboxd/audit"
)

// redemptionTime is how long AfterCall waits for a command that the agent started in the background.
const redemptionTime = 5 * time.Second

// CallPlace says where the command of an agent's call ran.
type CallPlace string

const (
	CallInside  CallPlace = "inside"  // in its sandbox: the call's ticket was redeemed
	CallOutside CallPlace = "outside" // the call's ticket was not redeemed
	CallUnknown CallPlace = "unknown" // no command of the call got a ticket in the session
)

// AfterCallRequest names a call that has ended. Line and Cwd are as the agent reports them, for the record of a call
// that is not known.
type AfterCallRequest struct {
	CallID, Line, Cwd string
}

// AfterCall says where the command of a call ran that got a ticket. An agent takes the rewritten command of only one of
// its hooks, so the command may have run as another hook wrote it, without the ticket and outside of every sandbox:
// that can't be prevented from a hook, and is recorded. The ticket is void afterwards.
func (s *Supervisor) AfterCall(ctx context.Context, sess *Session, peer Peer, r AfterCallRequest) (CallPlace, error) {
	x := s.tickets.of(sess, r.CallID)
	if x == nil {
		rec := ofCall(sess, CallOutside, "the agent ran this call without asking, so it ran outside of any sandbox")
		rec.CallID, rec.Subject, rec.Cwd, rec.Peer = r.CallID, r.Line, r.Cwd, auditPeer(peer)
		return CallUnknown, s.record(rec)
	}
	select {
	case <-x.redeemed:
	case <-time.After(redemptionTime):
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	if s.tickets.end(x) {
		return CallInside, nil
	}
	return CallOutside, s.record(x.unredeemed(CallOutside, "the call has ended, and its command did not come with its "+
		"ticket: the agent ran something else in its place, outside of any sandbox"))
}

// recordUnused puts tickets that were not redeemed in their time on record.
func (s *Supervisor) recordUnused(list []*ticket) error {
	for _, x := range list {
		err := s.record(x.unredeemed("unused", "its ticket was not redeemed: the agent did not run it, or ran something "+
			"else in its place"))
		if err != nil {
			return err
		}
	}
	return nil
}

// unredeemed is the record of a ticket that was not redeemed.
func (x *ticket) unredeemed(operation CallPlace, why string) audit.Record {
	r := ofCall(x.session, operation, why)
	r.CallID, r.Subject, r.Argv, r.Cwd = x.callID, x.line, x.argv, x.cwd
	return r
}

// ofCall is the record of a call whose command did not come.
func ofCall(s *Session, operation CallPlace, why string) audit.Record {
	return audit.Record{Category: audit.Execution, Operation: string(operation), Reason: why, Tool: "bash",
		Session: s.ID, Turn: s.Turn(), Agent: s.Agent.String(), Claimed: s.Agent.ID == "", Peer: auditPeer(s.Peer)}
}
