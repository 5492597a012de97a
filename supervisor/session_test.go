package supervisor

import (
	"errors"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"sandboxd/profile"
)

// R-IP-07: a command-line session is found again by user, kernel session,
// terminal, project and an agent's name, and by nothing less.
func TestCommandLineSessionIsBoundToItsTerminal(t *testing.T) {
	leader := exec.Command("/bin/sleep", "60")
	leader.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := leader.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { leader.Process.Kill(); leader.Wait() }()
	sid := leader.Process.Pid
	all := newSessions()
	open := func(r SessionRequest, root string) (*Session, string) {
		t.Helper()
		n, secret, _, err := all.open(r, root, "/home/ann", "ann", 64, nil, profile.Profile{})
		if err != nil {
			t.Fatal(err)
		}
		return n, secret
	}
	peer := Peer{UID: 1000, PID: 1, SID: sid, TTY: 5}
	first, secret := open(SessionRequest{Kind: KindCLI, Peer: peer}, "/p")
	if again, _ := open(SessionRequest{Kind: KindCLI, Peer: peer}, "/p"); again != first || secret != "" {
		t.Error("the same terminal and project got another session, or a secret")
	}
	for name, p := range map[string]struct {
		peer Peer
		root string
	}{
		"another user":     {Peer{UID: 1001, SID: sid, TTY: 5}, "/p"},
		"another session":  {Peer{UID: 1000, SID: 1, TTY: 5}, "/p"},
		"another terminal": {Peer{UID: 1000, SID: sid, TTY: 6}, "/p"},
		"another project":  {peer, "/q"},
	} {
		if other, _ := open(SessionRequest{Kind: KindCLI, Peer: p.peer}, p.root); other == first {
			t.Errorf("%s got the session", name)
		}
		if p.root == "/p" {
			if _, err := all.get(first.ID, p.peer, ""); err == nil {
				t.Errorf("%s may use the session", name)
			}
		}
	}
	if other, _ := open(SessionRequest{Kind: KindCLI, Peer: peer, Agent: "loop"}, "/p"); other == first {
		t.Error("an agent that names itself got the person's session")
	}
	api, secret := open(SessionRequest{Kind: KindAPI, Peer: peer}, "/p")
	var wrong *SessionError
	if _, err := all.get(api.ID, peer, "guess"); !errors.As(err, &wrong) || !wrong.Secret {
		t.Errorf("a wrong secret: %v", err)
	}
	if got, err := all.get(api.ID, peer, secret); err != nil || got != api {
		t.Errorf("the right secret: %v", err)
	}
	if _, err := all.get(api.ID, Peer{UID: 1001}, secret); err == nil {
		t.Error("another user with the secret may use the session")
	}
	if len(all.left()) != 0 {
		// The session of sid 1 belongs to a process that lives.
		t.Errorf("%d sessions are said to be left", len(all.left()))
	}
	leader.Process.Kill()
	leader.Wait()
	left := all.left()
	if len(left) != 5 {
		t.Errorf("%d sessions left behind by the terminal, want 5", len(left))
	}
	if _, err := all.get(first.ID, peer, ""); err == nil {
		t.Error("the session outlives its terminal")
	}
}

// A program that opens sessions and never closes them leaves some for the person's own command lines, and loses those
// that it never used (issue 44, L5).
func TestSessionsThatNobodyUses(t *testing.T) {
	all := newSessions()
	peer := Peer{UID: 1000}
	open := func(kind Kind, root string) error {
		_, _, _, err := all.open(SessionRequest{Kind: kind, Peer: peer}, root, "/home/ann", "ann", 8, nil, profile.Profile{})
		return err
	}
	for range 6 {
		if err := open(KindAPI, "/p"); err != nil {
			t.Fatal(err)
		}
	}
	if err := open(KindAPI, "/p"); !errors.As(err, new(*LimitError)) {
		t.Errorf("a program takes the person's share: %v", err)
	}
	for _, root := range []string{"/p", "/q"} {
		if err := open(KindCLI, root); err != nil {
			t.Errorf("a command line has no session: %v", err)
		}
	}
	used := all.visible(1000)[0]
	for _, n := range all.visible(1000) {
		n.Opened = n.Opened.Add(-unusedIdle - time.Second)
		n.lastUsed = n.Opened
		if n.Kind == KindAPI {
			used = n
		}
	}
	used.touch()
	for _, n := range all.left() {
		if n == used {
			t.Error("a session that was used is over")
		}
		all.remove(n)
	}
	if err := open(KindAPI, "/p"); err != nil || len(all.visible(1000)) > 4 {
		t.Errorf("unused sessions stay: %d, %v", len(all.visible(1000)), err)
	}
}
