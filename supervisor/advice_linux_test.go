package supervisor_test

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"sandboxd/audit"
	"sandboxd/supervisor"
)

// Advice proposes what would have saved questions and refusals, and nothing that a person refused, or that
// is dangerous, secret or protected (R-UX-08).
func TestAdvise(t *testing.T) {
	s := newScene(t, false)
	// asked is a question of the log, times over.
	asked := func(times int, tool, subject string, input any, decision string) {
		t.Helper()
		raw, err := json.Marshal(input)
		for range times {
			if err == nil {
				err = s.Record(
					audit.Record{Category: audit.Decision, Tool: tool, Subject: subject, Input: raw, Cwd: s.project,
						How: "person", Decision: decision, Peer: &audit.Peer{UID: os.Getuid(), PID: 1}},
				)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	host := func(name string) map[string]any { return map[string]any{"host": name, "port": 443} }
	asked(5, "bash", "go test ./...", nil, "approved")
	asked(4, "bash", "openssl rand -hex 3", nil, "approved")
	asked(3, supervisor.NetworkTool, "", host("files.example.org"), "approved")
	asked(2, "bash", "openssl dgst notes.md", nil, "denied")
	asked(1, "bash", "mkfs one", nil, "approved") // once
	asked(9, supervisor.NetworkTool, "", host("bad.example.org"), "denied")
	asked(9, supervisor.NetworkTool, "", host("192.0.2.7"), "approved")
	asked(9, "bash", "rm -rf /", nil, "approved")
	asked(9, "bash", "cat ~/.ssh/id_rsa", nil, "approved")
	asked(9, "bash", "echo x >> .git/config", nil, "approved")
	asked(9, "bash", "bash -c 'openssl rand -hex 3; date'", nil, "approved")
	for range 2 { // commands
		if err := s.Record(audit.Record{Category: audit.Execution, Operation: "end", Cwd: s.project,
			Peer: &audit.Peer{UID: os.Getuid()}, Network: []audit.Reached{{Target: "more.example.org:443", Refused: 3},
				{Target: "reached.example.org:443", Refused: 1, Connections: 1}}}); err != nil {
			t.Fatal(err)
		}
	}
	// Another user's.
	if err := s.Record(audit.Record{Category: audit.Decision, Tool: "bash", Subject: "npm test",
		Cwd: s.project, How: "person", Decision: "approved", Peer: &audit.Peer{UID: os.Getuid() + 1}}); err != nil {
		t.Fatal(err)
	}
	got, err := s.Advise(t.Context(), s.peer)
	if err != nil {
		t.Fatal(err)
	}
	if got.Decisions != 69 || got.Asked != 69 || got.Refused != 2 {
		t.Errorf("got %d decisions, %d asked, %d refused", got.Decisions, got.Asked, got.Refused)
	}
	var short []supervisor.Proposal
	for _, p := range got.Proposals {
		if p.Permits == "" {
			t.Errorf("%+v does not say what it permits besides", p)
		}
		p.Permits = ""
		short = append(short, p)
	}
	want := []supervisor.Proposal{
		{List: "permissions.allow", Value: "Bash(openssl rand *)", Questions: 13}, // those in bash -c, too
		{List: "presets.use", Value: "go", Questions: 5},
		{List: "network.allow", Value: "files.example.org:443", Questions: 3},
		{List: "network.allow", Value: "more.example.org:443", Refusals: 2},
	}
	if !slices.Equal(short, want) {
		t.Errorf("got  %+v\nwant %+v", short, want)
	}
}
