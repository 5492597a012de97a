package audit

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/coreos/go-systemd/v22/journal"
)

// Message ids of the catalog (packaging/journal/sandboxd.catalog).
var messageIDs = map[string]string{
	Decision:  "16a2827aa60349e5b18006517fb724d0",
	Execution: "e903963d70e8417d9c4ff80636ade4ce",
	Config:    "6117d686f3a9453084a0d1fe22b29549",
	Chain:     "62520ea7ba174fd6b538bc4f050ea5ce",
}

// maxJournalLine bounds the record that goes into the field SANDBOXD_RECORD; a
// longer one is only in the log.
const maxJournalLine = 32 << 10

// Journal mirrors records to systemd's journal, with a field for each searchable value. It never
// waits: records that the journal does not accept in time are dropped there and counted; the log
// has them.
//
//	j, err := audit.OpenJournal()
//	log, err := audit.Open(dir, audit.Options{Mirror: j.Mirror})
//	…
//	log.Close()
//	j.Close()
type Journal struct {
	queue   chan message
	ended   sync.WaitGroup
	dropped atomic.Uint64
}

type message struct {
	text     string
	priority journal.Priority
	fields   map[string]string
}

// OpenJournal returns an error where there is no journal.
func OpenJournal() (*Journal, error) {
	if !journal.Enabled() {
		return nil, fmt.Errorf("mirror the audit log: there is no journal at /run/systemd/journal/socket; set [audit] " +
			"journal = false")
	}
	j := &Journal{queue: make(chan message, 1024)}
	j.ended.Go(func() {
		for m := range j.queue {
			if err := journal.Send(m.text, m.priority, m.fields); err != nil {
				j.dropped.Add(1)
			}
		}
	})
	return j, nil
}

// Mirror is for [Options].
func (j *Journal) Mirror(m Mirrored) {
	select {
	case j.queue <- message{journalText(m.Record), journalPriority(m.Record), journalFields(m)}:
	default:
		j.dropped.Add(1)
	}
}

// Dropped counts the records that the journal did not take.
func (j *Journal) Dropped() uint64 { return j.dropped.Load() }

// Close sends the queued records. The log must be closed before.
func (j *Journal) Close() {
	close(j.queue)
	j.ended.Wait()
}

// journalText is the line that journalctl shows. It is escaped like the log.
func journalText(r Record) string {
	what := r.Subject
	if what == "" {
		what = strings.Join(r.Argv, " ")
	}
	verb := strings.TrimSpace(r.Category + " " + r.Operation)
	if r.Exit != nil {
		verb += " (status " + strconv.Itoa(*r.Exit) + ")"
	}
	text := verb
	for _, s := range []string{what, r.Reason, r.Error} {
		if s != "" {
			text += ": " + s
		}
	}
	if len(text) > keep {
		text = short(text)
	}
	return string(escape([]byte(strings.Map(func(r rune) rune {
		if r < ' ' { // the fields have it as it was
			return '\uFFFD'
		}
		return r
	}, text))))
}

func journalPriority(r Record) journal.Priority {
	switch {
	case r.Category == Chain && r.Operation != "began" && r.Operation != removedOld, r.Error != "":
		return journal.PriWarning
	case r.Category == Decision && r.Decision != "approved":
		return journal.PriNotice
	}
	return journal.PriInfo
}

// journalFields are named after the record's own keys.
func journalFields(m Mirrored) map[string]string {
	r := m.Record
	f := map[string]string{"SYSLOG_IDENTIFIER": "sandboxd"}
	set := func(name, value string) {
		if value != "" {
			f[name] = value
		}
	}
	set("MESSAGE_ID", messageIDs[r.Category])
	set("SANDBOXD_SEQ", strconv.FormatUint(m.Seq, 10))
	set("SANDBOXD_HASH", m.Hash)
	for name, value := range map[string]string{
		"CATEGORY": r.Category, "OPERATION": r.Operation, "SESSION": r.Session, "AGENT": r.Agent, "TOOL": r.Tool,
		"CALL_ID": r.CallID, "EXEC_ID": r.ExecID, "SUBJECT": r.Subject, "CWD": r.Cwd, "DECISION": r.Decision,
		"REASON": r.Reason, "BY": r.By, "HOW": r.How, "SCOPE": r.Scope, "GRANT": r.Grant, "RULE": r.Rule, "NOTE": r.Note,
		"KEY": r.Key, "RISK": r.Risk, "MODE": r.Mode, "PROFILE": r.Profile, "ENFORCEMENT": r.Enforcement, "SIGNAL": r.Signal,
		"ERROR": r.Error, "LIMITS": strings.Join(r.Limits, " "),
	} {
		if len(value) > keep {
			value = short(value)
		}
		set("SANDBOXD_"+name, value)
	}
	if r.Peer != nil {
		set("SANDBOXD_PEER_UID", strconv.Itoa(r.Peer.UID))
		set("SANDBOXD_PEER_PID", strconv.Itoa(r.Peer.PID))
		set("SANDBOXD_PEER_EXE", r.Peer.Exe)
	}
	if r.Exit != nil {
		set("SANDBOXD_EXIT", strconv.Itoa(*r.Exit))
		set("SANDBOXD_DURATION_MS", strconv.FormatInt(r.DurationMS, 10))
	}
	if len(m.Line) <= maxJournalLine {
		set("SANDBOXD_RECORD", strings.TrimSuffix(string(m.Line), "\n"))
	}
	return f
}
