package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"sandboxd/ipc"
	"sandboxd/supervisor"
)

// relation says how p belongs to the process tree that asked, "" where the
// kernel shows no relation: p is one of its processes or descends from one,
// or both live in the same terminal session, or have ancestors in the same.
//
// A process that has cut itself off (forked twice, with a session of its own
// and no terminal) can't be told from a person's program; SECURITY.md says so.
func relation(p ipc.Peer, asker, opener supervisor.Peer) string {
	for _, q := range []supervisor.Peer{asker, opener} {
		if p.DescendsFrom(ipc.Process{PID: q.PID, Start: q.Start}) {
			return "a process started by the one that asks"
		}
		// 0 is a session whose leader lives outside the daemon's pid namespace
		// (a command started in a container from without). All of those look
		// the same from here, so they count as one.
		if p.PID != 0 && q.PID != 0 && p.SID == q.SID {
			return "a process in the terminal session of the one that asks"
		}
	}
	theirs := terminalSessions(asker.PID)
	for _, a := range append(p.Ancestors, p.Process()) {
		if st, ok := statOf(a.PID); ok && st.tty != 0 && theirs[st.sid] {
			return "a process from the terminal session of the one that asks"
		}
	}
	return ""
}

// terminalSessions are the sessions with a terminal that pid and its ancestors
// belong to.
func terminalSessions(pid int) map[int]bool {
	sessions := map[int]bool{}
	for range 64 {
		st, ok := statOf(pid)
		if !ok {
			break
		}
		if st.tty != 0 {
			sessions[st.sid] = true
		}
		if pid = st.ppid; pid <= 1 {
			break
		}
	}
	return sessions
}

type processStat struct{ ppid, sid, tty int }

// statOf reads /proc/PID/stat (proc_pid_stat(5)); systems without it tell
// nothing, and the checks by descent and session id remain.
func statOf(pid int) (processStat, bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return processStat{}, false
	}
	// The command's name may hold anything, parentheses included.
	_, rest, ok := strings.Cut(string(b), ") ")
	if i := strings.LastIndex(string(b), ") "); i >= 0 {
		rest, ok = string(b)[i+2:], true
	}
	var state string
	var st processStat
	var pgrp int
	if !ok {
		return st, false
	}
	_, err = fmt.Sscan(rest, &state, &st.ppid, &pgrp, &st.sid, &st.tty)
	return st, err == nil
}
