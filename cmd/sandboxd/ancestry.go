package main

import (
	"slices"

	"sandboxd/ipc"
	"sandboxd/process"
	"sandboxd/supervisor"
)

// relation says how p belongs to the process tree that asked, "" where the
// kernel shows no relation: p is one of its processes, descends from one or has
// started it, or both live in the same terminal session, or have ancestors in the same.
//
// A process that has cut itself off (forked twice, with a session of its own
// and no terminal) can't be told from a person's program; SECURITY.md says so.
func relation(p ipc.Peer, asker, opener supervisor.Peer) string {
	for _, q := range []supervisor.Peer{asker, opener} {
		if slices.Contains(q.Above, supervisor.Process{PID: p.PID, Start: p.Start}) {
			return "a process that started the one that asks"
		}
	}
	return belongs(p, asker, opener)
}

// belongs is relation without the processes that have started the one that
// asks. A front end's token is a person's word that it may answer, and chat
// front ends start the agents whose questions they pass on.
func belongs(p ipc.Peer, asker, opener supervisor.Peer) string {
	for _, q := range []supervisor.Peer{asker, opener} {
		if p.DescendsFrom(ipc.Process{PID: q.PID, Start: q.Start}) {
			return "a process started by the one that asks"
		}
		if p.PID != 0 && q.PID != 0 && p.SID == q.SID && inItsSession(p.SID, p.Start) && inItsSession(q.SID, q.Start) {
			return "a process in the terminal session of the one that asks"
		}
	}
	theirs := terminalSessions(asker)
	for _, a := range append(p.Ancestors, p.Process()) {
		if st, err := process.ReadStat(a.PID); err == nil && st.Start == a.Start && st.TTY != 0 && theirs[st.Session] {
			return "a process from the terminal session of the one that asks"
		}
	}
	return ""
}

// inItsSession reports whether a process that started then can be in the
// session of that number, as far as can be seen: a session's processes come after
// its leader (setsid(2)), so one that is older was in another of the same number.
//
// 0 is a session whose leader lives outside the daemon's pid namespace (a
// command started in a container from without). All of those look the same from
// here, so they count as one.
func inItsSession(sid int, start uint64) bool {
	leader, err := process.ReadStat(sid)
	return err != nil || leader.Start <= start
}

// terminalSessions are the sessions with a terminal that a peer and its
// ancestors belong to: by what was seen when it connected, so that it may have ended
// since, and of its ancestors by what they are now.
func terminalSessions(p supervisor.Peer) map[int]bool {
	sessions := map[int]bool{}
	if p.TTY != 0 {
		sessions[p.SID] = true
	}
	for _, a := range p.Above {
		if st, err := process.ReadStat(a.PID); err == nil && st.Start == a.Start && st.TTY != 0 {
			sessions[st.Session] = true
		}
	}
	return sessions
}
