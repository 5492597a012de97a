package answerer_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"sandboxd/approval"
	"sandboxd/approval/answerer"
)

// world builds process trees from one family: init → login shell → agent → child, and strangers.
type world map[string]answerer.Tree

// member is a process with a number, a session, the start of that session's leader, and a terminal.
func member(pid int, session int, leader uint64, tty uint64) answerer.Member {
	p := answerer.Process{PID: pid, Start: uint64(pid)}
	return answerer.Member{Process: p, Session: session, Leader: leader, TTY: tty}
}

// tree is a process with its living ancestors, nearest first.
func tree(self answerer.Member, ancestors ...answerer.Member) answerer.Tree {
	t := answerer.Tree{Peer: self}
	for _, m := range append([]answerer.Member{self}, ancestors...) {
		t.Above = append(t.Above, m.Process)
		t.Now = append(t.Now, m)
	}
	return t
}

func family() world {
	boot := member(1, 0, 0, 0)
	shell := member(100, 100, 100, 34816)
	agent := member(110, 100, 100, 34816)
	daemonised := member(200, 200, 200, 0)
	return world{
		"agent":                     tree(agent, shell, boot),
		"shell":                     tree(shell, boot),
		"child":                     tree(member(120, 100, 100, 34816), agent, shell, boot),
		"child, own session":        tree(member(121, 121, 121, 0), agent, shell, boot),
		"sibling in session":        tree(member(130, 100, 100, 34816), shell, boot),
		"sibling, own session":      tree(member(131, 131, 131, 0), shell, boot),
		"another terminal":          tree(member(301, 300, 300, 34817), member(300, 300, 300, 34817), boot),
		"at a terminal of its own":  tree(member(500, 500, 500, 34818), agent, shell, boot),
		"cut every tie":             tree(member(400, 400, 400, 0), boot),
		"daemonised agent":          tree(daemonised, boot),
		"daemonised agent's parent": tree(member(190, 190, 190, 0), boot),
		"sibling of the daemonised": tree(member(210, 210, 210, 0), member(190, 190, 190, 0), boot),
		"reused session number":     tree(member(90, 100, 100, 0), boot),
		"invisible":                 {},
	}
}

// Issue "The house", 2. R-IP-01: the rows of SECURITY.md, "Who can answer", as a function of process trees.
func TestWhoCanAnswer(t *testing.T) {
	security, err := os.ReadFile("../../SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	w := family()
	ask := func(name string) answerer.Question { return answerer.Question{Requester: w[name], Opener: w[name]} }
	inline, client := ask("agent"), ask("agent")
	inline.Inline, client.Client = true, true
	own := ask("at a terminal of its own")
	own.Inline = true
	opened := answerer.Question{Requester: w["daemonised agent"], Opener: w["agent"]}
	for _, c := range []struct {
		row      string // of SECURITY.md; empty: a further case
		answerer string
		q        answerer.Question
		want     answerer.Relation
		via      approval.Via
	}{
		{"the process that asks", "agent", ask("agent"), answerer.Same, ""},
		{"a child of it", "child", ask("agent"), answerer.Descendant, ""},
		{"a child of it, in a session of its own", "child, own session", ask("agent"), answerer.Descendant, ""},
		{"the process that started it, from another session", "shell", ask("child, own session"), answerer.Ancestor, ""},
		{"another process of its session", "sibling in session", ask("agent"), answerer.SameSession, ""},
		{"a process in a session of its own, started from the same terminal", "sibling, own session", ask("agent"),
			answerer.TerminalsTree, ""},
		{"the person at the terminal of `sbx run`, once", "agent", inline, "", approval.ViaInline},
		{"the program that asks, typing the yes to `sbx run` at a terminal that it opens itself",
			"at a terminal of its own", own, "", approval.ViaInline},
		{"", "at a terminal of its own", ask("at a terminal of its own"), answerer.Same, ""}, // inline = false
		{"", "agent", own, answerer.Ancestor, ""},
		{"", "agent", client, "", approval.ViaClient},
		{"", "child", inline, answerer.Descendant, ""},
		{"", "child", client, answerer.Descendant, ""},
		{"a person's process of the same user, with no tie to the one that asks", "another terminal", ask("agent"), "",
			approval.ViaTerminal},
		{"a process that asked and has cut every tie: forked twice, a session of its own, no terminal", "cut every tie",
			ask("agent"), "", approval.ViaRemote},
		{"another child of the process that started it, in a session of its own, no terminal",
			"sibling of the daemonised", ask("daemonised agent"), "", approval.ViaRemote},
		{"", "agent", opened, answerer.Ancestor, ""},
		{"", "shell", opened, answerer.Ancestor, ""},
		{"", "sibling in session", opened, answerer.SameSession, ""},
		{"", "reused session number", ask("agent"), "", approval.ViaRemote},
	} {
		if c.row != "" && !strings.Contains(string(security), "| "+c.row+" |") {
			t.Errorf("SECURITY.md has no row %q", c.row)
		}
		via, err := answerer.May(w[c.answerer], c.q)
		var got answerer.Relation
		var related *answerer.RelatedError
		if errors.As(err, &related) {
			got = related.Relation
		}
		if got != c.want || (err == nil && via != c.via) {
			t.Errorf("%s %q: got %q by %q (%v), want %q by %q", c.row, c.answerer, got, via, err, c.want, c.via)
		}
	}
}

// R-IP-01, R-OP-05: another user, the user itself and a sandbox at the approver socket.
func TestAdmit(t *testing.T) {
	const self, other = 1000, 1001
	for _, c := range []struct {
		name string
		peer answerer.Peer
		own  answerer.Own
		want error
	}{
		{"a person's process", answerer.Peer{UID: self}, answerer.OwnAccepted, nil},
		{"the same with own_approver = false", answerer.Peer{UID: self}, answerer.OwnRefused, answerer.ErrOwnUser},
		{"another user", answerer.Peer{UID: other}, answerer.OwnAccepted, answerer.ErrOtherUser},
		{"root, who is no member", answerer.Peer{UID: 0}, answerer.OwnAccepted, answerer.ErrOtherUser},
		{"a member by the broker", answerer.Peer{UID: other, ForOthers: true}, answerer.OwnAccepted, nil},
		{"a member with own_approver = false", answerer.Peer{UID: other, ForOthers: true}, answerer.OwnRefused, nil},
		{"the user as a member", answerer.Peer{UID: self, ForOthers: true}, answerer.OwnRefused, answerer.ErrOwnUser},
		{"a sandbox", answerer.Peer{UID: self, Inside: true}, answerer.OwnAccepted, answerer.ErrInside},
		{"a member's sandbox", answerer.Peer{UID: other, ForOthers: true, Inside: true}, answerer.OwnAccepted,
			answerer.ErrInside},
	} {
		if got := answerer.Admit(c.peer, self, c.own); !errors.Is(got, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

// A front end may have started the agent, but may not be the agent or its child.
func TestRelatedFront(t *testing.T) {
	w := family()
	for name, want := range map[string]answerer.Relation{
		"shell": answerer.SameSession, "child, own session": answerer.Descendant, "agent": answerer.Descendant,
		"daemonised agent's parent": "", "another terminal": "",
	} {
		if got := answerer.RelatedFront(w[name], w["agent"], w["agent"]); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

// Observe sees this process: its own tree is related to itself, and one that ended is not alive.
func TestObserve(t *testing.T) {
	self := answerer.Process{PID: os.Getpid(), Start: 1}
	if got := answerer.Observe(answerer.Member{Process: self}, []answerer.Process{self}); len(got.Now) != 0 {
		t.Errorf("a process with another start is alive: %+v", got)
	}
}

// FuzzMay: an answerer that is the requester, or above or below it, never answers but by its own exceptions, and
// without a requester's permission there is no exception.
func FuzzMay(f *testing.F) {
	f.Add([]byte{1, 2, 3}, uint8(0), uint8(1), false, false)
	f.Add([]byte{0, 0, 1, 2, 4, 4}, uint8(3), uint8(3), true, false)
	f.Fuzz(func(t *testing.T, parents []byte, who, asks uint8, inline, client bool) {
		n := len(parents)
		if n == 0 || n > 64 {
			return
		}
		chain := func(i int) answerer.Tree { // parents[i] is a smaller index: no circles
			var chain []answerer.Member
			for {
				b := int(parents[i])
				chain = append(chain, member(10+i, 10+b%7, uint64(b%90), uint64(b%3)))
				if i == 0 {
					return tree(chain[0], chain[1:]...)
				}
				i = b % i
			}
		}
		p, q := chain(int(who)%n), chain(int(asks)%n)
		via, err := answerer.May(p, answerer.Question{Requester: q, Opener: q, Inline: inline, Client: client})
		same := p.Peer.Process == q.Peer.Process
		tied := same
		for _, a := range p.Above {
			tied = tied || a == q.Peer.Process
		}
		for _, a := range q.Above {
			tied = tied || a == p.Peer.Process
		}
		switch {
		case err == nil && tied && !(same && (inline || client)):
			t.Fatalf("%+v answers %+v by %q", p, q, via)
		case err == nil && !same && (via == approval.ViaInline || via == approval.ViaClient):
			t.Fatalf("%+v answers %+v by %q, which is the requester's own way", p, q, via)
		}
	})
}
