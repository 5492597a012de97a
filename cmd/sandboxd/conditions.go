package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"sandboxd/approval"
	"sandboxd/approval/external"
	"sandboxd/audit"
	"sandboxd/config"
	"sandboxd/ipc"
	"sandboxd/supervisor"
)

// openJournal opens the mirror that the configuration wants. Without a journal
// the daemon still serves, and warns: the log itself is complete without it.
func openJournal(cfg *config.Config, log *slog.Logger) (*audit.Journal, error) {
	if !cfg.Audit.Journal {
		return nil, nil
	}
	j, err := audit.OpenJournal()
	switch {
	case err == nil:
		return j, nil
	case cfg.Origin("audit.journal").File == "":
		// Nobody asked for it: a host without a journal is nothing to warn of.
		log.Info("records are not mirrored", "why", err)
		return nil, nil
	}
	log.Warn("records are not mirrored", "error", err)
	return nil, err
}

// flushEvery is how many uses of grants a crash can make us forget.
const flushEvery = 30 * time.Second

// flushGrants writes use counts down now and then. An error shows in the status,
// because the controller keeps it.
func (b *backend) flushGrants(ctx context.Context) {
	every(ctx, flushEvery, func() {
		err := b.approvals.Flush()
		b.mu.Lock()
		b.unsaved = err
		b.mu.Unlock()
	})
}

// every calls do at intervals until ctx ends.
func every(ctx context.Context, interval time.Duration, do func()) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			do()
		}
	}
}

// alive acquires and releases every lock of a request, so that the watchdog notices a deadlock.
func (b *backend) alive() {
	func() {
		b.mu.Lock()
		defer b.mu.Unlock()
	}()
	b.sup.Running()
	b.approvals.Mode(approval.SessionRef{})
}

// statusLine is for the service manager.
func (b *backend) statusLine() string {
	line := fmt.Sprintf("%d commands running, %d questions waiting; the sandbox is %s", b.sup.Running(),
		len(b.approvals.Pending(b.operator())), b.sup.Host.Report().Level())
	if found := b.conditions(); len(found) > 0 {
		line += "; " + found[0].Where + ": " + found[0].Message
	}
	return line
}

// conditions are the warnings about the daemon's own state
// (R-AU-02, R-AU-03, R-OP-02, R-OP-03).
func (b *backend) conditions() []ipc.Warning {
	list := []ipc.Warning{}
	add := func(where, hint, format string, args ...any) {
		list = append(list, ipc.Warning{Where: where, Message: fmt.Sprintf(format, args...), Hint: hint})
	}
	b.mu.Lock()
	refused, unsaved, untold := b.refused, b.unsaved, b.untold
	b.mu.Unlock()
	if refused != nil {
		add("configuration", "sandboxd config check", "the last reload was refused and the old configuration is in force: %v",
			refused)
	}
	if path := b.sup.Config().Approval.RuleProgram; path != "" {
		if err := (&external.Program{Path: path}).Check(); err != nil {
			add("rule program", "[approval] rule_program", "every call asks, as %q is not run: %v", path, err)
		}
	}
	for _, line := range b.notices.Problems() {
		add("notices", "[notify]; sbx pending lists the waiting questions", "%s", line)
	}
	found := b.audit.Opening()
	if bad := found.Broken; bad != nil {
		add("audit log", "sbx log verify; compare with a copy", "it is not as it was written: %v; a new file was begun", bad)
	}
	if r := found.Repair; r != nil {
		add("audit log", "", "its end was incomplete after a crash: %d bytes of %s were moved to %q; nothing ran because "+
			"of them", r.Bytes, r.File, r.Aside)
	}
	if n := found.Restored; n > 0 {
		add("audit log", "", "the last %d records, which a loss of power had taken from its newest file, are there again", n)
	}
	for _, c := range b.sup.CutOffs() {
		tellCutOff(c, add)
	}
	if err := b.audit.Err(); err != nil {
		add("audit log", "free space or fix the state directory", "it can't be written, so nothing runs: %v", err)
	}
	for _, err := range b.sup.Undo.Damaged() {
		add("undo", "", "%v", err)
	}
	if err := b.approvals.StoreErr(); err != nil {
		add("grants", "sbx grants ls", "%v", err)
	}
	if unsaved != nil {
		add("grants", "free space or fix the state directory", "how often they were used can't be saved: %v", unsaved)
	}
	if untold != nil {
		add("audit log", "sbx log verify", "its head is not with the system's broker: %v", untold)
	}
	if b.noJournal != nil {
		add("journal", "", "%v", b.noJournal)
	}
	if b.journal != nil && b.journal.Dropped() > 0 {
		add("journal", "sbx log has them", "it did not take %d records", b.journal.Dropped())
	}
	return list
}

// tellCutOff reports a run that the death of an earlier daemon cut off, or an undo.
func tellCutOff(c supervisor.CutOff, add func(where, hint, format string, args ...any)) {
	if c.Undo != "" {
		add("undo in "+c.Root, "", "%s", c.Undo)
		return
	}
	where, hint := "a run that was cut off", ""
	if c.Exec != "" {
		where, hint = "run "+c.Exec, "sbx log --exec "+c.Exec
	}
	var moved, kept []string
	for _, i := range c.Found {
		if i.Kept {
			kept = append(kept, i.Path)
		} else {
			moved = append(moved, i.Path)
		}
	}
	if len(moved) > 0 {
		add(where, "sbx undo "+c.Exec+" brings them back",
			"the daemon died while it ran; what it had left under protected names is in the trash: %s", list(moved, 5))
	}
	if len(kept) > 0 {
		add(where, hint, "the daemon died while it ran; look at these, which may be your own: %s", list(kept, 5))
	}
	if c.Why != "" {
		add(where, hint, "the daemon died while it ran, and not all that it left was looked for: %s", c.Why)
	}
}
