package approval

import "fmt"

// Checker is a tool that knows when it needs approval (R-AP-02): nil means
// run, a request means ask, a *BlockedError means never, in every mode.
// CheckApproval is synchronous and pure: no I/O, no prompt, no knowledge of
// modes, terminals or grants. Any other error is a fault, which
// refuses the call.
type Checker interface {
	CheckApproval(Context) (*Request, error)
}

// CheckFunc makes a Checker of a function.
type CheckFunc func(Context) (*Request, error)

// CheckApproval calls f.
func (f CheckFunc) CheckApproval(c Context) (*Request, error) { return f(c) }

// BlockedError is a tool's "never": no mode, grant or person lifts it.
type BlockedError struct {
	// Reason is for the agent and the person: the forbidden act and the alternative.
	Reason string
	// Rule is the rule that blocks, as written, with its place; may be empty.
	Rule string
}

func (e *BlockedError) Error() string {
	if e.Rule == "" {
		return "blocked: " + e.Reason
	}
	return fmt.Sprintf("blocked by %s: %s", e.Rule, e.Reason)
}
