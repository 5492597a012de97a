package acceptance

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"sandboxd/ipc"
)

// machineIDs: bob hears the same about what is alice's as about what nobody has.
// Issue "The socket", 3; R-IP-05
func machineIDs(t *testing.T, m *machine, approval string) {
	var q ipc.Approval
	if err := json.Unmarshal([]byte(m.must("carol", "sbx --user alice pending "+approval+" --json")), &q); err != nil ||
		q.ExecID == "" || q.Session == "" {
		t.Fatal(q, err)
	}
	answer := fmt.Sprintf("POST -d '%s'", `{"rev": 1, "hash": "`+q.Hash+`", "allow": true}`)
	for _, ask := range []struct{ id, request string }{
		{q.ID, "GET /v1/approvals/ID"},
		{q.ID, answer + " /v1/approvals/ID/decision"},
		{q.ExecID, "GET /v1/exec/ID"},
		{q.ExecID, "GET /v1/exec/ID/events"},
		{q.ExecID, `POST -d '{"signal": "KILL"}' /v1/exec/ID/signal`},
		{q.ExecID, `POST -d 'aGk=' /v1/exec/ID/stdin`},
		{q.Session, "GET /v1/sessions/ID"},
		{q.Session, "DELETE /v1/sessions/ID"},
		{q.Session, "POST -d '{}' /v1/sessions/ID/turn"},
		{q.Session, `POST -d '{"session": "ID", "command": "true"}' /v1/exec`},
		{q.Session, `POST -d '{"session": "ID", "path": "mine"}' /v1/files/read`},
	} {
		// Of the same form, with other random digits.
		none := ask.id[:len(ask.id)-4] + strings.Map(func(r rune) rune { return '0' + (r+1)%10 }, ask.id[len(ask.id)-4:])
		said := func(socket, id string) string {
			r := m.as("bob", "curl -s --max-time 20 -w ' %{http_code}' --unix-socket /run/sandboxd/"+socket+
				" -H 'Content-Type: application/json' -X "+
				strings.Replace(strings.ReplaceAll(ask.request, "ID", id), " /v1", " http://x/v1", 1))
			return strings.ReplaceAll(r.String(), id, "ID")
		}
		for _, socket := range []string{"agent.sock", "approver.sock"} {
			his, nobodys := said(socket, ask.id), said(socket, none)
			if his != nobodys || strings.Contains(his, " 200") {
				t.Errorf("%s, bob: %s: alice's: %s; nobody's: %s", socket, ask.request, his, nobodys)
			}
		}
	}
}

func machineApprover(t *testing.T, m *machine) {
	asked := m.started("alice", "cd project && sbx run -c 'id -un > never.txt' < /dev/null")
	id := m.pending("carol", "alice")
	machineIDs(t, m, id)
	m.as("carol", "sbx --user alice approve "+id+" --deny") // if all that took less than the 30 s that it waits
	asked()
	wait := m.started("alice", "cd project && sbx run -c 'id -un > new.txt' < /dev/null")
	id = m.pending("carol", "alice")
	if r := m.as("bob", "sbx --user alice approve "+id+" --allow"); r.code == 0 {
		t.Errorf("bob answers for alice: %s", r)
	}
	if r := m.as("carol", "sbx --user alice approve "+id+" --allow --scope once --trust each"); r.code != 0 {
		t.Errorf("carol: %s", r)
	}
	if r := wait(); r.code != 0 {
		t.Fatalf("the command: %s", r)
	}
	if out := m.must("alice", "cat project/new.txt"); out != "alice" {
		t.Errorf("%q", out)
	}
	// She sees alice's sessions and what alice's projects are, not her own, and governs those.
	if out := m.must("carol", "sbx --user alice session ls --json | grep -o '\"root\":\"[^\"]*\"' | sort -u"); out != `"root":"/home/alice/project"` {
		t.Errorf("alice's sessions, to carol: %q", out)
	}
	if out := m.must("carol", "sbx --user alice trust --list --json | grep -o '\"dir\":\"[^\"]*\"'"); out != `"dir":"/home/alice/project"` {
		t.Errorf("what is trusted for alice, to carol: %q", out)
	}
	m.must("alice", "mkdir other")
	m.must("carol", "sbx --user alice trust /home/alice/other")
	if out := m.must("alice", "cd other && sbx session open --json | grep -o '\"trusted\":true'"); out != `"trusted":true` {
		t.Errorf("trusted by carol: %q", out)
	}
	m.must("carol", "sbx --user alice trust --remove /home/alice/other")
	// Who answered is on record, in the log and in the journal.
	m.until("the journal has it", func() bool {
		return m.sh("journalctl --no-pager -o json SANDBOXD_CATEGORY=decision SANDBOXD_HOW=person "+
			"SANDBOXD_DECISION=approved _UID=1000 | grep -q SANDBOXD_EXEC_ID").code == 0
	})
	if r := m.as("alice", "sbx log verify"); r.code != 0 {
		t.Errorf("%s", r)
	}
}

// machineRules: a user's rules, and answers of the scope global, hold for that user alone.
func machineRules(t *testing.T, m *machine) {
	for user, rule := range map[string]string{"alice": "allowed = false", "bob": "approval = false"} {
		m.must(user, "mkdir -p -m 700 .config/sandboxd && printf '[[shell.rules]]\npattern = \"mkdir ruled\"\n"+
			rule+"\n' > .config/sandboxd/config.toml")
	}
	m.must("root", "systemctl reload sandboxd.service")
	m.must("carol", "sbx --user bob trust /home/bob/project")
	m.until("alice's rule refuses", func() bool {
		return strings.Contains(m.as("alice", "cd project && sbx check mkdir ruled").String(), "deny")
	})
	for user, code := range map[string]int{"alice": 126, "bob": 0} {
		r := m.as(user, "cd project && sbx run -- mkdir ruled < /dev/null")
		made := m.as(user, "test -d project/ruled").code == 0
		if r.code != code || made != (code == 0) {
			t.Errorf("%s, under a rule of their own: got %s, directory made: %v; want exit status %d", user, r, made, code)
		}
	}
	// Always, for alice: her next one runs unasked, and bob is asked.
	wait := m.started("alice", "cd project && sbx run -- mkdir -p granted < /dev/null")
	m.must("carol", "sbx --user alice approve "+m.pending("carol", "alice")+" --allow --scope global")
	if r := wait(); r.code != 0 {
		t.Errorf("allowed by carol: %s", r)
	}
	if r := m.as("alice", "cd project && sbx run -- mkdir -p granted < /dev/null"); r.code != 0 {
		t.Errorf("alice's next: got %s, want it to run unasked", r)
	}
	wait = m.started("bob", "cd project && sbx run -- mkdir -p granted < /dev/null")
	m.must("carol", "sbx --user bob approve "+m.pending("carol", "bob")+" --deny")
	if r := wait(); r.code != 126 || m.as("bob", "test -d project/granted").code == 0 {
		t.Errorf("bob, by what alice was granted: got %s, want the refusal of carol", r)
	}
	alice, bob := m.must("carol", "sbx --user alice grants ls"), m.must("carol", "sbx --user bob grants ls")
	if !strings.Contains(alice, "granted") || strings.Contains(bob, "granted") {
		t.Errorf("grants: alice has %q, bob has %q", alice, bob)
	}
	m.must("alice", "rm .config/sandboxd/config.toml")
	m.must("bob", "rm .config/sandboxd/config.toml")
	m.must("root", "systemctl reload sandboxd.service")
}
