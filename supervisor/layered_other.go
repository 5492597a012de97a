//go:build !linux

package supervisor

import "context"

func (s *Supervisor) layerable(*Session) string { return "this system has no layers" }

// layeredRun is the layer of a run; there is none here.
type layeredRun struct{}

func (s *Supervisor) beginLayer(context.Context, *Exec, *judgement, *Result) (*layeredRun, error) {
	return nil, nil
}

func (r *layeredRun) drop() {}

func (r *layeredRun) land(_ context.Context, _ *judgement, _ *Result, look func()) { look() }

func (s *Supervisor) heldOf(*Session, string) []Change { return nil }

func (s *Supervisor) heldUndoing(c *fileCall) (*undoing, error) {
	return nil, noChange(c.req.UndoID, "this system has no layers")
}

func (s *Supervisor) landHeld(context.Context, *fileCall, *fileJudgement, *FileResult) error {
	return nil
}

func (s *Supervisor) recoverLayers(bool) {}
