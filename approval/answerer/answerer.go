// Package answerer decides which process may answer a question (R-IP-01): never the
// process that asked, nor, as far as the kernel shows, a process of its tree or terminal.
//
//	q := answerer.Question{Requester: answerer.Observe(asking), Opener: answerer.Observe(opening)}
//	via, err := answerer.May(answerer.Observe(answering), q)
//	if err != nil {
//		// err names the relation: the answer is refused
//	}
//
// # Promise
//
// [May], [Related] and [Admit] are pure functions of their arguments. [Observe] reads the process tree from
// the kernel beforehand. An answerer that can't be distinguished from the requester is refused.
//
// # Limitations
//
// A process that has cut every tie (forked twice, a session of its own, no terminal) is
// indistinguishable from a person's program of the same user. SECURITY.md, "Who can answer", has
// the whole table; the tests of this package play it.
package answerer

import (
	"errors"
	"slices"

	"sandboxd/approval"
	"sandboxd/process"
)

// Process identifies one process while the host is up: numbers are reused, start times are not.
type Process struct {
	PID   int // 0: invisible from the daemon's pid namespace
	Start uint64
}

// Member is a process with its session and terminal at one moment.
type Member struct {
	Process
	Session int    // credentials(7); 0: its leader is outside the daemon's pid namespace
	Leader  uint64 // start of the session's leader; 0: the leader has exited or is invisible
	TTY     uint64 // device number of the controlling terminal; 0: none
}

// inSession reports whether the process can be a member of the session with that number. A session's processes
// start after its leader (setsid(2)), so an older process was in an earlier session of the same number.
func (m Member) inSession() bool { return m.Leader <= m.Start }

// Tree is a peer and its ancestors.
type Tree struct {
	// Peer is the process when it connected.
	Peer Member
	// Above are the process and its ancestors when it connected, nearest first.
	Above []Process
	// Now are those of Above that are alive, with their present session and terminal.
	Now []Member
}

// Observe returns a tree with the present state of a peer and its ancestors. above begins with the peer itself.
func Observe(peer Member, above []Process) Tree {
	if st, err := process.ReadStat(peer.Session); err == nil {
		peer.Leader = st.Start
	}
	t := Tree{Peer: peer, Above: above}
	for _, p := range above {
		if st, err := process.ReadStat(p.PID); err == nil && st.Start == p.Start {
			t.Now = append(t.Now, Member{Process: p, Session: st.Session, TTY: st.TTY})
		}
	}
	return t
}

// Relation is a tie between two processes. Its text is the subject of a refusal.
type Relation string

// The relations, in the order in which [Related] looks for them.
const (
	Unrelated     Relation = ""
	Same          Relation = "the process that asks"
	Ancestor      Relation = "a process that started the one that asks"
	Descendant    Relation = "a process started by the one that asks"
	SameSession   Relation = "a process in the terminal session of the one that asks"
	TerminalsTree Relation = "a process from the terminal session of the one that asks"
)

// Related returns the first tie between a process and a requester or the opener of its session.
func Related(p, requester, opener Tree) Relation {
	for _, q := range []Tree{requester, opener} {
		if slices.Contains(q.Above, p.Peer.Process) {
			return Ancestor
		}
	}
	return RelatedFront(p, requester, opener)
}

// RelatedFront is Related without [Ancestor]. A chat front end may have started the agents behind its questions;
// its token is a person's word that it may answer.
func RelatedFront(p, requester, opener Tree) Relation {
	for _, q := range []Tree{requester, opener} {
		if q.Peer.PID != 0 && (p.Peer.Process == q.Peer.Process || slices.Contains(p.Above, q.Peer.Process)) {
			return Descendant
		}
		if p.Peer.PID != 0 && q.Peer.PID != 0 && p.Peer.Session == q.Peer.Session &&
			p.Peer.inSession() && q.Peer.inSession() {
			return SameSession
		}
	}
	terminals := requester.terminalSessions()
	if slices.ContainsFunc(p.Now, func(m Member) bool { return m.TTY != 0 && terminals[m.Session] }) {
		return TerminalsTree
	}
	return Unrelated
}

// terminalSessions returns the sessions with a terminal that a peer had when it connected, and that it and its
// ancestors have now.
func (t Tree) terminalSessions() map[int]bool {
	sessions := map[int]bool{}
	if t.Peer.TTY != 0 {
		sessions[t.Peer.Session] = true
	}
	for _, m := range t.Now {
		if m.TTY != 0 {
			sessions[m.Session] = true
		}
	}
	return sessions
}

// Question is the requester's side of a question.
type Question struct {
	Requester Tree
	Opener    Tree // of the requester's session
	// Inline permits the requester to pass on the answer of the person at its own terminal (`sbx run`).
	Inline bool
	// Client permits the requester to pass on its own user's answer ([approval] client_answers).
	Client bool
}

// RelatedError refuses an answerer by its tie to the requester.
type RelatedError struct{ Relation Relation }

func (e *RelatedError) Error() string { return string(e.Relation) + " can't answer" }

// May returns the way of an answer, or a [*RelatedError].
func May(p Tree, q Question) (approval.Via, error) {
	via := Via(p.Peer)
	if p.Peer.PID != 0 && p.Peer.Process == q.Requester.Peer.Process {
		switch {
		case q.Inline:
			return approval.ViaInline, nil
		case q.Client:
			return approval.ViaClient, nil
		}
		return via, &RelatedError{Same}
	}
	if r := Related(p, q.Requester, q.Opener); r != Unrelated {
		return via, &RelatedError{r}
	}
	return via, nil
}

// Via returns the way of an answer by a process without a tie to the requester.
func Via(p Member) approval.Via {
	if p.TTY != 0 {
		return approval.ViaTerminal
	}
	return approval.ViaRemote
}

// OwnTerminal reports whether p is at the terminal of the command-line session that opener opened. The person
// there may change its mode, trust its project and resume it, where the configuration permits inline answers.
func OwnTerminal(p, opener Member) bool { return p.TTY != 0 && p.TTY == opener.TTY }

// Peer is a connection to the approver socket.
type Peer struct {
	UID int
	// Inside: the process is in another pid namespace, or descends from the daemon: it is or may be in a sandbox.
	Inside bool
	// ForOthers: the system's broker passed the connection on, and its user is in the approvers' group.
	ForOthers bool
}

// Reasons to refuse a connection to the approver socket.
var (
	ErrOtherUser = errors.New("this daemon serves another user")
	ErrOwnUser   = errors.New("[daemon] own_approver = false: this user's questions are answered by others")
	ErrInside    = errors.New("a process in another pid namespace, such as a sandbox, may not use this socket")
)

// Admit decides whether a connection may answer for the daemon's user at all. own is [daemon] own_approver.
// The error is one of [ErrOtherUser], [ErrOwnUser] and [ErrInside].
func Admit(p Peer, uid int, own Own) error {
	switch {
	case p.UID != uid && !p.ForOthers:
		return ErrOtherUser
	case p.UID == uid && own == OwnRefused:
		return ErrOwnUser
	case p.Inside:
		return ErrInside
	}
	return nil
}

// Own is whether the user whose agents ask may answer them.
type Own int

// The values of [Own].
const (
	OwnAccepted Own = iota
	OwnRefused
)
