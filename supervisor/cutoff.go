package supervisor

import (
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"sandboxd/audit"
	"sandboxd/supervisor/aftermath"
)

const (
	// maxDying is how long the scan after a run that was cut off waits for its
	// processes, which die with their daemon.
	maxDying = 20 * time.Second
	// keepCut is for how long the note of a run is kept whose trees are not there.
	keepCut = 30 * 24 * time.Hour
)

// CutOff is a run that an earlier daemon's death cut off, as it was looked after.
type CutOff struct {
	Exec, Session, Root string
	// Found are the entries that it left under protected names.
	Found []aftermath.Item
	// Why it could not be looked after, or not everywhere; "": it was.
	Why string
	// Undo describes an undo, which is no run.
	Undo string
}

// CutOffs are the runs that this daemon found at its start and that somebody should
// know of, and the undos of which a part is done.
func (s *Supervisor) CutOffs() []CutOff {
	s.mu.Lock()
	list := slices.Clone(s.cutOffs)
	s.mu.Unlock()
	for _, r := range s.Undo.Halves() {
		list = append(list, CutOff{Session: r.Session, Root: r.Project, Undo: half(r)})
	}
	return list
}

// recoverRuns checks the runs that an earlier daemon's death cut off, as that
// daemon would have when they ended. A check that can't be recorded is not done: its note
// stays for the next start. begun are the runs by the ids of their change sets.
func (s *Supervisor) recoverRuns() (begun map[string]aftermath.Begun) {
	cuts, bad, err := s.notes.Left()
	begun = map[string]aftermath.Begun{}
	for _, c := range cuts {
		begun[runID(c.Exec)] = c.Begun
	}
	if err != nil {
		s.tellCutOff(CutOff{Why: err.Error()})
	}
	for _, b := range bad {
		c := CutOff{Why: b.Error() + "; nobody looked at what it left under protected names"}
		if s.recordCutOff(c) != nil {
			return begun
		}
		if err := s.notes.Discard(b); err != nil {
			c.Why += "; the note could not be removed: " + err.Error()
		}
		s.tellCutOff(c)
	}
	// The entry at a find of the first of several is no news to the others.
	dealt := map[string]bool{}
	for _, c := range cuts {
		if !s.recoverRun(c, dealt) {
			return begun
		}
	}
	return begun
}

// recoverRun looks after one run. It is false where nothing more can be done now.
func (s *Supervisor) recoverRun(c *aftermath.Cut, dealt map[string]bool) bool {
	out := CutOff{Exec: c.Exec, Session: c.Session, Root: c.Root}
	end, dead := s.death(c)
	if s.ctx.Err() != nil {
		return false
	}
	if !dead {
		out.Why = fmt.Sprintf("process %d of its sandbox is still there", c.First)
	}
	found := c.Before.After(aftermath.Run{ID: c.Exec, Project: c.Root, Start: c.Start, End: end, Held: c.Held,
		Granted: c.Granted, Trash: s.trash, Late: true, Dealt: dealt})
	for _, item := range found.Items {
		dealt[item.Path] = true
	}
	out.Found = found.Items
	switch {
	case len(found.Missing) > 0:
		out.Why = fmt.Sprintf("%q is not there, or is another folder; it is looked through when the daemon starts and it "+
			"is there again", found.Missing)
	case found.Partly && out.Why == "":
		out.Why = "protected names were not looked for everywhere: the trees are too large, or could not be read"
	}
	if s.recordCutOff(out) != nil {
		return false
	}
	if dead && len(found.Missing) == 0 || time.Since(c.Last) > keepCut {
		if err := s.notes.Done(c); err != nil {
			out.Why = "its note could not be removed: " + err.Error()
		}
	}
	s.tellCutOff(out)
	return true
}

// death waits until a run's processes are gone and says until when they may have
// lived; dead is false where one of them stays.
func (s *Supervisor) death(c *aftermath.Cut) (end time.Time, dead bool) {
	for asked := time.Now(); ; {
		now := time.Now()
		switch {
		case c.First > 0 && !lives(c.First, c.End), c.First == 0 && now.After(c.End):
			if now.Before(c.End) {
				return now, true
			}
			return c.End, true
		case now.Sub(asked) > maxDying:
			return now, false
		}
		select {
		case <-s.ctx.Done():
			return now, false
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// lives reports whether the process is there, and not another one that got its
// number after a time.
func lives(pid int, after time.Time) bool {
	if unix.Kill(pid, 0) != nil { // not there, or another user's
		return false
	}
	dead, born := stateOfProcess(pid)
	return !dead && !born.After(after)
}

// recordCutOff records the finds, as the run's own end would have.
func (s *Supervisor) recordCutOff(c CutOff) error {
	rec := audit.Record{Category: audit.Execution, Operation: "cut off", Session: c.Session, ExecID: c.Exec, Tool: "bash",
		Subject: c.Root,
		Reason:  "the daemon died while this ran, and the command with it", Error: c.Why}
	if err := s.record(rec); err != nil {
		return err
	}
	return s.recordFound(audit.Record{Session: c.Session, ExecID: c.Exec, Tool: "bash"}, c.Found)
}

// tellCutOff has the status say it where a person should know.
func (s *Supervisor) tellCutOff(c CutOff) {
	if len(c.Found) == 0 && c.Why == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cutOffs = append(s.cutOffs, c)
}
