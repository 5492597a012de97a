package supervisor

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"sandboxd/audit"
	"sandboxd/supervisor/aftermath"
)

// held are the mounts that keep the command from the host's names; see sandbox.Plan.Mounts. A layered run does not
// reach the project.
func (c *afterCheck) held() map[string]bool {
	held := c.j.plan.Mounts()
	if layered := c.layered(); layered != "" {
		held = maps.Clone(held)
		held[layered] = true
	}
	return held
}

// layered is the project of a layered run, else "".
func (c *afterCheck) layered() string {
	if c.j.kind == RunLayered {
		return c.e.Session.Root
	}
	return ""
}

// maxQuarantined bounds how many finds a result lists one by one; the trash has
// a note of all.
const maxQuarantined = 100

// afterCheck is the check of protected names around one run.
type afterCheck struct {
	s      *Supervisor
	e      *Exec
	j      *judgement
	before *aftermath.Snapshot // nil: there is nothing to check
	start  time.Time
	taken  []aftermath.Item // at the command's end
	// note has the next daemon look, should this one die; nothing runs without.
	note *aftermath.Note
	// snapshot is the state that an undo of the run restores; nil for a reader.
	snapshot *runSnapshot
}

// begin records the entries under protected names before the command begins. After a reader there is nothing to check.
func (c *afterCheck) begin() (err error) {
	if c.j.kind == RunReads && !aftermath.Needed(c.j.plan.Profile) {
		return nil
	}
	c.before, c.start = aftermath.Before(c.j.names, &c.s.seen, c.layered()), time.Now()
	_ = aftermath.Reserve(c.s.trash) // where there is no room the note below finds out
	c.note, err = c.s.notes.Begin(aftermath.Begun{Exec: c.e.ID, Session: c.e.Session.ID, Root: c.e.Session.Root,
		Start: c.start, Held: c.held(), Granted: c.j.widened, By: c.e.writer(), Layered: c.layered() != ""}, c.before)
	if err == nil {
		c.snapshot = c.s.beginSnapshot(c.e, c.j)
		c.e.snapshot.Store(c.snapshot)
		err = c.snapshot.holds(c.j)
	}
	return err
}

// ended removes the note: nothing is left to check. Nobody waits for that; should the note
// stay, the next daemon checks once more.
func (c *afterCheck) ended() {
	if c.before == nil {
		return
	}
	c.before.Done()
	c.e.later(func() { c.note.End() })
}

// partlyLooked is the warning of a scan that did not see everything.
const partlyLooked = "protected names were not looked for everywhere: the trees are too large, " +
	"or could not be read"

// run describes the run to the scan.
func (c *afterCheck) run() aftermath.Run {
	return aftermath.Run{
		ID: c.e.ID, Project: c.e.Session.Root, Start: c.start, End: time.Now(),
		Held: c.held(), Granted: c.j.widened, Asked: !c.j.contained, Trash: c.s.trash,
	}
}

// after removes the entries that the command left under protected names in the trees that it wrote to directly. All of
// its processes have ended.
func (c *afterCheck) after(r *Result) {
	defer c.ended()
	c.takeOut(r)
}

// again removes the entries that a job left since its command's end, and returns their number.
func (c *afterCheck) again() int {
	if c.before == nil {
		return 0
	}
	defer func() {
		c.before.Done()
		c.note.End()
	}()
	run := c.run()
	run.Late = true
	found := c.before.After(run)
	items := slices.DeleteFunc(found.Items, func(i aftermath.Item) bool { return slices.Contains(c.taken, i) })
	_ = c.s.recordFound(recordOf(c.e, c.j), items)
	return len(items)
}

// takeOut is after for a command that left a job.
func (c *afterCheck) takeOut(r *Result) {
	if c.j.kind == RunReads {
		r.Changes = &Changes{Kind: RunReads, Coverage: Coverage{Covered: true}}
	}
	if c.before == nil {
		return
	}
	defer func() {
		if changes := c.snapshot.end(); changes != nil {
			changes.Direct, r.Changes = c.j.direct, changes
			r.Warnings = append(r.Warnings, c.snapshot.missed...)
		}
	}()
	found := c.before.After(c.run())
	c.taken = found.Items
	if found.Partly {
		r.Warnings = append(r.Warnings, partlyLooked)
	}
	for i, item := range found.Items {
		if i == maxQuarantined {
			r.Warnings = append(r.Warnings, fmt.Sprintf("%d more protected names were dealt with; %s lists what was moved",
				len(found.Items)-i,
				filepath.Join(c.s.trash, c.e.ID, "manifest.json")))
			break
		}
		r.Quarantined = append(r.Quarantined, item)
	}
	if len(r.Quarantined) == 0 {
		return
	}
	if err := c.s.recordFound(recordOf(c.e, c.j), r.Quarantined); err != nil {
		r.Warnings = append(r.Warnings, fmt.Sprintf("what was found under protected names could not all be recorded: %v",
			err))
	}
}

// recordFound records finds, each with of's description of the run.
func (s *Supervisor) recordFound(of audit.Record, found []aftermath.Item) error {
	for _, item := range found {
		rec := of
		rec.Category, rec.Operation, rec.Subject, rec.Reason = audit.Execution, "quarantine", item.Path, item.Why
		if item.Kept {
			rec.Operation = "notice"
		}
		if item.Trash != "" {
			rec.Detail = map[string]string{"trash": item.Trash}
		}
		if err := s.record(rec); err != nil {
			return err
		}
	}
	return nil
}
