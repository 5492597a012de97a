//go:build !linux

package supervisor

import (
	"context"
	"os"

	"golang.org/x/sys/unix"

	"sandboxd/sandbox"
)

func (s *Supervisor) spares(*Session) sandbox.Spares { return nil }

func (s *Supervisor) layerable(*Session) string { return "this system has no layers" }

func (s *Supervisor) probeLayers() error { return nil }

func (s *Supervisor) unmounted(*Exec, error) bool { return false }

// openRoot opens a directory without following a link anywhere in its path (open(2) of macOS).
func openRoot(root string) (*os.File, error) {
	return os.OpenFile(root, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW_ANY, 0)
}

func (s *Supervisor) seeHeld(string, *judgement) (release func(), err error) { return func() {}, nil }

// layeredRun is the layer of a run; there is none here.
type layeredRun struct{}

func (s *Supervisor) beginLayer(context.Context, *Exec, *judgement, *Result) (*layeredRun, error) {
	return nil, nil
}

func (r *layeredRun) begin(string) error { return nil }

func (r *layeredRun) drop() {}

func (r *layeredRun) land(_ context.Context, _ *Exec, check *afterCheck, result *Result) {
	check.after(result)
}

// HeldChanges lists nothing here.
func (s *Supervisor) HeldChanges(*Session) []HeldChange { return nil }

func (s *Supervisor) heldChange(_ *Session, id string) (HeldChange, error) {
	return HeldChange{}, noChange(id, "this system has no layers")
}

func (s *Supervisor) heldNote(id string) (dir string, note layerNote, err error) {
	return "", note, noChange(id, "this system has no layers")
}

func (s *Supervisor) heldUndoing(c *fileCall, _ *fileJudgement) (*undoing, error) {
	return nil, noChange(c.req.UndoID, "this system has no layers")
}

func (s *Supervisor) landHeld(context.Context, *fileCall, *fileJudgement, *FileResult) error {
	return nil
}

func (s *Supervisor) recoverLayers(bool) []string { return nil }

func (s *Supervisor) readLayers([]string) {}

// readers are of no use here.
type readers struct{}
