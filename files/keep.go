package files

import (
	"context"
	"fmt"
	"os"
)

// Keeper stores the steps of a change and the content that they lose, before the change; it returns
// when both are on disk. The undo store is one.
//
// Steps of one change may come in several calls; last is true with the last. old runs parallel to
// steps: a regular file opened for reading, or nil where a step loses no content. The caller closes
// the files.
type Keeper interface {
	Keep(ctx context.Context, steps []Step, old []*os.File, last bool) error
}

// Kept is a change as the keeper has it, for undoing it.
type Kept interface {
	Steps() []Step
	// HasContent reports whether the content that a step lost is kept, and
	// Content opens it for reading; the caller closes it.
	HasContent(step int) bool
	Content(step int) (*os.File, error)
}

// UndoHow says how a change is undone.
type UndoHow struct {
	// Force undoes although something has changed since; Rest leaves out what has.
	Force bool `json:"force,omitempty"`
	Rest  bool `json:"rest,omitempty"`
	// Run: the steps are those of a direct run.
	Run bool `json:"run,omitempty"`
	// Again: an earlier undo of them was cut off, so folders' times are its own.
	Again bool `json:"again,omitempty"`
}

// PartialError is a change of several steps that stopped on the way. The first
// Done steps were carried out, and can be undone.
type PartialError struct {
	Done int
	Err  error
}

func (e *PartialError) Error() string {
	return fmt.Sprintf("%v (stopped after step %d; what was done can be undone)", e.Err, e.Done)
}

func (e *PartialError) Unwrap() error { return e.Err }

// Preview is the content before and after a change, as far as it is small enough to show to a
// person.
type Preview struct {
	// Old and New travel beside the rest. Nil where there is none.
	Old []byte `json:"-"`
	New []byte `json:"-"`
	// OldSize and NewSize are of the whole contents; -1 where there is none.
	OldSize int64 `json:"old_size"`
	NewSize int64 `json:"new_size"`
	// Entries are names that a folder's removal or move takes along, the first few.
	Entries []string `json:"entries,omitempty"`
	More    bool     `json:"more,omitempty"`
}
