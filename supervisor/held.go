package supervisor

import (
	"strings"

	"sandboxd/files"
	"sandboxd/files/store"
)

// heldPrefix begins the ids of held change sets: the rest is that of the run's id.
const heldPrefix = "h-"

func heldID(exec string) string { return heldPrefix + strings.TrimPrefix(exec, "x-") }

// opHeld is the operation of a held change set in a list of changes.
const opHeld = "held"

// layerNote is the content of the file beside a layer. Held is why the change set did not land.
type layerNote struct {
	store.Record
	Held string `json:"held,omitempty"`
}

// heldSteps are the steps of a held change set, for people and for the judgement. It implements files.Kept.
type heldSteps struct {
	files.Kept // nil: no content is asked for
	steps      []files.Step
}

func (h *heldSteps) Steps() []files.Step { return h.steps }
func (h *heldSteps) HasContent(int) bool { return false }

// heldChange is a held change set in a list of changes.
func heldChange(note layerNote, steps []files.Step) Change {
	c := Change{ID: heldID(note.Exec), Session: note.Session, Time: note.Time, Op: opHeld, Note: note.Held}
	c.What = whatOf(steps)
	return c
}
