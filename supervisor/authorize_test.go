package supervisor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sandboxd/approval"
	"sandboxd/audit"
	"sandboxd/config"
)

var (
	errJudge   = errors.New("judged wrongly")
	errDecided = errors.New("not by this yes")
)

// fake is an action with a script: one entry for each judgement, of which the last repeats. "auto:D" runs unasked
// with the digest D, "carried:D" by a ticket, "trust:D" asks and trusts, "D" asks, "!" fails.
type fake struct {
	s       *Supervisor
	e       *Exec
	script  []string
	answers []bool // of the person, in order; the last repeats
	refuses bool   // decided fails
	breaks  bool   // the log is closed while the question is open

	judged, asked int
	again         int    // questions that say that they are asked again
	approved      string // digest of the subject that the person approved last
	now           string // digest of the last judgement
}

func (f *fake) exec() *Exec { return f.e }

func (f *fake) judge(context.Context) (subject, error) {
	entry := f.script[min(f.judged, len(f.script)-1)]
	f.judged++
	if entry == "!" {
		return subject{}, errJudge
	}
	kind, digest, ok := strings.Cut(entry, ":")
	if !ok {
		kind, digest = "", entry
	}
	f.now = digest
	call := approval.Call{Principal: f.e.Session.principal(), Session: f.e.Session.ID, Tool: "fake", Digest: digest}
	call.Request = &approval.Request{Tool: "fake", Payload: map[string]any{"digest": digest}, Description: digest}
	now := subject{digest: digest, record: audit.Record{Session: f.e.Session.ID, Tool: "fake"}}
	switch kind {
	case "auto":
		call.Class.Safe, now.withStart = true, true
	case "carried":
		now.carried = &approval.Decision{Approved: true, Outcome: approval.Approved}
	case "trust":
		now.trusts = true
	}
	call.Asked = func(p approval.Pending) {
		yes := f.answers[min(f.asked, len(f.answers)-1)]
		f.asked++
		if slices.Contains(p.Reasons, "it is asked again: what the yes was for has changed meanwhile") {
			f.again++
		}
		by := approval.Identity{Principal: approval.Principal{UID: os.Getuid()}, Name: "ann", Via: approval.ViaTerminal}
		answer := p.Deny(by, "no")
		if yes {
			answer = p.Allow(by)
			f.approved = digest
		}
		if f.breaks {
			f.s.Audit.Close()
		}
		go f.s.Approval.Answer(context.Background(), p.ID, answer)
	}
	now.call = call
	return now, nil
}

func (f *fake) decided(approval.Decision) error {
	if f.refuses {
		return errDecided
	}
	return nil
}

// authorizer is a supervisor with all that authorize needs, and a session.
func authorizer(t interface{ Fatal(...any) }, dir string) (*Supervisor, *Session) {
	controller, err := approval.New(approval.Options{})
	if err != nil {
		t.Fatal(err)
	}
	log, err := audit.Open(filepath.Join(dir, "audit"), audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	trust, err := OpenTrust(filepath.Join(dir, "trust.json"))
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(dir, "root")
	if err := os.Mkdir(root, 0o700); err != nil {
		t.Fatal(err)
	}
	cfg, _, err := config.Load(config.Paths{})
	if err != nil {
		t.Fatal(err)
	}
	sess := &Session{ID: "s", Kind: KindAPI, Peer: Peer{UID: os.Getuid()}, Root: root, turn: 1}
	return &Supervisor{Approval: controller, Audit: log, Trust: trust, config: cfg, sessions: newSessions()}, sess
}

func (s *Supervisor) closeParts() {
	s.Approval.Close(context.Background())
	s.Audit.Close()
}

// decisions counts the decisions on record.
func (s *Supervisor) decisions(t interface{ Fatal(...any) }) int {
	page, err := s.Audit.Query(audit.Filter{Tool: "fake"})
	if err != nil {
		t.Fatal(err)
	}
	return len(page.Entries)
}

// Issue "The house", 1: the one walk, by cases. R-AP-14, R-AU-03.
func TestAuthorize(t *testing.T) {
	for _, c := range []struct {
		name    string
		script  string
		answers []bool
		refuses bool
		broken  bool // the log
		breaks  bool // the log, while the question is open
		want    error
		// approved: the permit. judged, asked, recorded: how often.
		approved                bool
		judged, asked, recorded int
		unrecorded, trusted     bool
	}{
		{name: "unasked", script: "auto:a", approved: true, judged: 1, unrecorded: true},
		{name: "by a ticket", script: "carried:a", approved: true, judged: 1, recorded: 1},
		{name: "yes", script: "a", answers: []bool{true}, approved: true, judged: 2, asked: 1, recorded: 1},
		{name: "no", script: "a", answers: []bool{false}, judged: 1, asked: 1, recorded: 1},
		{name: "changed, yes again", script: "a b", answers: []bool{true}, approved: true, judged: 3, asked: 2, recorded: 2},
		{name: "changed, then no", script: "a b", answers: []bool{true, false}, judged: 2, asked: 2, recorded: 2},
		{name: "changed to unasked", script: "a auto:b", answers: []bool{true}, approved: true, judged: 2, asked: 1,
			recorded: 1, unrecorded: true},
		{name: "keeps changing", script: "a b c d", answers: []bool{true}, want: ErrKeptChanging, judged: 4, asked: 3,
			recorded: 3},
		{name: "back again", script: "a b a", answers: []bool{true}, want: ErrKeptChanging, judged: 4, asked: 3, recorded: 3},
		{name: "trust", script: "trust:a", answers: []bool{true}, approved: true, judged: 2, asked: 1, recorded: 1,
			trusted: true},
		{name: "no trust", script: "trust:a", answers: []bool{false}, judged: 1, asked: 1, recorded: 1},
		{name: "can't be judged", script: "!", want: errJudge, judged: 1},
		{name: "can't be judged after the yes", script: "a !", answers: []bool{true}, want: errJudge, judged: 2, asked: 1,
			recorded: 1},
		{name: "refused after the record", script: "trust:a", answers: []bool{true}, refuses: true, want: errDecided,
			judged: 1, asked: 1, recorded: 1},
		{name: "no record, no question", script: "a", answers: []bool{true}, broken: true, judged: 1},
		{name: "no record, no yes", script: "a", answers: []bool{true}, breaks: true, judged: 1, asked: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, sess := authorizer(t, t.TempDir())
			defer s.closeParts()
			script := strings.Fields(c.script)
			if c.name == "back again" {
				script = []string{"a", "b", "a", "b"}
			}
			e := &Exec{Session: sess, log: newEventLog(0)}
			f := &fake{s: s, e: e, script: script, answers: c.answers, refuses: c.refuses, breaks: c.breaks}
			if c.broken {
				s.Audit.Close()
			}
			p, err := s.authorize(t.Context(), f)
			var unwritten *AuditError
			noLog := c.broken || c.breaks
			switch {
			case noLog && !errors.As(err, &unwritten), !noLog && !errors.Is(err, c.want):
				t.Errorf("got error %v, want %v", err, c.want)
			case err != nil && p.Approved && !c.refuses:
				t.Errorf("got a yes with the error %v", err)
			}
			if err == nil && p.Approved != c.approved || (p.unrecorded != nil) != c.unrecorded {
				t.Errorf("got approved %t, unrecorded %t; want %t, %t", p.Approved, p.unrecorded != nil, c.approved, c.unrecorded)
			}
			if f.judged != c.judged || f.asked != c.asked {
				t.Errorf("got judged %d, asked %d; want %d, %d", f.judged, f.asked, c.judged, c.asked)
			}
			if f.again != max(f.asked-1, 0) {
				t.Errorf("%d of %d questions say that they are asked again, want all but the first", f.again, f.asked)
			}
			if noLog {
				return
			}
			if got := s.decisions(t); got != c.recorded {
				t.Errorf("got %d decisions on record, want %d", got, c.recorded)
			}
			if got := s.Trusted(sess); got != c.trusted {
				t.Errorf("got trusted %t, want %t", got, c.trusted)
			}
		})
	}
}

// Whatever changes while questions are open: what is permitted is what was approved, or what needs no approval, and
// each decision but the unrecorded one is on record.
func TestAuthorizeProperty(t *testing.T) {
	dir, n := t.TempDir(), 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		own := filepath.Join(dir, fmt.Sprint(n))
		if err := os.Mkdir(own, 0o700); err != nil {
			t.Fatal(err)
		}
		s, sess := authorizer(t, own)
		defer s.closeParts()
		entry := rapid.SampledFrom([]string{"a", "b", "c", "auto:a", "auto:b", "trust:a", "trust:b", "carried:c", "!"})
		f := &fake{s: s, e: &Exec{Session: sess, log: newEventLog(0)},
			script:  rapid.SliceOfN(entry, 1, 6).Draw(t, "script"),
			answers: rapid.SliceOfN(rapid.Bool(), 1, 4).Draw(t, "answers")}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		p, err := s.authorize(ctx, f)
		last := f.script[min(f.judged, len(f.script))-1]
		free := strings.HasPrefix(last, "auto:") || strings.HasPrefix(last, "carried:")
		switch {
		case err != nil && p.Approved:
			t.Fatalf("a yes with the error %v", err)
		case err == nil && p.Approved && !free && f.now != f.approved:
			t.Fatalf("%q is permitted, %q was approved", f.now, f.approved)
		case p.unrecorded != nil && !strings.HasPrefix(last, "auto:"):
			t.Fatalf("%q is not on record", last)
		case s.Trusted(sess) && !slices.ContainsFunc(f.script, func(e string) bool { return strings.HasPrefix(e, "trust:") }):
			t.Fatal("trusted by no answer")
		}
		if got := s.decisions(t); got < f.asked {
			t.Fatalf("%d decisions on record, %d questions were answered", got, f.asked)
		}
	})
}
