package main

import (
	"os"
	"path/filepath"
	"testing"

	"sandboxd/ipc"
)

// Held change sets through both sockets: an agent lists, shows, lands and drops those of its session. R-LY-05
func TestHeldChangesOfAgents(t *testing.T) {
	s := serveHere(t, "[sandbox]\nbackend = \"native\"\n", "--mode", "approve-all")
	ctx := t.Context()
	must(s.approver.Trust(ctx, ipc.TrustRequest{Dir: s.project}))(t)
	session := s.session()
	for _, c := range []struct {
		name string
		land ipc.LandRequest
		want string // a.txt after it
	}{
		{"shown only", ipc.LandRequest{DryRun: true}, ""},
		{"dropped", ipc.LandRequest{Drop: true}, ""},
		{"landed", ipc.LandRequest{Paths: []string{"a.txt"}}, "one\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, exit := s.output(ipc.ExecRequest{Session: session.ID, Command: "echo one > a.txt", Hold: true})
			if exit.Changes == nil || exit.Changes.HeldID == "" {
				t.Fatalf("got %+v, want a held change set", exit)
			}
			id := exit.Changes.HeldID
			held := must(s.agent.HeldChange(ctx, ipc.HeldRequest{Session: session.ID, ID: id}))(t)
			if len(held.Files) != 1 || held.Files[0].Added != 1 || held.Files[0].Removed != 0 {
				t.Errorf("got %+v, want one file with one new line", held.Files)
			}
			for who, list := range map[string]ipc.HeldChanges{
				"agent":    must(s.agent.HeldChanges(ctx, ipc.HeldRequest{Session: session.ID}))(t),
				"approver": must(s.approver.HeldChanges(ctx, ipc.HeldRequest{}))(t),
			} {
				if n := len(list.Changes); n == 0 || list.Changes[0].ID != id || list.Changes[0].Count != 1 {
					t.Errorf("%s: got %+v, want %s with one path first", who, list.Changes, id)
				}
			}
			c.land.Session, c.land.ID = session.ID, id
			must(s.agent.Land(ctx, c.land))(t)
			if b, _ := os.ReadFile(filepath.Join(s.project, "a.txt")); string(b) != c.want {
				t.Errorf("got %q, want %q", b, c.want)
			}
			if c.land.DryRun { // the next command would see it, and depend on it
				must(s.agent.Land(ctx, ipc.LandRequest{Session: session.ID, ID: id, Drop: true}))(t)
			}
		})
	}
	for who, client := range map[string]*ipc.Client{"agent": s.agent, "approver": s.approver} {
		r := ipc.HeldRequest{Session: session.ID, ID: "h-absent"}
		if _, err := client.HeldChange(ctx, r); code(err) != ipc.CodeNotFound {
			t.Errorf("%s: got %v for a change set that does not exist, want %s", who, err, ipc.CodeNotFound)
		}
		l := ipc.LandRequest{Session: session.ID, ID: "h-absent"}
		if _, err := client.Land(ctx, l); code(err) != ipc.CodeNotFound {
			t.Errorf("%s: got %v for landing it, want %s", who, err, ipc.CodeNotFound)
		}
	}
}
