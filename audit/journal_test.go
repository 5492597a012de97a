package audit

import (
	"regexp"
	"strings"
	"testing"
	"time"
)

// R-AU-02: the journal gets a field for everything that one searches for, and
// nothing in it can be taken for another line.
func TestJournalFields(t *testing.T) {
	exit := 3
	m := Mirrored{Anchor: Anchor{Seq: 7, Hash: strings.Repeat("a", 64)}, Line: []byte("{…}\n"),
		Record: Record{Time: time.Now(),
			Category: Execution, Operation: "end", Session: "s1", ExecID: "e1", Agent: "claude",
			Subject: "rm x\nPRIORITY=0\x1b[2J\u202e", Exit: &exit, DurationMS: 12,
			Peer: &Peer{UID: 1000, PID: 42, Exe: "/bin/sh"}, Decision: "approved"}}
	f := journalFields(m)
	for name, want := range map[string]string{"SANDBOXD_EXEC_ID": "e1", "SANDBOXD_DECISION": "approved",
		"SANDBOXD_SESSION": "s1", "SANDBOXD_AGENT": "claude",
		"SANDBOXD_SEQ": "7", "SANDBOXD_EXIT": "3", "SANDBOXD_PEER_UID": "1000", "SANDBOXD_RECORD": "{…}",
		"MESSAGE_ID": messageIDs[Execution]} {
		if f[name] != want {
			t.Errorf("%s=%q, want %q", name, f[name], want)
		}
	}
	form := regexp.MustCompile(`^[A-Z][A-Z0-9_]*$`)
	for name := range f {
		if !form.MatchString(name) {
			t.Errorf("field %q", name)
		}
	}
	if text := journalText(m.Record); strings.ContainsAny(text, "\n\x1b\u202e") ||
		!strings.HasPrefix(text, "execution end (status 3): rm x") {
		t.Errorf("%q", text)
	}
}
