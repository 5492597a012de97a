package main

import (
	"sandboxd/approval/answerer"
	"sandboxd/ipc"
	"sandboxd/supervisor"
)

// treeOf observes the process tree of a connection.
func treeOf(p ipc.Peer) answerer.Tree { return observed(peerOf(p)) }

// observed observes the process tree of a peer that the supervisor remembers.
func observed(p supervisor.Peer) answerer.Tree {
	above := make([]answerer.Process, len(p.Above))
	for i, a := range p.Above {
		above[i] = answerer.Process(a)
	}
	return answerer.Observe(memberOf(p), above)
}

func memberOf(p supervisor.Peer) answerer.Member {
	return answerer.Member{Process: answerer.Process{PID: p.PID, Start: p.Start}, Session: p.SID, TTY: p.TTY}
}

// relatedToSession returns the tie between a connection and the opener of a session.
func relatedToSession(p ipc.Peer, s *supervisor.Session) answerer.Relation {
	opener := observed(s.Peer)
	return answerer.Related(treeOf(p), opener, opener)
}
