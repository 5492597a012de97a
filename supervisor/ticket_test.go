package supervisor

import (
	"errors"
	"testing"
	"time"

	"sandboxd/approval"
)

// R-IP-03: a ticket is good once, for its user, its command and its directory,
// and not late.
func TestTicketIsBound(t *testing.T) {
	sess := &Session{ID: "s", Peer: Peer{UID: 1000}}
	made := ExecRequest{Line: "make test", Cwd: "/p"}
	for _, c := range []struct {
		name  string
		uid   int
		r     ExecRequest
		life  time.Duration
		ok    bool
		again bool // the owner can still use it
	}{
		{"as made", 1000, made, time.Minute, true, false},
		{"another user", 1001, made, time.Minute, false, true},
		{"another command", 1000, ExecRequest{Line: "make all", Cwd: "/p"}, time.Minute, false, false},
		{"without a shell", 1000, ExecRequest{Argv: []string{"make", "test"}, Cwd: "/p"}, time.Minute, false, false},
		{"another directory", 1000, ExecRequest{Line: "make test", Cwd: "/p/sub"}, time.Minute, false, false},
		{"late", 1000, made, -time.Second, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var list tickets
			text := list.issue(sess, made, &judgement{}, approval.Decision{}, false, c.life)
			if c.life < 0 { // it was cleared away, or is too old
				list.byText[text] = &ticket{
					session: sess,
					line:    made.Line,
					cwd:     made.Cwd,
					until:   time.Now().Add(c.life),
				}
			}
			_, err := list.take(text, c.uid, c.r)
			var refused *TicketError
			if c.ok != (err == nil) || !c.ok && !errors.As(err, &refused) {
				t.Fatalf("taken: %v", err)
			}
			if _, err := list.take(text, 1000, made); c.again != (err == nil) {
				t.Errorf("a second time: %v", err)
			}
		})
	}
}

// A session that asks for tickets without end keeps the newest.
func TestTicketsAreBounded(t *testing.T) {
	var list tickets
	sess, other := &Session{ID: "s"}, &Session{ID: "o"}
	keep := list.issue(other, ExecRequest{}, &judgement{}, approval.Decision{}, false, time.Minute)
	var last string
	for range 3 * maxTickets {
		last = list.issue(sess, ExecRequest{}, &judgement{}, approval.Decision{}, false, time.Minute)
	}
	if len(list.byText) > maxTickets+1 || len(list.order) != len(list.byText) || list.byText[last] == nil ||
		list.byText[keep] == nil {
		t.Errorf("%d tickets wait", len(list.byText))
	}
}

// A call whose ticket was redeemed is known until it ends, also where other tickets are too old by then; one
// whose ticket was not redeemed is returned once.
func TestCallsOutliveTheirTickets(t *testing.T) {
	var list tickets
	sess := &Session{ID: "s", Peer: Peer{UID: 1000}}
	issue := func(id string) string {
		return list.issue(
			sess,
			ExecRequest{CallID: id, Line: id},
			&judgement{},
			approval.Decision{},
			false,
			time.Minute,
		)
	}
	long, lost := issue("long"), issue("lost")
	if _, err := list.take(long, 1000, ExecRequest{Line: "long"}); err != nil {
		t.Fatal(err)
	}
	for _, x := range list.calls[sess] {
		x.until = time.Now().Add(-24 * time.Hour)
	}
	if unused := list.expired(sess, false); len(unused) != 1 || unused[0].callID != "lost" {
		t.Errorf("got %v unused, want the ticket of lost", unused)
	}
	if x := list.of(sess, "long"); x == nil || !list.end(x) {
		t.Errorf("got %v for the long call, want its ticket, redeemed", x)
	}
	if x := list.of(sess, "lost"); x != nil || len(list.expired(sess, true)) != 0 {
		t.Errorf("got %v and again %q, want nothing more of lost", x, lost)
	}
}
