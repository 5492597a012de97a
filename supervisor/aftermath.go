package supervisor

import (
	"fmt"
	"path/filepath"
	"time"

	"sandboxd/audit"
	"sandboxd/supervisor/aftermath"
)

// maxQuarantined bounds how many finds a result lists one by one; the trash has
// a note of all.
const maxQuarantined = 100

// afterCheck is the look at protected names around one run.
type afterCheck struct {
	s      *Supervisor
	e      *Exec
	j      *judgement
	before *aftermath.Snapshot
	start  time.Time
}

// beforeRun notes what stands under protected names before the command begins.
func (s *Supervisor) beforeRun(e *Exec, j *judgement) *afterCheck {
	c := &afterCheck{s: s, e: e, j: j, before: aftermath.Before(j.names, &s.seen)}
	c.start = time.Now()
	return c
}

// after takes out what the command left under protected names. All of its
// processes are gone.
func (c *afterCheck) after(r *Result) {
	found := c.before.After(aftermath.Run{ID: c.e.ID, Start: c.start, End: time.Now(), Holds: c.j.plan.Holds, Granted: c.j.widened, Trash: c.s.trash})
	if found.Partly {
		r.Warnings = append(r.Warnings, "protected names were not looked for everywhere after the run: the trees are too large, or could not be read")
	}
	for i, item := range found.Items {
		if i == maxQuarantined {
			r.Warnings = append(r.Warnings, fmt.Sprintf("%d more protected names were dealt with; %s lists what was moved", len(found.Items)-i,
				filepath.Join(c.s.trash, c.e.ID, "manifest.json")))
			break
		}
		r.Quarantined = append(r.Quarantined, item)
	}
	for i, item := range r.Quarantined {
		rec := recordOf(c.e, c.j)
		rec.Category, rec.Operation, rec.Subject, rec.Reason = audit.Execution, "quarantine", item.Path, item.Why
		if item.Kept {
			rec.Operation = "notice"
		}
		if item.Trash != "" {
			rec.Detail = map[string]string{"trash": item.Trash}
		}
		if err := c.s.record(rec); err != nil {
			r.Warnings = append(r.Warnings, fmt.Sprintf("%d finds under protected names could not be recorded: %v", len(r.Quarantined)-i, err))
			return
		}
	}
}
